"""What the overview shows: one namespace, read in few statements, and what of it needs a person."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence

from fencepost.core.completeness import COMPLETENESS_WINDOW_S, OPEN_AFTER_S, Completeness, completeness
from fencepost.core.fleet import Alarm
from fencepost.core.masking import masked_text
from fencepost.core.serving import Unserved, unserved_jobs, unserved_words
from fencepost.core.stuck import why_stuck
from fencepost.model.clocks import StoreTime
from fencepost.model.dataclasses import dataclass
from fencepost.model.freeze import Freeze, ScopeKind
from fencepost.model.gate import ClosedGate
from fencepost.model.identifiers import JobName
from fencepost.model.job import JobSpec
from fencepost.model.run import RunFilter, RunRecord, RunState
from fencepost.model.schedule import ScheduleFilter
from fencepost.model.views import COUNTED_MAX, Standing, TrafficBucket, shown_error
from fencepost.operations.control import Control
from fencepost.services.fleet import FleetView, look
from fencepost.services.serving import schedules_of
from fencepost.web.dashboard import links
from fencepost.web.dashboard.tell import count, span

HOUR_S = 3600.0
BUCKET_S = 60
RUNNING_MAX = 500
DEAD_SHOWN = 3
NEEDS_OF_A_KIND_MAX = 3
BACKLOG_WARNING_S = 300.0


@dataclass(frozen=True)
class Need:
    """Something that waits for a person: what, more of it, and the next step."""

    mark: str
    what: str
    more: str
    href: str
    step: str


@dataclass(frozen=True)
class House:
    """One namespace at one moment."""

    now: StoreTime
    fleet: FleetView
    standing: Standing
    traffic: Sequence[TrafficBucket]
    complete: Completeness
    target: float
    freezes: Sequence[Freeze]
    gates: Sequence[ClosedGate]
    running: Sequence[RunRecord]
    dead: Sequence[RunRecord]
    schedules: int
    jobs: Mapping[JobName, JobSpec]
    unserved: Sequence[Unserved]

    @property
    def is_new(self) -> bool:
        """Whether nobody has put anything in yet."""
        return not self.schedules and not self.complete.due and not self.standing.running

    @property
    def budget_left(self) -> float:
        return self.complete.budget_left(self.target)

    @property
    def kind(self) -> str:
        """How the gauge looks."""
        return "bad" if self.budget_left < 0 else "warn" if self.budget_left < 1 else ""


async def house(control: Control) -> House:
    """All of it. The readings do not depend on one another and are asked for together."""
    store, namespace = control.store, control.namespace
    now = await store.now()
    watched, waiting = await asyncio.gather(
        asyncio.gather(
            look(store, control.leases, control.settings.skew_warning_s, control.kept_to),
            store.ledger.news(now, 1, [namespace]),
            store.ledger.traffic(namespace, HOUR_S, BUCKET_S),
            store.ledger.tally(namespace, COMPLETENESS_WINDOW_S),
            store.schedules.count(namespace, ScheduleFilter()),
            store.ledger.overdue(namespace, COMPLETENESS_WINDOW_S, OPEN_AFTER_S),
        ),
        asyncio.gather(
            store.freezes.all(namespace),
            store.gates.closed(namespace),
            store.ledger.running(namespace, RUNNING_MAX),
            store.ledger.list(namespace, RunFilter(state=RunState.DEAD, limit=DEAD_SHOWN)),
            store.jobs.all(namespace),
        ),
    )
    fleet, news, traffic, tally, schedules, overdue = watched
    freezes, gates, running, dead, jobs = waiting
    return House(
        now=now,
        fleet=fleet,
        standing=news.standings.get(namespace, Standing()),
        traffic=traffic,
        complete=completeness(tally, overdue),
        target=control.settings.completeness_target,
        freezes=freezes,
        gates=gates,
        running=running,
        dead=dead,
        schedules=schedules,
        jobs=jobs,
        unserved=await schedules_of(store, namespace, unserved_jobs(jobs, fleet.nodes, namespace)),
    )


def needs(house: House) -> list[Need]:
    """What a person should look at, the worst first."""
    return [
        *_some(_alarms(house), "of these alarms", "/leases"),
        *_trouble(house),
        *_some(_stuck(house), "that are stuck", "/runs?state=running"),
        *_dead(house),
        *_some(_gates(house), "closed gates", "/gates"),
        *_some(_unserved(house), "schedules without a running job", "/schedules"),
        *_nobody_works(house),
        *_some(_freezes(house), "of these freezes", "/workers"),
    ]


def _alarms(house: House) -> Iterator[Need]:
    for one in house.fleet.alarms:
        yield Need("unaccounted", _alarm_words(one), "", "/leases", "See the leases")


def _alarm_words(alarm: Alarm) -> str:
    return alarm.text[:1].upper() + alarm.text[1:]


def _trouble(house: House) -> Iterator[Need]:
    if house.fleet.trouble is not None:
        yield Need("late", "The leases could not be read", house.fleet.trouble, "/leases", "See the leases")


def _stuck(house: House) -> Iterator[Need]:
    workers = frozenset(one.node.node_id for one in house.fleet.nodes if one.node.works)
    for run in house.running:
        job = house.jobs.get(run.job)
        why = why_stuck(run, workers, house.now, None, None if job is None else job.progress_deadline)
        if why is not None:
            yield Need("dead", f"{run.run_key} is stuck", why, links.run(run.run_key), "See the run")


def _dead(house: House) -> Iterator[Need]:
    number = house.standing.dead
    if number:
        last = house.dead[0] if house.dead else None
        more = (
            ""
            if last is None
            else f"the latest: {last.run_key}: {masked_text(shown_error(last.error) or last.reason or '')}"
        )
        what = "dead letter waits" if number == 1 else "dead letters wait"
        yield Need("dead", f"{count(number, COUNTED_MAX)} {what}", more, "/dead", "Look and replay")


def _gates(house: House) -> Iterator[Need]:
    for one in house.gates:
        held = f"{one.held} {'run is' if one.held == 1 else 'runs are'} held"
        more = f"{one.reason}; {held}"
        yield Need("held", f"The catch-up gate of {one.schedule_id} is closed", more, "/gates", "Decide")


def _unserved(house: House) -> Iterator[Need]:
    for one in house.unserved:
        what = f"Schedule {one.schedule_id}: {unserved_words(one.job)}"
        more = "its ticks wait for a process with this job, and are missed where none comes in time"
        yield Need("missed", what, more, links.schedule(one.schedule_id), "See the schedule")


def _nobody_works(house: House) -> Iterator[Need]:
    oldest_s = house.standing.oldest_ready_s
    if oldest_s is not None and oldest_s > BACKLOG_WARNING_S:
        workers = sum(one.node.works and not one.draining for one in house.fleet.nodes)
        what = "Nobody works" if not workers else "Work waits"
        more = f"the oldest that is ready has waited for {span(oldest_s)}; {workers} live workers"
        yield Need("ready", what, more, "/workers", "See the workers")


def _freezes(house: House) -> Iterator[Need]:
    for one in house.freezes:
        queue = one.scope.kind is ScopeKind.QUEUE
        what = f"Queue {one.scope.value} is paused" if queue else f"{str(one.scope).capitalize()} is frozen"
        if one.scope.kind not in (ScopeKind.QUEUE, ScopeKind.ALL):
            what = f"{str(one.scope.kind).capitalize()} {one.scope.value} is frozen"
        ago = span((house.now - one.since).total_seconds())
        why = f": {one.author.reason}" if one.author.reason else ""
        href = links.schedule(one.scope.value) if one.scope.kind is ScopeKind.SCHEDULE else "/workers"
        yield Need("held", what, f"by {one.author.name}, {ago} ago{why}", href, "Thaw")


def _some(found: Iterator[Need], words: str, href: str) -> list[Need]:
    """The first few of a kind, and how many more there are."""
    several = list(found)
    left = len(several) - NEEDS_OF_A_KIND_MAX
    rest = [Need("late", f"And {left} more {words}", "", href, "See all")] if left > 0 else []
    return several[:NEEDS_OF_A_KIND_MAX] + rest
