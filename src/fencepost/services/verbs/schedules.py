"""What can be done with schedules."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta
from difflib import get_close_matches
from functools import partial

from fencepost.core.caveats import LOOKED_AT, caveats
from fencepost.core.payload import check_payload
from fencepost.core.quotas import room_for_schedules
from fencepost.core.retry_window import fitted
from fencepost.errors import (
    InvalidSpec,
    ScheduleChanged,
    ScheduleExists,
    SearchExhausted,
    TurnedAway,
    UnknownSchedule,
    UsageError,
)
from fencepost.model.clocks import StoreTime
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import JobName, RunKey, ScheduleId, checked_name
from fencepost.model.job import JobSpec, RetryWindow
from fencepost.model.plan import Fate
from fencepost.model.policies import CatchUp, CatchUpMode
from fencepost.model.run import RunRecord
from fencepost.model.schedule import (
    AppliedSchedule,
    DesiredSchedule,
    Schedule,
    ScheduleFilter,
    ScheduleSpec,
    ScheduleState,
    ScheduleVersion,
)
from fencepost.services.binding import bound_specs
from fencepost.services.quotas import refusals_counted
from fencepost.services.verbs.occurrences import Occurrence
from fencepost.services.verbs.runs import known_job, known_run, named_job, schedule_id_of
from fencepost.services.verbs.verbs import Verbs
from fencepost.telemetry import traces
from fencepost.triggers import stored_trigger, tzdata_version

PAGE = 500
BATCH_MAX = 1_000
"""How many schedules are written at once."""


@dataclass(frozen=True)
class Resumed:
    """A schedule that plans again, and from when on its pause is planned after all, if it is."""

    schedule: Schedule
    caught_up_from: datetime | None


class ScheduleVerbs(Verbs):
    """The schedules of one namespace."""

    async def add(self, schedule_id: str, spec: ScheduleSpec) -> Schedule:
        """A new schedule; it plans from now on."""
        spec = await self.checked(schedule_id, spec)
        added = await self._put(schedule_id, spec, expected_version=0)
        if added is None:
            raise ScheduleExists(f"schedule {schedule_id}: exists already; use: fencepost schedules edit")
        return added

    async def edit(self, schedule_id: str, spec: ScheduleSpec, expected_version: int) -> Schedule:
        """The next version of a schedule, unless somebody else was quicker."""
        spec = await self.checked(schedule_id, spec)
        edited = await self._put(schedule_id, spec, expected_version=expected_version)
        if edited is None:
            raise ScheduleChanged(f"schedule {schedule_id}: was changed meanwhile; look at it and edit again")
        return edited

    async def apply(self, specs: Mapping[ScheduleId, ScheduleSpec]) -> Sequence[AppliedSchedule]:
        """Create or replace all of these in one transaction, or none where one of them is refused; at most
        `BATCH_MAX`."""
        checked = await self.checked_many(specs)
        for name, one in checked.items():
            if isinstance(one, UsageError):
                raise InvalidSpec(f"schedule {name}: {one}") from one
        written = await self.put_many(
            [DesiredSchedule(name, one) for name, one in checked.items() if isinstance(one, ScheduleSpec)]
        )
        return [one for one in written if one is not None]

    async def put_many(self, batch: Sequence[DesiredSchedule]) -> Sequence[AppliedSchedule | None]:
        """Write schedules that were checked before; None for one whose version was not the expected."""
        assert len(batch) <= BATCH_MAX, f"{len(batch)} schedules are more than a batch"
        with refusals_counted():
            return await self._store.schedules.put_many(
                self._namespace,
                batch,
                tzdata=tzdata_version(),
                author=self._author,
                admit=room_for_schedules(self._namespace, self._quotas),
            )

    async def pause(self, schedule_id: str, reason: str | None = None) -> None:
        """Withdraw what is planned and plan no more."""
        schedule = await self.get(schedule_id)
        why = reason or self._because("the schedule was paused")
        store = self._store.schedules
        if not await store.pause(self._namespace, schedule.schedule_id, why, author=self._author):
            raise UsageError(f"schedule {schedule_id}: is not active")

    async def resume(self, schedule_id: str, *, catch_up: bool = True) -> Resumed:
        """Plan again. What of the pause is not older than `max_lateness` is planned too, where the schedule
        catches up at all; otherwise, or without `catch_up`, nothing of the pause fires. An edit during the
        pause ends a version there, and what lies before it is not caught up either."""
        schedule = await self.get(schedule_id)
        back = _run_context(schedule.spec.catch_up) if catch_up else timedelta()
        if not await self._store.schedules.resume(
            self._namespace,
            schedule.schedule_id,
            tzdata=tzdata_version(),
            back_s=back.total_seconds(),
            author=self._author,
        ):
            raise UsageError(f"schedule {schedule_id}: is not paused")
        return await self.resumed(schedule_id, catch_up=catch_up)

    async def resumed(self, schedule_id: str, *, catch_up: bool = True) -> Resumed:
        """A schedule that was resumed so, and what came of its pause."""
        schedule = await self.get(schedule_id)
        back = _run_context(schedule.spec.catch_up) if catch_up else timedelta()
        last = await self.history(schedule_id, after=schedule.version - 1)
        begins = last[-1].in_force_from
        return Resumed(schedule, begins if back and begins < schedule.updated_at else None)

    async def remove(self, schedule_id: str) -> None:
        """Stop for good; its history stays."""
        schedule = await self.get(schedule_id)
        await self._store.schedules.remove(self._namespace, schedule.schedule_id, author=self._author)

    async def trigger(self, schedule_id: str, requested_at: StoreTime | None = None) -> RunKey:
        """One extra tick, now. With `requested_at` it is the one of that instant, at every repetition."""
        schedule = await self.get(schedule_id)
        fire_time = await self._store.now() if requested_at is None else requested_at
        self._run_quota.take(1)
        run_key = await self._store.ledger.trigger(
            self._namespace, schedule.schedule_id, fire_time, author=self._author
        )
        if run_key is None:
            raise await self._unknown(schedule_id)
        spec, of = schedule.spec, schedule.schedule_id
        traces.enqueued([traces.Written(self._namespace, run_key, spec.job, spec.queue, of)], [True])
        return run_key

    async def skip(self, schedule_id: str, fire_time: datetime) -> RunRecord:
        """Call off one tick, also one that is not planned yet."""
        tick = await self._occurrence(schedule_id, fire_time)
        sealed = await tick.seal(Fate.SKIPPED, self._author)
        if sealed is not None:
            return sealed
        run_key = await tick.run_key()
        return known_run(run_key, await self._store.ledger.skip(self._namespace, run_key, self._author))

    async def hold(self, schedule_id: str, fire_time: datetime) -> RunRecord:
        """Let nobody start one tick until it is released, also one that is not planned yet."""
        tick = await self._occurrence(schedule_id, fire_time)
        sealed = await tick.seal(Fate.HELD, self._author)
        if sealed is not None:
            return sealed
        run_key = await tick.run_key()
        return known_run(run_key, await self._store.ledger.hold(self._namespace, run_key, self._author))

    async def release(self, schedule_id: str, fire_time: datetime) -> RunRecord:
        """Take the hold of one tick away again."""
        run_key = await (await self._occurrence(schedule_id, fire_time)).run_key()
        return known_run(run_key, await self._store.ledger.release(self._namespace, run_key, self._author))

    async def get(self, schedule_id: str) -> Schedule:
        """The schedule, or a refusal that names near ones."""
        schedules = self._store.schedules
        found = await schedules.get(self._namespace, ScheduleId(schedule_id))
        if found is None and (kept := await self.id_of(schedule_id)) != schedule_id:
            found = await schedules.get(self._namespace, kept)
        if found is None or found.state is ScheduleState.REMOVED:
            raise await self._unknown(schedule_id)
        return found

    async def id_of(self, schedule_id: str) -> ScheduleId:
        """The id under which a schedule is kept: where it has the name of a renamed job, the one before."""
        return await schedule_id_of(self._store, self._namespace, schedule_id)

    async def find(self, wanted: ScheduleFilter) -> Sequence[Schedule]:
        """Schedules by id, as the filter says."""
        return await self._store.schedules.find(self._namespace, wanted)

    async def all(self) -> AsyncIterator[Schedule]:
        """Every schedule that is not removed, a page at a time."""
        after: ScheduleId | None = None
        while page := await self._store.schedules.page(self._namespace, after, PAGE):
            for schedule in page:
                yield schedule
            after = page[-1].schedule_id

    async def history(
        self, schedule_id: str, *, after: int = 0, limit: int | None = None
    ) -> Sequence[ScheduleVersion]:
        """All versions after that one, up to so many, the oldest first; also of a removed schedule."""
        store, name = self._store.schedules, ScheduleId(schedule_id)
        versions = await store.history(self._namespace, name, after=after, limit=limit)
        if not versions and not after and (kept := await self.id_of(schedule_id)) != name:
            return await self.history(kept, limit=limit)
        if not versions and await store.get(self._namespace, name) is None:
            raise await self._unknown(schedule_id)
        return versions

    async def caveats(self, schedule: Schedule) -> list[str]:
        """What is allowed and yet may surprise, one line each. What is written stays written where nobody has
        time to look."""
        job = await known_job(self._store, self._namespace, schedule.spec.job)
        trigger, now = stored_trigger(schedule.spec, schedule.schedule_id), await self._store.now()
        try:
            upcoming = await self._offload(lambda: trigger.next(now, LOOKED_AT))
        except SearchExhausted:
            upcoming = []
        except TurnedAway as error:
            return [*caveats(job, schedule.spec, []), f"its next fire times were not looked at: {error}"]
        return caveats(job, schedule.spec, upcoming)

    async def checked(self, schedule_id: str, spec: ScheduleSpec) -> ScheduleSpec:
        """The spec as it would be written, with its calendars; refused where the job or the trigger is."""
        (found,) = (await self.checked_many({ScheduleId(schedule_id): spec})).values()
        if isinstance(found, UsageError):
            raise found
        return found

    async def checked_many(
        self, specs: Mapping[ScheduleId, ScheduleSpec]
    ) -> Mapping[ScheduleId, ScheduleSpec | UsageError]:
        """The same for many, each as it would be written or with its refusal."""
        jobs = await self._store.jobs.all(self._namespace)
        found = {name: _checked(jobs, name, spec) for name, spec in specs.items()}
        fit = {name: one for name, one in found.items() if isinstance(one, ScheduleSpec)}
        bound = await bound_specs(self._store, self._namespace, fit, self._offload, self._quotas)
        return {**found, **bound, **await self._outgrown(jobs, bound)}

    async def _outgrown(
        self, jobs: Mapping[JobName, JobSpec], specs: Mapping[ScheduleId, ScheduleSpec | UsageError]
    ) -> dict[ScheduleId, UsageError]:
        """Those that their jobs refuse, because retries may outgrow the period. To cap a deadline is for the
        code that has the job."""
        refused = dict[ScheduleId, UsageError]()
        for name, spec in specs.items():
            if isinstance(spec, UsageError) or jobs[spec.job].retry_window is not RetryWindow.REFUSE:
                continue
            trigger, now = stored_trigger(spec, name), await self._store.now()
            try:
                fitted(
                    await self._offload(partial(trigger.next, now, LOOKED_AT)), jobs[spec.job], spec.overlap
                )
            except InvalidSpec as error:
                refused[name] = error
            except (SearchExhausted, TurnedAway):
                continue
        return refused

    async def _occurrence(self, schedule_id: str, fire_time: datetime) -> Occurrence:
        schedule, versions = await self.get(schedule_id), await self.history(schedule_id)
        return Occurrence(self._store, schedule, versions, fire_time, self._offload, self._run_quota)

    async def _put(self, schedule_id: str, spec: ScheduleSpec, expected_version: int) -> Schedule | None:
        one = DesiredSchedule(ScheduleId(schedule_id), spec, expected_version)
        (applied,) = await self.put_many([one])
        return None if applied is None else applied.schedule

    async def _unknown(self, schedule_id: str) -> UnknownSchedule:
        page = await self._store.schedules.page(self._namespace, None, PAGE)
        near = get_close_matches(schedule_id, [one.schedule_id for one in page], n=1)
        hint = f"; did you mean {near[0]}?" if near else "; see: fencepost schedules list"
        return UnknownSchedule(f"schedule {schedule_id}: not found{hint}")


def _checked(
    jobs: Mapping[JobName, JobSpec], schedule_id: str, spec: ScheduleSpec
) -> ScheduleSpec | UsageError:
    try:
        checked_name("schedule", schedule_id)
        check_payload(named_job(jobs, spec.job), spec.payload)
    except UsageError as error:
        return error
    return spec


def _run_context(catch_up: CatchUp) -> timedelta:
    """How much of a pause a schedule asks to have caught up."""
    return timedelta() if catch_up.mode is CatchUpMode.NONE else catch_up.max_lateness
