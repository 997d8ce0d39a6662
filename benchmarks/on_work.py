"""Kinds of work beside each other: a core that a child process keeps busy, and many runs in one worker."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from itertools import pairwise

import asyncpg

from benchmarks import work_functions
from benchmarks.report import Figure, heading, median, percentile
from benchmarks.timing import until
from fencepost import Fencepost
from fencepost.clock import SystemClock
from fencepost.operations import runs as run_operations
from fencepost.stores.queries import load_queries

SQL = load_queries("benchmarks", "bare.sql")
PICKUPS = 300
WARM_UPS = 10
TRIES = 2
BEAT_S = 0.5
LOOK_S = 0.01
BUSY_S = 3_600.0
P99_MS_MAX = 100.0
MEMORY_MIB_MAX = 300.0


async def measure(url: str) -> AsyncIterator[Figure]:
    """All figures, one after the other, on one database."""
    for figure in await pick_up(url):
        yield figure
    heading("1,000 async runs at once in one worker")
    yield await asyncio.to_thread(connection_limit, url)


async def pick_up(url: str) -> list[Figure]:
    """In turns with and without the busy child, so that noise hits both."""
    heading(f"pick-up of {PICKUPS} small runs, beside nothing and beside a busy child process, {TRIES} times")
    alone: list[float] = []
    beside: list[float] = []
    gaps: list[float] = []
    for _ in range(TRIES):
        async with _worker(url) as bench:
            alone += await bench.pick_ups()
        async with _worker(url) as bench, bench.busy(gaps):
            beside += await bench.pick_ups()
    p99, raw = percentile(beside, 0.99), percentile(alone, 0.99)
    goal = f"< {P99_MS_MAX:g}"
    return [
        Figure("pick-up, p50", median(alone), "ms"),
        Figure("pick-up, p99", raw, "ms"),
        Figure("pick-up beside a busy process, p50", median(beside), "ms", {"alone": median(alone)}),
        Figure("pick-up beside a busy process, p99", p99, "ms", {"alone": raw}, goal, p99 < P99_MS_MAX),
        Figure(f"heartbeats every {BEAT_S * 1000:g} ms beside it, p50", median(gaps), "ms"),
        Figure("the longest silence", max(gaps), "ms", goal="< 2 beats", good=max(gaps) < 2_000 * BEAT_S),
    ]


class Bench:
    """One worker in this process, as a program of one's own would have it."""

    def __init__(self, app: Fencepost, url: str) -> None:
        self.app = app
        self._url = url
        self._clock = SystemClock()
        self._begun: list[float] = []
        self._arrived = asyncio.Event()
        app.job("burn", executor="process")(work_functions.burn)

        @app.job()
        async def mark() -> None:
            self._begun.append(self._clock.monotonic())
            self._arrived.set()

    async def pick_ups(self) -> list[float]:
        """From before the enqueue to inside the job, in milliseconds, one after the other."""
        return [await self._pick_up() for _ in range(WARM_UPS + PICKUPS)][WARM_UPS:]

    async def _pick_up(self) -> float:
        await asyncio.sleep(0.01)
        self._arrived.clear()
        sent = self._clock.monotonic()
        await self.app.enqueue("mark")
        await asyncio.wait_for(self._arrived.wait(), 60)
        return (self._begun[-1] - sent) * 1000

    @asynccontextmanager
    async def busy(self, gaps: list[float]) -> AsyncIterator[None]:
        """While a child burns a core, whose heartbeats are looked at in the ledger."""
        run_key = await self.app.enqueue("burn", seconds=BUSY_S)
        beats: list[datetime] = []
        watching = asyncio.create_task(self._watch(run_key, beats))
        try:
            await until(lambda: len(beats) > 1, 60)
            yield
        finally:
            watching.cancel()
            await asyncio.wait({watching})
            await run_operations.cancel(await self.app.control(), run_key, "the measurement is over")
        gaps += [(after - before).total_seconds() * 1000 for before, after in pairwise(beats)]

    async def _watch(self, run_key: str, beats: list[datetime]) -> None:
        """Every time to which its life was extended: what two of them are apart, two heartbeats were."""
        connection = await asyncpg.connect(self._url)
        try:
            while True:
                until_when = await connection.fetchval(SQL["alive_until"], run_key)
                if until_when is not None and (not beats or until_when > beats[-1]):
                    beats.append(until_when)
                await asyncio.sleep(LOOK_S)
        finally:
            await connection.close()


@asynccontextmanager
async def _worker(url: str) -> AsyncIterator[Bench]:
    app = Fencepost(url, processes=1, heartbeat_every_s=BEAT_S, grace_s=1.0)
    bench = Bench(app, url)
    async with app, app.running(plans=False):
        yield bench


def connection_limit(url: str) -> Figure:
    """The peak of a process of its own, from its start to when all of them have ended."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.connection_limit_process", url],
        capture_output=True,
        text=True,
        check=True,
        timeout=400,
        env=dict(os.environ),
    )
    peak = float(json.loads(done.stdout)["peak_mib"])
    goal = f"< {MEMORY_MIB_MAX:g}"
    return Figure("1,000 async runs at once, peak", peak, "MiB", goal=goal, good=peak < MEMORY_MIB_MAX)
