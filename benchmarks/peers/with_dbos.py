"""DBOS: workflows on a queue. Tuned: the queue is looked at every 10 ms, and the pool has 50 connections."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from dbos import DBOS, DBOSClient
from measuring import (
    PAYLOAD,
    Answer,
    Counter,
    Meter,
    Options,
    drained,
    main,
    pick_ups,
    ready,
    set_up_logging,
    stand_idle,
)

COUNTER = Counter()
JOB = {"workflow_name": "noop", "queue_name": "jobs"}
LEFT = "SELECT 1 FROM dbos.workflow_status WHERE status IN ('ENQUEUED', 'PENDING') LIMIT 1"


async def noop(payload: str) -> None:
    json.loads(payload)
    COUNTER.note()


async def install(options: Options) -> None:
    async with _application(options):
        pass


async def single(options: Options) -> Answer:
    """There is no way to enqueue many at once: bulk is this too."""
    client = DBOSClient(system_database_url=options.url)
    await asyncio.to_thread(ready)
    meter = Meter(options)
    for _ in range(options.count):
        await client.enqueue_async(JOB, json.dumps(PAYLOAD))
    return meter.read(options.count)


async def drain(options: Options) -> Answer:
    connection = await psycopg.AsyncConnection.connect(options.url, autocommit=True)

    async def is_empty() -> bool:
        return await (await connection.execute(LEFT)).fetchone() is None

    async with _application(options):
        await asyncio.to_thread(ready)
        meter = Meter(options)
        await _listen(options)
        await drained(COUNTER, is_empty)
        return meter.read(options.count)


async def pick_up(options: Options) -> Answer:
    async with _application(options):
        await _listen(options)
        client = DBOSClient(system_database_url=options.url)
        return await pick_ups(options.count, lambda: client.enqueue_async(JOB, json.dumps(PAYLOAD)), COUNTER)


async def idle(options: Options) -> None:
    async with _application(options):
        await _listen(options)
        await stand_idle()


@asynccontextmanager
async def _application(options: Options) -> AsyncIterator[None]:
    set_up_logging(options)
    more: dict[str, Any] = {"log_level": "WARNING", "sys_db_pool_size": 50} if options.tuned else {}
    DBOS(config={"name": "bench", "system_database_url": options.url, **more})
    DBOS.workflow(name="noop")(noop)
    DBOS.launch()
    try:
        yield
    finally:
        DBOS.destroy()


async def _listen(options: Options) -> None:
    await DBOS.register_queue_async("jobs", **({"polling_interval_sec": 0.01} if options.tuned else {}))


STEPS = {
    "install": install,
    "bulk": single,
    "single": single,
    "drain": drain,
    "pick_up": pick_up,
    "idle": idle,
}

if __name__ == "__main__":
    main(STEPS)
