"""The verbs of backfills."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from functools import partial
from typing import Annotated

from msgspec import Meta

from fencepost.core.backfilling import FIRE_TIMES_MAX, BackfillCounts, duration_s
from fencepost.errors import TurnedAway, UnknownBackfill, UnknownSchedule, UsageError
from fencepost.model.access import Role
from fencepost.model.backfill import Backfill, BackfillState, FillMode, NewBackfill
from fencepost.model.identifiers import RunKey, ScheduleId
from fencepost.model.policies import AT_ONCE_MAX
from fencepost.model.rate import UNITS_S
from fencepost.model.run import RunRecord
from fencepost.model.schedule import Schedule, ScheduleState
from fencepost.model.times import to_utc_text
from fencepost.operations.control import Control
from fencepost.operations.operation import ChangeRequest, Request, operation
from fencepost.operations.paging import LIMIT_DEFAULT, Cursor, Limit, cut, encode_cursor, number_behind
from fencepost.operations.responses.backfills import (
    BackfillPage,
    BackfillResponse,
    Estimate,
    EstimateResponse,
    backfill_response,
    estimate_response,
)
from fencepost.operations.words import BIG_INTEGER_MAX, ScheduleIdText, Seconds, When, read_when
from fencepost.services.backfiller import BATCH_MAX, FillSource, fill_next

LOOK_BATCH = 1_000
PAGE = 1_000
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
    return estimate_response(await estimate(control, await _meant(control, request)))


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
    return backfill_response(await start(control, meant) if started is None else started)


@operation("backfills.list", "GET /backfills", Role.VIEWER)
async def list_backfills(control: Control, request: ListBackfillsRequest) -> BackfillPage:
    """List backfills, the latest first."""
    found = await control.store.backfills.list(
        control.namespace, request.limit + 1, number_behind(request.after)
    )
    page, last = cut(found, request.limit)
    following = None if last is None else encode_cursor(last.backfill_id)
    return BackfillPage(items=[backfill_response(one) for one in page], next=following)


@operation("backfills.show", "GET /backfills/{backfill_id}", Role.VIEWER)
async def show_backfill(control: Control, request: BackfillRequest) -> BackfillResponse:
    """Show one backfill: what was asked for, how far it is, and how its runs stand."""
    return backfill_response(await get(control, request.backfill_id))


@operation("backfills.fill", "POST /backfills/{backfill_id}/fill", Role.OPERATOR, repeatable=True)
async def fill_backfill(control: Control, request: ChangeBackfillRequest) -> BackfillResponse:
    """Write the next runs of a backfill, as many as may wait at a time and as the quota leaves.

    Nodes that plan do the same by themselves; one that is filled or cancelled stays as it is."""
    found = await get(control, request.backfill_id)
    return backfill_response(await fill(control, found))


@operation("backfills.cancel", "POST /backfills/{backfill_id}/cancel", Role.OPERATOR)
async def cancel_backfill(control: Control, request: ChangeBackfillRequest) -> BackfillResponse:
    """Cancel what of a backfill waits; what runs is let finish. What nobody has begun ends as missed."""
    return backfill_response(await cancel(control, request.backfill_id))


async def _meant(control: Control, request: EstimateBackfillRequest | StartBackfillRequest) -> NewBackfill:
    await control.schedule(request.schedule_id)
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
    latest = await control.store.backfills.list(control.namespace, REPEATED_MAX)
    return next((one for one in latest if one.request == meant and one.created_at >= first), None)


async def estimate(control: Control, request: NewBackfill) -> Estimate:
    """What would run and for how long; nothing is written."""
    schedule = await _checked(control, request)
    source = await FillSource.of(control.store, control.namespace, request.schedule_id)
    forgotten = await control.store.ledger.forgotten_before()
    account, reached = BackfillCounts(request.mode, forgotten), request.since
    while reached < request.until:
        batch = await control.offload(partial(source.next_batch, reached, request.until, LOOK_BATCH))
        runs = [one async for one in _runs(control, request.schedule_id, reached, batch.through)]
        ranges = await control.store.ledger.missed_ranges(
            control.namespace, request.schedule_id, reached, batch.through
        )
        account.add(batch.ticks, runs, ranges)
        if account.fire_times > FIRE_TIMES_MAX:
            remedy = f"fill it in parts, the first up to {to_utc_text(batch.through)}"
            raise UsageError(f"backfill: more than {FIRE_TIMES_MAX} fire times; {remedy}")
        reached = batch.through
    run_s = await control.store.ledger.typical_run_s(control.namespace, request.schedule_id)
    most = schedule.spec.overlap.at_once_max
    takes_s = duration_s(request, account.to_run, most, run_s)
    return Estimate(request, account, run_s, takes_s, most, _within(request, forgotten))


async def start(control: Control, request: NewBackfill) -> Backfill:
    """Write a backfill down; nodes that plan fill it, or `fill` does."""
    await _checked(control, request)
    started = await control.store.backfills.start(control.namespace, request, control.author)
    if started is None:
        raise _unknown_schedule(request.schedule_id)
    return started


async def fill(control: Control, backfill: Backfill) -> Backfill:
    """Write its next runs, as many as may wait at a time and as the quota leaves; nodes that plan do the
    same meanwhile. Who is turned away after a part was written is told how far it is."""
    written: int | None = None
    while backfill.state is BackfillState.ACTIVE:
        try:
            written = await _fill_next(control, backfill)
        except TurnedAway:
            if written is None:
                raise
            break
        backfill = await get(control, backfill.backfill_id)
        if written is None:
            break
    return backfill


async def get(control: Control, backfill_id: int) -> Backfill:
    """One backfill, or a refusal."""
    found = await control.store.backfills.get(control.namespace, backfill_id)
    if found is None:
        raise _unknown(backfill_id)
    return found


async def cancel(control: Control, backfill_id: int) -> Backfill:
    """Call off what of it waits, which is missed if nobody has begun it; what runs is let finish."""
    found = await control.store.backfills.cancel(control.namespace, backfill_id, control.author)
    if found is None:
        raise _unknown(backfill_id)
    return found


async def _fill_next(control: Control, backfill: Backfill) -> int | None:
    room, written = control.run_quota.take_some(BATCH_MAX), None
    try:
        if room:
            written = await fill_next(control.store, backfill, control.author, control.offload, room)
    finally:
        control.run_quota.give_back(room - (written or 0))
    return written


async def _checked(control: Control, request: NewBackfill) -> Schedule:
    schedule = await control.store.schedules.get(control.namespace, request.schedule_id)
    if schedule is None or schedule.state is ScheduleState.REMOVED:
        raise _unknown_schedule(request.schedule_id)
    if request.until <= request.since:
        raise UsageError("backfill: expected an end that is later than the start")
    if request.until > await control.store.now():
        raise UsageError(f"backfill: {to_utc_text(request.until)} lies in the future, which is the planner's")
    if not 1 <= request.at_once_max <= AT_ONCE_MAX:
        raise UsageError(f"backfill: {request.at_once_max} at once is not within 1-{AT_ONCE_MAX}")
    return schedule


async def _runs(
    control: Control, schedule_id: ScheduleId, since: datetime, until: datetime
) -> AsyncIterator[RunRecord]:
    after: tuple[datetime, RunKey] | None = None
    while page := await control.store.ledger.ticks(control.namespace, schedule_id, since, until, after, PAGE):
        for run in page:
            yield run
        after = page[-1].fire_time, page[-1].run_key


def _within(request: NewBackfill, forgotten_before: datetime | None) -> datetime | None:
    """What retention keeps from, where the range begins before it. Its first instant is outside of it."""
    if forgotten_before is None or request.since + datetime.resolution >= forgotten_before:
        return None
    return forgotten_before


def _unknown(backfill_id: int) -> UnknownBackfill:
    return UnknownBackfill(f"backfill {backfill_id}: not found; see: fencepost backfills list")


def _unknown_schedule(schedule_id: str) -> UnknownSchedule:
    return UnknownSchedule(f"schedule {schedule_id}: not found; see: fencepost schedules list")
