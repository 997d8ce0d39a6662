"""Gathering what the check-up looks at: the application, its settings, and what the store shows.

Nothing is written. The schedules are those that would be in force if the application started now. For a
schedule in the code that is what the code says, unless the store has had that already: then the store's
version counts, because an operator may have edited it. All other schedules of the store that are not paused
are included. What is asked per schedule is bounded, and the facts name each bound that was met.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from datetime import datetime, timedelta
from itertools import islice, pairwise

from fencepost.clock import Clock
from fencepost.config import Settings
from fencepost.core.checkup import POINTS, Point
from fencepost.core.checkup.alerts import JOB_NAMES
from fencepost.core.checkup.facts import (
    Edge,
    Effect,
    Facts,
    FencedOff,
    JobSheet,
    LastWatch,
    LedgerSheet,
    Limits,
    Paused,
    Replayed,
    Rhythm,
    ScheduleSheet,
    Watch,
)
from fencepost.core.deployment import same_words
from fencepost.core.lifecycle import ENDED
from fencepost.errors import InvalidSpec, SearchExhausted, UsageError
from fencepost.model.audit import Action, LogFilter
from fencepost.model.caveat import Caveat
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import JobName, Namespace, RunKey, ScheduleId
from fencepost.model.json import JsonObject, canonical
from fencepost.model.node import NodeRecord
from fencepost.model.policies import OverlapKind
from fencepost.model.run import RunFilter, RunState
from fencepost.model.schedule import Schedule, ScheduleSpec, ScheduleState
from fencepost.ports.store import Store
from fencepost.services.serving import jobs_unserved
from fencepost.triggers import Combinable, bind, decode
from fencepost.triggers.preview import KEEPS_BEAT, UNTOUCHED, ChangePreview, preview
from fencepost.triggers.series import TICK

PAGE = 500
YEAR = timedelta(days=366)
TICKS_SEEN, TICKS_WITHIN = 8, timedelta(days=3 * 366)
CHANGES_MAX = 12
RHYTHMS_PREVIEWED_MAX = 2_000
LENGTHS_ASKED_MAX = 2_000
RUNS_READ_MAX = 1_000
WATCHED_WITHIN = timedelta(days=1)


@dataclass(frozen=True)
class Target:
    """The application under examination; `has_pool` is whether its store takes `pool_max` connections."""

    settings: Settings
    jobs: Mapping[JobName, JobSheet]
    schedules: Mapping[ScheduleId, ScheduleSpec]
    calendars: Mapping[str, JsonObject]
    has_pool: bool = False


async def gather(
    target: Target, store: Store | None, clock: Clock, unasked: str, points: Collection[Point] = POINTS
) -> Facts:
    """All facts that these points need; without a store, those of the code."""
    namespace, now = target.settings.namespace, clock.wall()
    skew: list[Caveat] = []
    jobs, specs, calendars = dict(target.jobs), dict(target.schedules), dict(target.calendars)
    if store is not None:
        before, now = now, await store.now()
        skew = _skew(before, now, clock.wall(), target.settings.skew_warning_s)
        known = await store.jobs.all(namespace)
        jobs = {name: _foreign(name, JobSheet(spec)) for name, spec in known.items()} | jobs
        specs = await _in_force(store, namespace, specs)
        stored = await store.calendars.all(namespace)
        calendars = {one.name: one.definition for one in stored} | calendars
    rhythms = _Rhythms(now, calendars, edges=Point.DST in points)
    sheets = [_sheet(name, spec, jobs, rhythms) for name, spec in sorted(specs.items())]
    cuts = rhythms.cuts()
    if store is not None and Point.OVERLAP in points:
        sheets, cut = await _with_lengths(store, namespace, sheets)
        cuts |= cut
    unserved = () if store is None else await jobs_unserved(store, namespace, target.jobs)
    ledger = None if store is None else await _ledger(store, namespace, jobs.values(), now, skew)
    limits = _limits(target)
    return Facts(namespace, now, limits, jobs, tuple(sheets), ledger, unasked, cuts, frozenset(unserved))


def _skew(before: datetime, store_now: datetime, after: datetime, most_s: float) -> list[Caveat]:
    """Whether this host's clock differs from the store's, which was read between two readings of this one:
    then by at least this much."""
    ahead_s, behind_s = (before - store_now).total_seconds(), (store_now - after).total_seconds()
    if max(ahead_s, behind_s) <= most_s:
        return []
    way = "ahead of" if ahead_s > 0 else "behind"
    told = f"the clock of this host is {max(ahead_s, behind_s):.3g} s {way} the store's"
    return [Caveat(told, "set the time of this host, or of the store's")]


def _limits(target: Target) -> Limits:
    settings = target.settings
    return Limits(
        retention=timedelta(seconds=settings.retention_s),
        poll=timedelta(seconds=settings.poll_s),
        rescue=timedelta(seconds=settings.heartbeat_timeout_s + settings.reap_every_s),
        concurrency=settings.concurrency,
        pool_max=settings.pool_max if target.has_pool else None,
        lease_ttl=timedelta(seconds=settings.lease_ttl_s),
    )


def _foreign(name: JobName, sheet: JobSheet) -> JobSheet:
    """A job whose code is elsewhere; only its name can tell what it watches."""
    return replace(sheet, watches=frozenset(watch for watch in Watch if JOB_NAMES[watch] == name))


async def _in_force(
    store: Store, namespace: Namespace, code: Mapping[ScheduleId, ScheduleSpec]
) -> dict[ScheduleId, ScheduleSpec]:
    specs = dict(code)
    after: ScheduleId | None = None
    while page := await store.schedules.page(namespace, after, PAGE):
        for one in page:
            own = code.get(one.schedule_id)
            if one.state is ScheduleState.ACTIVE and (own is None or _is_applied(one, own)):
                specs[one.schedule_id] = one.spec
        after = page[-1].schedule_id
    return specs


def _is_applied(schedule: Schedule, own: ScheduleSpec) -> bool:
    return schedule.code_spec is not None and same_words(schedule.code_spec, own)


def _sheet(
    schedule_id: ScheduleId, spec: ScheduleSpec, jobs: Mapping[JobName, JobSheet], rhythms: _Rhythms
) -> ScheduleSheet:
    """A schedule that cannot be read keeps no other from being checked."""
    job = jobs.get(spec.job)
    try:
        return ScheduleSheet(schedule_id, spec, job, rhythms.of(schedule_id, spec))
    except UsageError as error:
        return ScheduleSheet(schedule_id, spec, job, None, trouble=str(error))


@dataclass
class _Rhythms:
    """One rhythm for all schedules with the same trigger."""

    now: datetime
    calendars: Mapping[str, JsonObject]
    edges: bool
    _decoded: dict[str, Combinable] = field(default_factory=dict)
    _known: dict[tuple[str, str, str], Rhythm] = field(default_factory=dict)
    _previewed: int = 0

    def of(self, schedule_id: ScheduleId, spec: ScheduleSpec) -> Rhythm:
        """The rhythm of a schedule, or the refusal of its trigger."""
        text = canonical(spec.trigger)
        if text not in self._decoded:
            self._decoded[text] = decode(spec.trigger)
        trigger = self._decoded[text]
        calendars = {name: self._calendar(name, spec) for name in sorted(trigger.calendar_names())}
        key = (text, canonical(dict(calendars)), schedule_id if trigger.is_hashed() else "")
        if key not in self._known:
            self._known[key] = self._look(bind(trigger, calendars, schedule_id))
        return self._known[key]

    def cuts(self) -> dict[Point, str]:
        """The points at which the search was cut short."""
        if self._previewed <= RHYTHMS_PREVIEWED_MAX:
            return {}
        left = self._previewed - RHYTHMS_PREVIEWED_MAX
        return {Point.DST: f"{left} of {self._previewed} different triggers were not looked at"}

    def _calendar(self, name: str, spec: ScheduleSpec) -> JsonObject:
        """The days that a stored version keeps, or else those of the code or the store."""
        found = spec.calendars.get(name) or self.calendars.get(name)
        if found is None:
            raise InvalidSpec(f"calendar {name}: is not in this target, nor was a store asked for it")
        return found

    def _look(self, trigger: Combinable) -> Rhythm:
        times = _next_times(trigger, self.now)
        periods = [later - earlier for earlier, later in pairwise(times)]
        return Rhythm(
            trigger,
            period_min=min(periods, default=None),
            period_max=max(periods, default=None),
            fires=bool(times),
            edges=self._edges(trigger),
        )

    def _edges(self, trigger: Combinable) -> tuple[Edge, ...]:
        if not self.edges or trigger.zones() <= {"UTC"}:
            return ()
        self._previewed += 1
        return tuple(edges(trigger, self.now)) if self._previewed <= RHYTHMS_PREVIEWED_MAX else ()


def _next_times(trigger: Combinable, now: datetime) -> list[datetime]:
    """The next few fire times; fewer where the search for them is cut."""
    found: list[datetime] = []
    with suppress(SearchExhausted):
        found.extend(islice(trigger.fire_times(now, now + TICKS_WITHIN), TICKS_SEEN))
    return found


def edges(trigger: Combinable, now: datetime) -> list[Edge]:
    """The changes of the clocks within a year that touch the trigger, in order, as far as they were found."""
    found: list[Edge] = []
    after = now
    with suppress(SearchExhausted):
        for _ in range(CHANGES_MAX):
            changes = [one for one in preview(trigger, after) if one.at <= now + YEAR]
            if not changes:
                break
            # The preview tells of the next change of each zone; those of the next instant are looked at.
            after = changes[0].at
            found += [edge for one in changes if one.at == after for edge in _edge(trigger, one)]
    return found


NO_EFFECT = (UNTOUCHED, KEEPS_BEAT)
NEAR_NONE = "it fires neither"
EFFECTS = {
    "it does not fire for": Effect.SKIPPED,
    "stands for": Effect.SKIPPED,
    "it fires once for": Effect.SKIPPED,
    "it fires once at": Effect.MOVED,
    "it fires at both": Effect.DOUBLED,
    "it fires at the": Effect.MOVED,
}
"""By the preview's own words. Several wall times of a gap for which it fires once are ticks left out, all but
one; so is one that falls together with the tick after the gap."""


def _edge(trigger: Combinable, change: ChangePreview) -> Iterator[Edge]:
    """The preview's sentence in one word; nothing where no tick is touched."""
    told = change.sentence
    if any(words in told for words in NO_EFFECT):
        return
    if NEAR_NONE in told and not _is_missed(trigger, change):
        return
    effect = next((effect for words, effect in EFFECTS.items() if words in told), Effect.UNTOLD)
    yield Edge(effect, told)


