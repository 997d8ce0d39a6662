"""Ours, set up as `fencepost worker` does it. Tuned: 200 runs at once, log level warning."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial

from ledgers import ledger_of
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
from fencepost.cli.serving import settled_memory
from fencepost.config import Settings
from fencepost.telemetry.logs import set_up_logging
from fencepost.wiring import migrate

CONCURRENCY = 200


async def install(options: Options) -> None:
    await migrate(Settings(store=options.url))


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
    async with _process(options, counter.add) as app, ledger_of(options.url) as ledger:
        await asyncio.to_thread(ready)
        meter = Meter(options)
        async with app.running(plans=False):
            await drained(counter, ledger.is_empty)
            return meter.read(options.count)


async def pick_up(options: Options) -> Answer:
    counter = Counter()
    async with _process(options, counter.note) as app, app.running(plans=False):
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
    async with _process(options, lambda: None) as app, ledger_of(options.url) as ledger:
        meter = Meter(options)
        async with app.running(works=False), asyncio.timeout(PATIENCE_S):
            while await ledger.count() < options.count:  # noqa: ASYNC110
                # A look reads every run there is, and is measured with the rest.
                await asyncio.sleep(max(0.05, options.count / 100_000))
            return meter.read(options.count)


async def schedules(options: Options) -> Answer:
    """Until all schedules that are there have run; how late is what the ledger says."""
    counter = Counter()
    async with _process(options, counter.add) as app, app.running():
        await asyncio.sleep(max(0.0, options.due_at - time.time()))
        meter = Meter(options)
        await all_ran(counter, options)
        spent = meter.read(max(1, counter.count))
    async with ledger_of(options.url) as ledger:
        late = [at - options.due_at for at in await ledger.started()]
    return spent | lateness(late, options.count)


async def idle(options: Options, *, plans: bool = True, works: bool = True) -> None:
    far = datetime.now(UTC) + timedelta(days=100)
    async with _process(options, lambda: None) as app:
        for number in range(options.count):
            await app.schedules.add(
                f"tick-{number}", job="noop", trigger=Every("1d", anchor=far), payload=PAYLOAD
            )
        async with app.running(plans=plans, works=works):
            await stand_idle()


@asynccontextmanager
async def _process(options: Options, job: Callable[[], None]) -> AsyncIterator[Fencepost]:
    """With the garbage collector as each command that serves sets it."""
    async with _application(options, job) as app:
        with settled_memory():
            yield app


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
