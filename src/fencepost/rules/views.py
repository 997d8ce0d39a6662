"""What boards, lists and live streams read: work that waits or runs, and what happened lately."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from fencepost.model.clocks import StoreTime, later, since
from fencepost.model.freeze import ScopeKind
from fencepost.model.identifiers import JobName, Namespace, Queue, ScheduleId
from fencepost.model.missed import MissedRange
from fencepost.model.run import RunState, lateness_s, took_s
from fencepost.model.status import QueueDepth, QueueView, depth_of
from fencepost.model.table import Range, Ranges, Row
from fencepost.model.tables import (
    ATTEMPTS,
    ATTEMPTS_BY_TIME,
    EPOCHS,
    GATES_CLOSED,
    MISSED_RANGES,
    MISSED_RANGES_BY_TIME,
    RUNS,
    RUNS_BY_SCHEDULE,
    RUNS_BY_TIME,
    RUNS_DEAD,
    RUNS_DUE_DIRECT,
    RUNS_DUE_TICKS,
    RUNS_ENDED,
    RUNS_HELD,
    RUNS_HELD_BACK,
    RUNS_LIMITED,
    RUNS_LINED,
    RUNS_RUNNING,
    SCHEDULES_BY_CHANGE,
    VERSIONS,
)
from fencepost.model.views import (
    COUNTED_MAX,
    Attention,
    News,
    RunMark,
    RunNews,
    ScheduleOutcomes,
    Standing,
    TrafficBucket,
    bucket_start,
    every_bucket,
    outcomes_of,
    percentile,
    shown_error,
)
from fencepost.ports.rows import Transaction
from fencepost.rules.freezes import EVERYTHING, frozen_scopes
from fencepost.rules.part import Part, groups, reads, search
from fencepost.rules.rows import Row as AnyRow
from fencepost.rules.rows import reader, to_missed_range
from fencepost.rules.runs import as_seen

to_run_news = reader(RunNews)
"""What happened lately to a run, and `at`; `error` is cut already."""
to_standing = reader(Standing)
_to_mark = reader(RunMark)
MISSED_RANGES_MAX = 200
"""How many of a schedule a view looks at."""


class ViewRules(Part):
    """See `ports.views`."""

    async def depth(self, namespace: Namespace) -> QueueDepth:
        return depth_of(await self.queues(namespace))

    @reads
    async def queues(self, tx: Transaction, namespace: Namespace) -> Sequence[QueueView]:
        now = await tx.now()
        lanes = await due_lanes(tx, namespace)
        counts = await tx.count([lane.through(now) for lane in lanes])
        oldest = await first_runs(tx, lanes, now)
        waiting = [*await tx.find(RUNS_LIMITED(namespace)), *await tx.find(RUNS_LINED(namespace))]
        running = [run for run in await tx.find(RUNS_RUNNING()) if run["namespace"] == namespace]
        ready = {Queue(run["queue"]): 0 for run in (*oldest, *waiting, *running)}
        for lane, count in zip(lanes, counts, strict=True):
            if count:
                ready[Queue(lane.equal[1])] += count
        return [
            QueueView(
                queue,
                ready[queue],
                len(_of(waiting, queue)),
                len(_of(running, queue)),
                _age_s(_of(oldest, queue), now),
                _age_s(_of(waiting, queue), now),
            )
            for queue in sorted(ready)
        ]

    @reads
    async def strips(
        self, tx: Transaction, namespace: Namespace, schedule_ids: Sequence[ScheduleId], each: int
    ) -> Mapping[ScheduleId, Sequence[RunMark]]:
        now = await tx.now()
        wanted = ((namespace, schedule_id) for schedule_id in dict.fromkeys(schedule_ids))
        fired = RUNS_BY_SCHEDULE.each(wanted).through(now)
        found: dict[ScheduleId, list[RunMark]] = {}
        for run in reversed(await tx.find(fired, limit=each, reverse=True)):
            found.setdefault(run["schedule_id"], []).append(_mark(as_seen(run, now)))
        return found

    async def outcomes(
        self,
        namespace: Namespace,
        schedule_ids: Sequence[ScheduleId],
        edges: Sequence[datetime],
        each: int,
        late_s: float,
    ) -> Mapping[ScheduleId, ScheduleOutcomes]:
        ids = list(dict.fromkeys(schedule_ids))
        found = dict(await self.outcomes_of_runs(namespace, ids, edges, each, late_s))
        for schedule_id, ranges in (await self._missed_between(namespace, ids, edges[0], edges[-1])).items():
            known = found.get(schedule_id, ScheduleOutcomes())
            found[schedule_id] = replace(known, missed=tuple(ranges))
        return found

    @reads
    async def outcomes_of_runs(
        self,
        tx: Transaction,
        namespace: Namespace,
        schedule_ids: Sequence[ScheduleId],
        edges: Sequence[datetime],
        each: int,
        late_s: float,
    ) -> Mapping[ScheduleId, ScheduleOutcomes]:
        """The ticks that have rows."""
        now = await tx.now()
        fired = RUNS_BY_SCHEDULE.each((namespace, one) for one in schedule_ids)
        between = Ranges(RUNS, tuple(one.since(edges[0]).before(edges[-1]) for one in fired.ranges))
        runs: dict[ScheduleId, list[Row]] = {}
        for run in await tx.find(between, limit=each, reverse=True):
            runs.setdefault(run["schedule_id"], []).append(as_seen(run, now))
        return {one: outcomes_of(found, edges, each, late_s) for one, found in runs.items()}

    @reads
    async def _missed_between(
        self,
        tx: Transaction,
        namespace: Namespace,
        schedule_ids: Sequence[ScheduleId],
        since: datetime,
        until: datetime,
    ) -> Mapping[ScheduleId, Sequence[MissedRange]]:
        """Of each schedule the ranges of its latest versions."""
        wanted = MISSED_RANGES.each((namespace, one) for one in schedule_ids)
        found: dict[ScheduleId, list[MissedRange]] = {}
        for row in reversed(await tx.find(wanted, limit=MISSED_RANGES_MAX, reverse=True)):
            if row["last_at"] >= since and row["first_at"] < until:
                found.setdefault(row["schedule_id"], []).append(to_missed_range(row))
        return found

    @reads
    async def traffic(
        self, tx: Transaction, namespace: Namespace, since_s: float, bucket_s: int
    ) -> Sequence[TrafficBucket]:
        now = await tx.now()
        first = bucket_start(later(now, -since_s), bucket_s)
        return traffic_of(await _fired(tx, namespace, first, now), first, now, bucket_s)

    async def tally_by_job(
        self, namespace: Namespace, since_s: float
    ) -> Mapping[JobName, Mapping[RunState, int]]:
        runs = await self.runs_by_job(namespace, since_s)
        counts = {job: Counter(of_job) for job, of_job in runs.items()}
        for job, ticks in (await self._missed_by_job(namespace, since_s)).items():
            counts.setdefault(job, Counter())[RunState.MISSED] += ticks
        return counts

    @reads
    async def _missed_by_job(
        self, tx: Transaction, namespace: Namespace, since_s: float
    ) -> Mapping[JobName, int]:
        """Ticks that are counted in ranges; of a range that began earlier a share, as if they were even."""
        first = later(await tx.now(), -since_s)
        ranges = await tx.find(MISSED_RANGES_BY_TIME(namespace).since(first))
        keys = {(namespace, one["schedule_id"], one["version"]) for one in ranges}
        versions = await tx.find(VERSIONS.among(sorted(keys))) if keys else []
        jobs = {VERSIONS.key_of(row): row["job"] for row in versions}
        counts: Counter[JobName] = Counter()
        for one in ranges:
            job = jobs.get((namespace, one["schedule_id"], one["version"]))
            if job is not None:
                counts[job] += ticks_since(one["first_at"], one["last_at"], one["ticks"], first)
        return counts

    @reads
    async def runs_by_job(
        self, tx: Transaction, namespace: Namespace, since_s: float
    ) -> Mapping[JobName, Mapping[RunState, int]]:
        """The runs that have rows."""
        now = await tx.now()
        counts: dict[JobName, Counter[RunState]] = {}
        for run in await _fired(tx, namespace, later(now, -since_s), now):
            counts.setdefault(run["job"], Counter())[run["state"]] += 1
        return counts

    async def tally(self, namespace: Namespace, since_s: float) -> dict[RunState, int]:
        counts: Counter[RunState] = Counter()
        for of_job in (await self.tally_by_job(namespace, since_s)).values():
            counts.update(of_job)
        return dict(counts)

    @reads
    async def overdue(self, tx: Transaction, namespace: Namespace, since_s: float, late_s: float) -> int:
        now, scopes = await tx.now(), await frozen_scopes(tx, namespace)
        if EVERYTHING in scopes:
            return 0
        late, first = later(now, -late_s), later(now, -since_s)
        lanes = await due_lanes(tx, namespace)
        open_ = [lane for lane in lanes if (ScopeKind.QUEUE.value, lane.equal[1]) not in scopes]
        found = [await search(tx, lane.before(late), lambda run: run["fire_time"] >= first) for lane in open_]
        return sum(map(len, found))

    @reads
    async def attention(self, tx: Transaction, namespace: Namespace, most: int) -> Attention:
        wanted = RUNS_DEAD(namespace), RUNS_HELD_BACK(namespace), GATES_CLOSED(namespace)
        counts = await tx.count(wanted, limit=most)
        return Attention(await tx.now(), *counts)

    @reads
    async def news(
        self, tx: Transaction, since: StoreTime, limit: int, namespaces: Sequence[Namespace]
    ) -> News:
        running = await tx.find(RUNS_RUNNING())
        told = await _told(tx, since, frozenset(namespaces), limit + 1, running)
        told.sort(key=lambda one: (one.namespace, one.run_key))
        told.sort(key=lambda one: one.at, reverse=True)
        leaders = await tx.find(EPOCHS.all())
        changed = [row["since"] for row in leaders if row["since"] is not None]
        begun = Counter(run["namespace"] for run in running)
        standings = {one: await _standing(tx, one, begun[one]) for one in namespaces}
        more = len(told) > limit
        return News(await tx.now(), tuple(told[:limit]), more, standings, max(changed, default=None))


def ticks_since(first: datetime, last: datetime, ticks: int, moment: datetime) -> int:
    """How many of `ticks` even ticks from the first to the last fired at or after a moment."""
    if first >= moment:
        return ticks
    return 1 + round((ticks - 1) * ((last - moment) / (last - first))) if last > moment else 1


async def _fired(tx: Transaction, namespace: Namespace, first: datetime, last: StoreTime) -> list[Row]:
    """The runs as seen with a fire time from the one to the other, both included."""
    runs = await tx.find(RUNS_BY_TIME(namespace).since(first).through(last))
    return [as_seen(run, last) for run in runs]


async def _told(
    tx: Transaction, since: StoreTime, namespaces: frozenset[str], most: int, running: Sequence[Row]
) -> list[RunNews]:
    """What began, failed for now or ended since then: of those that ended at least the `most` latest."""

    def is_asked_for(row: Row) -> bool:
        return row["namespace"] in namespaces

    ended = await search(tx, RUNS_ENDED().after(since), is_asked_for, most, reverse=True)
    if len(ended) == most:
        last = ended[-1]["finished_at"]
        ended = [run for run in ended if run["finished_at"] > last]
        ended += await search(tx, RUNS_ENDED(last), is_asked_for, most)
    begun = [run for run in running if run["started_at"] > since]
    failed = await search(tx, ATTEMPTS_BY_TIME().after(since), is_asked_for)
    ends = {ATTEMPTS.key_of(one): one["finished_at"] for one in failed}
    waiting = await tx.find(RUNS.among(sorted({RUNS.key_of(one) for one in failed})))
    news = [(run, run["finished_at"]) for run in ended]
    news += [(run, run["started_at"]) for run in begun if is_asked_for(run)]
    news += [
        (run, ends[key])
        for run in waiting
        if run["state"] == RunState.READY and (key := ATTEMPTS.key_of(run)) in ends
    ]
    return [to_run_news({**run, "error": shown_error(run["error"]), "at": at}) for run, at in news]


async def _standing(tx: Transaction, namespace: Namespace, running: int) -> Standing:
    now = await tx.now()
    lanes = await due_lanes(tx, namespace)
    oldest = [run["run_at"] for run in await first_runs(tx, lanes, now)]
    ready = sum(await tx.count([lane.through(now) for lane in lanes], limit=COUNTED_MAX))
    waiting = RUNS_DEAD(namespace), RUNS_HELD(namespace), GATES_CLOSED(namespace)
    dead, held, gates = await tx.count(waiting, limit=COUNTED_MAX)
    last = await tx.find(SCHEDULES_BY_CHANGE(namespace), limit=1, reverse=True)
    return Standing(
        ready=min(ready, COUNTED_MAX),
        running=min(running, COUNTED_MAX),
        dead=dead,
        held=held,
        gates=gates,
        oldest_ready_s=since(min(oldest), now).total_seconds() if oldest else None,
        schedules_at=last[0]["updated_at"] if last else None,
    )


def _mark(run: Row) -> RunMark:
    late_s = lateness_s(run["due_at"], run["run_at"], run["first_started_at"])
    return _to_mark({**run, "late_s": late_s, "took_s": took_s(run["started_at"], run["finished_at"])})


def traffic_of(
    runs: Iterable[AnyRow], first: datetime, last: StoreTime, bucket_s: int
) -> Sequence[TrafficBucket]:
    """What fired from `first` to `last`; a run has `fire_time`, `state` as it is shown, `run_at`, `due_at`
    and `first_started_at`."""
    found: dict[datetime, list[AnyRow]] = {}
    for run in runs:
        found.setdefault(bucket_start(run["fire_time"], bucket_s), []).append(run)
    return every_bucket((_bucket(at, some) for at, some in found.items()), first, last, bucket_s)


def _bucket(at: datetime, runs: Sequence[AnyRow]) -> TrafficBucket:
    counts = Counter(RunState(run["state"]) for run in runs)
    late = _ascending(lateness_s(run["due_at"], run["run_at"], run["first_started_at"]) for run in runs)
    took = _ascending(took_s(run["started_at"], run["finished_at"]) for run in runs)
    parts = [percentile(values, part) for values in (late, took) for part in (0.5, 0.95, 1.0)]
    return TrafficBucket(at, counts, *parts)


def _ascending(values: Iterable[float | None]) -> list[float]:
    return sorted(one for one in values if one is not None)


async def due_lanes(tx: Transaction, namespace: Namespace) -> list[Range]:
    """The runs that nothing holds, due or not: a range for each queue and priority."""
    indexes = RUNS_DUE_DIRECT, RUNS_DUE_TICKS
    return [index(namespace, *lane) for index in indexes for lane in await groups(tx, index(namespace), 2)]


async def first_runs(tx: Transaction, lanes: Sequence[Range], now: StoreTime) -> list[Row]:
    """The first run of each of these lanes that is due."""
    return await tx.find(Ranges(RUNS, tuple(lanes)).through(now), limit=1) if lanes else []


def _of(runs: Sequence[Row], queue: Queue) -> list[Row]:
    return [run for run in runs if run["queue"] == queue]


def _age_s(runs: Sequence[Row], now: StoreTime) -> float | None:
    return since(min(run["run_at"] for run in runs), now).total_seconds() if runs else None
