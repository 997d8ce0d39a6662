"""What is wrong with the fields of a form, each looked at by itself, so that all of it is said at once.

A field is tried in a schedule that is fine otherwise. What is wrong only together, the preview finds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from msgspec import structs

from fencepost.errors import UsageError
from fencepost.model.identifiers import checked_name
from fencepost.operations.schedules import AddScheduleRequest
from fencepost.operations.specs import new_spec
from fencepost.triggers.localtime.zones import zone
from fencepost.web.dashboard.actions.forms import to_request
from fencepost.web.dashboard.schedule_form import Fields, ScheduleForm, new_fields

FINE = ScheduleForm(schedule_id="a-schedule", job="a-job", when="0 0 * * *")
WITH: Mapping[str, tuple[str, ...]] = {
    "job": ("job",),
    "overlap": ("overlap", "overlap_most"),
    "mode": ("mode", "mode_most"),
    **{
        name: (name,)
        for name in ("max_lateness", "spread", "jitter", "queue", "priority", "labels", "payload")
    },
}
"""The fields that are tried, each with what belongs to it."""


def errors_of(form: ScheduleForm, now: ScheduleForm, at: datetime, *, new: bool) -> dict[str, str]:
    """By field. Of an edit only what was changed is looked at."""
    found: dict[str, str] = {}
    if new:
        _note(found, "schedule_id", lambda: _check_id(form.schedule_id.strip()))
    if not form.job.strip():
        found["job"] = "job: is missing; choose what is to run"
    _note(found, "tz", lambda: _check_zone(form.tz.strip()))
    _note(found, "when", lambda: _check_when(form, "tz" not in found, at))
    for name, fields in WITH.items():
        changed = any(getattr(form, one) != getattr(now, one) for one in fields)
        if name not in found and (new or changed):
            alone = structs.replace(FINE, **{one: getattr(form, one) for one in fields})
            _note(found, name, lambda alone=alone: _try(new_fields(alone), at))  # type: ignore[misc]
    return found


def error_beside(error: UsageError) -> dict[str, str]:
    """What the preview refuses, beside the field that it names; none where it names none."""
    name = str(error).partition(":")[0].partition(" ")[0].removeprefix("catch_up.")
    fields = {*structs.asdict(FINE)} - {"filled", "again", "version"}
    return {name: str(error)} if name in fields else {}


def _note(found: dict[str, str], name: str, check: Callable[[], None]) -> None:
    try:
        check()
    except UsageError as error:
        found[name] = str(error)


def _check_id(schedule_id: str) -> None:
    if not schedule_id:
        raise UsageError("id: is missing; give the schedule a name of its own")
    checked_name("id", schedule_id)


def _check_zone(tz: str) -> None:
    if tz:
        zone(tz)


def _check_when(form: ScheduleForm, with_zone: bool, at: datetime) -> None:
    if not form.when.strip():
        raise UsageError("fires: is missing; say when, such as 30 2 * * * or every 15m")
    tz = form.tz if with_zone else ""
    _try(new_fields(structs.replace(FINE, when=form.when, tz=tz)), at)


def _try(fields: Fields, at: datetime) -> None:
    new_spec(to_request(fields, AddScheduleRequest), at)
