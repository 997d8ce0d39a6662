"""Oban for Python, with its own pool of psycopg, on uvloop. Tuned: 200 jobs at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import uvloop
from measuring import (
    PAYLOAD,
    Answer,
    Counter,
    Meter,
    Options,
    all_ran,
    batches,
    drained,
    lateness,
    main,
    pick_ups,
    ready,
    set_up_logging,
    stand_idle,
)
from oban import Oban, worker
from oban.schema import install as install_schema

LIMIT, DEFAULT_LIMIT = 200, 10
"""How many jobs of the queue run at once; the second is that of its quick start."""
LEFT = "SELECT 1 FROM oban_jobs WHERE state IN ('available', 'executing') LIMIT 1"


async def install(options: Options) -> None:
    async with _pool(options) as pool:
        await install_schema(pool)


async def bulk(options: Options) -> Answer:
    noop = _worker(lambda: None)
    async with _pool(options) as pool, Oban(pool=pool) as oban:
        await asyncio.to_thread(ready)
        meter = Meter(options)
        for batch in batches(options.count):
            await oban.enqueue_many(noop.new(payload) for payload in batch)
        return meter.read(options.count)


async def single(options: Options) -> Answer:
    noop = _worker(lambda: None)
    async with _pool(options) as pool, Oban(pool=pool) as oban:
        await asyncio.to_thread(ready)
        meter = Meter(options)
        for _ in range(options.count):
            await oban.enqueue(noop.new(PAYLOAD))
        return meter.read(options.count)


async def drain(options: Options) -> Answer:
    counter = Counter()
    _worker(counter.add)
    async with _pool(options) as pool:

        async def is_empty() -> bool:
            async with pool.connection() as connection:
                return await (await connection.execute(LEFT)).fetchone() is None

        await asyncio.to_thread(ready)
        meter = Meter(options)
        async with _oban(pool, options):
            await drained(counter, is_empty)
            return meter.read(options.count)


async def pick_up(options: Options) -> Answer:
    counter = Counter()
    noop = _worker(counter.note)
    async with _pool(options) as pool, _oban(pool, options) as oban:
        return await pick_ups(options.count, lambda: oban.enqueue(noop.new(PAYLOAD)), counter)


async def schedules(options: Options) -> Answer:
    """Each one a worker with a cron expression; five fields, so they are due at a whole minute."""
    due, counter = datetime.fromtimestamp(options.due_at, UTC), Counter()
    _cron_workers(options.count, f"{due.minute} {due.hour} * * *", counter.note)
    async with _pool(options) as pool, _oban(pool, options):
        await all_ran(counter, options)
    return lateness([moment - options.due_at for moment in counter.at], options.count)


async def idle(options: Options) -> None:
    _cron_workers(options.count, "0 3 1 1 *", lambda: None)
    async with _pool(options) as pool, _oban(pool, options):
        await stand_idle()


@asynccontextmanager
async def _pool(options: Options) -> AsyncIterator[Any]:
    set_up_logging(options)
    pool = await Oban.create_pool(options.url)
    try:
        yield pool
    finally:
        await pool.close()


def _oban(pool: Any, options: Options) -> Any:
    return Oban(pool=pool, queues={"default": LIMIT if options.tuned else DEFAULT_LIMIT})


def _worker(job: Callable[[], None]) -> Any:
    class Noop:
        async def process(self, one: Any) -> None:
            job()

    return worker(queue="default")(Noop)


def _cron_workers(count: int, cron: str, job: Callable[[], None]) -> None:
    async def process(self: Any, one: Any) -> None:
        job()

    for number in range(count):
        worker(queue="default", cron=cron)(type(f"Tick{number}", (), {"process": process}))


STEPS = {
    "install": install,
    "bulk": bulk,
    "single": single,
    "drain": drain,
    "pick_up": pick_up,
    "schedules": schedules,
    "idle": idle,
}

if __name__ == "__main__":
    main(STEPS, uvloop.run)
