"""The ledger in memory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from fencepost.model.clocks import StoreTime, later, since
from fencepost.model.identifiers import (
    DEFAULT_QUEUE,
    Epoch,
    Fence,
    Namespace,
    RunKey,
    ScheduleId,
    tick_key,
)
from fencepost.model.job import PRIORITY_DEFAULT
from fencepost.model.json import JsonObject
from fencepost.model.rescue import Expired, Rescue
from fencepost.model.run import (
    STOPPED_ON_REQUEST,
    Attempt,
    NewRun,
    Outcome,
    Pulse,
    Receipt,
    RunFilter,
    RunRecord,
    RunState,
    Ticket,
)
from fencepost.model.schedule import ScheduleState
from fencepost.model.status import QueueDepth
from fencepost.ports.signals import Topic
from fencepost.stores.memory.claims import MemoryClaims
from fencepost.stores.memory.reading import matches, shown
from fencepost.stores.memory.signals import MemorySignals
from fencepost.stores.memory.tables import WAITING, RunRow, Tables


class MemoryLedger(MemoryClaims):
    """See `ports.ledger`."""

    def __init__(self, tables: Tables, signals: MemorySignals) -> None:
        super().__init__(tables)
        self._signals = signals

    async def enqueue(self, namespace: Namespace, runs: Sequence[NewRun]) -> Sequence[bool]:
        fresh = [self._enqueue(namespace, run) for run in runs]
        if any(fresh):
            self._signals.hint(Topic.RUNS)
        return fresh

    async def trigger(
        self, namespace: Namespace, schedule_id: ScheduleId, fire_time: StoreTime
    ) -> RunKey | None:
        row = self._tables.schedules.get((namespace, schedule_id))
        if row is None or row.schedule.state is ScheduleState.REMOVED:
            return None
        spec, version = row.schedule.spec, row.schedule.version
        run_key = tick_key(schedule_id, fire_time, version)
        job = self._tables.jobs.get((namespace, spec.job))
        new = NewRun(
            run_key,
            spec.job,
            {},
            spec.queue or (job.queue if job else DEFAULT_QUEUE),
            spec.priority or (job.priority if job else PRIORITY_DEFAULT),
            fire_time,
        )
        self._enqueue(namespace, new, schedule_id, version)
        self._signals.hint(Topic.RUNS)
        return run_key

    async def pulse(self, tickets: Sequence[Ticket], alive_for_s: float) -> Sequence[Pulse]:
        return [self._pulse(ticket, alive_for_s) for ticket in tickets]

    async def report_progress(self, ticket: Ticket, progress: str) -> bool:
        row = self._owned(ticket)
        if row is not None:
            self._tables.change(row, progress=progress)
        return row is not None

    async def finish(self, outcomes: Sequence[Outcome]) -> Sequence[Receipt]:
        receipts = [self._finish(outcome) for outcome in outcomes]
        if any(outcome.retry_in_s is not None for outcome in outcomes):
            self._signals.hint(Topic.RUNS)
        return receipts

    async def expired(self, limit: int) -> Sequence[Expired]:
        now = self._tables.now()
        rows = [row for row in self._tables.running.values() if _is_silent(row, now)]
        rows.sort(key=lambda row: (row.alive_until, row.record.run_key))
        return [
            Expired(
                ticket=_ticket(row.record),
                worker=row.record.worker,
                silent_for_s=since(row.alive_until, now).total_seconds(),
                cancel_requested=row.record.cancel_requested,
                job=self._tables.jobs.get((row.record.namespace, row.record.job)),
            )
            for row in rows[:limit]
        ]

    async def rescue(self, rescues: Sequence[Rescue]) -> Sequence[Receipt]:
        receipts = [self._rescue(one) for one in rescues]
        self._signals.hint(Topic.RUNS)
        return receipts

    async def cancel(self, namespace: Namespace, run_key: RunKey, reason: str) -> RunRecord | None:
        row = self._tables.runs.get((namespace, run_key))
        if row is None:
            return None
        if row.record.state in WAITING:
            if row.record.fence:
                self._tables.change(row, fence=self._tables.next_fence())
            self._tables.end(row, RunState.CANCELLED, reason)
        elif row.record.state is RunState.RUNNING:
            self._tables.change(row, cancel_requested=True)
        return self._shown(row)

    async def get(self, namespace: Namespace, run_key: RunKey) -> RunRecord | None:
        row = self._tables.runs.get((namespace, run_key))
        return None if row is None else self._shown(row)

    async def attempts(self, namespace: Namespace, run_key: RunKey) -> Sequence[Attempt]:
        row = self._tables.runs.get((namespace, run_key))
        return [] if row is None else list(row.attempts)

    async def list(self, namespace: Namespace, filter: RunFilter) -> Sequence[RunRecord]:
        records = [self._shown(row) for (owner, _), row in self._tables.runs.items() if owner == namespace]
        found = [record for record in records if matches(record, filter)]
        found.sort(key=lambda record: (record.fire_time, record.run_key), reverse=True)
        return found[: filter.limit]

    async def depth(self, namespace: Namespace) -> QueueDepth:
        now = self._tables.now()
        mine = [row.record for (owner, _), row in self._tables.runs.items() if owner == namespace]
        due = [one.run_at for one in mine if one.state in WAITING and one.run_at <= now]
        running = sum(one.state is RunState.RUNNING for one in mine)
        oldest_s = since(min(due), now).total_seconds() if due else None
        return QueueDepth(len(due), running, oldest_s)

    async def tally(self, namespace: Namespace, since_s: float) -> dict[RunState, int]:
        now = self._tables.now()
        counts: dict[RunState, int] = {}
        for (owner, _), row in self._tables.runs.items():
            if owner == namespace and later(now, -since_s) <= row.record.fire_time <= now:
                state = self._shown(row).state
                counts[state] = counts.get(state, 0) + 1
        return counts

    async def forget(self, older_than_s: float, limit: int) -> int:
        cutoff = self._tables.now() - timedelta(seconds=older_than_s)
        old = [
            row
            for row in self._tables.runs.values()
            if row.record.finished_at is not None and row.record.finished_at < cutoff and not row.stripped
        ]
        old.sort(key=lambda row: (row.record.finished_at, row.record.run_key))
        for row in old[:limit]:
            if row.record.schedule_id is not None:
                self._tables.drop(row)
            else:
                row.stripped, row.attempts = True, []
                self._tables.change(row, payload={}, error=None, progress=None)
        return len(old[:limit])

    def _enqueue(
        self,
        namespace: Namespace,
        run: NewRun,
        schedule_id: ScheduleId | None = None,
        version: int = 0,
    ) -> bool:
        if (namespace, run.run_key) in self._tables.runs:
            return False
        now = self._tables.now()
        run_at = run.run_at or now
        record = RunRecord(
            namespace=namespace,
            run_key=run.run_key,
            schedule_id=schedule_id,
            job=run.job,
            fire_time=run_at,
            version=version,
            state=RunState.PLANNED if run_at > now else RunState.READY,
            reason=None,
            attempt=0,
            fence=Fence(0),
            epoch=Epoch(0),
            run_at=run_at,
            started_at=None,
            finished_at=None,
            worker=None,
            error=None,
            queue=run.queue,
            priority=run.priority,
            payload=run.payload,
        )
        self._tables.insert(RunRow(record))
        return True

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
        self._attempt(row, result, outcome.error, outcome.detail, outcome.output)

    def _rescue(self, rescue: Rescue) -> Receipt:
        row = self._owned(rescue.ticket)
        if row is None or not _is_silent(row, self._tables.now()):
            return Receipt.REFUSED
        self._attempt(row, "lost", rescue.reason, None, None)
        self._tables.change(row, fence=self._tables.next_fence())
        if rescue.state is RunState.READY:
            self._requeue(row, rescue.reason, None, rescue.retry_in_s)
        else:
            self._tables.end(row, rescue.state, rescue.reason, rescue.reason)
        return Receipt.ACCEPTED

    def _requeue(self, row: RunRow, reason: str | None, error: str | None, delay_s: float) -> None:
        run_at = later(self._tables.now(), delay_s)
        self._tables.change(row, state=RunState.READY, reason=reason, error=error, run_at=run_at, worker=None)

    def _attempt(
        self,
        row: RunRow,
        outcome: str,
        error: str | None,
        detail: str | None,
        output: str | None,
    ) -> None:
        record = row.record
        row.attempts.append(
            Attempt(
                attempt=record.attempt,
                fence=record.fence,
                worker=record.worker,
                started_at=record.started_at,
                finished_at=self._tables.now(),
                outcome=outcome,
                error=error,
                detail=detail,
                output=output,
            )
        )

    def _shown(self, row: RunRow) -> RunRecord:
        payload: JsonObject = {} if row.stripped else self._tables.payload_of(row.record)
        return shown(row.record, payload, self._tables.now())


def _ticket(record: RunRecord) -> Ticket:
    return Ticket(record.namespace, record.run_key, record.attempt, record.fence)


def _is_silent(row: RunRow, now: StoreTime) -> bool:
    return row.record.state is RunState.RUNNING and row.alive_until < now
