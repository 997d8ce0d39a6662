"""How runs in memory are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from fencepost.model.clocks import StoreTime, later, since
from fencepost.model.identifiers import Namespace, Queue, RunKey, ScheduleId
from fencepost.model.missed import MissedRange
from fencepost.model.run import Attempt, Hold, RunFilter, RunList, RunRecord, RunState
from fencepost.model.status import QueueDepth, QueueView
from fencepost.stores.memory.lanes import WAITING, Lane
from fencepost.stores.memory.part import MemoryPart

TYPICAL_OF = 20
LIMITS = Hold.LIMITED | Hold.PACED


class MemoryReading(MemoryPart):
    """The readers' part of `ports.ledger`."""

    async def get(self, namespace: Namespace, run_key: RunKey) -> RunRecord | None:
        row = self._tables.runs.get((namespace, run_key))
        return None if row is None else self._shown(row)

    async def get_many(self, namespace: Namespace, run_keys: Sequence[RunKey]) -> Mapping[RunKey, RunRecord]:
        rows = {run_key: self._tables.runs.get((namespace, run_key)) for run_key in run_keys}
        return {run_key: self._shown(row) for run_key, row in rows.items() if row is not None}

    async def attempts(self, namespace: Namespace, run_key: RunKey) -> Sequence[Attempt]:
        row = self._tables.runs.get((namespace, run_key))
        return [] if row is None else list(row.attempts)

    async def list(self, namespace: Namespace, filter: RunFilter) -> RunList:
        records = [self._shown(row) for (owner, _), row in self._tables.runs.items() if owner == namespace]
        within = [record for record in records if _is_within(record, filter)]
        within.sort(key=lambda record: (record.fire_time, record.run_key), reverse=True)
        walked = within[: filter.searched_max]
        found = [record for record in walked if _matches(record, filter)]
        if len(found) < filter.limit and len(walked) == filter.searched_max:
            return RunList(found, (walked[-1].fire_time, walked[-1].run_key))
        return RunList(found[: filter.limit])

    async def ticks(
        self,
        namespace: Namespace,
        schedule_id: ScheduleId,
        since: datetime,
        until: datetime,
        after: tuple[datetime, RunKey] | None,
        limit: int,
    ) -> Sequence[RunRecord]:
        found = [
            self._shown(row)
            for row in self._tables.runs_of(namespace, schedule_id)
            if since < row.record.fire_time <= until
            and (after is None or (row.record.fire_time, row.record.run_key) > after)
        ]
        return found[:limit]

    async def ended(
        self, namespace: Namespace, schedule_id: ScheduleId, since: datetime, until: datetime, limit: int
    ) -> Sequence[RunRecord]:
        found = [
            (row.record.finished_at, row.record.run_key, row)
            for row in self._tables.lane(namespace, schedule_id).runs.values()
            if row.record.fence and row.record.finished_at and since < row.record.finished_at <= until
        ]
        found.sort(key=lambda one: one[:2], reverse=True)
        return [self._shown(row) for *_, row in found[:limit]]

    async def missed_ranges(
        self, namespace: Namespace, schedule_id: ScheduleId, since: datetime, until: datetime
    ) -> Sequence[MissedRange]:
        ranges = [one.shown for one in self._tables.missed.get((namespace, schedule_id), [])]
        ranges.sort(key=lambda one: (one.first, one.version))
        return [one for one in ranges if one.last > since and one.first <= until]

    async def running(self, namespace: Namespace, limit: int) -> Sequence[RunRecord]:
        rows = [row for (owner, _), row in self._tables.running.items() if owner == namespace]
        rows.sort(key=lambda row: (row.alive_until, row.record.run_key))
        return [self._shown(row) for row in rows[:limit]]

    async def typical_run_s(self, namespace: Namespace, schedule_id: ScheduleId) -> float | None:
        return typical_run_s(self._tables.lane(namespace, schedule_id))

    async def forgotten_before(self) -> datetime | None:
        return self._tables.forgotten_before

    async def depth(self, namespace: Namespace) -> QueueDepth:
        now = self._tables.now()
        mine = [row.record for (owner, _), row in self._tables.runs.items() if owner == namespace]
        due = [one for one in mine if one.state in WAITING and one.run_at <= now]
        ready = [one.run_at for one in due if not one.held]
        waiting = [one.run_at for one in due if one.held in tuple(LIMITS)]
        running = sum(one.state is RunState.RUNNING for one in mine)
        ages = [since(min(some), now).total_seconds() if some else None for some in (ready, waiting)]
        return QueueDepth(len(ready), running, ages[0], len(waiting), ages[1])

    async def queues(self, namespace: Namespace) -> Sequence[QueueView]:
        now = self._tables.now()
        mine = [row.record for (owner, _), row in self._tables.runs.items() if owner == namespace]
        found: dict[Queue, list[RunRecord]] = {}
        for one in mine:
            due = one.state in WAITING and one.run_at <= now and one.held in (Hold.NONE, *LIMITS)
            if due or one.state is RunState.RUNNING:
                found.setdefault(one.queue, []).append(one)
        return [_queue_view(queue, found[queue], now) for queue in sorted(found)]

    async def tally(self, namespace: Namespace, since_s: float) -> dict[RunState, int]:
        now = self._tables.now()
        counts: dict[RunState, int] = {}
        for (owner, _), row in self._tables.runs.items():
            if owner == namespace and later(now, -since_s) <= row.record.fire_time <= now:
                state = self._shown(row).state
                counts[state] = counts.get(state, 0) + 1
        return counts


