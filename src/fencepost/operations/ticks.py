"""The verbs of single ticks of a schedule, also of those that are not planned yet."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from fencepost.model.access import Role
from fencepost.operations.operation import operation
from fencepost.operations.responses.runs import RunResponse, run_response
from fencepost.operations.schedules import ChangeScheduleRequest
from fencepost.operations.words import MOMENT, read_instant
from fencepost.services.control import Control


class ChangeTickRequest(ChangeScheduleRequest, frozen=True, kw_only=True):
    """One tick, by its schedule and its fire time."""

    fire_time: Annotated[
        str,
        Meta(
            max_length=64,
            description="The nominal time of the tick.",
            examples=["2026-12-25T06:00:00Z"],
            extra={"reads": MOMENT},
        ),
    ]


@operation("schedules.skip", "POST /schedules/{schedule_id}/ticks/{fire_time}/skip", Role.OPERATOR)
async def skip_tick(control: Control, request: ChangeTickRequest) -> RunResponse:
    """Call off the tick of one fire time, also one that is not planned yet.

    One that has begun or ended stays as it is."""
    fire_time = read_instant("fire_time", request.fire_time)
    return run_response(await control.schedules.skip(request.schedule_id, fire_time))


@operation("schedules.hold", "POST /schedules/{schedule_id}/ticks/{fire_time}/hold", Role.OPERATOR)
async def hold_tick(control: Control, request: ChangeTickRequest) -> RunResponse:
    """Hold the tick of one fire time, also one that is not planned yet, until it is released.

    One that runs or has ended stays as it is."""
    fire_time = read_instant("fire_time", request.fire_time)
    return run_response(await control.schedules.hold(request.schedule_id, fire_time))


@operation("schedules.release", "POST /schedules/{schedule_id}/ticks/{fire_time}/release", Role.OPERATOR)
async def release_tick(control: Control, request: ChangeTickRequest) -> RunResponse:
    """Release the tick of one fire time that is held."""
    fire_time = read_instant("fire_time", request.fire_time)
    return run_response(await control.schedules.release(request.schedule_id, fire_time))
