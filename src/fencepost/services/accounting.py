"""Audits: what was expected against what is recorded, and the explanation of one tick.

All policy is in `core.accounting` and `core.explanation`; this module reads the ledger for it. It reads what
an account rests on before the runs, so that changes meanwhile make a tick look younger than it is, never
older. An edit, or retention, between the two readings could still make a sound ledger look unsound. So where
there are faults, it reads the ground again, and makes the account anew if the ground has moved.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby, islice

from fencepost.core.accounting import Accountant, Frame
from fencepost.core.accounts import Account, Kind, Report
from fencepost.core.expectation import TriggerOf, expected, tick_of
from fencepost.core.explanation import Explanation
from fencepost.core.fingerprints import Fingerprint, fingerprints
from fencepost.core.serving import unserved_words
from fencepost.core.stuck import first_due, tried_again, wants_attempts, why_stuck
from fencepost.errors import UsageError
from fencepost.model.audit import Author
from fencepost.model.claiming import FINISHED_KEPT
from fencepost.model.clocks import StoreTime
from fencepost.model.clocks import since as time_since
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import JobName, Namespace, NodeId, RunKey, ScheduleId
from fencepost.model.plan import Tick
from fencepost.model.run import Attempt, Origin, RunFilter, RunRecord
from fencepost.model.schedule import ScheduleState, ScheduleVersion
from fencepost.model.trigger import Trigger
from fencepost.ports.store import Store
from fencepost.services.explainer import Explainer
from fencepost.services.lookups import all_schedules, schedule_id_of, versions_of
from fencepost.services.offload import Offload, inline
from fencepost.services.quotas import UNCOUNTED, RunQuota
from fencepost.services.serving import jobs_unserved
from fencepost.triggers import stored_trigger, tzdata_version

PAGE = 1_000
READINGS_MAX = 3
PLANNED_AT_ONCE_MAX = 500
REPAIR_ROUNDS_MAX = 10_000
FINDINGS_TOLD_MAX = 10_000
RUNNING_MAX = 10_000
SENT_AGAIN_MAX = 1_000
MOVED = "the schedule was changed again and again while it was audited; look once more"

Progress = Callable[[ScheduleId, int], None]
"""(schedule, how many of its runs have been looked at)."""


def _silent(schedule_id: ScheduleId, runs: int) -> None:
    """For callers that do not follow the progress."""


@dataclass(frozen=True)
class StuckRun:
    """A run that makes no progress, and why it is taken to be stuck."""

    run: RunRecord
    age: timedelta
    why: str


@dataclass(frozen=True)
class Bounds:
    """How much one call may audit, for callers that cannot wait for long."""

    schedules_max: int
    ticks_max: int

    def check(self, schedules: int, ticks: int) -> None:
        """Refuse an audit that is larger."""
        if schedules > self.schedules_max:
            raise UsageError(f"audit: there are more than {self.schedules_max} schedules; name one")
        if ticks > self.ticks_max:
            raise UsageError(
                f"audit: more than {self.ticks_max} ticks are expected; ask for a shorter range, or for one "
                "schedule"
            )


class Auditor:
    """What an operator may ask about the past of one namespace."""

    def __init__(
        self,
        store: Store,
        namespace: Namespace,
        offload: Offload = inline,
        run_quota: RunQuota = UNCOUNTED,
    ) -> None:
        self._store = store
        self._namespace = namespace
        self._offload = offload
        self._run_quota = run_quota
        self._explainer = Explainer(store, namespace, offload=offload)

    async def audit(
        self,
        schedule_id: str | None,
        since: datetime,
        until: datetime,
        progress: Progress = _silent,
        bounds: Bounds | None = None,
    ) -> Report:
        """The accounts of one schedule, also a removed one, or of all that are not removed; refused where
        that is more than the bounds allow."""
        accounts: list[Account] = []
        told = looked_at = 0
        unserved = frozenset(await jobs_unserved(self._store, self._namespace))
        async for one in self._ids(schedule_id):
            if bounds is not None:
                bounds.check(len(accounts) + 1, await self._count(one, since, until, bounds, looked_at))
            account = await self._account(one, since, until, progress)
            if unserved:
                account = await self._noted_if_unserved(account, unserved)
            told += len(account.findings)
            looked_at += account.expected
            accounts.append(account if told <= FINDINGS_TOLD_MAX else replace(account, findings=()))
        return Report(since, until, tuple(accounts))

    async def completeness(self, since: datetime, until: datetime) -> AsyncIterator[Account]:
        """The accounts of all schedules, one at a time, so that the caller may stop. Cheaper than an audit:
        it reads no attempts and nothing twice, so its findings are not reliable."""
        async for schedule_id in self._ids(None):
            frame = await self._frame(schedule_id, since, until)
            yield await self._walk(frame, _silent, with_attempts=False)

    async def repair(self, report: Report, author: Author) -> Sequence[RunKey]:
        """Plan the ticks that are missing, each for its own due time; the judge says which still run.

        Where a report has left some of them out, the rest is looked for again.
        """
        missing = sum(account.counts.get(Kind.MISSING, 0) for account in report.accounts)
        self._run_quota.take(missing)
        planned: list[RunKey] = []
        for account in report.accounts:
            for _ in range(REPAIR_ROUNDS_MAX):
                if not account.counts.get(Kind.MISSING, 0):
                    break
                written = await self._plan_missing(account, author)
                planned += written
                left = account.counts[Kind.MISSING] - len(account.of(Kind.MISSING))
                if not left or (not written and account.findings):
                    break
                account = await self._account(account.schedule_id, report.since, report.until, _silent)
        self._run_quota.give_back(missing - len(planned))
        return planned

    async def why(self, schedule_id: str, fire_time: datetime) -> Explanation:
        """The explanation of one fire time of a schedule, also of a removed one."""
        return await self._explainer.why(schedule_id, fire_time)

    async def why_latest(self, name: str) -> Explanation:
        """The explanation of the newest tick of a schedule, or the newest run of a job, that is not to
        come."""
        return await self._explainer.why_latest(name)

    async def why_run(self, run_key: str) -> Explanation:
        """The explanation behind a run key, also of a tick whose row is gone."""
        return await self._explainer.why_run(run_key)

    async def stuck(self, older_than_s: float | None = None) -> Sequence[StuckRun]:
        """Runs that were started and show no life, or have been running longer than `older_than_s`; by job,
        the oldest first."""
        now = await self._store.now()
        workers = await self._workers()
        running = await self._store.ledger.running(self._namespace, RUNNING_MAX)
        older_than = None if older_than_s is None else timedelta(seconds=older_than_s)
        specs = await self._store.jobs.all(self._namespace) if running else {}
        deadlines = {name: spec.progress_deadline for name, spec in specs.items()}
        found = [
            StuckRun(run, time_since(run.started_at or now, now), why)
            for run in running
            if (why := why_stuck(run, workers, now, older_than, deadlines.get(run.job))) is not None
        ]
        return sorted(found, key=lambda one: (one.run.job, -one.age, one.run.run_key))

    async def _noted_if_unserved(self, account: Account, unserved: Set[JobName]) -> Account:
        schedule = await self._store.schedules.get(self._namespace, account.schedule_id)
        active = schedule is not None and schedule.state is ScheduleState.ACTIVE
        if schedule is None or not active or schedule.spec.job not in unserved:
            return account
        return replace(account, notes=(*account.notes, unserved_words(schedule.spec.job)))

    async def _ids(self, schedule_id: str | None) -> AsyncIterator[ScheduleId]:
        if schedule_id is not None:
            yield await schedule_id_of(self._store, self._namespace, schedule_id)
            return
        async for schedule in all_schedules(self._store, self._namespace):
            yield schedule.schedule_id

    async def _count(
        self, schedule_id: ScheduleId, since: datetime, until: datetime, bounds: Bounds, before: int
    ) -> int:
        """How many ticks these schedules expect, counted up to one more than the bound."""
        frame = await self._frame(schedule_id, since, until)
        found = expected(frame.versions, triggers_of(schedule_id), frame.judged_since, frame.judged_until)
        most = max(bounds.ticks_max - before, 0) + 1
        return before + await self._offload(lambda: sum(1 for _ in islice(found, most)))

    async def _account(
        self, schedule_id: ScheduleId, since: datetime, until: datetime, progress: Progress
    ) -> Account:
        frame = await self._frame(schedule_id, since, until)
        account: Account
        for _ in range(READINGS_MAX):
            account = _noted(await self._walk(frame, progress, with_attempts=True), frame)
            if not account.faults:
                return account
            before, frame = frame, await self._frame(schedule_id, since, until)
            if _ground(frame) == _ground(before):
                return account
        return replace(account, notes=(*account.notes, MOVED))

    async def _frame(self, schedule_id: ScheduleId, since: datetime, until: datetime) -> Frame:
        """Read the time first, then the live nodes: a node that had started a run by then is alive, or
        gone."""
        store, namespace = self._store, self._namespace
        now: StoreTime = await store.now()
        workers = await self._workers()
        schedule = await store.schedules.get(namespace, schedule_id)
        versions = await versions_of(self._store, self._namespace, schedule_id)
        return Frame(
            namespace=namespace,
            schedule_id=schedule_id,
            since=since,
            until=until,
            now=now,
            versions=tuple(versions),
            planned_version=0 if schedule is None else schedule.version,
            planned_through=since if schedule is None else schedule.planned_through,
            missed=tuple(await store.ledger.missed_ranges(namespace, schedule_id, since, until)),
            forgotten_before=await store.ledger.forgotten_before(),
            workers=workers,
        )

    async def _walk(self, frame: Frame, progress: Progress, *, with_attempts: bool) -> Account:
        accountant = await self._offload(lambda: Accountant(frame, triggers_of(frame.schedule_id)))
        looked_at = 0
        async for page in self._pages(frame):
            attempts = await self._attempts(page) if with_attempts else {}
            ended = await self._ended(accountant.suspects(page)) if with_attempts else {}
            effects = await self._effects(page) if with_attempts else {}
            await self._offload(partial(accountant.take, page, attempts, ended, effects))
            looked_at += len(page)
            progress(frame.schedule_id, looked_at)
        return await self._offload(accountant.close)

    async def _pages(self, frame: Frame) -> AsyncIterator[Sequence[RunRecord]]:
        after: tuple[datetime, RunKey] | None = None
        while page := await self._store.ledger.ticks(
            frame.namespace, frame.schedule_id, frame.judged_since, frame.judged_until, after, PAGE
        ):
            yield page
            if len(page) < PAGE:
                return
            after = page[-1].fire_time, page[-1].run_key

    async def _attempts(self, runs: Sequence[RunRecord]) -> Mapping[RunKey, Sequence[Attempt]]:
        return {
            run.run_key: await self._store.ledger.attempts(self._namespace, run.run_key)
            for run in runs
            if wants_attempts(run)
        }

    async def _effects(self, runs: Sequence[RunRecord]) -> Mapping[RunKey, Sequence[Fingerprint]]:
        return {
            run.run_key: fingerprints(await self._store.steps.recorded(self._namespace, run.run_key))
            for run in runs
            if tried_again(run)
        }

    async def _ended(self, suspects: Sequence[RunRecord]) -> Mapping[RunKey, Sequence[RunRecord]]:
        """For each of these the runs of its schedule that ended after it became due and before it began, as
        many as the judge saw. Also replayed runs, whose rows do not show when they ran before."""
        if not suspects:
            return {}
        namespace, schedule_id = self._namespace, suspects[0].schedule_id
        assert schedule_id is not None
        again = [
            run
            for origin in (Origin.REPLAY, Origin.BACKFILL)
            for run in await self._store.ledger.list(
                namespace, RunFilter(schedule_id=schedule_id, origin=origin, limit=SENT_AGAIN_MAX)
            )
            if run.attempts_before_replay
        ]
        found: dict[RunKey, Sequence[RunRecord]] = {}
        for one in suspects:
            due = first_due(one)
            assert due is not None
            assert one.first_started_at is not None
            ended = await self._store.ledger.ended(
                namespace, schedule_id, due, one.first_started_at, FINISHED_KEPT
            )
            found[one.run_key] = [*ended, *(run for run in again if run.fire_time < one.first_started_at)]
        return found

    async def _plan_missing(self, account: Account, author: Author) -> list[RunKey]:
        versions = {
            one.version: one for one in await versions_of(self._store, self._namespace, account.schedule_id)
        }
        trigger_of = triggers_of(account.schedule_id)
        planned: list[RunKey] = []
        missing = sorted(account.of(Kind.MISSING), key=lambda one: (one.version, one.fire_time))
        for number, findings in groupby(missing, key=lambda one: one.version):
            version = versions[number]
            moments = [one.fire_time for one in findings]
            work = partial(self._ticks, account.schedule_id, version, trigger_of, moments)
            ticks = await self._offload(work)
            for start in range(0, len(ticks), PLANNED_AT_ONCE_MAX):
                batch = ticks[start : start + PLANNED_AT_ONCE_MAX]
                planned += await self._store.ledger.plan_by_name(
                    self._namespace, account.schedule_id, number, batch, author
                )
        return planned

    def _ticks(
        self,
        schedule_id: ScheduleId,
        version: ScheduleVersion,
        trigger_of: TriggerOf,
        moments: Sequence[datetime],
    ) -> list[Tick]:
        trigger = trigger_of(version)
        ticks = (tick_of(self._namespace, schedule_id, version, trigger, one) for one in moments)
        return [tick for tick in ticks if tick is not None]

    async def _workers(self) -> frozenset[NodeId]:
        return frozenset(one.node.node_id for one in await self._store.nodes.live() if one.node.works)


def triggers_of(schedule_id: ScheduleId) -> TriggerOf:
    """The trigger of each version of a schedule, decoded once."""

    known: dict[int, Trigger] = {}

    def trigger_of(version: ScheduleVersion) -> Trigger:
        if version.version not in known:
            known[version.version] = stored_trigger(version.spec, schedule_id)
        return known[version.version]

    return trigger_of


def _ground(frame: Frame) -> tuple[object, ...]:
    """The facts that must not change while the runs are read."""
    return frame.versions, frame.missed, frame.judged_since


def _noted(account: Account, frame: Frame) -> Account:
    """Note versions that were planned by other zone rules, which may expect other fire times."""
    if not {Kind.MISSING, Kind.UNEXPECTED, Kind.MISCOUNTED} & account.counts.keys():
        return account
    ours = tzdata_version()
    others = [
        f"version {one.version} was written by the zone rules {one.tzdata}, this program has {ours}"
        for one in frame.versions
        if one.tzdata != ours and any(found.version == one.version for found in account.findings)
    ]
    return replace(account, notes=(*account.notes, *others))
