"""A value in Redis that only the latest attempt may set. In this folder: `fencepost run redis_guard:app`,
then `fencepost enqueue publish_rate --payload '{"currency": "EUR", "rate": "1.08"}'`."""

import os

from redis.asyncio import Redis

from fencepost import Fencepost, Run
from fencepost.guards import FencedKey

app = Fencepost()


@app.job()
async def publish_rate(run: Run, currency: str, rate: str) -> None:
    async with Redis.from_url(os.environ["REDIS_URL"]) as client:
        # An attempt that has lost its run fails here with StaleFence; the key stays as its successor left it.
        await FencedKey(client, f"rate:{currency}", ttl_s=86_400).put(rate, run.fence)
