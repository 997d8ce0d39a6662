"""PostgreSQL: what a user gets, beside what a bare driver loop gets from the same table."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import asyncpg

from benchmarks import noop
from benchmarks.report import Figure, heading, median, percentile
from benchmarks.timing import Stopwatch, side_by_side, until
from fencepost import Every, Fencepost
from fencepost.app import schedule_spec
from fencepost.clock import SystemClock
from fencepost.model.codec import schedule_to_text
from fencepost.stores.queries import load_queries

SQL = load_queries("benchmarks", "bare.sql")
RUNS = 20_000
ENQUEUE_BATCH = 1_000
BATCH = noop.CONCURRENCY
SINGLES = 1_500
TRIES = 3
PICKUPS = 300
CROWD = 10_000
IDLE_S = 20.0
RAW_SETTINGS = {"enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off", "jit": "off"}
"""Without them the bare loop's completions are planned badly, and it would be no limit."""
COLUMNS = ["namespace", "run_key", "job", "fire_time", "state", "queue", "priority", "run_at", "payload"]


async def measure(url: str) -> AsyncIterator[Figure]:
    """All figures, one after the other, on one database."""
    connection = await asyncpg.connect(url, server_settings=RAW_SETTINGS)
    try:
        yield await bulk_enqueue(url, connection)
        yield await single_enqueue(url, connection)
        yield await drain(url, connection)
        for figure in await pick_up(url, connection):
            yield figure
        for figure in await crowd(url, connection):
            yield figure
        for figure in await planner_memory(url, connection):
            yield figure
        for figure in await idle(url, connection):
            yield figure
    finally:
        await connection.close()


async def bulk_enqueue(url: str, connection: asyncpg.Connection) -> Figure:
    heading(f"bulk enqueue of {RUNS:,} runs in batches of {ENQUEUE_BATCH:,}")

    async def raw() -> float:
        await connection.execute(SQL["clear"])
        rows = [[_row(f"{n}") for n in range(start, start + ENQUEUE_BATCH)] for start in _starts()]
        watch = Stopwatch()
        for batch in rows:
            await connection.copy_records_to_table(
                "runs", schema_name="fencepost", columns=COLUMNS, records=batch
            )
        return RUNS / watch.seconds

    async def ours() -> float:
        await connection.execute(SQL["clear"])
        async with noop.make(url) as app:
            watch = Stopwatch()
            for _ in _starts():
                await app.enqueue_many("noop", [{}] * ENQUEUE_BATCH)
            return RUNS / watch.seconds

    return _share("bulk enqueue", *await side_by_side(TRIES, ours, raw), 0.5, "COPY")


async def single_enqueue(url: str, connection: asyncpg.Connection) -> Figure:
    heading(f"{SINGLES:,} runs enqueued one by one")

    async def raw() -> float:
        await connection.execute(SQL["clear"])
        statement = await connection.prepare(SQL["insert"])
        watch = Stopwatch()
        for number in range(SINGLES):
            await statement.fetch(f"noop#{number}")
        return SINGLES / watch.seconds

    async def ours() -> float:
        await connection.execute(SQL["clear"])
        async with noop.make(url) as app:
            await app.enqueue("noop")
            watch = Stopwatch()
            for _ in range(SINGLES):
                await app.enqueue("noop")
            return SINGLES / watch.seconds

    return _share("enqueue one by one", *await side_by_side(TRIES, ours, raw), 0.6, "insert")


async def drain(url: str, connection: asyncpg.Connection) -> Figure:
    heading(f"drain of {RUNS:,} no-op runs by one worker process, {BATCH} at a time")

    async def raw() -> float:
        await _fill(url, connection)
        claim = await connection.prepare(SQL["claim"])
        complete = await connection.prepare(SQL["complete"])
        watch = Stopwatch()
        while rows := await claim.fetch(BATCH):
            await complete.fetch([row["run_key"] for row in rows], [row["fence"] for row in rows])
        return RUNS / watch.seconds

    async def ours() -> float:
        await _fill(url, connection)
        async with noop.make(url) as app:
            node = await app.node(plans=False)
            assert node.working is not None
            clerk, stop = node.working.clerk, asyncio.Event()
            watch = Stopwatch()
            task = asyncio.create_task(node.run(stop))
            await until(lambda: clerk.settled >= RUNS, 300)
            seconds = watch.seconds
            stop.set()
            await task
        assert await connection.fetchval(SQL["left"]) == 0
        return RUNS / seconds

    return _share("drain, one worker process", *await side_by_side(TRIES, ours, raw), 0.5, "loop")


async def pick_up(url: str, connection: asyncpg.Connection) -> list[Figure]:
    heading(f"pick-up of {PICKUPS} runs by an idle worker")
    await connection.execute(SQL["clear"])
    begun: list[float] = []
    app = Fencepost(url, concurrency=10)
    clock = SystemClock()
    arrived = asyncio.Event()

    @app.job()
    async def mark() -> None:
        begun.append(clock.monotonic())
        arrived.set()

    latencies: list[float] = []
    async with app, app.running(plans=False):
        await app.enqueue(mark)
        await arrived.wait()
        for _ in range(PICKUPS):
            await asyncio.sleep(0.02)
            arrived.clear()
            sent = clock.monotonic()
            await app.enqueue(mark)
            await arrived.wait()
            latencies.append((begun[-1] - sent) * 1000)
    p50, p99 = median(latencies), percentile(latencies, 0.99)
    return [
        Figure("pick-up when idle, p50", p50, "ms", goal="< 4", good=p50 < 4),
        Figure("pick-up when idle, p99", p99, "ms", goal="< 10", good=p99 < 10),
    ]


