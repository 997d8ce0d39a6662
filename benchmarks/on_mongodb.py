"""MongoDB, a replica set of one node: what a user gets, beside bare loops of the driver over the same
collection, in turns."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pymongo

from benchmarks import noop
from benchmarks.contest import OURS, Contender, middle, module
from benchmarks.on_postgres import IDLE_S, IDLE_SCHEDULES, PICKUPS, TUNED
from benchmarks.on_schedules import planner_memory
from benchmarks.peers.measuring import Answer, Options
from benchmarks.report import Figure, heading
from fencepost import Every
from fencepost.model.tables import CURSORS, CURSORS_NEXT
from fencepost.stores.mongodb.documents import field_of, to_us
from tests.servers.mongodb import MongoServer

RUNS, SINGLES = 10_000, 500
TRIES = 3
SHARE = 0.4
SCHEDULES, LATE_MS = 10_000, 6_000.0
PICK_UP_MS = 15.0
DUE_IN_S = 50
"""They are created and planned before, and within the planner's horizon from the first."""
IDLE_MAX = 3.0
LOOP = Contender("bare loop", module("raw_mongodb"), "runs")

Taken = dict[tuple[str, str], Answer]


class MongoGround:
    """A private server with journal, and one database for each try."""

    def __init__(self) -> None:
        self.server = MongoServer()
        self._names = map("bench_{}".format, count())
        self._pid = int(self.server.call("serverStatus")["pid"])

    def url(self) -> str:
        """That of a database which nobody has used."""
        return self.server.url.replace("/?", f"/{next(self._names)}?")

    def options(self, url: str, **more: Any) -> Options:
        return Options(url, self._pid, **more)

    def take(self, contender: Contender, step: str, url: str, **more: Any) -> Answer:
        heading(f"{contender.name}: {step} {more.get('count', '')}")
        return contender.take(step, self.options(url, **more))

    def commands(self) -> float:
        """What clients have asked of the server so far."""
        with pymongo.MongoClient[dict[str, Any]](self.server.address, directConnection=True) as client:
            known = client.admin.command("serverStatus")["metrics"]["commands"].values()
        return float(sum(one["total"] for one in known if isinstance(one, dict)))


def measure() -> Iterator[Figure]:
    """All figures, one part after the other."""
    ground = MongoGround()
    try:
        yield from _throughput(_in_turns(ground))
        yield from _pick_up(ground)
        yield from _schedules(ground)
        yield _idle(ground)
        yield from planner_memory("MongoDB planner's memory", lambda due, idle: _filled(ground, due, idle))
    finally:
        ground.server.close()


def _in_turns(ground: MongoGround) -> Taken:
    heading(f"MongoDB: {RUNS:,} runs by each contender, {TRIES} times in turns")
    taken: dict[tuple[str, str], list[Answer]] = {}
    for _ in range(TRIES):
        for contender in (OURS, LOOP):
            for step, answer in _round(ground, contender):
                taken.setdefault((contender.name, step), []).append(answer)
    return {key: middle(answers) for key, answers in taken.items()}


def _round(ground: MongoGround, contender: Contender) -> Iterator[tuple[str, Answer]]:
    url = ground.url()
    contender.take("install", ground.options(url))
    yield "bulk", ground.take(contender, "bulk", url, count=RUNS, tuned=True)
    yield "drain", ground.take(contender, "drain", url, count=RUNS, tuned=True)
    yield "single", ground.take(contender, "single", url, count=SINGLES, tuned=True)


def _throughput(best: Taken) -> Iterator[Figure]:
    yield _share("MongoDB bulk enqueue", best, "bulk", SHARE)
    yield _share("MongoDB enqueue one by one", best, "single")
    yield _share(f"MongoDB drain, {TUNED}", best, "drain", SHARE)


def _share(name: str, best: Taken, step: str, least: float | None = None) -> Figure:
    ours, loop = best[OURS.name, step], best[LOOP.name, step]
    good = None if least is None else ours["per_s"] >= least * loop["per_s"]
    goal = "" if least is None else f"≥ {least:.0%} of the bare loop"
    beside = {LOOP.name: loop["per_s"]}
    spent = ours["client_us"], ours["server_us"]
    return Figure(name, ours["per_s"], "runs/s", beside, goal, good, "", *spent)


