"""Schedules on their way into the store: checked, written, and what is allowed and yet may surprise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from fencepost.core.caveats import LOOKED_AT, caveats
from fencepost.core.payload import check_payload
from fencepost.core.quotas import room_for_schedules
from fencepost.core.retry_window import fitted
from fencepost.errors import (
    InvalidSpec,
    SearchExhausted,
    TurnedAway,
    UsageError,
)
from fencepost.model.identifiers import JobName, ScheduleId, checked_name
from fencepost.model.job import JobSpec, RetryWindow
from fencepost.model.schedule import (
    AppliedSchedule,
    DesiredSchedule,
    Schedule,
    ScheduleSpec,
)
from fencepost.operations.control import Control
from fencepost.services.binding import bound_specs
from fencepost.services.lookups import known_job, named_job
from fencepost.services.quotas import refusals_counted
from fencepost.triggers import stored_trigger, tzdata_version

BATCH_MAX = 1_000
"""How many schedules are written at once."""


async def apply(control: Control, specs: Mapping[ScheduleId, ScheduleSpec]) -> Sequence[AppliedSchedule]:
    """Create or replace all of these in one transaction, or none where one of them is refused; at most
    `BATCH_MAX`."""
    checked = await checked_specs(control, specs)
    for name, one in checked.items():
        if isinstance(one, UsageError):
            raise InvalidSpec(f"schedule {name}: {one}") from one
    written = await put_many(
        control,
        [DesiredSchedule(name, one) for name, one in checked.items() if isinstance(one, ScheduleSpec)],
    )
    return [one for one in written if one is not None]


async def put_many(control: Control, batch: Sequence[DesiredSchedule]) -> Sequence[AppliedSchedule | None]:
    """Write schedules that were checked before; None for one whose version was not the expected."""
    assert len(batch) <= BATCH_MAX, f"{len(batch)} schedules are more than a batch"
    with refusals_counted():
        return await control.store.schedules.put_many(
            control.namespace,
            batch,
            tzdata=tzdata_version(),
            author=control.author,
            admit=room_for_schedules(control.namespace, control.quotas),
        )


async def put(
    control: Control, schedule_id: str, spec: ScheduleSpec, expected_version: int
) -> Schedule | None:
    one = DesiredSchedule(ScheduleId(schedule_id), spec, expected_version)
    (applied,) = await put_many(control, [one])
    return None if applied is None else applied.schedule


async def checked_spec(control: Control, schedule_id: str, spec: ScheduleSpec) -> ScheduleSpec:
    """The spec as it would be written, with its calendars; refused where the job or the trigger is."""
    (found,) = (await checked_specs(control, {ScheduleId(schedule_id): spec})).values()
    if isinstance(found, UsageError):
        raise found
    return found


async def checked_specs(
    control: Control, specs: Mapping[ScheduleId, ScheduleSpec]
) -> Mapping[ScheduleId, ScheduleSpec | UsageError]:
    """The same for many, each as it would be written or with its refusal."""
    jobs = await control.store.jobs.all(control.namespace)
    found = {name: _checked(jobs, name, spec) for name, spec in specs.items()}
    fit = {name: one for name, one in found.items() if isinstance(one, ScheduleSpec)}
    bound = await bound_specs(control.store, control.namespace, fit, control.offload, control.quotas)
    return {**found, **bound, **await _outgrown(control, jobs, bound)}


async def caveats_of(control: Control, schedule: Schedule) -> list[str]:
    """What is allowed and yet may surprise, one line each. What is written stays written where nobody has
    time to look."""
    job = await known_job(control.store, control.namespace, schedule.spec.job)
    trigger, now = stored_trigger(schedule.spec, schedule.schedule_id), await control.store.now()
    try:
        upcoming = await control.offload(lambda: trigger.next(now, LOOKED_AT))
    except SearchExhausted:
        upcoming = []
    except TurnedAway as error:
        return [*caveats(job, schedule.spec, []), f"its next fire times were not looked at: {error}"]
    return caveats(job, schedule.spec, upcoming)


async def _outgrown(
    control: Control, jobs: Mapping[JobName, JobSpec], specs: Mapping[ScheduleId, ScheduleSpec | UsageError]
) -> dict[ScheduleId, UsageError]:
    """Those that their jobs refuse, because retries may outgrow the period. To cap a deadline is for the
    code that has the job."""
    refused = dict[ScheduleId, UsageError]()
    for name, spec in specs.items():
        if isinstance(spec, UsageError) or jobs[spec.job].retry_window is not RetryWindow.REFUSE:
            continue
        trigger, now = stored_trigger(spec, name), await control.store.now()
        try:
            fitted(await control.offload(partial(trigger.next, now, LOOKED_AT)), jobs[spec.job], spec.overlap)
        except InvalidSpec as error:
            refused[name] = error
        except (SearchExhausted, TurnedAway):
            continue
    return refused


def _checked(
    jobs: Mapping[JobName, JobSpec], schedule_id: str, spec: ScheduleSpec
) -> ScheduleSpec | UsageError:
    try:
        checked_name("schedule", schedule_id)
        check_payload(named_job(jobs, spec.job), spec.payload)
    except UsageError as error:
        return error
    return spec
