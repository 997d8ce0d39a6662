"""Claims in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TypeAlias

from fencepost.model.claiming import (
    Appetite,
    DueTick,
    Head,
    Judge,
    Outlook,
    ScheduleFacts,
    StartedRun,
)
from fencepost.model.clocks import StoreTime, later
from fencepost.model.identifiers import Fence, Namespace, NodeId, ScheduleId
from fencepost.model.run import Claim, RunRecord, RunState
from fencepost.stores.memory.tables import WAITING, RunRow, Tables, by_fire_time
from fencepost.stores.verdicts import Rulings, rule

DUE_MAX = 1_000

Wanted: TypeAlias = Callable[[RunRow], bool]


class MemoryClaims:
    """The claiming part of `ports.ledger`."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def outlook(self, appetite: Appetite) -> Outlook:
        now = self._tables.now()
        wanted = [row.record for row in self._tables.waiting.values() if _wants(appetite, row)]
        due = [record for record in wanted if record.run_at <= now]
        future = [record.run_at for record in wanted if record.run_at > now]
        return Outlook(
            now,
            _head(record for record in due if not _is_tick(record)),
            _head(record for record in due if _is_tick(record)),
            min(future, default=None),
        )

    async def claim_direct(self, appetite: Appetite, limit: int) -> Sequence[Claim]:
        due = self._due(lambda row: _wants(appetite, row) and not _is_tick(row.record), self._tables.now())
        return [self._start(row, appetite, self._previous(row)) for row in due[:limit]]

    async def claim_ticks(self, appetite: Appetite, limit: int, judge: Judge) -> Sequence[Claim]:
        now = self._tables.now()

        def wanted(row: RunRow) -> bool:
            return _is_tick(row.record) and _wants(appetite, row)

        facts = self._facts(self._due(wanted, now), wanted, limit, now)
        rulings = rule(facts, now, limit, judge)
        self._end(rulings)
        return [
            self._start(self._tables.runs[one.namespace, one.run_key], appetite, one.previous)
            for one in rulings.starts
        ]

    async def sweep_late(self, older_than_s: float, limit: int, judge: Judge) -> int:
        now = self._tables.now()

        def wanted(row: RunRow) -> bool:
            return _is_tick(row.record)

        late = self._due(wanted, later(now, -older_than_s))
        rulings = rule(self._facts(late, wanted, limit, now), now, 0, judge)
        self._end(rulings)
        return len(rulings.ends)

    async def adopt(self, worker: NodeId, known: Sequence[Fence]) -> Sequence[Claim]:
        lost = [
            row
            for row in self._tables.running.values()
            if row.record.worker == worker and row.record.fence not in known
        ]
        return [self._claim(row, self._previous(row)) for row in lost]

    def _due(self, wanted: Wanted, by: datetime) -> list[RunRow]:
        due = [row for row in self._tables.waiting.values() if row.record.run_at <= by and wanted(row)]
        return sorted(due, key=lambda row: _urgency(row.record))

    def _end(self, rulings: Rulings) -> None:
        for ended in rulings.ends:
            row = self._tables.runs[ended.namespace, ended.end.run_key]
            self._tables.end(row, ended.end.state, ended.end.reason)

    def _facts(
        self, due: Sequence[RunRow], wanted: Wanted, limit: int, now: StoreTime
    ) -> list[ScheduleFacts]:
        schedules = dict.fromkeys((row.record.namespace, row.record.schedule_id) for row in due)
        return [
            self._facts_of(owner, schedule, wanted, now)
            for owner, schedule in list(schedules)[:limit]
            if schedule is not None
        ]

    def _facts_of(
        self, namespace: Namespace, schedule_id: ScheduleId, wanted: Wanted, now: StoreTime
    ) -> ScheduleFacts:
        lane = self._tables.lane(namespace, schedule_id)
        rows = by_fire_time(lane.open)
        due = [row for row in rows if _is_due_tick(row.record, now)]
        last = lane.last_finished
        return ScheduleFacts(
            namespace=namespace,
            schedule_id=schedule_id,
            due=tuple(self._due_tick(row.record) for row in due if wanted(row))[:DUE_MAX],
            newest_due=max(row.record.fire_time for row in due),
            unfinished=tuple(StartedRun(row.record.run_key, None) for row in rows if row.record.fence > 0),
            last_finished=None if last is None else StartedRun(last.run_key, last.finished_at),
            previous=lane.last_success,
        )

    def _due_tick(self, record: RunRecord) -> DueTick:
        version = self._tables.version_of(record)
        assert version is not None
        spec = version.spec
        return DueTick(record.run_key, record.fire_time, record.run_at, spec.overlap, spec.catch_up)

    def _previous(self, row: RunRow) -> datetime | None:
        record = row.record
        if record.schedule_id is None:
            return None
        return self._tables.lane(record.namespace, record.schedule_id).last_success

    def _start(self, row: RunRow, appetite: Appetite, previous: datetime | None) -> Claim:
        now = self._tables.now()
        row.alive_until = later(now, appetite.alive_for_s)
        self._tables.change(
            row,
            state=RunState.RUNNING,
            attempt=row.record.attempt + 1,
            fence=self._tables.next_fence(),
            worker=appetite.worker,
            started_at=now,
        )
        return self._claim(row, previous)

    def _claim(self, row: RunRow, previous: datetime | None) -> Claim:
        record = row.record
        assert record.started_at is not None
        return Claim(
            namespace=record.namespace,
            run_key=record.run_key,
            schedule_id=record.schedule_id,
            job=record.job,
            fire_time=record.fire_time,
            version=record.version,
            attempt=record.attempt,
            fence=record.fence,
            epoch=record.epoch,
            payload=self._tables.payload_of(record),
            run_at=record.run_at,
            started_at=record.started_at,
            previous=previous,
        )


def _is_tick(record: RunRecord) -> bool:
    return record.schedule_id is not None and record.fence == 0


def _is_due_tick(record: RunRecord, now: StoreTime) -> bool:
    return _is_tick(record) and record.state in WAITING and record.run_at <= now


def _wants(appetite: Appetite, row: RunRow) -> bool:
    record = row.record
    mine = record.namespace == appetite.namespace
    return mine and record.queue in appetite.queues and record.job in appetite.jobs


def _urgency(record: RunRecord) -> tuple[int, datetime, str]:
    return record.priority, record.run_at, record.run_key


def _head(records: Iterable[RunRecord]) -> Head | None:
    first = min(records, key=_urgency, default=None)
    return None if first is None else Head(first.priority, first.run_at)