async def crowd(url: str, connection: asyncpg.Connection) -> list[Figure]:
    heading(f"{CROWD:,} schedules due in the same second")
    await connection.execute(SQL["clear"])
    due_at = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=15)
    async with noop.make(url) as app:
        await _clone_schedules(
            connection, app, CROWD, Every("1h", anchor=due_at), due_at - timedelta(minutes=1)
        )
        node = await app.node()
        assert node.working is not None
        clerk, stop = node.working.clerk, asyncio.Event()
        task = asyncio.create_task(node.run(stop))
        await until(lambda: clerk.settled >= CROWD, 120)
        stop.set()
        await task
    late_ms = [row["late_s"] * 1000 for row in await connection.fetch(SQL["lateness"])]
    await _remove_clones(connection)
    p99 = percentile(late_ms, 0.99)
    name = f"{CROWD:,} schedules in one second, lateness"
    return [
        Figure(f"{name} p50", median(late_ms), "ms"),
        Figure(f"{name} p99", p99, "ms", goal="< 3,000", good=p99 < 3000 and len(late_ms) == CROWD),
        Figure(f"{name} max", max(late_ms), "ms"),
    ]


async def planner_memory(url: str, connection: asyncpg.Connection) -> list[Figure]:
    heading("memory of a planner with 1,000 and with 100,000 schedules, of which 1,000 are due")
    grown: dict[int, float] = {}
    for schedules in (1_000, 100_000):
        await connection.execute(SQL["clear"])
        async with noop.make(url) as app:
            soon = datetime.now(UTC) + timedelta(seconds=20)
            await _clone_schedules(
                connection, app, 1_000, Every("1h", anchor=soon), soon - timedelta(minutes=5)
            )
            if schedules > 1_000:
                await _more_idle_schedules(connection, app, schedules)
        grown[schedules] = await asyncio.to_thread(_planner_rss_mib, url)
        await _remove_clones(connection)
    more = grown[100_000] - grown[1_000]
    return [
        Figure("planner's memory, 1,000 schedules", grown[1_000], "MiB"),
        Figure("planner's memory, 100,000 schedules", grown[100_000], "MiB", goal="+ < 10", good=more < 10),
    ]


async def idle(url: str, connection: asyncpg.Connection) -> list[Figure]:
    heading(f"statements per second of idle processes, over {IDLE_S:g} s")
    await connection.execute(SQL["clear"])
    try:
        await connection.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
    except asyncpg.PostgresError as error:
        heading(f"not measured: {error}")
        return []
    figures = []
    for name, plans, works in (("scheduler", True, False), ("worker", False, True), ("both", True, True)):
        async with noop.make(url) as app, app.running(plans=plans, works=works):
            await asyncio.sleep(5)
            before = await connection.fetchval(SQL["statements"])
            await asyncio.sleep(IDLE_S)
            rate = (await connection.fetchval(SQL["statements"]) - before) / IDLE_S
        figures.append(Figure(f"idle {name}", rate, "stmt/s", goal="< 5", good=rate < 5))
    return figures


async def _fill(url: str, connection: asyncpg.Connection) -> None:
    await connection.execute(SQL["clear"])
    async with noop.make(url) as app:
        for _ in _starts():
            await app.enqueue_many("noop", [{}] * ENQUEUE_BATCH)
    await connection.execute(SQL["vacuum"])


async def _clone_schedules(
    connection: asyncpg.Connection, app: Fencepost, count: int, trigger: Every, planned_through: datetime
) -> None:
    store = await app.open()
    await store.jobs.register(app.settings.namespace, [app.jobs[name].spec for name in app.jobs])
    spec = schedule_to_text(schedule_spec(job="noop", trigger=trigger, catch_up="latest"))
    await connection.execute(SQL["clone_schedules"], spec, count)
    await connection.execute(SQL["clone_versions"])
    await connection.execute(SQL["clone_cursors"], planned_through)


async def _more_idle_schedules(connection: asyncpg.Connection, app: Fencepost, count: int) -> None:
    """Schedules that are not due within the horizon."""
    spec = schedule_to_text(schedule_spec(job="noop", trigger=Every("1d")))
    await connection.execute(SQL["clone_schedules"].replace("'clone-'", "'idle-clone-'"), spec, count - 1_000)
    await connection.execute(SQL["clone_versions"].replace("'clone-%'", "'idle-clone-%'"))
    far = datetime.now(UTC) + timedelta(hours=6)
    await connection.execute(SQL["clone_cursors"].replace("'clone-%'", "'idle-clone-%'"), far)


async def _remove_clones(connection: asyncpg.Connection) -> None:
    for table in ("cursors", "schedule_versions", "schedules"):
        await connection.execute(f"DELETE FROM fencepost.{table} WHERE schedule_id LIKE '%clone-%'")
    await connection.execute(SQL["clear"])


def _planner_rss_mib(url: str) -> float:
    """The peak of a planner process of its own, after it has planned everything that is due."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.planner_process", url],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        env=dict(os.environ),
    )
    return float(json.loads(done.stdout)["peak_mib"])


def _starts() -> range:
    return range(0, RUNS, ENQUEUE_BATCH)


def _row(key: str) -> tuple[object, ...]:
    now = datetime.now(UTC)
    return "default", f"noop#{key}", "noop", now, "ready", "default", 2, now, "{}"


def _share(name: str, value: float, raw: float, least: float, what: str) -> Figure:
    return Figure(name, value, "runs/s", raw, f"≥ {least:.0%} of raw {what}", value >= least * raw)
