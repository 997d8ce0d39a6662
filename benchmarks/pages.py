"""What pages read, from a ledger of a million runs: how long each reading takes, as a page would ask it.

Nothing that a page reads may take longer than `GOAL_MS` but in one of twenty cases; a page may read several
things. `pages_web.py` times the pages themselves.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial

from benchmarks.report import Figure, heading, median, percentile
from benchmarks.timing import Stopwatch
from fencepost.clock import SystemClock
from fencepost.model.audit import Action, LogFilter
from fencepost.model.clocks import StoreTime, later
from fencepost.model.identifiers import DEFAULT_NAMESPACE, JobName, NodeId, Queue, RunKey, ScheduleId
from fencepost.model.run import Origin, RunFilter, RunState
from fencepost.model.schedule import ScheduleFilter, ScheduleState
from fencepost.operations.control import Control
from fencepost.operations.status import StatusRequest, show_status
from fencepost.ports.store import Store
from fencepost.stores.postgres import open_store

NS = DEFAULT_NAMESPACE
TRIES = 20
GOAL_MS = 100.0
HOUR_S, DAY_S = 3_600.0, 86_400.0
Reading = Callable[[], Awaitable[object]]


async def measure(url: str) -> AsyncIterator[Figure]:
    """Time every reading."""
    heading(f"what pages read, {TRIES} times each")
    store = await open_store(url, clock=SystemClock())
    try:
        for name, reading in (await readings(store)).items():
            for figure in await timed(name, reading, GOAL_MS):
                yield figure
    finally:
        await store.close()


async def readings(store: Store) -> Mapping[str, Reading]:
    """What the pages ask, each under the name of what it shows."""
    now = await store.now()
    return {
        **run_lists(store, now),
        **await deep_pages(store),
        **schedule_lists(store),
        **await boards(store, now),
    }


def run_lists(store: Store, now: StoreTime) -> dict[str, Reading]:
    """The first page of every kind of list of runs."""
    wanted = {
        "all": RunFilter(),
        "of a schedule": RunFilter(schedule_id=ScheduleId("schedule-00003")),
        "of a daily schedule": RunFilter(schedule_id=ScheduleId("schedule-05000")),
        "of a job": RunFilter(job=JobName("job-7")),
        "of a rare job": RunFilter(job=JobName("job-nobody")),
        "dead": RunFilter(state=RunState.DEAD),
        "held": RunFilter(held=True),
        "running": RunFilter(state=RunState.RUNNING),
        "ready": RunFilter(state=RunState.READY),
        "missed": RunFilter(state=RunState.MISSED),
        "withdrawn": RunFilter(state=RunState.WITHDRAWN),
        "dead or missed": RunFilter(states=(RunState.DEAD, RunState.MISSED)),
        "of a worker": RunFilter(worker=NodeId("worker-3-abc")),
        "of a worker that never was": RunFilter(worker=NodeId("nobody")),
        "of a queue": RunFilter(queue=Queue("mail")),
        "of a queue that never was": RunFilter(queue=Queue("nothing")),
        "catch-up": RunFilter(origin=Origin.CATCH_UP),
        "backfilled": RunFilter(origin=Origin.BACKFILL),
        "of a day": RunFilter(since=later(now, -11 * DAY_S), until=later(now, -10 * DAY_S)),
        "before a month": RunFilter(until=later(now, -29.5 * DAY_S)),
        "with an error": RunFilter(state=RunState.DEAD, error="host-7"),
        "with an error that never was": RunFilter(error="nothing like it"),
        "by part of a key": RunFilter(text="schedule-05000"),
        "by the day in a key": RunFilter(text="2026"),
        "by a key that never was": RunFilter(text="nothing like it"),
    }
    return {f"runs {name}": partial(store.ledger.list, NS, one) for name, one in wanted.items()}


async def deep_pages(store: Store) -> dict[str, Reading]:
    """Pages far behind the first, one of them amid ten thousand runs of one second."""
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=3)
    herd = midnight, RunKey("schedule-07000")
    old = midnight - timedelta(days=20), RunKey("z")
    return {
        "runs, a page amid a herd": partial(store.ledger.list, NS, RunFilter(after=herd)),
        "runs, a page of long ago": partial(store.ledger.list, NS, RunFilter(after=old)),
    }


def schedule_lists(store: Store) -> dict[str, Reading]:
    """Pages of schedules and their strips."""
    wanted = {
        "all": ScheduleFilter(),
        "a later page": ScheduleFilter(after=ScheduleId("schedule-08000")),
        "by text": ScheduleFilter(text="0777"),
        "by text that never was": ScheduleFilter(text="nothing like it"),
        "paused": ScheduleFilter(state=ScheduleState.PAUSED),
        "of a job": ScheduleFilter(job=JobName("job-7")),
        "of a label": ScheduleFilter(label="team=team-7"),
        "frozen": ScheduleFilter(frozen=True),
    }
    found = {f"schedules {name}": partial(store.schedules.find, NS, one) for name, one in wanted.items()}
    counts = {
        f"schedules {name}, count": partial(store.schedules.count, NS, one) for name, one in wanted.items()
    }
    now = datetime.now(UTC)
    edges = [now - timedelta(minutes=30 * step) for step in range(48, -1, -1)]
    busy = [ScheduleId(f"schedule-{number:05}") for number in range(30)]
    page = [ScheduleId(f"schedule-{number:05}") for number in range(0, 10_000, 200)]
    return {
        **found,
        **counts,
        "labels": partial(store.schedules.labels, NS, 200),
        "strips of 50 schedules": partial(store.ledger.strips, NS, page, 30),
        "outcomes of 30 schedules": partial(store.ledger.outcomes, NS, busy, edges, 1_440, 10.0),
    }


async def boards(store: Store, now: StoreTime) -> dict[str, Reading]:
    """What the overview, a schedule, a run, the leases and the live streams read."""
    ledger, schedule = store.ledger, ScheduleId("schedule-00003")
    (run,) = await ledger.list(NS, RunFilter(schedule_id=ScheduleId("schedule-00001"), limit=1))
    span = later(now, -7 * DAY_S), now
    return {
        "traffic of an hour": partial(ledger.traffic, NS, HOUR_S, 60),
        "tally of an hour": partial(ledger.tally, NS, HOUR_S),
        "tally of a day": partial(ledger.tally, NS, DAY_S),
        "tally by job of an hour": partial(ledger.tally_by_job, NS, HOUR_S),
        "tally by job of a day": partial(ledger.tally_by_job, NS, DAY_S),
        "overdue of an hour": partial(ledger.overdue, NS, HOUR_S, 60.0),
        "news of 10 s": partial(ledger.news, later(now, -10.0), 500, [NS]),
        "news of 5 minutes": partial(ledger.news, later(now, -300.0), 500, [NS]),
        "attention": partial(ledger.attention, NS, 1_000),
        "status": partial(show_status.carry_out, Control(store, NS), StatusRequest()),
        "depth": partial(ledger.depth, NS),
        "queues": partial(ledger.queues, NS),
        "running": partial(ledger.running, NS, 200),
        "typical run": partial(ledger.typical_run_s, NS, schedule),
        "ticks of a week": partial(ledger.ticks, NS, schedule, *span, None, 1_000),
        "a run": partial(ledger.get, NS, run.run_key),
        "its attempts": partial(ledger.attempts, NS, run.run_key),
        "its log": partial(store.run_logs.tail, NS, run.run_key, limit=20),
        "history of a schedule": partial(store.schedules.history, NS, schedule),
        "audit log": partial(store.audit_log.list, NS, LogFilter()),
        "audit log of a subject": partial(store.audit_log.list, NS, LogFilter(subject=schedule)),
        "audit log of an author": partial(store.audit_log.list, NS, LogFilter(author="anna")),
        "audit log of nobody": partial(store.audit_log.list, NS, LogFilter(author="nobody")),
        "audit log of an action": partial(store.audit_log.list, NS, LogFilter(action=Action.RESHARD)),
        "closed gates": partial(store.gates.closed, NS),
        "leaders": store.epochs.all,
        "terms": partial(store.epochs.terms, None, None, 50),
        "terms of a shard": partial(store.epochs.terms, 3, None, 50),  # type: ignore[arg-type]
        "refusals": partial(store.epochs.refusals, None, 50),
        "fleet": store.nodes.live,
    }


async def timed(name: str, reading: Reading, goal_ms: float) -> list[Figure]:
    """How long it takes in the middle and at the worst but one."""
    await reading()
    spans: list[float] = []
    for _ in range(TRIES):
        watch = Stopwatch()
        await reading()
        spans.append(watch.seconds * 1000)
    p95 = percentile(spans, 0.95)
    return [
        Figure(f"{name}, p50", median(spans), "ms"),
        Figure(f"{name}, p95", p95, "ms", goal=f"≤ {goal_ms:g}", good=p95 <= goal_ms),
    ]
