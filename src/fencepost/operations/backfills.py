"""The verbs of backfills."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from fencepost.model.access import Role
from fencepost.model.backfill import Backfill, FillMode, NewBackfill
from fencepost.model.identifiers import ScheduleId
from fencepost.model.policies import AT_ONCE_MAX
from fencepost.model.rate import UNITS_S
from fencepost.operations.operation import ChangeRequest, Request, operation
from fencepost.operations.paging import LIMIT_DEFAULT, Cursor, Limit, cut, encode_cursor, number_behind
from fencepost.operations.responses.backfills import (
    BackfillPage,
    BackfillResponse,
    EstimateResponse,
    backfill_response,
    estimate_response,
)
from fencepost.operations.words import BIG_INTEGER_MAX, ScheduleIdText, Seconds, When, read_when
from fencepost.services.control import Control

REPEATED_MAX = 20
"""So many of the latest are looked through for one that a lost answer was about."""

Number = Annotated[int, Meta(ge=1, le=BIG_INTEGER_MAX, description="The backfill's number.")]
From = Annotated[When, Meta(description="From this fire time on; also a length of time before now.")]
To = Annotated[When, Meta(description="Up to this fire time; `0s` is now.")]
AtOnce = Annotated[int, Meta(ge=1, le=AT_ONCE_MAX, description="So many at once.")]
Apart = Annotated[Seconds, Meta(ge=0, le=UNITS_S["d"], description="How far apart they become due.")]


class EstimateBackfillRequest(Request, frozen=True, kw_only=True):
    """Which fire times of which schedule, and how they are to run."""

    schedule_id: ScheduleIdText
    since: From
    until: To
    mode: FillMode = FillMode.MISSING
    at_once_max: AtOnce = 1
    every_s: Apart = 0.0


class StartBackfillRequest(ChangeRequest, frozen=True, kw_only=True):
    """Which fire times of which schedule, and how they are to run."""

    schedule_id: ScheduleIdText
    since: From
    until: To
    mode: FillMode = FillMode.MISSING
    at_once_max: AtOnce = 1
    every_s: Apart = 0.0


class ListBackfillsRequest(Request, frozen=True, kw_only=True):
    """Which part of the list."""

    limit: Limit = LIMIT_DEFAULT
    after: Cursor | None = None


class BackfillRequest(Request, frozen=True, kw_only=True):
    """One backfill, by its number."""

    backfill_id: Number


class ChangeBackfillRequest(ChangeRequest, frozen=True, kw_only=True):
    """One backfill, by its number."""

    backfill_id: Number


@operation(
    "backfills.estimate",
    "POST /backfills/estimate",
    Role.VIEWER,
    repeatable=True,
    example={
        "schedule_id": "invoices",
        "since": "2026-03-01T00:00:00Z",
        "until": "2026-03-08T00:00:00Z",
        "at_once_max": 4,
        "every_s": 6.0,
    },
)
async def estimate_backfill(control: Control, request: EstimateBackfillRequest) -> EstimateResponse:
    """Say what a backfill would run, and for how long. Nothing is written."""
    return estimate_response(await control.backfills.estimate(await _meant(control, request)))


@operation(
    "backfills.start",
    "POST /backfills",
    Role.OPERATOR,
    example={
        "schedule_id": "invoices",
        "since": "2026-03-01T00:00:00Z",
        "until": "2026-03-08T00:00:00Z",
        "at_once_max": 4,
        "every_s": 6.0,
        "reason": "the mail server was down",
    },
)
async def start_backfill(control: Control, request: StartBackfillRequest) -> BackfillResponse:
    """Have the fire times of a range run that nothing accounts for, behind all live work.

    Nodes that plan write its runs, or `fill` does. Each runs by the version that was in force at its time;
    where none was, before the first and in pauses, by the latest."""
    meant = await _meant(control, request)
    started = await _started_before(control, meant)
    return backfill_response(await control.backfills.start(meant) if started is None else started)


@operation("backfills.list", "GET /backfills", Role.VIEWER)
async def list_backfills(control: Control, request: ListBackfillsRequest) -> BackfillPage:
    """List backfills, the latest first."""
    found = await control.backfills.list(request.limit + 1, number_behind(request.after))
    page, last = cut(found, request.limit)
    following = None if last is None else encode_cursor(last.backfill_id)
    return BackfillPage(items=[backfill_response(one) for one in page], next=following)


@operation("backfills.show", "GET /backfills/{backfill_id}", Role.VIEWER)
async def show_backfill(control: Control, request: BackfillRequest) -> BackfillResponse:
    """Show one backfill: what was asked for, how far it is, and how its runs stand."""
    return backfill_response(await control.backfills.get(request.backfill_id))


@operation("backfills.fill", "POST /backfills/{backfill_id}/fill", Role.OPERATOR, repeatable=True)
async def fill_backfill(control: Control, request: ChangeBackfillRequest) -> BackfillResponse:
    """Write the next runs of a backfill, as many as may wait at a time and as the quota leaves.

    Nodes that plan do the same by themselves; one that is filled or cancelled stays as it is."""
    found = await control.backfills.get(request.backfill_id)
    return backfill_response(await control.backfills.fill(found))


@operation("backfills.cancel", "POST /backfills/{backfill_id}/cancel", Role.OPERATOR)
async def cancel_backfill(control: Control, request: ChangeBackfillRequest) -> BackfillResponse:
    """Cancel what of a backfill waits; what runs is let finish. What nobody has begun ends as missed."""
    return backfill_response(await control.backfills.cancel(request.backfill_id))


async def _meant(control: Control, request: EstimateBackfillRequest | StartBackfillRequest) -> NewBackfill:
    await control.schedules.get(request.schedule_id)
    now = control.requested_at or await control.store.now()
    return NewBackfill(
        schedule_id=ScheduleId(request.schedule_id),
        # People mean the first fire time too; the range itself is open at its beginning.
        since=read_when("since", request.since, now) - datetime.resolution,
        until=read_when("until", request.until, now),
        mode=request.mode,
        at_once_max=request.at_once_max,
        every_s=request.every_s,
    )


async def _started_before(control: Control, meant: NewBackfill) -> Backfill | None:
    """What the first of these calls started, where its answer was lost."""
    first = control.requested_at
    if first is None:
        return None
    latest = await control.backfills.list(REPEATED_MAX)
    return next((one for one in latest if one.request == meant and one.created_at >= first), None)
