"""The verbs that stop schedules and let them go on, one or many."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Any

from msgspec import Meta

from fencepost.errors import UsageError
from fencepost.model.access import Role
from fencepost.model.audit import Action
from fencepost.model.policies import CatchUp, CatchUpMode
from fencepost.model.schedule import ScheduleState
from fencepost.operations.control import Control
from fencepost.operations.operation import ChangeRequest, operation
from fencepost.operations.responses.schedules import (
    Outcome,
    OutcomeList,
    Resumed,
    ResumedResponse,
    ScheduleResponse,
    resumed_response,
    schedule_response,
)
from fencepost.operations.schedules import ChangeScheduleRequest, ScheduleChoice, schedule_filter
from fencepost.operations.words import ScheduleIdText
from fencepost.triggers import tzdata_version

MANY_MAX = 500

CatchUpFlag = Annotated[
    bool, Meta(description="False: nothing of the pause fires, whatever the catch-up of the schedule says.")
]


class ResumeScheduleRequest(ChangeScheduleRequest, frozen=True, kw_only=True):
    """One schedule, by its id, and what becomes of its pause."""

    catch_up: CatchUpFlag = True


class ChangeSchedulesRequest(ChangeRequest, frozen=True, kw_only=True):
    """Which schedules: by their ids, or by a filter, which finds at most 500 at a time."""

    schedule_ids: Annotated[list[ScheduleIdText], Meta(min_length=1, max_length=MANY_MAX)] | None = None
    filter: ScheduleChoice | None = None


class ResumeSchedulesRequest(ChangeSchedulesRequest, frozen=True, kw_only=True):
    """The same, and what becomes of their pauses."""

    catch_up: CatchUpFlag = True


@operation("schedules.pause", "POST /schedules/{schedule_id}/pause", Role.OPERATOR)
async def pause_schedule(control: Control, request: ChangeScheduleRequest) -> ScheduleResponse:
    """Stop planning and withdraw what is planned."""
    await _pause(control, request.schedule_id)
    return schedule_response(await control.schedule(request.schedule_id))


@operation(
    "schedules.resume", "POST /schedules/{schedule_id}/resume", Role.OPERATOR, example={"catch_up": True}
)
async def resume_schedule(control: Control, request: ResumeScheduleRequest) -> ResumedResponse:
    """Plan again from now on.

    A schedule that catches up also gets what of its pause lies within its greatest lateness, and after the
    last edit where it was edited meanwhile. The answer says from when on."""
    return resumed_response(await _resume(control, request.schedule_id, request.catch_up))


@operation(
    "schedules.pause_many",
    "POST /schedules/-/pause",
    Role.OPERATOR,
    example={"schedule_ids": ["nightly", "weekly"]},
)
async def pause_schedules(control: Control, request: ChangeSchedulesRequest) -> OutcomeList:
    """Pause many schedules. What cannot be is told, and keeps none of the others from it."""
    ids, more = await _chosen(control, request, ScheduleState.ACTIVE)
    return OutcomeList(items=[await _told(one, _pause(control, one)) for one in ids], more=more)


@operation(
    "schedules.resume_many",
    "POST /schedules/-/resume",
    Role.OPERATOR,
    example={"filter": {"label": "team=ops"}, "catch_up": False},
)
async def resume_schedules(control: Control, request: ResumeSchedulesRequest) -> OutcomeList:
    """Resume many schedules. What cannot be is told, and keeps none of the others from it."""
    ids, more = await _chosen(control, request, ScheduleState.PAUSED)
    changed = [await _told(one, _resume(control, one, request.catch_up)) for one in ids]
    return OutcomeList(items=changed, more=more)


async def _pause(control: Control, schedule_id: str) -> None:
    try:
        await pause(control, schedule_id)
    except UsageError:
        if not await control.done_before(Action.SCHEDULE_PAUSE, schedule_id):
            raise


async def _resume(control: Control, schedule_id: str, catch_up: bool) -> Resumed:
    try:
        return await resume(control, schedule_id, catch_up=catch_up)
    except UsageError:
        if not await control.done_before(Action.SCHEDULE_RESUME, schedule_id):
            raise
        return await resumed(control, schedule_id, catch_up=catch_up)


async def _chosen(
    control: Control, request: ChangeSchedulesRequest, state: ScheduleState
) -> tuple[Sequence[str], bool]:
    """Their ids, each once, and whether the filter finds more. It looks for those that can be changed, unless
    it asks for a state itself."""
    if (request.schedule_ids is None) == (request.filter is None):
        raise UsageError("give either schedule_ids or filter")
    if request.filter is None:
        return list(dict.fromkeys(request.schedule_ids or ())), False
    wanted = schedule_filter(request.filter)
    found = await control.store.schedules.find(
        control.namespace, replace(wanted, state=wanted.state or state, limit=MANY_MAX + 1)
    )
    return [one.schedule_id for one in found[:MANY_MAX]], len(found) > MANY_MAX


async def _told(schedule_id: str, change: Awaitable[Any]) -> Outcome:
    try:
        await change
    except UsageError as error:
        return Outcome(schedule_id=schedule_id, done=False, trouble=str(error))
    return Outcome(schedule_id=schedule_id, done=True, trouble=None)


async def pause(control: Control, schedule_id: str, reason: str | None = None) -> None:
    """Withdraw what is planned and plan no more."""
    schedule = await control.schedule(schedule_id)
    why = reason or control.because("the schedule was paused")
    store = control.store.schedules
    if not await store.pause(control.namespace, schedule.schedule_id, why, author=control.author):
        raise UsageError(f"schedule {schedule_id}: is not active")


async def resume(control: Control, schedule_id: str, *, catch_up: bool = True) -> Resumed:
    """Plan again. What of the pause is not older than `max_lateness` is planned too, where the schedule
    catches up at all; otherwise, or without `catch_up`, nothing of the pause fires. An edit during the
    pause ends a version there, and what lies before it is not caught up either."""
    schedule = await control.schedule(schedule_id)
    back = _run_context(schedule.spec.catch_up) if catch_up else timedelta()
    if not await control.store.schedules.resume(
        control.namespace,
        schedule.schedule_id,
        tzdata=tzdata_version(),
        back_s=back.total_seconds(),
        author=control.author,
    ):
        raise UsageError(f"schedule {schedule_id}: is not paused")
    return await resumed(control, schedule_id, catch_up=catch_up)


async def resumed(control: Control, schedule_id: str, *, catch_up: bool = True) -> Resumed:
    """A schedule that was resumed so, and what came of its pause."""
    schedule = await control.schedule(schedule_id)
    back = _run_context(schedule.spec.catch_up) if catch_up else timedelta()
    last = await control.versions(schedule_id, after=schedule.version - 1)
    begins = last[-1].in_force_from
    return Resumed(schedule, begins if back and begins < schedule.updated_at else None)


def _run_context(catch_up: CatchUp) -> timedelta:
    """How much of a pause a schedule asks to have caught up."""
    return timedelta() if catch_up.mode is CatchUpMode.NONE else catch_up.max_lateness
