"""Claims in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from fencepost.model.claiming import Appetite, Head, Judge, Outlook
from fencepost.model.clocks import later
from fencepost.model.freeze import Scope, ScopeKind
from fencepost.model.identifiers import Fence, Namespace, NodeId
from fencepost.model.run import Claim, Hold, RunRecord, RunState
from fencepost.stores.memory.carrying import MemoryVerdicts
from fencepost.stores.memory.facts import Wanted, gather
from fencepost.stores.memory.lanes import RunRow, is_tick
from fencepost.stores.verdicts import rule

_EVERYTHING = Scope(ScopeKind.ALL)


class MemoryClaims(MemoryVerdicts):
    """The claiming part of `ports.ledger`."""

    async def outlook(self, appetite: Appetite) -> Outlook:
        now = self._tables.now()
        if self._all_frozen(appetite.namespace):
            return Outlook(now, None, None, None)
        waiting = (row.record for row in self._tables.waiting.values() if row.record.held is Hold.NONE)
        wanted = [record for record in waiting if _wants(appetite, record)]
        due = [record for record in wanted if record.run_at <= now]
        future = [record.run_at for record in wanted if record.run_at > now]
        return Outlook(
            now,
            _head(record for record in due if not is_tick(record)),
            _head(record for record in due if is_tick(record)),
            min(future, default=None),
        )

    async def claim_direct(self, appetite: Appetite, limit: int) -> Sequence[Claim]:
        if self._all_frozen(appetite.namespace):
            return []

        def wanted(row: RunRow) -> bool:
            return not is_tick(row.record) and _wants(appetite, row.record)

        due = self._due(wanted, self._tables.now())
        return [self._start(row, appetite, self._previous(row)) for row in due[:limit]]

    async def claim_ticks(self, appetite: Appetite, limit: int, judge: Judge) -> Sequence[Claim]:
        if self._all_frozen(appetite.namespace):
            return []
        now = self._tables.now()

        def wanted(row: RunRow) -> bool:
            return is_tick(row.record) and _wants(appetite, row.record)

        facts = gather(self._tables, self._due(wanted, now), wanted, limit, now)
        rulings = rule(facts, now, limit, judge)
        self._carry_out(rulings)
        return [
            self._start(self._tables.runs[one.namespace, one.run_key], appetite, one.previous)
            for one in rulings.starts
        ]

    async def sweep_late(self, older_than_s: float, limit: int, judge: Judge) -> int:
        now = self._tables.now()

        def wanted(row: RunRow) -> bool:
            return is_tick(row.record)

        late = self._due(wanted, later(now, -older_than_s))
        rulings = rule(gather(self._tables, late, wanted, limit, now), now, 0, judge)
        self._carry_out(rulings)
        return len(rulings.ends) + len(rulings.admits)

    async def adopt(self, worker: NodeId, known: Sequence[Fence]) -> Sequence[Claim]:
        lost = [
            row
            for row in self._tables.running.values()
            if row.record.worker == worker and row.record.fence not in known
        ]
        return [self._claim(row, self._previous(row)) for row in lost]

    def _all_frozen(self, namespace: Namespace) -> bool:
        return (namespace, _EVERYTHING) in self._tables.freezes

    def _due(self, wanted: Wanted, by: datetime) -> list[RunRow]:
        waiting = self._tables.waiting.values()
        free = (row for row in waiting if row.record.held is Hold.NONE)
        due = [row for row in free if row.record.run_at <= by and wanted(row)]
        return sorted(due, key=lambda row: _urgency(row.record))

    def _previous(self, row: RunRow) -> datetime | None:
        record = row.record
        if record.schedule_id is None:
            return None
        return self._tables.lane(record.namespace, record.schedule_id).last_success

    def _start(self, row: RunRow, appetite: Appetite, previous: datetime | None) -> Claim:
        now, record = self._tables.now(), row.record
        row.alive_until = later(now, appetite.alive_for_s)
        self._tables.change(
            row,
            state=RunState.RUNNING,
            attempt=record.attempt + 1,
            fence=self._tables.next_fence(),
            worker=appetite.worker,
            started_at=now,
            begun_at=record.begun_at if record.fence else now,
            held=record.held & ~Hold.PARKED,
            reason=None,
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
            begun_at=record.begun_at,
            spent=record.spent,
        )


def _wants(appetite: Appetite, record: RunRecord) -> bool:
    mine = record.namespace == appetite.namespace
    return mine and record.queue in appetite.queues and record.job in appetite.jobs


def _urgency(record: RunRecord) -> tuple[int, datetime, str]:
    return record.priority, record.run_at, record.run_key


def _head(records: Iterable[RunRecord]) -> Head | None:
    first = min(records, key=_urgency, default=None)
    return None if first is None else Head(first.priority, first.run_at)
