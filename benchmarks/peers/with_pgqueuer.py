"""PgQueuer, with asyncpg and uvloop. Tuned as its guide says: large batches, a pool, `pgq autovac`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import asyncpg
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
from pgqueuer import AsyncpgDriver, AsyncpgPoolDriver, PgQueuer
from pgqueuer.queries import Queries

BYTES = json.dumps(PAYLOAD).encode()
BATCH_SIZE = 200
"""Jobs that one dequeue takes, where it is tuned; 10 by default."""


async def install(options: Options) -> None:
    async with _queries(options) as queries:
        await queries.install()
        if options.tuned:
            await queries.optimize_autovacuum()


async def bulk(options: Options) -> Answer:
    async with _queries(options) as queries:
        await asyncio.to_thread(ready)
        meter = Meter(options)
        for batch in batches(options.count):
            payloads = [json.dumps(payload).encode() for payload in batch]
            await queries.enqueue(["noop"] * len(batch), payloads, [0] * len(batch))
        return meter.read(options.count)


async def single(options: Options) -> Answer:
    async with _queries(options) as queries:
        await asyncio.to_thread(ready)
        meter = Meter(options)
        for _ in range(options.count):
            await queries.enqueue("noop", json.dumps(PAYLOAD).encode())
        return meter.read(options.count)


async def drain(options: Options) -> Answer:
    counter = Counter()
    async with _queries(options) as other:

        async def is_empty() -> bool:
            return not await other.driver.fetch("SELECT 1 FROM pgqueuer LIMIT 1")

        async with _application(options, counter.add) as pgq:
            await asyncio.to_thread(ready)
            meter = Meter(options)
            async with _running(pgq, options):
                await drained(counter, is_empty)
                return meter.read(options.count)


async def pick_up(options: Options) -> Answer:
    counter = Counter()
    async with _queries(options) as other, _application(options, counter.note) as pgq, _running(pgq, options):
        return await pick_ups(options.count, lambda: other.enqueue("noop", BYTES), counter)


async def schedules(options: Options) -> Answer:
    """Each one a cron expression of its own name; its sixth field is the second."""
    due, at = datetime.fromtimestamp(options.due_at, UTC), Counter()

    async def tick(schedule: Any) -> None:
        at.note()

    async with _application(options, lambda: None) as pgq:
        for number in range(options.count):
            pgq.schedule(f"tick-{number}", f"{due.minute} {due.hour} * * * {due.second}")(tick)
        async with _running(pgq, options):
            await all_ran(at, options)
    return lateness([moment - options.due_at for moment in at.at], options.count)


async def idle(options: Options) -> None:
    async def tick(schedule: Any) -> None:
        pass

    async with _application(options, lambda: None) as pgq:
        for number in range(options.count):
            pgq.schedule(f"tick-{number}", "0 3 1 1 *")(tick)
        async with _running(pgq, options):
            await stand_idle()


@asynccontextmanager
async def _queries(options: Options) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(options.url)
    try:
        yield Queries(AsyncpgDriver(connection))
    finally:
        await connection.close()


@asynccontextmanager
async def _application(options: Options, job: Any) -> AsyncIterator[Any]:
    """The default is what its quick start has, one connection; a pool where it is tuned."""

    async def noop(one: Any) -> None:
        json.loads(one.payload)
        job()

    set_up_logging(options)
    async with _driver(options) as driver:
        pgq = PgQueuer(driver)
        pgq.entrypoint("noop")(noop)
        yield pgq


@asynccontextmanager
async def _driver(options: Options) -> AsyncIterator[Any]:
    if options.tuned:
        async with asyncpg.create_pool(options.url, min_size=2, max_size=5) as pool:
            yield AsyncpgPoolDriver(pool)
    else:
        connection = await asyncpg.connect(options.url)
        try:
            yield AsyncpgDriver(connection)
        finally:
            await connection.close()


@asynccontextmanager
async def _running(pgq: Any, options: Options) -> AsyncIterator[None]:
    task = asyncio.create_task(pgq.run(**({"batch_size": BATCH_SIZE} if options.tuned else {})))
    try:
        yield
    finally:
        pgq.shutdown.set()
        with suppress(asyncio.CancelledError):
            await task


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
