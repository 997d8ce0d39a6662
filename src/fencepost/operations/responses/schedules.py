"""Schedules, their versions, and what is to come of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import Annotated, Any, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType, field, to_builtins

from fencepost.core.masking import masked
from fencepost.model.codec import FORMAT, schedule_from_json, schedule_to_json
from fencepost.model.dataclasses import dataclass
from fencepost.model.schedule import Schedule, ScheduleSpec, ScheduleVersion
from fencepost.operations.differences import differences
from fencepost.operations.paging import Next
from fencepost.operations.responses.triggers import ChangeResponse, described
from fencepost.operations.words import Moment, moment

AbsentWord: TypeAlias = Annotated[
    str | UnsetType,
    Meta(
        description="What becomes of it once no running code has it. Left out where it goes on.",
        examples=["pause", "remove"],
    ),
]


@dataclass(frozen=True)
class Resumed:
    """A schedule that plans again, and from when on its pause is planned after all, if it is."""

    schedule: Schedule
    caught_up_from: datetime | None


class GateTermsResponse(Struct, kw_only=True):
    """When catch-up is held back: more wait than that, or of the last ones a larger share failed."""

    waiting_max: int
    failed_share: float
    of_last: int


class CatchUpResponse(Struct, kw_only=True):
    """Of ticks that are late: which run, and how late."""

    mode: Annotated[str, Meta(examples=["latest", "parallel(4)"])]
    max_lateness_s: float
    gate: Annotated[
        GateTermsResponse | UnsetType, Meta(description="Left out where the terms are the usual ones.")
    ] = UNSET


class SpecResponse(Struct, kw_only=True):
    """What a version of a schedule says."""

    job: str
    trigger: Annotated[dict[str, Any], Meta(description="In its stable form.")]
    payload: Annotated[dict[str, Any], Meta(description="What looks like a secret is masked.")]
    overlap: Annotated[str, Meta(examples=["skip"])]
    catch_up: CatchUpResponse
    queue: Annotated[str | None, Meta(description="Null: the job's own.")]
    priority: Annotated[int | None, Meta(description="Null: the job's own.")]
    labels: dict[str, str]
    spread: Annotated[str | UnsetType, Meta(description="Left out where there is none.")] = UNSET
    jitter: Annotated[str | UnsetType, Meta(description="Left out where there is none.")] = UNSET
    calendars: Annotated[
        dict[str, dict[str, Any]] | UnsetType,
        Meta(description="The calendars that it needs, as they were when it was written."),
    ] = UNSET
    absent: AbsentWord = UNSET


class ScheduleResponse(Struct, kw_only=True):
    """A schedule as it stands."""

    schedule_id: str
    state: Annotated[str, Meta(examples=["active", "paused"])]
    version: int
    description: Annotated[str, Meta(description="When it fires, in words.")]
    job: str
    trigger: Annotated[dict[str, Any], Meta(description="In its stable form.")]
    payload: Annotated[dict[str, Any], Meta(description="What looks like a secret is masked.")]
    overlap: Annotated[str, Meta(examples=["skip"])]
    catch_up: CatchUpResponse
    queue: Annotated[str | None, Meta(description="Null: the job's own.")]
    priority: Annotated[int | None, Meta(description="Null: the job's own.")]
    labels: dict[str, str]
    spread: Annotated[str | UnsetType, Meta(description="Left out where there is none.")] = UNSET
    jitter: Annotated[str | UnsetType, Meta(description="Left out where there is none.")] = UNSET
    calendars: Annotated[
        dict[str, dict[str, Any]] | UnsetType,
        Meta(description="The calendars that it needs, as they were when it was written."),
    ] = UNSET
    absent: AbsentWord = UNSET
    shard: int
    planned_through: Moment
    updated_at: Moment
    frozen: Annotated[bool, Meta(description="Whether a freeze holds its runs.")]


class SchedulePage(Struct, kw_only=True):
    """Schedules, by id."""

    items: list[ScheduleResponse]
    next: Next


class OutlookResponse(ScheduleResponse, kw_only=True):
    """A schedule and what is to come."""

    tzdata: Annotated[str, Meta(description="The release of the zone rules that its version goes by.")]
    next: Annotated[list[Moment], Meta(description="Its next fire times.")]
    next_run_at: Annotated[list[Moment], Meta(description="When each of them is due.")]
    changes: Annotated[list[ChangeResponse], Meta(description="The next changes of the clocks.")]
    trouble: Annotated[str | None, Meta(description="Why there is no more to show.")]
    policies: Annotated[list[str], Meta(description="What it does when the world is not on time, in words.")]


class EditPreview(Struct, kw_only=True):
    """What an edit would do."""

    changes: Annotated[list[str], Meta(description="One line a value.")]
    next_before: Annotated[list[Moment], Meta(description="The next fire times as it stands.")]
    next_after: Annotated[list[Moment], Meta(description="And as it would be.")]
    policies: list[str]


class EditedSchedule(ScheduleResponse, kw_only=True):
    """A schedule that was written; of a dry run, as it would be, with the version that it has."""

    warnings: Annotated[list[str], Meta(description="What is allowed and yet may surprise.")]
    preview: Annotated[EditPreview | UnsetType, Meta(description="Only of a dry run.")] = UNSET


class CaughtUp(Struct, kw_only=True):
    """From when on a pause fires after all, and how."""

    begins: Moment = field(name="from")
    mode: str


class ResumedResponse(ScheduleResponse, kw_only=True):
    """A schedule that plans again."""

    caught_up: Annotated[CaughtUp | None, Meta(description="Null where nothing of the pause fires.")]


class RemovedSchedule(Struct, kw_only=True):
    """A schedule that is no more."""

    schedule_id: str
    state: Annotated[str, Meta(examples=["removed"])]


class Triggered(Struct, kw_only=True):
    """An extra tick."""

    run_key: str


class Outcome(Struct, kw_only=True):
    """What became of one of many."""

    schedule_id: str
    done: bool
    trouble: Annotated[str | None, Meta(description="Why it was not done.")]


class OutcomeList(Struct, kw_only=True):
    """What became of each; `more` where the filter finds others still: ask again."""

    items: list[Outcome]
    more: bool


class AppliedEntry(Struct, kw_only=True):
    """What became of one schedule of many, or would become of it."""

    schedule_id: str
    change: Annotated[str, Meta(description="created, changed, unchanged or refused.", examples=["created"])]
    version: Annotated[int | None, Meta(description="Null where it is not there.")] = None
    changes: Annotated[list[str], Meta(description="Of a dry run: one line a value.")] = field(
        default_factory=list
    )
    trouble: Annotated[str | None, Meta(description="Why it is refused.")] = None


class AppliedSchedules(Struct, kw_only=True):
    """What became of each, in the order in which they were given."""

    items: list[AppliedEntry]
    written: Annotated[bool, Meta(description="False of a dry run, and where one was refused.")]


class VersionResponse(Struct, kw_only=True):
    """One entry of a schedule's history, with what it changed."""

    version: int
    in_force_from: Moment
    in_force_until: Moment | None
    tzdata: str
    spec: SpecResponse
    changes: list[str]
    description: Annotated[str, Meta(description="When it fires, in words.")]