def _queue_view(queue: Queue, runs: Sequence[RunRecord], now: StoreTime) -> QueueView:
    due = [one for one in runs if one.state is not RunState.RUNNING]
    waiting = sum(bool(one.held) for one in due)
    oldest_s = since(min(one.run_at for one in due), now).total_seconds() if due else None
    return QueueView(queue, len(due) - waiting, waiting, len(runs) - len(due), oldest_s)


def typical_run_s(lane: Lane) -> float | None:
    """How long the last successes of a schedule took on average."""
    ended = [row.record for row in lane.runs.values() if row.record.state is RunState.SUCCEEDED]
    ended.sort(key=lambda one: (one.finished_at, one.run_key), reverse=True)
    spans = [one.finished_at - one.started_at for one in ended if one.finished_at and one.started_at]
    lengths_s = [span.total_seconds() for span in spans[:TYPICAL_OF]]
    return sum(lengths_s) / len(lengths_s) if lengths_s else None


def _is_within(record: RunRecord, wanted: RunFilter) -> bool:
    """Whether a run lies where it is looked for; `since` is inclusive, `until` is not."""
    return (
        (wanted.since is None or record.fire_time >= wanted.since)
        and (wanted.until is None or record.fire_time < wanted.until)
        and (wanted.after is None or (record.fire_time, record.run_key) < wanted.after)
    )


def _matches(record: RunRecord, wanted: RunFilter) -> bool:
    """Whether a run, as shown, is asked for."""
    return (
        (wanted.schedule_id is None or record.schedule_id == wanted.schedule_id)
        and (wanted.job is None or record.job == wanted.job)
        and (wanted.state is None or record.state is wanted.state)
        and (wanted.origin is None or record.origin is wanted.origin)
        and (wanted.error is None or (record.error is not None and wanted.error in record.error))
        and (wanted.backfill_id is None or record.backfill_id == wanted.backfill_id)
        and (wanted.held is None or bool(record.held) is wanted.held)
        and (wanted.text is None or wanted.text in record.run_key)
        and (wanted.worker is None or record.worker == wanted.worker)
        and (wanted.queue is None or record.queue == wanted.queue)
        and (not wanted.states or record.state in wanted.states)
    )