def _is_missed(trigger: Combinable, change: ChangePreview) -> bool:
    """A combination that is silent around a gap may have lost a tick in it, if it fired at such a wall time
    in the week before."""
    if change.kind == "fold":
        return False
    days = (change.at - timedelta(days=days) for days in range(1, 8))
    return any(next(trigger.fire_times(one - TICK, one + change.length - TICK), None) for one in days)


async def _with_lengths(
    store: Store, namespace: Namespace, sheets: Sequence[ScheduleSheet]
) -> tuple[list[ScheduleSheet], dict[Point, str]]:
    """How long the runs of those schedules take where it matters, the shortest periods first."""
    asked = sorted((one for one in sheets if _may_outlast(one)), key=_period)
    seen: dict[ScheduleId, timedelta] = {}
    for one in asked[:LENGTHS_ASKED_MAX]:
        length_s = await store.ledger.typical_run_s(namespace, one.schedule_id)
        if length_s is not None:
            seen[one.schedule_id] = timedelta(seconds=length_s)
    known = [replace(one, typical_run=seen.get(one.schedule_id)) for one in sheets]
    left = len(asked) - LENGTHS_ASKED_MAX
    if left <= 0:
        return known, {}
    return known, {Point.OVERLAP: f"how long runs take was not asked for {left} schedules of long periods"}


