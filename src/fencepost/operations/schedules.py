"""The verbs of schedules: looking at them, writing them, and one extra tick."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Annotated

from msgspec import Meta

from fencepost.errors import ScheduleChanged, ScheduleExists, UnknownSchedule, UsageError
from fencepost.model.access import Role
from fencepost.model.audit import Action
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import JobName, RunKey, ScheduleId
from fencepost.model.schedule import Schedule, ScheduleFilter, ScheduleSpec, ScheduleState
from fencepost.operations.control import Control
from fencepost.operations.operation import ChangeRequest, Request, operation
from fencepost.operations.outlook import look_ahead, outlook_response
from fencepost.operations.paging import (
    LIMIT_DEFAULT,
    Cursor,
    Limit,
    cut,
    decode_cursor,
    encode_cursor,
    number_behind,
)
from fencepost.operations.responses.schedules import (
    EditedSchedule,
    EditPreview,
    OutlookResponse,
    RemovedSchedule,
    SchedulePage,
    Triggered,
    VersionPage,
    schedule_fields,
    schedule_response,
    spec_changes,
    version_responses,
)
from fencepost.operations.schedule_words import NIGHTLY, ScheduleWords
from fencepost.operations.schedule_writing import caveats_of, checked_spec, put
from fencepost.operations.specs import changed_spec, new_spec
from fencepost.operations.words import INTEGER_MAX, Name, ScheduleIdText, Text, moment
from fencepost.services.lookups import unknown_schedule
from fencepost.telemetry import traces

TRIES_MAX = 3


class ScheduleChoice(Request, frozen=True, kw_only=True):
    """Which schedules: all that fit everything that is given."""

    text: Annotated[Text, Meta(description="Only schedules whose id or job contains this.")] | None = None
    state: (
        Annotated[
            ScheduleState,
            Meta(description="Only schedules in this state; removed ones are not listed without it."),
        ]
        | None
    ) = None
    job: Annotated[Name, Meta(description="Only schedules of this job.")] | None = None
    label: (
        Annotated[
            Text,
            Meta(
                description="Only schedules with this label: `key=value`, or its key alone.",
                examples=["team=ops"],
            ),
        ]
        | None
    ) = None
    frozen: Annotated[bool, Meta(description="Only schedules that a freeze holds.")] | None = None


class ListSchedulesRequest(ScheduleChoice, frozen=True, kw_only=True):
    """Which schedules to list."""

    limit: Limit = LIMIT_DEFAULT
    after: Cursor | None = None


class ScheduleRequest(Request, frozen=True, kw_only=True):
    """One schedule, by its id."""

    schedule_id: ScheduleIdText


class ListVersionsRequest(ScheduleRequest, frozen=True, kw_only=True):
    """Whose versions."""

    limit: Limit = LIMIT_DEFAULT
    after: Cursor | None = None


class ChangeScheduleRequest(ChangeRequest, frozen=True, kw_only=True):
    """One schedule, by its id."""

    schedule_id: ScheduleIdText


class AddScheduleRequest(ScheduleWords, frozen=True, kw_only=True):
    """What the new schedule is."""

    schedule_id: ScheduleIdText


class EditScheduleRequest(ScheduleWords, frozen=True, kw_only=True):
    """What is to be different."""

    schedule_id: ScheduleIdText
    expected_version: Annotated[int, Meta(ge=1, le=INTEGER_MAX)] | None = None
    dry_run: Annotated[bool, Meta(description="Say what would change, and write nothing.")] = False


@operation("schedules.list", "GET /schedules", Role.VIEWER)
async def list_schedules(control: Control, request: ListSchedulesRequest) -> SchedulePage:
    """List all schedules that are not removed, or those that fit, by id."""
    after = None if request.after is None else ScheduleId(decode_cursor(request.after, tuple[Name])[0])
    wanted = replace(schedule_filter(request), limit=request.limit + 1, after=after)
    page, last = cut(await control.store.schedules.find(control.namespace, wanted), request.limit)
    items = await control.offload_short(lambda: [schedule_response(one) for one in page])
    return SchedulePage(items=items, next=None if last is None else encode_cursor(last.schedule_id))


@operation("schedules.show", "GET /schedules/{schedule_id}", Role.VIEWER, versioned="version")
async def show_schedule(control: Control, request: ScheduleRequest) -> OutlookResponse:
    """Show one schedule, its next fire times, what changes of the clocks do to them, and its policies."""
    schedule = await control.schedule(request.schedule_id)
    last = await control.versions(request.schedule_id, after=schedule.version - 1)
    now = await control.store.now()
    ahead = await control.offload_short(lambda: look_ahead(schedule, now))
    return outlook_response(schedule, last[-1].tzdata, ahead)


@operation("schedules.history", "GET /schedules/{schedule_id}/versions", Role.VIEWER)
async def list_versions(control: Control, request: ListVersionsRequest) -> VersionPage:
    """List the versions of a schedule and what each changed, also of a removed one, the oldest first."""
    behind = number_behind(request.after, INTEGER_MAX) or 0
    versions = await control.versions(request.schedule_id, after=max(behind - 1, 0), limit=request.limit + 2)
    shapes = await control.offload_short(lambda: version_responses(request.schedule_id, versions))
    page, last = cut([one for one in shapes if one.version > behind], request.limit)
    return VersionPage(items=list(page), next=None if last is None else encode_cursor(last.version))


@operation(
    "schedules.add",
    "POST /schedules",
    Role.OPERATOR,
    versioned="version",
    example={"schedule_id": "nightly", **NIGHTLY},
)
async def add_schedule(control: Control, request: AddScheduleRequest) -> EditedSchedule:
    """Add a schedule; it plans from now on."""
    spec = new_spec(request, control.requested_at or await control.store.now())
    try:
        added = await add(control, request.schedule_id, spec)
    except ScheduleExists:
        standing = await standing_schedule(control, request.schedule_id, spec)
        if standing is None:
            raise
        added = standing
    return EditedSchedule(**schedule_fields(added), warnings=await caveats_of(control, added))


@operation(
    "schedules.edit",
    "PATCH /schedules/{schedule_id}",
    Role.OPERATOR,
    versioned="version",
    example={"cron": "45 2 * * *", "spread": None, "dry_run": True},
)
async def edit_schedule(control: Control, request: EditScheduleRequest) -> EditedSchedule:
    """Change what is given and leave the rest; ticks from now on follow the new version.

    What is null or `none` is taken away, and so is a label that is null or empty. Of a payload that was shown
    and comes back, what is still masked stays as it was. A dry run says what the edit would do."""
    if request.nothing:
        raise UsageError(f"schedule {request.schedule_id}: nothing to change; say what should be different")
    if request.dry_run:
        return await _previewed(control, request)
    edited = await _edited(control, request)
    return EditedSchedule(**schedule_fields(edited), warnings=await caveats_of(control, edited))


@operation("schedules.remove", "DELETE /schedules/{schedule_id}", Role.OPERATOR)
async def remove_schedule(control: Control, request: ChangeScheduleRequest) -> RemovedSchedule:
    """Stop a schedule for good; its history stays."""
    try:
        await remove(control, request.schedule_id)
    except UnknownSchedule:
        if not await control.done_before(Action.SCHEDULE_REMOVE, request.schedule_id):
            raise
    return RemovedSchedule(schedule_id=request.schedule_id, state=str(ScheduleState.REMOVED))


@operation("schedules.trigger", "POST /schedules/{schedule_id}/trigger", Role.OPERATOR)
async def trigger_schedule(control: Control, request: ChangeScheduleRequest) -> Triggered:
    """Run one extra tick of a schedule, now, and answer with its key."""
    return Triggered(run_key=await trigger(control, request.schedule_id, control.requested_at))


def schedule_filter(request: ScheduleChoice) -> ScheduleFilter:
    """The filter that is meant."""
    return ScheduleFilter(
        text=request.text,
        state=request.state,
        job=None if request.job is None else JobName(request.job),
        label=request.label,
        frozen=request.frozen,
    )


async def _edited(control: Control, request: EditScheduleRequest) -> Schedule:
    """Where no version is expected, the words are said again of whichever is there meanwhile."""
    now = control.requested_at or await control.store.now()
    if control.repeated:
        last = await control.schedule(request.schedule_id)
        standing = await standing_schedule(
            control, request.schedule_id, changed_spec(last.spec, request, now)
        )
        if standing is not None:
            return standing
    for left in reversed(range(TRIES_MAX)):
        old = await _expected(control, request)
        spec = changed_spec(old.spec, request, now)
        try:
            return await edit(control, request.schedule_id, spec, old.version)
        except ScheduleChanged:
            if request.expected_version is not None or not left:
                raise
    raise AssertionError("there was no try")


async def standing_schedule(control: Control, schedule_id: str, spec: ScheduleSpec) -> Schedule | None:
    """The schedule, where this call wrote it so before and its answer was lost."""
    if not await control.done_before(Action.SCHEDULE_PUT, schedule_id):
        return None
    found = await control.schedule(schedule_id)
    return found if found.spec == await checked_spec(control, schedule_id, spec) else None


async def _expected(control: Control, request: EditScheduleRequest) -> Schedule:
    old = await control.schedule(request.schedule_id)
    if request.expected_version not in (None, old.version):
        raise ScheduleChanged(
            f"schedule {request.schedule_id}: was changed meanwhile; look at it and edit again"
        )
    return old


async def _previewed(control: Control, request: EditScheduleRequest) -> EditedSchedule:
    old, now = await _expected(control, request), await control.store.now()
    spec = await checked_spec(control, request.schedule_id, changed_spec(old.spec, request, now))
    new = replace(old, spec=spec)
    preview = await control.offload(lambda: _preview(old, new, now))
    warnings = await caveats_of(control, new)
    return EditedSchedule(**schedule_fields(new), warnings=warnings, preview=preview)


def _preview(old: Schedule, new: Schedule, now: datetime) -> EditPreview:
    before, after = look_ahead(old, now), look_ahead(new, now)
    return EditPreview(
        changes=spec_changes(old.spec, new.spec),
        next_before=[moment(one.fire_time) for one in before.ticks],
        next_after=[moment(one.fire_time) for one in after.ticks],
        policies=list(after.policies),
    )


async def add(control: Control, schedule_id: str, spec: ScheduleSpec) -> Schedule:
    """A new schedule; it plans from now on."""
    spec = await checked_spec(control, schedule_id, spec)
    added = await put(control, schedule_id, spec, expected_version=0)
    if added is None:
        raise ScheduleExists(f"schedule {schedule_id}: exists already; use: fencepost schedules edit")
    return added


async def edit(control: Control, schedule_id: str, spec: ScheduleSpec, expected_version: int) -> Schedule:
    """The next version of a schedule, unless somebody else was quicker."""
    spec = await checked_spec(control, schedule_id, spec)
    edited = await put(control, schedule_id, spec, expected_version=expected_version)
    if edited is None:
        raise ScheduleChanged(f"schedule {schedule_id}: was changed meanwhile; look at it and edit again")
    return edited


async def remove(control: Control, schedule_id: str) -> None:
    """Stop for good; its history stays."""
    schedule = await control.schedule(schedule_id)
    await control.store.schedules.remove(control.namespace, schedule.schedule_id, author=control.author)


async def trigger(control: Control, schedule_id: str, requested_at: StoreTime | None = None) -> RunKey:
    """One extra tick, now. With `requested_at` it is the one of that instant, at every repetition."""
    schedule = await control.schedule(schedule_id)
    fire_time = await control.store.now() if requested_at is None else requested_at
    control.run_quota.take(1)
    run_key = await control.store.ledger.trigger(
        control.namespace, schedule.schedule_id, fire_time, author=control.author
    )
    if run_key is None:
        raise await unknown_schedule(control.store, control.namespace, schedule_id)
    spec, of = schedule.spec, schedule.schedule_id
    traces.enqueued([traces.Written(control.namespace, run_key, spec.job, spec.queue, of)], [True])
    return run_key
