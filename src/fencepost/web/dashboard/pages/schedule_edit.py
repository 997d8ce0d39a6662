"""Writing a schedule: a form with its preview, and the button that carries it out.

The form is posted to its own page, because a payload may hold secrets. Everything but the payload has an
address as well, which fills the form in: to be sent to somebody, and to come back to after a refusal.

A form carries the version that it was opened with, and changes no other: it says all there is of a schedule,
and would take back what somebody else changed meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, structs

from fencepost.errors import UsageError
from fencepost.model.access import Role
from fencepost.model.audit import Action, LogFilter
from fencepost.model.identifiers import ScheduleId, Shard
from fencepost.model.policies import OVERLAPS, CatchUpMode
from fencepost.model.schedule import Schedule, ScheduleState
from fencepost.operations import schedule_writing
from fencepost.operations.control import Control
from fencepost.operations.outlook import look_ahead
from fencepost.operations.responses.triggers import described
from fencepost.operations.schedules import AddScheduleRequest, EditScheduleRequest, edit_schedule
from fencepost.operations.specs import new_spec
from fencepost.operations.words import moment
from fencepost.triggers.localtime.zones import zone_names
from fencepost.web.dashboard import links
from fencepost.web.dashboard.actions.forms import to_request
from fencepost.web.dashboard.form_errors import error_beside, errors_of
from fencepost.web.dashboard.page import Rendered, Shown, Visit, page
from fencepost.web.dashboard.schedule_form import (
    Fields,
    ScheduleForm,
    address_again,
    address_of,
    changed_fields,
    form_of,
    merged,
    new_fields,
)

SECRET = ("payload",)
NEW = ScheduleForm(overlap="skip", mode="none")
JOBS_LISTED_MAX = 200
"""More jobs than these are completed as one types."""


@page(
    "/new-schedule",
    Role.OPERATOR,
    title="New schedule",
    template="schedule_edit.html",
    section="schedules",
    query=ScheduleForm,
    posted=SECRET,
)
async def new_schedule_page(visit: Visit[ScheduleForm]) -> Shown:
    """A form for a schedule that is not there yet."""
    begun = structs.replace(NEW, schedule_id=visit.query.schedule_id)
    form = merged(visit.query, begun, visit.posted)
    preview, refused, fields, ways = None, None, Fields(), {}
    errors = errors_of(form, begun, visit.now, new=True) if visit.posted else {}
    if visit.posted and not errors:
        try:
            ways = _ways("/new-schedule", form, begun)
            fields = new_fields(form)
            preview = await _new_preview(visit, fields)
        except UsageError as error:
            errors = error_beside(error)
            refused = str(error)
    return {
        **await _choices(visit.control, form),
        "preview": preview,
        "refused": _refused(refused, errors),
        "errors": errors,
        **ways,
        **_hidden(fields, []),
    }


@page(
    "/schedules/{schedule_id}/edit",
    Role.OPERATOR,
    title="Edit",
    template="schedule_edit.html",
    section="schedules",
    query=ScheduleForm,
    posted=SECRET,
)
async def edit_schedule_page(visit: Visit[ScheduleForm]) -> Shown:
    """A form with the schedule as it stands, and what a change would do."""
    schedule = await visit.control.schedule(visit.path["schedule_id"])
    now = form_of(schedule)
    form = merged(visit.query, now, visit.posted)
    overtaken = await _overtaken(visit.control, schedule, form)
    preview, refused, fields, cleared, ways = None, None, Fields(), list[str](), {}
    errors = errors_of(form, now, visit.now, new=False) if visit.posted else {}
    if visit.posted and not overtaken and not errors:
        try:
            here = links.schedule(schedule.schedule_id, "edit")
            ways = _ways(here, structs.replace(form, schedule_id=""), now)
            fields, cleared = changed_fields(form, now)
            fields = {
                **fields,
                "schedule_id": [schedule.schedule_id],
                "expected_version": [form.version],
            }
            preview = await _edit_preview(visit.control, fields, cleared)
        except UsageError as error:
            errors = error_beside(error)
            refused = str(error)
    values = {
        **await _choices(visit.control, form),
        "schedule": schedule,
        "overtaken": overtaken,
        "preview": preview,
        "refused": _refused(refused, errors),
        "errors": errors,
        **ways,
        **_hidden(fields, cleared),
    }
    return Rendered(values, title=f"Edit {schedule.schedule_id}")


def _refused(refused: str | None, errors: Mapping[str, str]) -> str | None:
    """What is said at the top: how much is to be corrected, where the fields say what."""
    if not errors:
        return refused
    number = "one field" if len(errors) == 1 else f"{len(errors)} fields"
    return f"Correct {number}, and preview it again."


async def _overtaken(control: Control, schedule: Schedule, form: ScheduleForm) -> str | None:
    """What is said of a form that was opened with another version than the one that stands."""
    if form.version == str(schedule.version):
        return None
    last_put = LogFilter(subject=schedule.schedule_id, action=Action.SCHEDULE_PUT, limit=1)
    changed = [
        f", changed by {one.author.name}"
        for one in await control.log(last_put)
        if one.after.get("version") == schedule.version
    ]
    opened = f"version {form.version}" if form.version else "an unknown version"
    return f"This form was opened with {opened}; it is version {schedule.version} by now{''.join(changed)}"


def _ways(path: str, form: ScheduleForm, now: ScheduleForm) -> dict[str, str]:
    """Where the form as it is filled in is found by others, and by oneself after a refusal."""
    return {"link": address_of(path, form), "stay": address_again(path, form, now)}


async def _edit_preview(control: Control, fields: Fields, cleared: list[str]) -> Mapping[str, Any]:
    request = to_request({**fields, "dry_run": ["true"]}, EditScheduleRequest, cleared)
    edited = await edit_schedule.carry_out(control, request)
    assert edited.preview is not UNSET, "a dry run has a preview"
    return {
        "description": edited.description,
        "changes": edited.preview.changes,
        "before": edited.preview.next_before,
        "after": edited.preview.next_after,
        "policies": edited.preview.policies,
        "warnings": edited.warnings,
    }


async def _new_preview(visit: Visit[ScheduleForm], fields: Fields) -> Mapping[str, Any]:
    control, request = visit.control, to_request(fields, AddScheduleRequest)
    now = await control.store.now()
    spec = await schedule_writing.checked_spec(control, request.schedule_id, new_spec(request, now))
    made = Schedule(
        namespace=control.namespace,
        schedule_id=ScheduleId(request.schedule_id),
        shard=Shard(0),
        version=0,
        state=ScheduleState.ACTIVE,
        spec=spec,
        planned_through=now,
        updated_at=now,
    )
    ahead = await control.offload(lambda: look_ahead(made, now))
    return {
        "description": described(spec, request.schedule_id),
        "changes": [],
        "before": [],
        "after": [moment(one.fire_time) for one in ahead.ticks],
        "policies": ahead.policies,
        "warnings": [
            *await schedule_writing.caveats_of(control, made),
            *([ahead.trouble] if ahead.trouble else []),
        ],
    }


async def _choices(control: Control, form: ScheduleForm) -> dict[str, Any]:
    """What may be chosen from, and what is."""
    return {
        "form": form,
        "schedule": None,
        "overtaken": None,
        "jobs": _with(sorted(await control.jobs()), form.job),
        "jobs_listed": JOBS_LISTED_MAX,
        "overlaps": _with([str(one) for one in OVERLAPS], form.overlap),
        "modes": _with([str(one) for one in CatchUpMode], form.mode),
        "zones": sorted(zone_names()),
    }


def _with(names: list[str], chosen: str) -> list[str]:
    """The names, and what stands in the form where it is none of them."""
    return names if not chosen or chosen in names else [chosen, *names]


def _hidden(fields: Fields, cleared: list[str]) -> dict[str, Any]:
    """The fields of the form that carries it out."""
    return {"fields": [(name, text) for name, texts in fields.items() for text in texts], "cleared": cleared}
