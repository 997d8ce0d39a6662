"""The ledger in SQLite: what workers report and what people ask and do."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace, RunKey, ScheduleId
from fencepost.model.rescue import Expired, Rescue
from fencepost.model.run import (
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
from fencepost.model.status import QueueDepth
from fencepost.ports.signals import Topic
from fencepost.stores.sqlite import entries, reports, runs
from fencepost.stores.sqlite.claims import SqliteClaims
from fencepost.stores.sqlite.connection import Database
from fencepost.stores.sqlite.signals import SqliteSignals


class SqliteLedger(SqliteClaims):
    """See `ports.ledger`."""

    def __init__(self, database: Database, signals: SqliteSignals) -> None:
        super().__init__(database)
        self._signals = signals

    async def enqueue(self, namespace: Namespace, runs: Sequence[NewRun]) -> Sequence[bool]:
        fresh = await self._database.transact(partial(entries.enqueue, namespace, runs))
        if any(fresh):
            self._signals.hint(Topic.RUNS)
        return fresh

    async def trigger(
        self, namespace: Namespace, schedule_id: ScheduleId, fire_time: StoreTime
    ) -> RunKey | None:
        run_key = await self._database.transact(partial(entries.trigger, namespace, schedule_id, fire_time))
        if run_key is not None:
            self._signals.hint(Topic.RUNS)
        return run_key

    async def pulse(self, tickets: Sequence[Ticket], alive_for_s: float) -> Sequence[Pulse]:
        return await self._database.transact(partial(reports.pulse, tickets, alive_for_s))

    async def report_progress(self, ticket: Ticket, progress: str) -> bool:
        return await self._database.transact(partial(reports.report_progress, ticket, progress))

    async def finish(self, outcomes: Sequence[Outcome]) -> Sequence[Receipt]:
        receipts = await self._database.transact(partial(reports.finish, outcomes))
        if any(outcome.retry_in_s is not None for outcome in outcomes):
            self._signals.hint(Topic.RUNS)
        return receipts

    async def expired(self, limit: int) -> Sequence[Expired]:
        return await self._database.read(partial(reports.expired, limit))

    async def rescue(self, rescues: Sequence[Rescue]) -> Sequence[Receipt]:
        receipts = await self._database.transact(partial(reports.rescue, rescues))
        if any(one.state is RunState.READY for one in rescues):
            self._signals.hint(Topic.RUNS)
        return receipts

    async def cancel(self, namespace: Namespace, run_key: RunKey, reason: str) -> RunRecord | None:
        return await self._database.transact(partial(entries.cancel, namespace, run_key, reason))

    async def get(self, namespace: Namespace, run_key: RunKey) -> RunRecord | None:
        return await self._database.read(partial(runs.get, namespace, run_key))

    async def attempts(self, namespace: Namespace, run_key: RunKey) -> Sequence[Attempt]:
        return await self._database.read(partial(runs.attempts, namespace, run_key))

    async def list(self, namespace: Namespace, filter: RunFilter) -> Sequence[RunRecord]:
        return await self._database.read(partial(runs.list_runs, namespace, filter))

    async def depth(self, namespace: Namespace) -> QueueDepth:
        return await self._database.read(partial(runs.depth, namespace))

    async def tally(self, namespace: Namespace, since_s: float) -> dict[RunState, int]:
        return await self._database.read(partial(runs.tally, namespace, since_s))

    async def forget(self, older_than_s: float, limit: int) -> int:
        return await self._database.transact(partial(entries.forget, older_than_s, limit))