def _may_outlast(sheet: ScheduleSheet) -> bool:
    """Not where a timeout ends every run in time, nor where the policy copes with long runs."""
    period, policy = sheet.period_min, sheet.spec.overlap
    if period is None or sheet.job is None or policy.kind in (OverlapKind.ALLOW, OverlapKind.BUFFER_ONE):
        return False
    timeout = sheet.job.spec.timeout
    return timeout is None or timeout > period


def _period(sheet: ScheduleSheet) -> timedelta:
    assert sheet.period_min is not None
    return sheet.period_min


async def _ledger(
    store: Store, namespace: Namespace, jobs: Collection[JobSheet], now: datetime, skew: Sequence[Caveat]
) -> LedgerSheet:
    dead = await store.ledger.list(namespace, RunFilter(state=RunState.DEAD, limit=1))
    runs = await store.ledger.list(namespace, RunFilter(limit=RUNS_READ_MAX))
    begun = [one for one in runs if one.attempt]
    taken = await store.ledger.taken_away(namespace)
    watched = {watch: await _last_watch(store, namespace, watch, jobs, now) for watch in Watch}
    return LedgerSheet(
        dead=dead[0].run_key if dead else None,
        replayed=await _replayed(store, namespace),
        fenced_off=None if taken is None else FencedOff(taken[1].run_key, taken[0].fence, taken[1].fence),
        runs_read=len(begun),
        caveats=(*store.caveats, *await store.examine(), *skew),
        watched={watch: last for watch, last in watched.items() if last is not None},
        paused=_paused(await store.nodes.live()),
    )


def _paused(nodes: Sequence[NodeRecord]) -> Paused | None:
    """The node that stood still for longest; None where none has."""
    longest = max(nodes, key=lambda one: one.report.stall_s, default=None)
    if longest is None or not longest.report.stall_s:
        return None
    return Paused(longest.node.node_id, timedelta(seconds=longest.report.stall_s))


async def _replayed(store: Store, namespace: Namespace) -> Replayed | None:
    entries = await store.audit_log.list(namespace, LogFilter(action=Action.RUN_REPLAY, limit=1))
    return next((Replayed(RunKey(one.subject), one.author.name, one.at) for one in entries), None)


async def _last_watch(
    store: Store, namespace: Namespace, watch: Watch, jobs: Collection[JobSheet], now: datetime
) -> LastWatch | None:
    """How the last run of a job that watches this ended, if it was within a day."""
    names = [job.spec.name for job in jobs if watch in job.watches]
    ended: list[LastWatch] = []
    for name in names:
        wanted = RunFilter(job=name, since=now - WATCHED_WITHIN, limit=RUNS_READ_MAX)
        ended += [
            LastWatch(run.run_key, run.state, run.finished_at)
            for run in await store.ledger.list(namespace, wanted)
            if run.state in ENDED and run.attempt and run.finished_at is not None
        ]
    return max(ended, key=lambda one: one.finished_at, default=None)
