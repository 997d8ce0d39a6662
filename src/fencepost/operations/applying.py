"""The verbs that write schedules whole: one that is created or replaced, and many as a file has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta

from fencepost.core.masking import MASK, is_masked, unmasked
from fencepost.errors import InvalidSpec, ScheduleChanged, UsageError
from fencepost.model.access import Role
from fencepost.model.codec import schedule_to_text
from fencepost.model.identifiers import ScheduleId
from fencepost.model.schedule import DesiredSchedule, Schedule, ScheduleChange, ScheduleSpec, ScheduleState
from fencepost.operations.control import Control
from fencepost.operations.operation import ChangeRequest, operation
from fencepost.operations.responses.schedules import (
    AppliedEntry,
    AppliedSchedules,
    EditedSchedule,
    schedule_fields,
    spec_changes,
)
from fencepost.operations.schedule_words import NIGHTLY, ScheduleWords
from fencepost.operations.schedule_writing import BATCH_MAX, caveats_of, checked_spec, checked_specs, put_many
from fencepost.operations.schedules import standing_schedule
from fencepost.operations.specs import new_spec
from fencepost.operations.words import INTEGER_MAX, Name, ScheduleIdText

SOURCE_LABEL = "applied-from"
"""Says which file a schedule was applied from."""
REFUSED = "refused"


class PutScheduleRequest(ScheduleWords, frozen=True, kw_only=True):
    """All that the schedule is to be."""

    schedule_id: ScheduleIdText
    expected_version: Annotated[int, Meta(ge=0, le=INTEGER_MAX)] | None = None


class ScheduleEntry(ScheduleWords, frozen=True, kw_only=True):
    """All that one of many schedules is to be."""

    schedule_id: ScheduleIdText


class ApplySchedulesRequest(ChangeRequest, frozen=True, kw_only=True):
    """All that these schedules are to be."""

    schedules: Annotated[list[ScheduleEntry], Meta(min_length=1, max_length=BATCH_MAX)]
    source: (
        Annotated[Name, Meta(description=f"Where they come from; they get it as label `{SOURCE_LABEL}`.")]
        | None
    ) = None
    dry_run: Annotated[bool, Meta(description="Say what would become of each, and write nothing.")] = False


@operation(
    "schedules.put",
    "PUT /schedules/{schedule_id}",
    Role.OPERATOR,
    versioned="version",
    example=NIGHTLY,
)
async def put_schedule(control: Control, request: PutScheduleRequest) -> EditedSchedule:
    """Create a schedule, or replace all that it says; ticks from now on follow the new version.

    One that says the same already stays as it is. With `If-Match: *` it is written whatever is there, also
    where nothing is; with `"v0"` only where nothing is."""
    name = ScheduleId(request.schedule_id)
    current = (await control.store.schedules.get_many(control.namespace, [name])).get(name)
    spec = _whole_spec(request, current, control.requested_at or await control.store.now())
    checked = await checked_spec(control, name, spec)
    (applied,) = await put_many(control, [DesiredSchedule(name, checked, request.expected_version)])
    schedule = await standing_schedule(control, name, spec) if applied is None else applied.schedule
    if schedule is None:
        raise ScheduleChanged(f"schedule {name}: was changed meanwhile; look at it and put it again")
    return EditedSchedule(**schedule_fields(schedule), warnings=await caveats_of(control, schedule))


@operation(
    "schedules.apply",
    "PUT /schedules",
    Role.OPERATOR,
    example={
        "schedules": [{"schedule_id": "nightly", **NIGHTLY}],
        "source": "backups.toml",
    },
)
async def apply_schedules(control: Control, request: ApplySchedulesRequest) -> AppliedSchedules:
    """Create or replace up to 1,000 schedules in one transaction, each whole.

    One that says the same already stays as it is. Where one is refused, none is written, and each refusal is
    told. With a `source`, a schedule that code deploys is refused."""
    names = [ScheduleId(one.schedule_id) for one in request.schedules]
    current = await control.store.schedules.get_many(control.namespace, names)
    checked = await _checked(control, request, current)
    refused = {name: one for name, one in checked.items() if isinstance(one, UsageError)}
    specs = {name: one for name, one in checked.items() if isinstance(one, ScheduleSpec)}
    if request.dry_run or refused:
        items = [
            _refused(name, str(refused[name])) if name in refused else _told(name, specs[name], current)
            for name in checked
        ]
        return AppliedSchedules(items=items, written=False)
    written = await put_many(control, [DesiredSchedule(name, one) for name, one in specs.items()])
    applied = [one for one in written if one is not None]
    return AppliedSchedules(
        items=[
            AppliedEntry(
                schedule_id=one.schedule.schedule_id, change=one.change, version=one.schedule.version
            )
            for one in applied
        ],
        written=True,
    )


async def _checked(
    control: Control, request: ApplySchedulesRequest, current: Mapping[ScheduleId, Schedule]
) -> dict[ScheduleId, ScheduleSpec | UsageError]:
    """Each as it would be written, or why it is refused."""
    now = control.requested_at or await control.store.now()
    found: dict[ScheduleId, ScheduleSpec | UsageError] = {}
    for words in request.schedules:
        name = ScheduleId(words.schedule_id)
        try:
            if name in found:
                raise InvalidSpec("is given twice; give each id once")
            found[name] = _entry_spec(words, current.get(name), now, request.source)
        except UsageError as error:
            found[name] = error
    fit = {name: one for name, one in found.items() if isinstance(one, ScheduleSpec)}
    return {**found, **await checked_specs(control, fit)}


def _entry_spec(
    words: ScheduleWords, current: Schedule | None, now: datetime, source: str | None
) -> ScheduleSpec:
    spec = _whole_spec(words, current, now)
    if source is None:
        return spec
    if current is not None and _is_there(current) and _is_of_code(current):
        remedy = "change it there, or take it out of the code and remove it first"
        raise InvalidSpec(f"is deployed by code; {remedy}")
    return replace(spec, labels={**spec.labels, SOURCE_LABEL: source})


def _is_of_code(current: Schedule) -> bool:
    """What code brought, was removed and came back from a file is the file's."""
    return current.code_spec is not None and SOURCE_LABEL not in current.spec.labels