class VersionPage(Struct, kw_only=True):
    """Versions, the oldest first."""

    items: list[VersionResponse]
    next: Next


def schedule_fields(schedule: Schedule) -> dict[str, Any]:
    """A schedule, by the names of its shape."""
    return {
        "schedule_id": schedule.schedule_id,
        "state": str(schedule.state),
        "version": schedule.version,
        "description": described(schedule.spec, schedule.schedule_id),
        **_spec_fields(schedule.spec),
        "shard": schedule.shard,
        "planned_through": moment(schedule.planned_through),
        "updated_at": moment(schedule.updated_at),
        "frozen": schedule.frozen,
    }


def schedule_response(schedule: Schedule) -> ScheduleResponse:
    """A schedule."""
    return ScheduleResponse(**schedule_fields(schedule))


def spec_behind(shape: ScheduleResponse) -> ScheduleSpec:
    """What the shape says of the spec; in its payload secrets are masked."""
    document = to_builtins(shape)
    fields = {name: document[name] for name in SpecResponse.__struct_fields__ if name in document}
    return schedule_from_json({"v": FORMAT, **fields})


def resumed_response(resumed: Resumed) -> ResumedResponse:
    """A schedule that plans again."""
    begins, mode = resumed.caught_up_from, resumed.schedule.spec.catch_up.words
    caught_up = None if begins is None else CaughtUp(begins=moment(begins), mode=mode)
    return ResumedResponse(**schedule_fields(resumed.schedule), caught_up=caught_up)


def version_responses(schedule_id: str, versions: Sequence[ScheduleVersion]) -> list[VersionResponse]:
    """A history, the oldest first; what its first one changed is not told."""
    first: list[list[str]] = [[]] if versions else []
    changed = [*first, *(spec_changes(old.spec, new.spec) for old, new in pairwise(versions))]
    return [
        VersionResponse(
            version=one.version,
            in_force_from=moment(one.in_force_from),
            in_force_until=moment(one.in_force_until),
            tzdata=one.tzdata,
            spec=SpecResponse(**_spec_fields(one.spec)),
            changes=said,
            description=described(one.spec, schedule_id),
        )
        for one, said in zip(versions, changed, strict=True)
    ]


def spec_changes(old: ScheduleSpec, new: ScheduleSpec) -> list[str]:
    """What lies between two specs, one line a value."""
    return differences(_plain_fields(old), _plain_fields(new))


def _plain_fields(spec: ScheduleSpec) -> dict[str, Any]:
    return {name: value for name, value in schedule_to_json(spec).items() if name != "v"}


def _spec_fields(spec: ScheduleSpec) -> dict[str, Any]:
    """What a spec says, but for the secrets in its payload."""
    fields = _plain_fields(spec)
    catch_up = fields["catch_up"]
    gate = GateTermsResponse(**catch_up["gate"]) if "gate" in catch_up else UNSET
    return {
        **fields,
        "payload": masked(spec.payload),
        "catch_up": CatchUpResponse(
            mode=catch_up["mode"], max_lateness_s=catch_up["max_lateness_s"], gate=gate
        ),
    }
