"""The ledger in SQLite: what is done or read often has a statement of its own, the rest is by the rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from fencepost.model.audit import Author
from fencepost.model.identifiers import JobName, Namespace
from fencepost.model.run import (
    NewRun,
    Outcome,
    Receipt,
    RunFilter,
    RunList,
    RunState,
)
from fencepost.model.status import QueueDepth, QueueView
from fencepost.model.views import TrafficBucket
from fencepost.stores.sqlite import entries, reports, runs, views
from fencepost.stores.sqlite.claims import SqliteClaims


class SqliteLedger(SqliteClaims):
    """See `ports.ledger`."""

    async def enqueue(
        self, namespace: Namespace, runs: Sequence[NewRun], *, author: Author | None = None
    ) -> Sequence[bool]:
        if author is not None:
            return await super().enqueue(namespace, runs, author=author)
        fresh = await self._database.transact(partial(entries.enqueue, namespace, runs))
        self._hint_if(any(fresh))
        return fresh

    async def finish(self, outcomes: Sequence[Outcome]) -> Sequence[Receipt]:
        receipts, rung = await self._database.transact(partial(reports.finish, outcomes))
        self._hint_if(rung or any(outcome.retry_in_s is not None for outcome in outcomes))
        return receipts

    async def list(self, namespace: Namespace, filter: RunFilter) -> RunList:
        return await self._database.read(partial(runs.list_runs, namespace, filter))

    async def depth(self, namespace: Namespace) -> QueueDepth:
        return await self._database.read(partial(runs.depth, namespace))

    async def queues(self, namespace: Namespace) -> Sequence[QueueView]:
        return await self._database.read(partial(runs.queues, namespace))

    async def tally(self, namespace: Namespace, since_s: float) -> dict[RunState, int]:
        return await self._database.read(partial(runs.tally, namespace, since_s))

    async def traffic(self, namespace: Namespace, since_s: float, bucket_s: int) -> Sequence[TrafficBucket]:
        return await self._database.read(partial(views.traffic, namespace, since_s, bucket_s))

    async def overdue(self, namespace: Namespace, since_s: float, late_s: float) -> int:
        return await self._database.read(partial(views.overdue, namespace, since_s, late_s))

    async def tally_by_job(
        self, namespace: Namespace, since_s: float
    ) -> Mapping[JobName, Mapping[RunState, int]]:
        return await self._database.read(partial(views.tally_by_job, namespace, since_s))