def _whole_spec(words: ScheduleWords, current: Schedule | None, now: datetime) -> ScheduleSpec:
    """What the words say, the same whenever they are said. What is masked in the payload stays as it was."""
    if words.max_runs is not UNSET and words.max_runs is not None:
        raise InvalidSpec(
            "max_runs: counts from now on; say it in the trigger's stable form, which has a start"
        )
    spec = new_spec(words, now)
    kept = current.spec.payload if current is not None and _is_there(current) else {}
    payload = unmasked(spec.payload, kept)
    if any(is_masked(value) and value != kept.get(name) for name, value in payload.items()):
        raise InvalidSpec(f"payload: has {MASK} in the place of a secret; give what it stands for")
    return replace(spec, payload=payload)


def _told(name: ScheduleId, spec: ScheduleSpec, current: Mapping[ScheduleId, Schedule]) -> AppliedEntry:
    """What would become of one."""
    old = current.get(name)
    if old is None or not _is_there(old):
        return AppliedEntry(schedule_id=name, change=ScheduleChange.CREATED)
    if schedule_to_text(old.spec) == schedule_to_text(spec):
        return AppliedEntry(schedule_id=name, change=ScheduleChange.UNCHANGED, version=old.version)
    changes = spec_changes(old.spec, spec)
    return AppliedEntry(schedule_id=name, change=ScheduleChange.CHANGED, version=old.version, changes=changes)


def _refused(name: ScheduleId, trouble: str) -> AppliedEntry:
    return AppliedEntry(schedule_id=name, change=REFUSED, trouble=trouble)


def _is_there(schedule: Schedule) -> bool:
    return schedule.state is not ScheduleState.REMOVED
