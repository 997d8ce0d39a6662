"""Procrastinate, with psycopg. Tuned: 30 jobs at once and as many connections, finished jobs deleted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

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
from procrastinate import App, PsycopgConnector

CONCURRENCY = 30
"""Every job is fetched and finished by a statement of its own: more at once only wait for the server."""
LEFT = "SELECT id FROM procrastinate_jobs WHERE status IN ('todo', 'doing') LIMIT 1"


async def install(options: Options) -> None:
    async with _application(options, lambda: None) as app:
        await app.schema_manager.apply_schema_async()


async def bulk(options: Options) -> Answer:
    async with _application(options, lambda: None) as app:
        await asyncio.to_thread(ready)
        meter = Meter(options)
        for batch in batches(options.count):
            await app.tasks["noop"].batch_defer_async(*batch)
        return meter.read(options.count)


async def single(options: Options) -> Answer:
    async with _application(options, lambda: None) as app:
        await asyncio.to_thread(ready)
        meter = Meter(options)
        for _ in range(options.count):
            await app.tasks["noop"].defer_async(**PAYLOAD)
        return meter.read(options.count)


async def drain(options: Options) -> Answer:
    counter = Counter()
    async with _application(options, counter.add) as app, _application(options, lambda: None) as other:

        async def is_empty() -> bool:
            return not await other.connector.execute_query_all_async(LEFT)

        await asyncio.to_thread(ready)
        meter = Meter(options)
        async with _running(app, options):
            await drained(counter, is_empty)
            return meter.read(options.count)


async def pick_up(options: Options) -> Answer:
    counter = Counter()
    async with _application(options, counter.note) as app, _running(app, options):
        return await pick_ups(options.count, lambda: app.tasks["noop"].defer_async(**PAYLOAD), counter)


async def schedules(options: Options) -> Answer:
    """Each one a periodic task of its own; the sixth field is the second."""
    due, counter = datetime.fromtimestamp(options.due_at, UTC), Counter()
    async with _application(options, lambda: None) as app:
        _add_periodic(app, options.count, f"{due.minute} {due.hour} * * * {due.second}", counter.note)
        async with _running(app, options):
            await all_ran(counter, options)
    return lateness([moment - options.due_at for moment in counter.at], options.count)


async def idle(options: Options) -> None:
    async with _application(options, lambda: None) as app:
        _add_periodic(app, options.count, "0 3 1 1 *", lambda: None)
        async with _running(app, options):
            await stand_idle()


def _add_periodic(app: Any, count: int, cron: str, job: Callable[[], None]) -> None:
    async def tick(timestamp: int) -> None:
        job()

    for number in range(count):
        app.periodic(cron=cron)(app.task(name=f"tick-{number}")(tick))


@asynccontextmanager
async def _application(options: Options, job: Callable[[], None]) -> AsyncIterator[Any]:
    set_up_logging(options)
    app = App(connector=PsycopgConnector(conninfo=options.url, max_size=CONCURRENCY if options.tuned else 4))

    async def noop(account: int, region: str, note: str) -> None:
        job()

    app.task(name="noop")(noop)
    async with app.open_async():
        yield app


@asynccontextmanager
async def _running(app: Any, options: Options) -> AsyncIterator[None]:
    tuned = {"concurrency": CONCURRENCY, "delete_jobs": "always"} if options.tuned else {}
    task = asyncio.create_task(app.run_worker_async(install_signal_handlers=False, **tuned))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task}, timeout=30)


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
    main(STEPS)
