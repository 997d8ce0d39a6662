"""What boards, lists and live streams read, in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from fencepost.model.clocks import StoreTime, later, since
from fencepost.model.identifiers import JobName, Namespace, ScheduleId
from fencepost.model.run import IN_TURN, RunRecord, RunState
from fencepost.model.views import (
    COUNTED_MAX,
    Attention,
    News,
    RunMark,
    RunNews,
    Standing,
    TrafficBucket,
    bucket_start,
    every_bucket,
    percentile,
    shown_error,
)
from fencepost.stores.memory.lanes import WAITING, RunRow
from fencepost.stores.memory.lines import is_all_frozen, is_paused
from fencepost.stores.memory.part import MemoryPart


class MemoryViews(MemoryPart):
    """See `ports.views`."""

    async def strips(
        self, namespace: Namespace, schedule_ids: Sequence[ScheduleId], each: int
    ) -> Mapping[ScheduleId, Sequence[RunMark]]:
        now = self._tables.now()
        strips = {one: self._strip(namespace, one, each, now) for one in schedule_ids}
        return {schedule_id: marks for schedule_id, marks in strips.items() if marks}

    async def traffic(self, namespace: Namespace, since_s: float, bucket_s: int) -> Sequence[TrafficBucket]:
        now = self._tables.now()
        first = bucket_start(later(now, -since_s), bucket_s)
        found: dict[datetime, list[RunRecord]] = {}
        for one in self._fired(namespace, first, now):
            found.setdefault(bucket_start(one.fire_time, bucket_s), []).append(one)
        return every_bucket((_bucket(at, runs) for at, runs in found.items()), first, now, bucket_s)

    async def tally_by_job(
        self, namespace: Namespace, since_s: float
    ) -> Mapping[JobName, Mapping[RunState, int]]:
        now = self._tables.now()
        counts: dict[JobName, Counter[RunState]] = {}
        for one in self._fired(namespace, later(now, -since_s), now):
            counts.setdefault(one.job, Counter())[one.state] += 1
        return counts

    async def overdue(self, namespace: Namespace, since_s: float, late_s: float) -> int:
        now = self._tables.now()
        fired = self._fired(namespace, later(now, -since_s), now)
        if is_all_frozen(self._tables, namespace):
            return 0
        free = (one for one in fired if one.state is RunState.READY and not one.held)
        open_ = (one for one in free if not is_paused(self._tables, namespace, one.queue))
        return sum(one.run_at < later(now, -late_s) for one in open_)

    async def attention(self, namespace: Namespace, most: int) -> Attention:
        mine = [row.record for (owner, _), row in self._tables.runs.items() if owner == namespace]
        dead = sum(one.state is RunState.DEAD for one in mine)
        held = sum(bool(one.held & ~IN_TURN) for one in mine)
        gates = self._closed_gates(namespace)
        return Attention(self._tables.now(), min(dead, most), min(held, most), min(gates, most))

    async def news(self, since: StoreTime, limit: int, namespaces: Sequence[Namespace]) -> News:
        rows = [row for (owner, _), row in self._tables.runs.items() if owner in namespaces]
        told = [one for row in rows if (one := _news(row, since)) is not None]
        told.sort(key=lambda one: (one.namespace, one.run_key))
        told.sort(key=lambda one: one.at, reverse=True)
        leases = [one.since for one in self._tables.leaders.values() if one.since is not None]
        return News(
            self._tables.now(),
            tuple(told[:limit]),
            len(told) > limit,
            self._standings(namespaces),
            max(leases, default=None),
        )

    def _strip(
        self, namespace: Namespace, schedule_id: ScheduleId, each: int, now: StoreTime
    ) -> list[RunMark]:
        rows = self._tables.runs_of(namespace, schedule_id)
        fired = [self._shown(row) for row in rows if row.record.fire_time <= now]
        return [_mark(one) for one in fired[-each:]]

    def _fired(self, namespace: Namespace, first: datetime, last: datetime) -> list[RunRecord]:
        """The runs as shown with a fire time from the one to the other, both included."""
        return [
            self._shown(row)
            for (owner, _), row in self._tables.runs.items()
            if owner == namespace and first <= row.record.fire_time <= last
        ]

    def _standings(self, namespaces: Sequence[Namespace]) -> dict[Namespace, Standing]:
        runs: dict[Namespace, list[RunRecord]] = {}
        for (owner, _), row in self._tables.runs.items():
            runs.setdefault(owner, []).append(row.record)
        changed: dict[Namespace, StoreTime] = {}
        for (owner, _), kept in self._tables.schedules.items():
            at = kept.schedule.updated_at
            changed[owner] = max(at, changed.get(owner, at))
        now = self._tables.now()
        return {
            one: _standing(runs.get(one, []), self._closed_gates(one), changed.get(one), now)
            for one in namespaces
        }

    def _closed_gates(self, namespace: Namespace) -> int:
        gates = self._tables.gates.items()
        return sum(owner[0] == namespace and gate.closed_at is not None for owner, gate in gates)


def _mark(run: RunRecord) -> RunMark:
    took_s = None
    if run.started_at is not None and run.finished_at is not None:
        took_s = (run.finished_at - run.started_at).total_seconds()
    return RunMark(run.run_key, run.fire_time, run.state, run.origin, run.late_s, took_s, run.attempt)


def _bucket(at: datetime, runs: Iterable[RunRecord]) -> TrafficBucket:
    counts = Counter(one.state for one in runs)
    late = sorted(s for one in runs if (s := one.late_s) is not None)
    return TrafficBucket(at, counts, percentile(late, 0.5), percentile(late, 0.95), percentile(late, 1.0))


def _news(row: RunRow, since: StoreTime) -> RunNews | None:
    run = row.record
    at = _happened_at(row)
    if at is None or at <= since or row.stripped:
        return None
    return RunNews(
        namespace=run.namespace,
        run_key=run.run_key,
        schedule_id=run.schedule_id,
        job=run.job,
        state=run.state,
        origin=run.origin,
        fire_time=run.fire_time,
        run_at=run.run_at,
        started_at=run.started_at,
        finished_at=run.finished_at,
        attempt=run.attempt,
        fence=run.fence,
        worker=run.worker,
        error=shown_error(run.error),
        at=at,
    )


def _happened_at(row: RunRow) -> StoreTime | None:
    run = row.record
    if run.state is RunState.RUNNING:
        return run.started_at
    if run.state is RunState.READY:
        failed = [one.finished_at for one in row.attempts if one.attempt == run.attempt]
        return failed[-1] if failed else None
    return run.finished_at


def _standing(
    runs: Sequence[RunRecord], gates: int, schedules_at: StoreTime | None, now: StoreTime
) -> Standing:
    due = [one.run_at for one in runs if one.state in WAITING and not one.held and one.run_at <= now]
    return Standing(
        ready=min(len(due), COUNTED_MAX),
        running=min(sum(one.state is RunState.RUNNING for one in runs), COUNTED_MAX),
        dead=min(sum(one.state is RunState.DEAD for one in runs), COUNTED_MAX),
        held=min(sum(bool(one.held) for one in runs), COUNTED_MAX),
        gates=min(gates, COUNTED_MAX),
        oldest_ready_s=since(min(due), now).total_seconds() if due else None,
        schedules_at=schedules_at,
    )
