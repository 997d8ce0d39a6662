"""The explanation of one tick."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from fencepost.model.access import Role
from fencepost.operations.control import Control
from fencepost.operations.operation import Request, operation
from fencepost.operations.responses.accounts import ExplanationResponse, explanation_response
from fencepost.operations.runs import RunRequest
from fencepost.operations.words import ScheduleIdText, read_instant
from fencepost.services.accounting import Auditor

LATEST = "latest"


class TickRequest(Request, frozen=True, kw_only=True):
    """One tick, by its schedule and its fire time."""

    schedule_id: ScheduleIdText
    fire_time: Annotated[
        str,
        Meta(
            max_length=64,
            description="An instant (RFC 3339), or `latest`: the newest one that is not to come.",
            examples=["2026-03-01T00:00:00Z", LATEST],
        ),
    ]


@operation("schedules.why", "GET /schedules/{schedule_id}/ticks/{fire_time}/why", Role.VIEWER)
async def why_tick(control: Control, request: TickRequest) -> ExplanationResponse:
    """Say in plain words why a tick ran or did not run, and what would change that.

    Any instant may be asked about, also one at which nothing fires, and a schedule that was removed. The
    latest may also be asked for by the name of a job: then it is its newest run."""
    verbs = Auditor(control.store, control.namespace, control.offload)
    if request.fire_time == LATEST:
        return explanation_response(await verbs.why_latest(request.schedule_id))
    fire_time = read_instant("fire_time", request.fire_time)
    return explanation_response(await verbs.why(request.schedule_id, fire_time))


@operation("runs.why", "GET /runs/{run_key}/why", Role.VIEWER)
async def why_run(control: Control, request: RunRequest) -> ExplanationResponse:
    """Say in plain words why a run is where it is, and what would change that.

    Also of a tick whose row is gone."""
    verbs = Auditor(control.store, control.namespace, control.offload)
    return explanation_response(await verbs.why_run(request.run_key))
