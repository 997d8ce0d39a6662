"""The application under attack: many ticks a second (`FLEET_TICKING`), and slow work to be killed."""

from __future__ import annotations

import asyncio
import os

from fencepost import CatchUp, Every, Fencepost, Retry, Run

TICKING = int(os.environ.get("FLEET_TICKING", "200"))
SLOW = 10
SLOW_S = 4.0

app = Fencepost(
    horizon_s=45,
    plan_every_s=2,
    lease_ttl_s=5,
    lease_renew_deadline_s=3,
    lease_retry_period_s=1,
    heartbeat_every_s=1,
    heartbeat_timeout_s=6,
    reap_every_s=2,
    concurrency=400,
)


@app.job()
async def tick(run: Run) -> None:
    return None


@app.job(retry=Retry(5, "100ms", "1s"))
async def slow(run: Run) -> None:
    await asyncio.sleep(SLOW_S)


for number in range(TICKING):
    app.add_schedule(
        f"tick-{number}", job=tick, trigger=Every("1s"), overlap="allow", catch_up=CatchUp("none", "1m")
    )
for number in range(SLOW):
    app.add_schedule(
        f"slow-{number}", job=slow, trigger=Every("5s"), overlap="allow", catch_up=CatchUp("none", "1m")
    )
