"""What a tick costs, for docs/guides/sizing.md: `python -m benchmarks.sizing`.

A scheduler and a worker, each a process of its own, on a PostgreSQL of their own that is set up as for
production. Schedules fire evenly, so many ticks a second whatever their number. Processor time and WAL are
divided by the ticks that succeeded in the window. Processor time hardly depends on the load of the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg

from benchmarks import noop
from fencepost import CatchUp, Every
from fencepost.app import schedule_spec
from fencepost.model.codec import schedule_to_text
from fencepost.model.dataclasses import dataclass
from fencepost.stores.postgres import migrate
from fencepost.stores.queries import load_queries
from fencepost.triggers import tzdata_version
from tests.servers.postgres import PostgresServer

SQL = load_queries("benchmarks", "sizing.sql")
ROLES = ("scheduler", "worker")
TICKS_PER_S = 50
WARM_S, WINDOW_S = 15.0, 40.0
FILL_ROWS = 100_000
PAGE_TRIES = 50
GROUNDS = ((100, 0), (10_000, 0), (100, 1_000_000), (10_000, 1_000_000))
HEADINGS = (
    "schedules | runs kept | ticks | scheduler ms | worker ms | server ms | WAL B | page ms | of one ms"
)


@dataclass(frozen=True)
class Reading:
    """Counters at one moment: processor seconds of each process and of the server, and bytes."""

    scheduler_s: float
    worker_s: float
    server_s: float
    wal: int
    at: datetime


@dataclass(frozen=True)
class Sizes:
    """What one ground costs for each tick, and its pages."""

    schedules: int
    runs: int
    ticks: int
    scheduler_ms: float
    worker_ms: float
    server_ms: float
    wal_bytes: float
    page_ms: float
    page_of_schedule_ms: float

    def __str__(self) -> str:
        costs = (
            f"{self.scheduler_ms:.2f} | {self.worker_ms:.2f} | {self.server_ms:.2f} | {self.wal_bytes:,.0f}"
        )
        pages = f"{self.page_ms:.2f} | {self.page_of_schedule_ms:.2f}"
        return f"{self.schedules:,} | {self.runs:,} | {self.ticks:,} | {costs} | {pages}"


async def measure(server: PostgresServer, schedules: int, runs: int) -> Sizes:
    """One ground, from an empty database on."""
    url = server.create_empty_database()
    await migrate(url, shards=8)
    session = await asyncpg.connect(url)
    try:
        await fill(session, runs)
        await add_schedules(session, url, schedules)
        await session.execute(SQL["checkpoint"])
        with fleet(url) as processes:
            await asyncio.sleep(WARM_S)
            before = await read(session, server, processes)
            await asyncio.sleep(WINDOW_S)
            after = await read(session, server, processes)
            ticks = await session.fetchval(SQL["succeeded"], before.at)
        pages = [await page_ms(session, SQL[name]) for name in ("page", "page_of_schedule")]
        return per_tick(schedules, runs, ticks, before, after, pages)
    finally:
        await session.close()
        server.drop_database(url)


async def fill(session: asyncpg.Connection, runs: int) -> None:
    """Runs of the past, and what one takes on disk."""
    if not runs:
        return
    for first in range(1, runs + 1, FILL_ROWS):
        await session.execute(SQL["past"], first, min(first + FILL_ROWS - 1, runs))
    await session.execute(SQL["analyze"])
    table, total = [await session.fetchval(SQL[name]) for name in ("table_bytes", "runs_bytes")]
    print(
        f"{runs:,} runs: {table / runs:.0f} B of table and {(total - table) / runs:.0f} B of indexes each",
        flush=True,
    )


async def add_schedules(session: asyncpg.Connection, url: str, count: int) -> None:
    """Schedules that together fire so many times a second."""
    async with noop.make(url) as app:
        store = await app.open()
        await store.jobs.register(app.settings.namespace, [app.jobs[name].spec for name in app.jobs])
    period = timedelta(seconds=count / TICKS_PER_S)
    now = datetime.now(UTC)
    spec = schedule_spec(job="noop", trigger=Every(period), spread=period, catch_up=CatchUp("none", "1h"))
    await session.execute(SQL["schedules"], schedule_to_text(spec), count)
    await session.execute(SQL["versions"], tzdata_version())
    await session.execute(SQL["cursors"], now - period, tzdata_version())


@contextmanager
def fleet(url: str) -> Iterator[dict[str, int]]:
    """The processes by their roles; gone at the end."""
    environment = {**os.environ, "FENCEPOST_STORE": url}
    command = [sys.executable, "-m", "fencepost"]
    started = {
        role: subprocess.Popen(
            [*command, role, "benchmarks.sizing_app:app"], env=environment, stderr=subprocess.DEVNULL
        )
        for role in ROLES
    }
    try:
        yield {role: process.pid for role, process in started.items()}
    finally:
        for process in started.values():
            process.terminate()
        for process in started.values():
            process.wait(60)


async def read(session: asyncpg.Connection, server: PostgresServer, processes: dict[str, int]) -> Reading:
    """All counters now."""
    own = {role: processor_s(pid) for role, pid in processes.items()}
    wal = await session.fetchval(SQL["wal"])
    return Reading(own["scheduler"], own["worker"], server_s(server.pid), wal, datetime.now(UTC))


def processor_s(pid: int, *, children: bool = False) -> float:
    """Processor time of a process; with that of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = sum(map(int, fields[11:15] if children else fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def server_s(pid: int) -> float:
    """Processor time of the server: its main process, those below it, and those that have ended."""
    below = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return processor_s(pid, children=True) + sum(processor_s(int(one)) for one in below)


async def page_ms(session: asyncpg.Connection, query: str) -> float:
    """The middle of some tries."""
    taken = list[float]()
    for _ in range(PAGE_TRIES):
        begun = time.perf_counter()
        await session.fetch(query)
        taken.append(1_000 * (time.perf_counter() - begun))
    return sorted(taken)[PAGE_TRIES // 2]


def per_tick(
    schedules: int, runs: int, ticks: int, before: Reading, after: Reading, pages: Sequence[float]
) -> Sizes:
    """The difference of two readings, for each tick."""
    assert ticks, "no tick succeeded in the window"
    return Sizes(
        schedules,
        runs,
        ticks,
        1_000 * (after.scheduler_s - before.scheduler_s) / ticks,
        1_000 * (after.worker_s - before.worker_s) / ticks,
        1_000 * (after.server_s - before.server_s) / ticks,
        (after.wal - before.wal) / ticks,
        pages[0],
        pages[1],
    )


def main() -> None:
    """Measure each ground and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sizing", description=__doc__)
    parser.add_argument(
        "--ground", action="append", metavar="SCHEDULES:RUNS", help="one ground; again for more"
    )
    given = parser.parse_args().ground
    grounds = [tuple(map(int, one.split(":"))) for one in given] if given else GROUNDS
    server = PostgresServer(durable=True, shared_buffers="256MB", max_wal_size="4GB")
    try:
        print(HEADINGS, flush=True)
        for schedules, runs in grounds:
            print(asyncio.run(measure(server, schedules, runs)), flush=True)
    finally:
        server.close()


if __name__ == "__main__":
    main()
