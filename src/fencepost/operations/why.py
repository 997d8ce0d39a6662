"""The explanation of one tick."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from fencepost.model.access import Role
from fencepost.operations.operation import Asked, operation
from fencepost.operations.runs import OneRun
from fencepost.operations.shapes.accounts import ExplanationShape, explanation_shape
from fencepost.operations.words import ScheduleIdText, read_instant
from fencepost.services.accounting import Auditor
from fencepost.services.control import Control

LATEST = "latest"


class OneTick(Asked, frozen=True, kw_only=True):
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
async def why_tick(control: Control, asked: OneTick) -> ExplanationShape:
    """Say in plain words why a tick ran or did not run, and what would change that.

    Any instant may be asked about, also one at which nothing fires, and a schedule that was removed. The
    latest may also be asked for by the name of a job: then it is its newest run."""
    verbs = Auditor(control.store, control.namespace, control.offload)
    if asked.fire_time == LATEST:
        return explanation_shape(await verbs.why_latest(asked.schedule_id))
    fire_time = read_instant("fire_time", asked.fire_time)
    return explanation_shape(await verbs.why(asked.schedule_id, fire_time))


@operation("runs.why", "GET /runs/{run_key}/why", Role.VIEWER)
async def why_run(control: Control, asked: OneRun) -> ExplanationShape:
    """Say in plain words why a run is where it is, and what would change that.

    Also of a tick whose row is gone."""
    verbs = Auditor(control.store, control.namespace, control.offload)
    return explanation_shape(await verbs.why_run(asked.run_key))
