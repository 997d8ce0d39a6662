"""SQLite: the drain, beside a bare loop on the same table."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import apsw

from benchmarks import noop
from benchmarks.report import Figure, heading
from benchmarks.timing import Stopwatch, side_by_side, until
from fencepost.stores.queries import load_queries

SQL = load_queries("benchmarks", "bare_sqlite.sql")
RUNS = 20_000
ENQUEUE_BATCH = 1_000
BATCH = noop.CONCURRENCY
TRIES = 3


async def measure(folder: Path) -> AsyncIterator[Figure]:
    """The drain of fresh databases."""
    heading(f"SQLite: drain of {RUNS:,} no-op runs, {BATCH} at a time")
    numbers = count()

    async def ours() -> float:
        return await _ours(folder / f"{next(numbers)}.db")

    async def raw() -> float:
        return await _raw(folder / f"{next(numbers)}.db")

    value, limit = await side_by_side(TRIES, ours, raw)
    good = value >= 0.3 * limit
    yield Figure("SQLite drain, one worker process", value, "runs/s", limit, "≥ 30% of raw loop", good)


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
