"""The ledger in SQLite: what workers report and what people ask and do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial

from fencepost.model.audit import Author
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import JobName, Namespace, RunKey, ScheduleId
from fencepost.model.missed import MissedRange
from fencepost.model.plan import Fate, Tick
from fencepost.model.rescue import Rescue, Sweep, SweepTerms
from fencepost.model.run import (
    REPLAYABLE,
    Attempt,
    NewRun,
    Ordered,
    Outcome,
    ProgressReport,
    Pulse,
    Receipt,
    RunFilter,
    RunList,
    RunRecord,
    RunState,
    Ticket,
)
from fencepost.model.status import QueueDepth, QueueView
from fencepost.model.views import Attention, News, RunMark, TrafficBucket
from fencepost.stores.sqlite import entries, orders, parking, reports, runs, views
from fencepost.stores.sqlite.claims import SqliteClaims


class SqliteLedger(SqliteClaims):
    """See `ports.ledger`."""

    async def enqueue(
        self, namespace: Namespace, runs: Sequence[NewRun], *, author: Author | None = None
    ) -> Sequence[bool]:
        fresh = await self._database.transact(partial(entries.enqueue, namespace, runs, author))
        self._hint_if(any(fresh))
        return fresh

    async def trigger(
        self,
        namespace: Namespace,
        schedule_id: ScheduleId,
        fire_time: StoreTime,
        *,
        author: Author | None = None,
    ) -> RunKey | None:
        work = partial(entries.trigger, namespace, schedule_id, fire_time, author)
        run_key = await self._database.transact(work)
        self._hint_if(run_key is not None)
        return run_key

    async def pulse(self, tickets: Sequence[Ticket], alive_for_s: float) -> Sequence[Pulse]:
        return await self._database.transact(partial(reports.pulse, tickets, alive_for_s))

    async def report_progress(self, words: Sequence[ProgressReport]) -> Sequence[bool]:
        return await self._database.transact(partial(reports.report_progress, words))

    async def finish(self, outcomes: Sequence[Outcome]) -> Sequence[Receipt]:
        receipts, rung = await self._database.transact(partial(reports.finish, outcomes))
        self._hint_if(rung or any(outcome.retry_in_s is not None for outcome in outcomes))
        return receipts

    async def expired(self, limit: int, terms: SweepTerms) -> Sweep:
        return await self._database.transact(partial(reports.expired, limit, terms))

    async def rescue(self, rescues: Sequence[Rescue]) -> Sequence[Receipt]:
        receipts, rung = await self._database.transact(partial(reports.rescue, rescues))
        self._hint_if(rung or any(one.state is RunState.READY for one in rescues))
        return receipts

    async def unpark(self, limit: int) -> int:
        unparked = await self._database.transact(partial(parking.unpark, limit))
        self._hint_if(unparked > 0)
        return unparked

    async def cancel(
        self, namespace: Namespace, run_key: RunKey, reason: str, *, author: Author | None = None
    ) -> RunRecord | None:
        found = await self.cancel_many(namespace, [run_key], reason, author=author)
        return found[run_key].run if found else None

    async def cancel_many(
        self, namespace: Namespace, run_keys: Sequence[RunKey], reason: str, *, author: Author | None = None
    ) -> Mapping[RunKey, Ordered]:
        work = partial(entries.cancel, namespace, run_keys, reason, author)
        found, rung = await self._database.transact(work)
        self._hint_if(rung)
        return found

    async def skip(self, namespace: Namespace, run_key: RunKey, author: Author) -> RunRecord | None:
        record, rung = await self._database.transact(partial(orders.skip, namespace, run_key, author))
        self._hint_if(rung)
        return record

    async def hold(self, namespace: Namespace, run_key: RunKey, author: Author) -> RunRecord | None:
        record, _ = await self._database.transact(partial(orders.hold, namespace, run_key, author))
        return record

    async def release(self, namespace: Namespace, run_key: RunKey, author: Author) -> RunRecord | None:
        record, released = await self._database.transact(partial(orders.release, namespace, run_key, author))
        self._hint_if(released)
        return record

    async def replay(
        self,
        namespace: Namespace,
        run_keys: Sequence[RunKey],
        every_s: float,
        author: Author,
        *,
        first_in_s: float = 0.0,
        only: frozenset[RunState] = REPLAYABLE,
    ) -> Sequence[RunKey]:
        pace = orders.Pace(first_in_s, every_s)
        work = partial(orders.replay, namespace, run_keys, pace, author, only)
        sent = await self._database.transact(work)
        self._hint_if(bool(sent))
        return sent

    async def plan_by_name(
        self,
        namespace: Namespace,
        schedule_id: ScheduleId,
        version: int,
        ticks: Sequence[Tick],
        author: Author | None,
        *,
        fate: Fate = Fate.PLANNED,
    ) -> Sequence[RunKey]:
        work = partial(orders.plan_by_name, namespace, schedule_id, version, ticks, author, fate)
        written = await self._database.transact(work)
        self._hint_if(bool(written))
        return written

    async def get(self, namespace: Namespace, run_key: RunKey) -> RunRecord | None:
        return await self._database.read(partial(runs.get, namespace, run_key))

    async def get_many(self, namespace: Namespace, run_keys: Sequence[RunKey]) -> Mapping[RunKey, RunRecord]:
        return await self._database.read(partial(runs.get_many, namespace, run_keys))

    async def attempts(self, namespace: Namespace, run_key: RunKey) -> Sequence[Attempt]:
        return await self._database.read(partial(runs.attempts, namespace, run_key))

    async def list(self, namespace: Namespace, filter: RunFilter) -> RunList:
        return await self._database.read(partial(runs.list_runs, namespace, filter))

    async def ticks(
        self,
        namespace: Namespace,
        schedule_id: ScheduleId,
        since: datetime,
        until: datetime,
        after: tuple[datetime, RunKey] | None,
        limit: int,
    ) -> Sequence[RunRecord]:
        work = partial(runs.ticks, namespace, schedule_id, since, until, after, limit)
        return await self._database.read(work)

    async def ended(
        self, namespace: Namespace, schedule_id: ScheduleId, since: datetime, until: datetime, limit: int
    ) -> Sequence[RunRecord]:
        return await self._database.read(partial(runs.ended, namespace, schedule_id, since, until, limit))

    async def missed_ranges(
        self, namespace: Namespace, schedule_id: ScheduleId, since: datetime, until: datetime
    ) -> Sequence[MissedRange]:
        return await self._database.read(partial(runs.missed_ranges, namespace, schedule_id, since, until))

    async def running(self, namespace: Namespace, limit: int) -> Sequence[RunRecord]:
        return await self._database.read(partial(runs.running, namespace, limit))

    async def typical_run_s(self, namespace: Namespace, schedule_id: ScheduleId) -> float | None:
        return await self._database.read(partial(runs.typical_run_s, namespace, schedule_id))

    async def forgotten_before(self) -> datetime | None:
        return await self._database.read(entries.forgotten_before)

    async def depth(self, namespace: Namespace) -> QueueDepth:
        return await self._database.read(partial(runs.depth, namespace))

    async def queues(self, namespace: Namespace) -> Sequence[QueueView]:
        return await self._database.read(partial(runs.queues, namespace))

    async def tally(self, namespace: Namespace, since_s: float) -> dict[RunState, int]:
        return await self._database.read(partial(runs.tally, namespace, since_s))

    async def strips(
        self, namespace: Namespace, schedule_ids: Sequence[ScheduleId], each: int
    ) -> Mapping[ScheduleId, Sequence[RunMark]]:
        return await self._database.read(partial(views.strips, namespace, schedule_ids, each))

    async def traffic(self, namespace: Namespace, since_s: float, bucket_s: int) -> Sequence[TrafficBucket]:
        return await self._database.read(partial(views.traffic, namespace, since_s, bucket_s))

    async def overdue(self, namespace: Namespace, since_s: float, late_s: float) -> int:
        return await self._database.read(partial(views.overdue, namespace, since_s, late_s))

    async def tally_by_job(
        self, namespace: Namespace, since_s: float
    ) -> Mapping[JobName, Mapping[RunState, int]]:
        return await self._database.read(partial(views.tally_by_job, namespace, since_s))

    async def attention(self, namespace: Namespace, most: int) -> Attention:
        return await self._database.read(partial(views.attention, namespace, most))

    async def news(self, since: StoreTime, limit: int, namespaces: Sequence[Namespace]) -> News:
        return await self._database.read(partial(views.news, since, limit, namespaces))

    async def forget(self, older_than_s: float, limit: int) -> int:
        return await self._database.transact(partial(entries.forget, older_than_s, limit))
