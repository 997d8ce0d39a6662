"""PostgreSQL: schedules that are due at one instant, what a tick costs, how fast schedules are created."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial

import asyncpg

from benchmarks import noop
from benchmarks.contest import OURS, Ground, middle
from benchmarks.on_postgres import PLAIN, TUNED
from benchmarks.peers.measuring import PAYLOAD, Answer
from benchmarks.report import Figure, costs, heading
from fencepost import Every
from fencepost.app import schedule_spec
from fencepost.model.codec import schedule_to_text
from fencepost.stores.queries import load_queries
from fencepost.triggers import tzdata_version

SQL = load_queries("benchmarks", "bare.sql")
AT_ONCE = {1_000: 250.0, 10_000: 2_000.0, 100_000: 15_000.0}
"""How many schedules are due at one instant, and how late in milliseconds the 99th of a hundred may start."""
LARGE = 100_000
TRIES = 3
CREATION: dict[str, tuple[str, int, float | None]] = {
    "create": ("schedules created, one by one", 1_000, None),
    "create_many": ("schedules created, add_many", 10_000, 3.0),
}
"""Steps of ours that create schedules: the figure, how many, and the seconds that its goal allows."""
MEMORY_MIB = 10.0


def measure(ground: Ground, large: bool) -> Iterator[Figure]:
    """All figures of schedules, one part after the other."""
    for count, limit_ms in AT_ONCE.items():
        if count < LARGE or large:
            yield from at_one_instant(ground, count, limit_ms)
    yield from creation(ground)
    yield from planner_memory("planner's memory", partial(_filled, ground))


def at_one_instant(ground: Ground, count: int, limit_ms: float) -> Iterator[Figure]:
    """A process that plans, then one that plans and works: tuned as the drain is, and with plain defaults."""
    tries = 1 if count >= LARGE else TRIES
    heading(f"{count:,} schedules due at one instant, {tries} times in turns")
    taken = [(_ticks(ground, count, True), _ticks(ground, count, False)) for _ in range(tries)]
    name = f"{count:,} schedules at one instant"
    for number, how in enumerate((TUNED, PLAIN)):
        ticks = [one[number][1] for one in taken]
        late, all_ran = middle(ticks), all(one["ran"] == count for one in ticks)
        good = late["p99_ms"] < limit_ms and all_ran
        goal, ran = f"< {limit_ms / 1000:g} s and all run", f"{min(one['ran'] for one in ticks):,.0f} ran"
        yield Figure(f"{name}, p50, {how}", late["p50_ms"], "ms")
        yield Figure(f"{name}, p99, {how}", late["p99_ms"], "ms", goal=goal, good=good, note=ran)
        yield Figure(f"judged ticks of {count:,}, {how}", late["per_s"], "ticks/s", **costs(late))
    plan = middle([plan for both in taken for plan, _ in both])
    yield Figure(f"{name}, planned", plan["per_s"], "ticks/s", **costs(plan))


def _ticks(ground: Ground, count: int, tuned: bool) -> tuple[Answer, Answer]:
    """What planning them took, and starting them."""
    with ground.database() as url:
        OURS.take("install", ground.options(url))
        due_at = int(time.time()) + 20 + count // 2_000
        asyncio.run(clone_schedules(url, count, datetime.fromtimestamp(due_at, UTC)))
        plan = ground.take(OURS, "plan", url, count=count)
        return plan, ground.take(OURS, "schedules", url, count=count, due_at=float(due_at), tuned=tuned)


def creation(ground: Ground) -> Iterator[Figure]:
    """One line for each public way to create schedules."""
    for step, (name, count, limit_s) in CREATION.items():
        with ground.database() as url:
            OURS.take("install", ground.options(url))
            answer = ground.take(OURS, step, url, count=count, due_at=time.time() + 86_400)
        goal = f"{count:,} in < {limit_s:g} s" if limit_s else ""
        good = answer["seconds"] < limit_s if limit_s else None
        yield Figure(name, answer["per_s"], "/s", goal=goal, good=good, **costs(answer))


def planner_memory(name: str, filled: Callable[[int, int], AbstractContextManager[str]]) -> Iterator[Figure]:
    """The peak of a planner process with a thousand schedules that are due, alone and among many; `filled`
    makes a database of so many that are due, and so many others."""
    heading(f"{name} with 1,000 and with 100,000 schedules, of which 1,000 are due")
    grown: dict[int, float] = {}
    for schedules in (1_000, 100_000):
        with filled(1_000, schedules - 1_000) as url:
            grown[schedules] = _planner_mib(url)
    good = grown[100_000] - grown[1_000] < MEMORY_MIB
    yield Figure(f"{name}, 1,000 schedules", grown[1_000], "MiB")
    yield Figure(f"{name}, 100,000 schedules", grown[100_000], "MiB", goal=f"+ < {MEMORY_MIB:g}", good=good)


@contextmanager
def _filled(ground: Ground, due: int, idle: int) -> Iterator[str]:
    with ground.database() as url:
        OURS.take("install", ground.options(url))
        asyncio.run(clone_schedules(url, due, datetime.now(UTC) + timedelta(seconds=20), idle))
        yield url


async def clone_schedules(url: str, count: int, due_at: datetime, idle: int = 0) -> None:
    """Schedules by SQL, with the default policies: some that fire at this instant, and some that do not."""
    connection = await asyncpg.connect(url)
    try:
        async with noop.make(url) as app:
            store = await app.open()
            await store.jobs.register(app.settings.namespace, [app.jobs[name].spec for name in app.jobs])
        await _insert(connection, "clone-", count, Every("1d", anchor=due_at), due_at - timedelta(minutes=5))
        if idle:
            await _insert(connection, "idle-clone-", idle, Every("1d"), due_at + timedelta(hours=6))
    finally:
        await connection.close()


async def _insert(
    connection: asyncpg.Connection, name: str, count: int, trigger: Every, through: datetime
) -> None:
    spec = schedule_to_text(schedule_spec(job="noop", trigger=trigger, payload=PAYLOAD))
    rules = tzdata_version()  # Of older ones a planner would make new versions first.
    for query, values in (
        ("schedules", [spec, count]),
        ("versions", [rules]),
        ("cursors", [through, rules]),
    ):
        await connection.execute(SQL[f"clone_{query}"].replace("'clone-", f"'{name}"), *values)


def _planner_mib(url: str) -> float:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.planner_process", url],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        env=dict(os.environ),
    )
    return float(json.loads(done.stdout)["peak_mib"])
