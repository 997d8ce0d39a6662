"""APScheduler 3 with its SQLAlchemy job store. Late jobs are kept, which is not its default."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from measuring import (
    PAYLOAD,
    Answer,
    Counter,
    Meter,
    Options,
    all_ran,
    drained,
    lateness,
    main,
    pick_ups,
    ready,
    set_up_logging,
    stand_idle,
)

COUNTER = Counter()
KEPT = {"misfire_grace_time": None, "coalesce": True}


async def noop(account: int, region: str, note: str) -> None:
    """A job is kept by its name, so it is of the module."""
    COUNTER.note()


async def install(options: Options) -> None:
    async with _scheduler(options):
        pass


async def single(options: Options) -> Answer:
    """There is no way to add many at once: bulk is this too."""
    async with _scheduler(options) as scheduler:
        await asyncio.to_thread(ready)
        meter = Meter(options)
        for _ in range(options.count):
            scheduler.add_job(noop, kwargs=PAYLOAD, **KEPT)
        return meter.read(options.count)


async def drain(options: Options) -> Answer:
    async with _scheduler(options) as scheduler:

        async def is_empty() -> bool:
            return not scheduler.get_jobs()

        await asyncio.to_thread(ready)
        meter = Meter(options)
        scheduler.resume()
        await drained(COUNTER, is_empty)
        return meter.read(options.count)


async def pick_up(options: Options) -> Answer:
    async with _scheduler(options) as scheduler:
        scheduler.resume()

        async def add() -> None:
            scheduler.add_job(noop, kwargs=PAYLOAD, **KEPT)

        return await pick_ups(options.count, add, COUNTER)


async def schedules(options: Options) -> Answer:
    due = datetime.fromtimestamp(options.due_at, UTC)
    async with _scheduler(options) as scheduler:
        for number in range(options.count):
            at = {"hour": due.hour, "minute": due.minute, "second": due.second}
            scheduler.add_job(noop, "cron", kwargs=PAYLOAD, id=f"tick-{number}", **at, **KEPT)
        scheduler.resume()
        await all_ran(COUNTER, options)
    return lateness([moment - options.due_at for moment in COUNTER.at], options.count)


async def idle(options: Options) -> None:
    async with _scheduler(options) as scheduler:
        for number in range(options.count):
            scheduler.add_job(noop, "cron", kwargs=PAYLOAD, id=f"tick-{number}", month=1, day=1, hour=3)
        scheduler.resume()
        await stand_idle()


@asynccontextmanager
async def _scheduler(options: Options) -> AsyncIterator[Any]:
    """Paused, so that it only adds jobs."""
    set_up_logging(options)
    store = SQLAlchemyJobStore(url=options.url.replace("postgresql:", "postgresql+psycopg:"))
    scheduler = AsyncIOScheduler(jobstores={"default": store}, timezone=UTC)
    scheduler.start(paused=True)
    try:
        yield scheduler
    finally:
        scheduler.shutdown(wait=False)


STEPS = {
    "install": install,
    "bulk": single,
    "single": single,
    "drain": drain,
    "pick_up": pick_up,
    "schedules": schedules,
    "idle": idle,
}

if __name__ == "__main__":
    main(STEPS)
