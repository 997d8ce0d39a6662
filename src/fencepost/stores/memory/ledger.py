"""The ledger in memory: what workers and the house do."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import islice

from fencepost.model.clocks import StoreTime, later, since
from fencepost.model.rescue import Expired, Rescue, Sweep, SweepTerms
from fencepost.model.run import (
    STOPPED_ON_REQUEST,
    Origin,
    Outcome,
    ProgressReport,
    Pulse,
    Receipt,
    RunRecord,
    RunState,
    Ticket,
)
from fencepost.model.schedule import ScheduleState
from fencepost.ports.signals import Topic
from fencepost.stores.memory.claims import MemoryClaims
from fencepost.stores.memory.desk import MemoryDesk
from fencepost.stores.memory.lanes import RunRow
from fencepost.stores.memory.reading import MemoryReading
from fencepost.stores.memory.views import MemoryViews
from fencepost.stores.memory.writing import keep_attempt


class MemoryLedger(MemoryClaims, MemoryDesk, MemoryReading, MemoryViews):
    """See `ports.ledger`."""

    async def pulse(self, tickets: Sequence[Ticket], alive_for_s: float) -> Sequence[Pulse]:
        return [self._pulse(ticket, alive_for_s) for ticket in tickets]

    async def report_progress(self, words: Sequence[ProgressReport]) -> Sequence[bool]:
        return [self._report_progress(one) for one in words]

    async def finish(self, outcomes: Sequence[Outcome]) -> Sequence[Receipt]:
        owned = [self._owned(outcome.ticket) for outcome in outcomes]
        receipts = [self._finish(outcome) for outcome in outcomes]
        self._ring(row for row in owned if row is not None and row.record.finished_at is not None)
        if any(outcome.retry_in_s is not None for outcome in outcomes):
            self._signals.hint(Topic.RUNS)
        return receipts

    async def expired(self, limit: int, terms: SweepTerms) -> Sweep:
        now = self._tables.now()
        last, self._tables.swept_at = self._tables.swept_at, now
        if last is not None and terms.are_broken(last, now):
            self._give_grace(later(now, terms.grace_s), at_most=last > now)
            return Sweep(last_s=since(last, now).total_seconds())
        return Sweep(tuple(self._silent(limit, now)))

    def _give_grace(self, until: StoreTime, at_most: bool) -> None:
        for row in self._tables.running.values():
            if at_most or row.alive_until < until:
                row.alive_until = until
        for limit in self._tables.limits.values() if at_most else ():
            limit.next_at = None

    def _silent(self, limit: int, now: StoreTime) -> Sequence[Expired]:
        rows = [row for row in self._tables.running.values() if _is_silent(row, now)]
        rows.sort(key=lambda row: (row.alive_until, row.record.run_key))
        return [
            Expired(
                ticket=_ticket(row.record),
                worker=row.record.worker,
                silent_for_s=since(row.alive_until, now).total_seconds(),
                cancel_requested=row.record.cancel_requested,
                job=self._tables.jobs.get((row.record.namespace, row.record.job)),
                spent=row.record.spent,
            )
            for row in rows[:limit]
        ]

    async def rescue(self, rescues: Sequence[Rescue]) -> Sequence[Receipt]:
        owned = [self._owned(one.ticket) for one in rescues]
        receipts = [self._rescue(one) for one in rescues]
        self._ring(row for row in owned if row is not None and row.record.finished_at is not None)
        self._signals.hint(Topic.RUNS)
        return receipts

    async def unpark(self, limit: int) -> int:
        waiting = (lane for lane in self._tables.lanes.values() if lane.parked)
        rung = sum(self._unpark(lane) for lane in list(islice(waiting, limit))) + self._ring_limits(limit)
        if rung:
            self._signals.hint(Topic.RUNS)
        return rung

    async def forget(self, older_than_s: float, limit: int) -> int:
        cutoff = StoreTime(self._tables.now() - timedelta(seconds=older_than_s))
        old = [
            row
            for row in self._tables.runs.values()
            if _is_forgettable(row, cutoff) and not self._may_be_planned(row.record)
        ]
        old.sort(key=lambda row: (row.record.finished_at, row.record.run_key))
        for row in old[:limit]:
            if row.record.schedule_id is not None:
                self._tables.drop(row)
                self._tables.forgotten_before = max(cutoff, self._tables.forgotten_before or cutoff)
            else:
                row.strip()
                self._tables.change(row, payload={}, error=None, progress=None, note=None, progress_at=None)
        return len(old[:limit])

    def _may_be_planned(self, record: RunRecord) -> bool:
        """Whether a cursor may still come by this tick, and its row is what would stop it; after a pause the
        next one can begin where the pause did."""
        if record.schedule_id is None or record.state is RunState.WITHDRAWN or _is_by_hand(record):
            return False
        schedule = self._tables.schedules[record.namespace, record.schedule_id]
        if any(one.may_plan(record.fire_time) for one in schedule.cursors):
            return True
        until = schedule.cursors[-1].until
        paused = schedule.schedule.state is ScheduleState.PAUSED
        return paused and until is not None and until < record.fire_time

    def _owned(self, ticket: Ticket) -> RunRow | None:
        row = self._tables.runs.get((ticket.namespace, ticket.run_key))
        if row is None or row.record.state is not RunState.RUNNING:
            return None
        return row if _ticket(row.record) == ticket else None

    def _pulse(self, ticket: Ticket, alive_for_s: float) -> Pulse:
        row = self._owned(ticket)
        if row is None:
            return Pulse(owned=False)
        row.alive_until = later(self._tables.now(), alive_for_s)
        return Pulse(owned=True, cancel_requested=row.record.cancel_requested)

    def _report_progress(self, report: ProgressReport) -> bool:
        row = self._owned(report.ticket)
        if row is None:
            return False
        record = row.record
        progress, note = report.progress or record.progress, report.note or record.note
        self._tables.change(row, progress=progress, note=note, progress_at=self._tables.now())
        return True

    def _finish(self, outcome: Outcome) -> Receipt:
        row = self._owned(outcome.ticket)
        if row is None:
            return self._repeated(outcome.ticket)
        self._remember(row, outcome)
        if outcome.retry_in_s is None:
            self._tables.end(row, outcome.state, outcome.reason, outcome.error)
        elif row.record.cancel_requested:
            self._tables.end(row, RunState.CANCELLED, STOPPED_ON_REQUEST, outcome.error)
        else:
            self._requeue(row, outcome.reason, outcome.error, outcome.retry_in_s)
        return Receipt.ACCEPTED

    def _repeated(self, ticket: Ticket) -> Receipt:
        row = self._tables.runs.get((ticket.namespace, ticket.run_key))
        if row is not None and _ticket(row.record) == ticket:
            return Receipt.REPEATED
        return Receipt.REFUSED

    def _remember(self, row: RunRow, outcome: Outcome) -> None:
        if outcome.error is None and outcome.output is None:
            return
        result = "failed" if outcome.retry_in_s is not None else str(outcome.state)
        keep_attempt(self._tables, row, result, outcome.error, outcome.detail, outcome.output)

    def _rescue(self, rescue: Rescue) -> Receipt:
        row = self._owned(rescue.ticket)
        if row is None or not _is_silent(row, self._tables.now()):
            return Receipt.REFUSED
        keep_attempt(self._tables, row, "lost", rescue.reason)
        self._tables.change(row, fence=self._tables.next_fence())
        if rescue.state is RunState.READY and row.record.cancel_requested:
            self._tables.end(row, RunState.CANCELLED, STOPPED_ON_REQUEST, rescue.reason)
        elif rescue.state is RunState.READY:
            self._requeue(row, rescue.reason, None, rescue.retry_in_s)
        else:
            self._tables.end(row, rescue.state, rescue.reason, rescue.reason)
        return Receipt.ACCEPTED

    def _requeue(self, row: RunRow, reason: str | None, error: str | None, delay_s: float) -> None:
        run_at = later(self._tables.now(), delay_s)
        self._tables.change(row, state=RunState.READY, reason=reason, error=error, run_at=run_at, worker=None)


def _ticket(record: RunRecord) -> Ticket:
    return Ticket(record.namespace, record.run_key, record.attempt, record.fence)


def _is_silent(row: RunRow, now: StoreTime) -> bool:
    return row.record.state is RunState.RUNNING and row.alive_until < now


def _is_by_hand(record: RunRecord) -> bool:
    """An extra tick that somebody asked for, at a moment of its own that no trigger names."""
    return record.origin is Origin.MANUAL and record.epoch == 0


def _is_forgettable(row: RunRow, cutoff: StoreTime) -> bool:
    """Ended that long ago; a tick also fired that long ago, so that it cannot be planned again."""
    record = row.record
    if record.finished_at is None or record.finished_at >= cutoff or row.stripped:
        return False
    return record.schedule_id is None or record.fire_time < cutoff
