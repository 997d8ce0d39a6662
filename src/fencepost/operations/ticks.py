"""The verbs of single ticks of a schedule, also of those that are not planned yet."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from fencepost.model.access import Role
from fencepost.model.plan import Fate
from fencepost.model.run import RunRecord
from fencepost.operations.control import Control
from fencepost.operations.occurrences import Occurrence
from fencepost.operations.operation import operation
from fencepost.operations.responses.runs import RunResponse, run_response
from fencepost.operations.schedules import ChangeScheduleRequest
from fencepost.operations.words import MOMENT, read_instant
from fencepost.services.lookups import known_run


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
    return run_response(await skip(control, request.schedule_id, fire_time))


@operation("schedules.hold", "POST /schedules/{schedule_id}/ticks/{fire_time}/hold", Role.OPERATOR)
async def hold_tick(control: Control, request: ChangeTickRequest) -> RunResponse:
    """Hold the tick of one fire time, also one that is not planned yet, until it is released.

    One that runs or has ended stays as it is."""
    fire_time = read_instant("fire_time", request.fire_time)
    return run_response(await hold(control, request.schedule_id, fire_time))


@operation("schedules.release", "POST /schedules/{schedule_id}/ticks/{fire_time}/release", Role.OPERATOR)
async def release_tick(control: Control, request: ChangeTickRequest) -> RunResponse:
    """Release the tick of one fire time that is held."""
    fire_time = read_instant("fire_time", request.fire_time)
    return run_response(await release(control, request.schedule_id, fire_time))


async def skip(control: Control, schedule_id: str, fire_time: datetime) -> RunRecord:
    """Call off one tick, also one that is not planned yet."""
    tick = await _occurrence(control, schedule_id, fire_time)
    sealed = await tick.seal(Fate.SKIPPED)
    if sealed is not None:
        return sealed
    run_key = await tick.run_key()
    return known_run(run_key, await control.store.ledger.skip(control.namespace, run_key, control.author))


async def hold(control: Control, schedule_id: str, fire_time: datetime) -> RunRecord:
    """Let nobody start one tick until it is released, also one that is not planned yet."""
    tick = await _occurrence(control, schedule_id, fire_time)
    sealed = await tick.seal(Fate.HELD)
    if sealed is not None:
        return sealed
    run_key = await tick.run_key()
    return known_run(run_key, await control.store.ledger.hold(control.namespace, run_key, control.author))


async def release(control: Control, schedule_id: str, fire_time: datetime) -> RunRecord:
    """Take the hold of one tick away again."""
    run_key = await (await _occurrence(control, schedule_id, fire_time)).run_key()
    return known_run(run_key, await control.store.ledger.release(control.namespace, run_key, control.author))


async def _occurrence(control: Control, schedule_id: str, fire_time: datetime) -> Occurrence:
    schedule, versions = await control.schedule(schedule_id), await control.versions(schedule_id)
    return Occurrence(control, schedule, versions, fire_time)
