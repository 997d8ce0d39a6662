"""Ours, set up as `fencepost worker` does it. Tuned: 200 runs at once, log level warning."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial

import apsw
import asyncpg
from measuring import (
    PATIENCE_S,
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
    stand_idle,
)

from fencepost import Every, Fencepost
from fencepost.stores.postgres import migrate
from fencepost.telemetry.logs import set_up_logging

CONCURRENCY = 200
SHARDS = 8
IS_EMPTY = "SELECT NOT EXISTS (SELECT 1 FROM {schema}runs WHERE state IN ('planned', 'ready', 'running'))"
PLANNED = "SELECT count(*) FROM fencepost.runs"
STARTED = "SELECT extract(epoch FROM started_at)::float8 FROM fencepost.runs WHERE started_at IS NOT NULL"


async def install(options: Options) -> None:
    if not _is_file(options):
        await migrate(options.url, shards=SHARDS)


async def bulk(options: Options) -> Answer:
    async with _application(options, lambda: None) as app:
        await asyncio.to_thread(ready)
        meter = Meter(options)
        for batch in batches(options.count):
            await app.enqueue_many("noop", batch)
        return meter.read(options.count)


async def single(options: Options) -> Answer:
    async with _application(options, lambda: None) as app:
        await asyncio.to_thread(ready)
        meter = Meter(options)
        for _ in range(options.count):
            await app.enqueue("noop", **PAYLOAD)
        return meter.read(options.count)


async def drain(options: Options) -> Answer:
    counter = Counter()
    async with _application(options, counter.add) as app, _emptiness(options) as is_empty:
        await asyncio.to_thread(ready)
        meter = Meter(options)
        async with app.running(plans=False):
            await drained(counter, is_empty)
            return meter.read(options.count)


async def pick_up(options: Options) -> Answer:
    counter = Counter()
    async with _application(options, counter.note) as app, app.running(plans=False):
        answer: Answer = await pick_ups(options.count, lambda: app.enqueue("noop", **PAYLOAD), counter)
        return answer


async def create(options: Options) -> Answer:
    """Schedules, one call each: all of them fire at the one instant."""
    due_at = datetime.fromtimestamp(options.due_at, UTC)
    async with _application(options, lambda: None) as app:
        await asyncio.to_thread(ready)
        meter = Meter(options)
        for number in range(options.count):
            await app.schedules.add(
                f"tick-{number}", job="noop", trigger=Every("1d", anchor=due_at), payload=PAYLOAD
            )
        return meter.read(options.count)


async def create_many(options: Options) -> Answer:
    """The same by the bulk way, in one call."""
    spec = {
        "job": "noop",
        "trigger": Every("1d", anchor=datetime.fromtimestamp(options.due_at, UTC)),
        "payload": PAYLOAD,
    }
    async with _application(options, lambda: None) as app:
        await asyncio.to_thread(ready)
        meter = Meter(options)
        await app.schedules.add_many((f"tick-{number}", spec) for number in range(options.count))
        return meter.read(options.count)


async def plan(options: Options) -> Answer:
    """Until every schedule has its run in the ledger, by a node that only plans."""
    async with _application(options, lambda: None) as app:
        connection = await asyncpg.connect(options.url)
        meter = Meter(options)
        async with app.running(works=False), asyncio.timeout(PATIENCE_S):
            while await connection.fetchval(PLANNED) < options.count:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            spent = meter.read(options.count)
        await connection.close()
    return spent


async def schedules(options: Options) -> Answer:
    """Until all schedules that are there have run; how late is what the ledger says."""
    counter = Counter()
    async with _application(options, counter.add) as app, app.running():
        await asyncio.sleep(max(0.0, options.due_at - time.time()))
        meter = Meter(options)
        await all_ran(counter, options)
        spent = meter.read(max(1, counter.count))
    connection = await asyncpg.connect(options.url)
    late = [row[0] - options.due_at for row in await connection.fetch(STARTED)]
    await connection.close()
    return spent | lateness(late, options.count)


async def idle(options: Options, *, plans: bool = True, works: bool = True) -> None:
    far = datetime.now(UTC) + timedelta(days=100)
    async with _application(options, lambda: None) as app:
        for number in range(options.count):
            await app.schedules.add(
                f"tick-{number}", job="noop", trigger=Every("1d", anchor=far), payload=PAYLOAD
            )
        async with app.running(plans=plans, works=works):
            await stand_idle()


@asynccontextmanager
async def _application(options: Options, job: Callable[[], None]) -> AsyncIterator[Fencepost]:
    set_up_logging("warning" if options.tuned else "info")
    app = Fencepost(options.url)
    app.configure(concurrency=CONCURRENCY if options.tuned else None)

    async def noop(account: int, region: str, note: str) -> None:
        job()

    app.job("noop")(noop)
    async with app:
        yield app


@asynccontextmanager
async def _emptiness(options: Options) -> AsyncIterator[Callable[[], object]]:
    if _is_file(options):
        ledger = apsw.Connection(options.url.removeprefix("sqlite:///"))

        async def of_the_file() -> bool:
            return bool(next(ledger.execute(IS_EMPTY.format(schema="")))[0])

        yield of_the_file
        ledger.close()
        return
    connection = await asyncpg.connect(options.url)

    async def of_the_server() -> bool:
        return bool(await connection.fetchval(IS_EMPTY.format(schema="fencepost.")))

    yield of_the_server
    await connection.close()


def _is_file(options: Options) -> bool:
    return bool(options.url.startswith("sqlite:"))


STEPS = {
    "install": install,
    "bulk": bulk,
    "single": single,
    "drain": drain,
    "pick_up": pick_up,
    "create": create,
    "create_many": create_many,
    "plan": plan,
    "schedules": schedules,
    "idle": idle,
    "idle_both": idle,
    "idle_scheduler": partial(idle, works=False),
    "idle_worker": partial(idle, plans=False),
}

if __name__ == "__main__":
    main(STEPS, asyncio.run)
