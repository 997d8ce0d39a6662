"""SQLite: the drain, beside a bare loop on the same table."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import apsw

from benchmarks import noop
from benchmarks.report import Figure, heading
from benchmarks.timing import Stopwatch, until
from fencepost.stores.queries import load_queries

SQL = load_queries("benchmarks", "bare_sqlite.sql")
RUNS = 20_000
ENQUEUE_BATCH = 1_000
BATCH = noop.CONCURRENCY
TRIES = 2


async def measure(folder: Path) -> AsyncIterator[Figure]:
    """The drain of fresh databases."""
    heading(f"SQLite: drain of {RUNS:,} no-op runs, {BATCH} at a time")
    ours = max([await _ours(folder / f"ours-{n}.db") for n in range(TRIES)])
    raw = max([await _raw(folder / f"raw-{n}.db") for n in range(TRIES)])
    yield Figure(
        "SQLite drain, one worker process", ours, "runs/s", raw, "≥ 30% of raw loop", ours >= 0.3 * raw
    )


async def _ours(path: Path) -> float:
    async with noop.make(f"sqlite:///{path}") as app:
        for _ in range(0, RUNS, ENQUEUE_BATCH):
            await app.enqueue_many("noop", [{}] * ENQUEUE_BATCH)
        node = await app.node(plans=False)
        assert node.working is not None
        clerk, stop = node.working.clerk, asyncio.Event()
        watch = Stopwatch()
        task = asyncio.create_task(node.run(stop))
        await until(lambda: clerk.settled >= RUNS, 300)
        seconds = watch.seconds
        stop.set()
        await task
    return RUNS / seconds


async def _raw(path: Path) -> float:
    async with noop.make(f"sqlite:///{path}") as app:
        for _ in range(0, RUNS, ENQUEUE_BATCH):
            await app.enqueue_many("noop", [{}] * ENQUEUE_BATCH)
    return await asyncio.to_thread(_drain, path)


def _drain(path: Path) -> float:
    connection = apsw.Connection(str(path))
    for pragma in ("journal_mode = WAL", "synchronous = FULL"):
        connection.execute(f"PRAGMA {pragma}")
    watch = Stopwatch()
    while rows := _batch(connection, SQL["claim"], (_now_us(), BATCH)):
        with connection:
            connection.executemany(SQL["complete"], [(_now_us(), row[0], row[2]) for row in rows])
    seconds = watch.seconds
    connection.close()
    return RUNS / seconds


def _batch(
    connection: apsw.Connection, sql: str, bindings: tuple[int, int]
) -> list[tuple[str, int, int, str]]:
    connection.execute("BEGIN IMMEDIATE")
    rows = list(connection.execute(sql, bindings))
    connection.execute("COMMIT")
    return rows


def _now_us() -> int:
    return time.time_ns() // 1_000