def _pick_up(ground: MongoGround) -> Iterator[Figure]:
    url = ground.url()
    OURS.take("install", ground.options(url))
    answer = ground.take(OURS, "pick_up", url, count=PICKUPS)
    p50 = answer["p50_ms"]
    yield Figure("MongoDB pick-up when idle, p50", p50, "ms", goal=f"< {PICK_UP_MS:g}", good=p50 < PICK_UP_MS)
    yield Figure("MongoDB pick-up when idle, p99", answer["p99_ms"], "ms")


def _schedules(ground: MongoGround) -> Iterator[Figure]:
    """All due at one instant, planned before it."""
    url, due_at = ground.url(), float(int(time.time()) + DUE_IN_S)
    OURS.take("install", ground.options(url))
    created = ground.take(OURS, "create_many", url, count=SCHEDULES, due_at=due_at)
    plan = ground.take(OURS, "plan", url, count=SCHEDULES)
    late = ground.take(OURS, "schedules", url, count=SCHEDULES, due_at=due_at, tuned=True)
    name, good = f"MongoDB {SCHEDULES:,} schedules at one instant", late["p99_ms"] < LATE_MS
    goal, ran = f"< {LATE_MS / 1000:g} s and all run", f"{late['ran']:,.0f} ran"
    yield Figure("MongoDB schedules created, add_many", created["per_s"], "/s")
    yield Figure(f"{name}, planned", plan["per_s"], "ticks/s")
    yield Figure(
        f"{name}, p99, {TUNED}",
        late["p99_ms"],
        "ms",
        goal=goal,
        good=good and late["ran"] == SCHEDULES,
        note=ran,
    )


def _idle(ground: MongoGround) -> Figure:
    """What a process that plans and works asks while nothing is due, less what the server asks itself."""
    heading(f"MongoDB: a process that plans and works, idle for {IDLE_S:g} s")
    url = ground.url()
    OURS.take("install", ground.options(url))
    before = _commands_in(ground, IDLE_S / 2) / (IDLE_S / 2)
    with OURS.process("idle_both", ground.options(url, count=IDLE_SCHEDULES)) as running:
        running.until_ready()
        time.sleep(IDLE_S / 4)
        rate = _commands_in(ground, IDLE_S) / IDLE_S - before
    goal = f"< {IDLE_MAX:g}"
    return Figure("MongoDB idle, plans and works", rate, "commands/s", goal=goal, good=rate < IDLE_MAX)


def _commands_in(ground: MongoGround, seconds: float) -> float:
    before = ground.commands()
    time.sleep(seconds)
    return ground.commands() - before


def _filled(ground: MongoGround, due: int, idle: int) -> AbstractContextManager[str]:
    """A database with schedules that are due soon, and others that are not for hours."""
    url = ground.url()
    OURS.take("install", ground.options(url))
    asyncio.run(_add(url, due, idle))
    return nullcontext(url)


async def _add(url: str, due: int, idle: int) -> None:
    """Those that are idle are looked at only when they fire, as if they had been planned before."""
    later = datetime.now(UTC) + timedelta(hours=6)
    async with noop.make(url) as app:
        store = await app.open()
        await store.jobs.register(app.settings.namespace, [job.spec for job in app.jobs.values()])
        await app.schedules.add_many((f"idle-{number}", _daily(later)) for number in range(idle))
        looks_at = dict.fromkeys(("next_fire_at", f"{field_of(CURSORS_NEXT)}.b"), to_us(later))
        with pymongo.MongoClient[dict[str, Any]](url) as client:
            client.get_default_database()[CURSORS.name].update_many({}, {"$set": looks_at})
        soon = datetime.now(UTC) + timedelta(seconds=20)
        await app.schedules.add_many((f"due-{number}", _daily(soon)) for number in range(due))


def _daily(first: datetime) -> dict[str, Any]:
    return {"job": "noop", "trigger": Every("1d", anchor=first)}
