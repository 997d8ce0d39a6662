"""The people's verbs: what an operator, an application or a page may ask of a store.

Every verb checks first and writes once; what it refuses it refuses in one line that says what was wrong,
where, and the mend.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from uuid import uuid4

from fencepost.core.payload import check_payload
from fencepost.errors import ScheduleExists, UnknownJob, UnknownRun, UnknownSchedule, UsageError
from fencepost.model.identifiers import JobName, Namespace, RunKey, ScheduleId, checked_name, job_key
from fencepost.model.job import JobSpec
from fencepost.model.json import JsonObject
from fencepost.model.lease import LeaseRecord
from fencepost.model.node import NodeRecord
from fencepost.model.run import Attempt, NewRun, RunFilter, RunRecord, RunState
from fencepost.model.schedule import Schedule, ScheduleSpec, ScheduleState, ScheduleVersion
from fencepost.model.status import QueueDepth
from fencepost.ports.store import Store
from fencepost.services.binding import bound_spec
from fencepost.services.calendars import CalendarDesk
from fencepost.triggers import tzdata_version

PAGE = 500
ENQUEUE_BATCH_MAX = 1_000
YEAR_FIRST, YEAR_LAST = 1970, 9000
COMPLETENESS_WINDOW_S = 24 * 3600.0


@dataclass(frozen=True)
class Status:
    """The state of the house at one moment."""

    shards: Sequence[LeaseRecord]
    nodes: Sequence[NodeRecord]
    queue: QueueDepth
    tally: Mapping[RunState, int]


class Control:
    """The verbs of one namespace."""

    def __init__(self, store: Store, namespace: Namespace) -> None:
        self.store = store
        self.namespace = namespace
        self.schedules = ScheduleDesk(store, namespace)
        self.runs = RunDesk(store, namespace)
        self.calendars = CalendarDesk(store, namespace)

    async def jobs(self) -> Mapping[JobName, JobSpec]:
        """All registered jobs."""
        return await self.store.jobs.all(self.namespace)

    async def status(self) -> Status:
        """Shards, nodes, queue, and how the ticks of the last day stand."""
        held = {record.shard: record for record in await self.store.leases.read()}
        return Status(
            shards=[held[shard] for shard in sorted(held)],
            nodes=await self.store.roster.live(),
            queue=await self.store.ledger.depth(self.namespace),
            tally=await self.store.ledger.tally(self.namespace, COMPLETENESS_WINDOW_S),
        )


class ScheduleDesk:
    """What can be done with schedules."""

    def __init__(self, store: Store, namespace: Namespace) -> None:
        self._store = store
        self._namespace = namespace

    async def add(self, schedule_id: str, spec: ScheduleSpec) -> Schedule:
        """A new schedule; it plans from now on."""
        checked_name("schedule", schedule_id)
        spec = await self._checked(schedule_id, spec)
        added = await self._put(schedule_id, spec, expected_version=0)
        if added is None:
            raise ScheduleExists(f"schedule {schedule_id}: exists already; use: fencepost schedules edit")
        return added

    async def edit(self, schedule_id: str, spec: ScheduleSpec, expected_version: int) -> Schedule:
        """The next version of a schedule, unless somebody else was quicker."""
        spec = await self._checked(schedule_id, spec)
        edited = await self._put(schedule_id, spec, expected_version=expected_version)
        if edited is None:
            raise UsageError(f"schedule {schedule_id}: was changed meanwhile; look at it and edit again")
        return edited

    async def pause(self, schedule_id: str, reason: str = "the schedule was paused") -> None:
        """Withdraw what is planned and plan no more."""
        schedule = await self.get(schedule_id)
        if not await self._store.schedules.pause(self._namespace, schedule.schedule_id, reason):
            raise UsageError(f"schedule {schedule_id}: is not active")

    async def resume(self, schedule_id: str) -> None:
        """Plan again from now on; nothing of the pause fires."""
        schedule = await self.get(schedule_id)
        if not await self._store.schedules.resume(
            self._namespace, schedule.schedule_id, tzdata=tzdata_version()
        ):
            raise UsageError(f"schedule {schedule_id}: is not paused")

    async def remove(self, schedule_id: str) -> None:
        """Stop for good; its history stays."""
        schedule = await self.get(schedule_id)
        await self._store.schedules.remove(self._namespace, schedule.schedule_id)

    async def trigger(self, schedule_id: str) -> RunKey:
        """One extra tick, now."""
        schedule = await self.get(schedule_id)
        fire_time = await self._store.now()
        run_key = await self._store.ledger.trigger(self._namespace, schedule.schedule_id, fire_time)
        if run_key is None:
            raise await self._unknown(schedule_id)
        return run_key

    async def get(self, schedule_id: str) -> Schedule:
        """The schedule, or a refusal that names near ones."""
        found = await self._store.schedules.get(self._namespace, ScheduleId(schedule_id))
        if found is None or found.state is ScheduleState.REMOVED:
            raise await self._unknown(schedule_id)
        return found

    async def all(self) -> AsyncIterator[Schedule]:
        """Every schedule that is not removed, a page at a time."""
        after: ScheduleId | None = None
        while page := await self._store.schedules.page(self._namespace, after, PAGE):
            for schedule in page:
                yield schedule
            after = page[-1].schedule_id

    async def history(self, schedule_id: str) -> Sequence[ScheduleVersion]:
        """All versions, also of a removed schedule."""
        versions = await self._store.schedules.history(self._namespace, ScheduleId(schedule_id))
        if not versions:
            raise await self._unknown(schedule_id)
        return versions

    async def _put(self, schedule_id: str, spec: ScheduleSpec, expected_version: int) -> Schedule | None:
        return await self._store.schedules.put(
            self._namespace,
            ScheduleId(schedule_id),
            spec,
            tzdata=tzdata_version(),
            expected_version=expected_version,
        )

    async def _checked(self, schedule_id: str, spec: ScheduleSpec) -> ScheduleSpec:
        check_payload(await known_job(self._store, self._namespace, spec.job), spec.payload)
        return await bound_spec(self._store, self._namespace, ScheduleId(schedule_id), spec)

    async def _unknown(self, schedule_id: str) -> UnknownSchedule:
        page = await self._store.schedules.page(self._namespace, None, PAGE)
        near = get_close_matches(schedule_id, [one.schedule_id for one in page], n=1)
        hint = f"; did you mean {near[0]}?" if near else "; see: fencepost schedules list"
        return UnknownSchedule(f"schedule {schedule_id}: not found{hint}")


class RunDesk:
    """What can be done with runs."""

    def __init__(self, store: Store, namespace: Namespace) -> None:
        self._store = store
        self._namespace = namespace

    async def enqueue(
        self, job: str, payload: JsonObject, key: str | None = None, at: datetime | None = None
    ) -> tuple[RunKey, bool]:
        """One run by hand; returns its key and whether it is new."""
        spec = await known_job(self._store, self._namespace, job)
        run = new_run(spec, payload, key, at)
        (fresh,) = await self._store.ledger.enqueue(self._namespace, [run])
        return run.run_key, fresh

    async def get(self, run_key: str) -> tuple[RunRecord, Sequence[Attempt]]:
        """A run and its remembered attempts."""
        found = await self._store.ledger.get(self._namespace, RunKey(run_key))
        if found is None:
            raise UnknownRun(f"run {run_key}: not found; see: fencepost runs list")
        return found, await self._store.ledger.attempts(self._namespace, RunKey(run_key))

    async def list(self, wanted: RunFilter) -> Sequence[RunRecord]:
        """Runs, newest fire time first."""
        return await self._store.ledger.list(self._namespace, wanted)

    async def cancel(self, run_key: str, reason: str = "cancelled by an operator") -> RunRecord:
        """End a waiting run, or ask a running one to stop."""
        found = await self._store.ledger.cancel(self._namespace, RunKey(run_key), reason)
        if found is None:
            raise UnknownRun(f"run {run_key}: not found; see: fencepost runs list")
        return found


async def known_job(store: Store, namespace: Namespace, job: str) -> JobSpec:
    """The job's spec, or a refusal that names near ones."""
    jobs = await store.jobs.all(namespace)
    found = jobs.get(JobName(job))
    if found is None:
        near = get_close_matches(job, list(jobs), n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; registered: {', '.join(sorted(jobs)) or 'none'}"
        raise UnknownJob(f"job {job}: not registered in this store{hint}")
    return found


def _check_time(at: datetime | None) -> None:
    """Some stores have no place for the first and the last days of the calendar."""
    if at is None:
        return
    if not isinstance(at, datetime):
        raise UsageError(f"time {at!r}: expected a datetime with a zone")
    if at.tzinfo is None:
        raise UsageError(f"time {at.isoformat()}: expected one with a zone, such as {at.isoformat()}+00:00")
    if not YEAR_FIRST <= at.year <= YEAR_LAST:
        raise UsageError(f"time {at.isoformat()}: expected a year from {YEAR_FIRST} to {YEAR_LAST}")


def new_run(spec: JobSpec, payload: JsonObject, key: str | None, at: datetime | None) -> NewRun:
    """A run by hand. Without a key of the caller's it gets one that nothing else has."""
    _check_time(at)
    check_payload(spec, payload)
    run_key = job_key(spec.name, key if key is not None else uuid4().hex)
    return NewRun(run_key, spec.name, payload, spec.queue, spec.priority, at)
