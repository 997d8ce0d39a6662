"""`python -m benchmarks.accelerators`: statements of a store beside the rules that they stand for.

Every question is asked of one ledger in turns, by the store's own statement and by the rule over the same
rows; the figures are medians of wall time. A statement that is not clearly faster than its rule should go.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from fencepost.clock import SystemClock
from fencepost.core.verdict import judge
from fencepost.model.audit import LogFilter
from fencepost.model.claiming import ClaimRequest
from fencepost.model.identifiers import DEFAULT_NAMESPACE, DEFAULT_QUEUE, JobName, NodeId, RunKey, ScheduleId
from fencepost.model.job import JobSpec
from fencepost.model.node import Node, NodeReport
from fencepost.model.rescue import SweepTerms
from fencepost.model.run import Claim, NewRun, Outcome, RunFilter, RunState
from fencepost.model.schedule import DesiredSchedule, ScheduleFilter, ScheduleSpec
from fencepost.ports.store import Store
from fencepost.rules.store import RuleStore
from fencepost.stores import postgres, sqlite
from fencepost.triggers import Every
from tests.servers.postgres import PostgresServer

NS, JOB, WORKER = DEFAULT_NAMESPACE, JobName("report"), NodeId("worker-1")
SCHEDULES, ENDED, WAITING, RUNNING = 2_000, 20_000, 1_000, 100
BATCH, TURNS = 500, 15
FIRST = [ScheduleId(f"schedule-{number}") for number in range(30)]
DAY_S = 86_400.0
WANTED = ClaimRequest(WORKER, (DEFAULT_QUEUE,), (JOB,), 600.0, NS)
NODE = Node(WORKER, "host", 1, plans=False, works=True, concurrency=10)

Question = Callable[[Any], Awaitable[Any]]


def questions(running: Sequence[Claim]) -> dict[str, Question]:
    """By the part of the store and the verb."""
    ended, steps, tickets = RunKey("report#1"), count(), [one.ticket for one in running]
    return {
        "ledger.get": lambda one: one.ledger.get(NS, ended),
        "ledger.list": lambda one: one.ledger.list(NS, RunFilter()),
        "ledger.list, waiting": lambda one: one.ledger.list(NS, RunFilter(state=RunState.READY)),
        "ledger.list, dead": lambda one: one.ledger.list(NS, RunFilter(state=RunState.DEAD)),
        "ledger.list, of a job": lambda one: one.ledger.list(NS, RunFilter(job=JobName("no-such"))),
        "ledger.list, of a text": lambda one: one.ledger.list(NS, RunFilter(text="#19999")),
        "ledger.list, of a schedule": lambda one: one.ledger.list(NS, RunFilter(ScheduleId("schedule-7"))),
        "ledger.queues": lambda one: one.ledger.queues(NS),
        "ledger.traffic": lambda one: one.ledger.traffic(NS, DAY_S, 3_600),
        "ledger.outcomes": lambda one: one.ledger.outcomes(NS, FIRST, _last_day(), 1_440, 10.0),
        "ledger.tally_by_job": lambda one: one.ledger.tally_by_job(NS, DAY_S),
        "ledger.overdue": lambda one: one.ledger.overdue(NS, DAY_S, 60.0),
        "ledger.outlook": lambda one: one.ledger.outlook(WANTED),
        "ledger.pulse": lambda one: one.ledger.pulse(tickets, 600.0),
        "ledger.expired": lambda one: one.ledger.expired(100, SweepTerms(3_600.0, 60.0)),
        "ledger.unpark": lambda one: one.ledger.unpark(100),
        "ledger.forget": lambda one: one.ledger.forget(DAY_S, 1_000),
        "ledger.sweep_late": lambda one: one.ledger.sweep_late(60.0, 100, judge),
        "plans.window": lambda one: one.plans.window(range(8), 60.0, 500),
        "schedules.find": lambda one: one.schedules.find(NS, ScheduleFilter()),
        "schedules.find, a text": lambda one: one.schedules.find(NS, ScheduleFilter(text="-1999")),
        "schedules.count": lambda one: one.schedules.count(NS, ScheduleFilter()),
        "schedules.labels": lambda one: one.schedules.labels(NS, 100),
        "steps.record": lambda one: one.steps.record(tickets[0], f"step-{next(steps)}", "1"),
        "nodes.beat": lambda one: one.nodes.beat(NODE, NodeReport(), 30.0),
        "nodes.live": lambda one: one.nodes.live(),
        "audit_log.list": lambda one: one.audit_log.list(NS, LogFilter(limit=50)),
    }


def _last_day() -> list[datetime]:
    """The edges of its half hours."""
    now = datetime.now(UTC)
    return [now - timedelta(minutes=30 * step) for step in range(48, -1, -1)]


async def fill(store: Store) -> Sequence[Claim]:
    """The ledger that is asked; returns what runs in it."""
    await store.jobs.register(NS, [JobSpec(JOB)])
    spec = ScheduleSpec(JOB, trigger=Every("1h").to_json(), labels={"team": "billing"})
    wanted = [DesiredSchedule(ScheduleId(f"schedule-{number}"), spec) for number in range(SCHEDULES)]
    for start in range(0, SCHEDULES, BATCH):
        await store.schedules.put_many(NS, wanted[start : start + BATCH], tzdata="2026a")
    keys = map("report#{}".format, count())
    for _ in range(0, ENDED, BATCH):
        await _enqueue(store, keys, BATCH)
        claims = await store.ledger.claim_direct(WANTED, BATCH)
        await store.ledger.finish([Outcome(one.ticket, RunState.SUCCEEDED) for one in claims])
    await _enqueue(store, keys, WAITING + RUNNING)
    return await store.ledger.claim_direct(WANTED, RUNNING)


async def _enqueue(store: Store, keys: Any, number: int) -> None:
    runs = [NewRun(RunKey(next(keys)), JOB, {"number": 1}, DEFAULT_QUEUE, 2) for _ in range(number)]
    await store.ledger.enqueue(NS, runs)


async def compare(store: RuleStore) -> None:
    """Print each question with both times."""
    running = await fill(store)  # type: ignore[arg-type]
    rules = RuleStore(store.rows)
    for name, ask in questions(running).items():
        taken_s: dict[object, list[float]] = {store: [], rules: []}
        for _ in range(TURNS):
            for one, taken in taken_s.items():
                before = time.perf_counter()
                await ask(one)
                taken.append(time.perf_counter() - before)
        own_ms, rule_ms = (statistics.median(taken) * 1e3 for taken in taken_s.values())
        print(
            f"{name:26} {own_ms:9.2f} ms   by the rule {rule_ms:9.2f} ms   {rule_ms / own_ms:6.1f} x",
            flush=True,
        )


@asynccontextmanager
async def on_sqlite() -> AsyncIterator[RuleStore]:
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'fencepost.db'}"
        store = await sqlite.open_store(url, clock=SystemClock(), shards=8)
        yield store
        await store.close()


@asynccontextmanager
async def on_postgres() -> AsyncIterator[RuleStore]:
    server = PostgresServer(durable=True)
    try:
        store = await postgres.open_store(server.create_database(), clock=SystemClock())
        yield store
        await store.close()
    finally:
        server.close()


async def main() -> None:
    """SQLite, then PostgreSQL."""
    for name, opened in (("SQLite", on_sqlite), ("PostgreSQL", on_postgres)):
        print(f"\n{name}: {SCHEDULES} schedules, {ENDED} runs that ended, {WAITING} due, {RUNNING} running")
        async with opened() as store:
            await compare(store)


if __name__ == "__main__":
    asyncio.run(main())
