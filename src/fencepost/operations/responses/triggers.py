"""Triggers in words: when they fire, their policy, and what the clocks will do."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, Struct

from fencepost.errors import SearchExhausted, UsageError
from fencepost.model.schedule import ScheduleSpec
from fencepost.operations.words import Moment, moment
from fencepost.triggers import Combinable, Every, stored_trigger
from fencepost.triggers.business.trigger import Shifted
from fencepost.triggers.calendar_steps import CalendarStep
from fencepost.triggers.localtime import dst
from fencepost.triggers.localtime.times import WallTrigger
from fencepost.triggers.narrow import Narrowed
from fencepost.triggers.preview import ChangePreview, preview
from fencepost.triggers.rrule import RRule
from fencepost.triggers.rrule.parts import parse_parts

LAYERS_MAX = 32


class ChangeResponse(Struct, kw_only=True):
    """What one change of the clocks does to a trigger."""

    tz: str
    at: Moment
    kind: Annotated[str, Meta(examples=["gap", "fold"])]
    length_s: float
    wall_from: Annotated[str, Meta(description="What the clocks show at the change, before they are set.")]
    wall_to: Annotated[str, Meta(description="And after.")]
    fire_times: Annotated[list[Moment], Meta(description="The first few around the change.")]
    count: int
    sentence: str


class PolicyResponse(Struct, kw_only=True):
    """What a gap and a fold do to a trigger."""

    gap: Annotated[str, Meta(examples=["shift", "skip"])]
    fold: Annotated[str, Meta(examples=["first", "last", "both"])]
    chosen: Annotated[list[str], Meta(description="Which of the two somebody has chosen.")]


class NextResponse(Struct, kw_only=True):
    """When an expression fires."""

    description: str
    zones: list[str]
    times: Annotated[list[Moment], Meta(description="The nearest first.")]
    changes: list[ChangeResponse]


class ExplainResponse(Struct, kw_only=True):
    """All that can be said about an expression at a moment."""

    description: str
    tz: Annotated[str | None, Meta(description="The zone that it lives in; null where there are several.")]
    zones: list[str]
    policy: Annotated[PolicyResponse | None, Meta(description="Null where clocks mean nothing to it.")]
    next: list[Moment]
    previous: Moment | None
    changes: list[ChangeResponse]
    warnings: Annotated[list[str], Meta(description="What the expression may mean to others.")]
    tzdata: Annotated[str, Meta(description="The release of the zone rules.")]
    trigger: Annotated[dict[str, Any], Meta(description="Its stable form.")]


def change_response(change: ChangePreview) -> ChangeResponse:
    """A change of the clocks."""
    return ChangeResponse(
        tz=change.tz,
        at=moment(change.at),
        kind=change.kind,
        length_s=change.length.total_seconds(),
        wall_from=change.wall_from.isoformat(),
        wall_to=change.wall_to.isoformat(),
        fire_times=[moment(one) for one in change.fire_times],
        count=change.count,
        sentence=change.sentence,
    )


def described(spec: ScheduleSpec, schedule_id: str) -> str:
    """When a stored schedule fires; one that this release cannot read says so, and fails nothing."""
    try:
        return stored_trigger(spec, schedule_id).describe()
    except UsageError as error:
        return f"cannot be read: {error}"


def changes_ahead(trigger: Combinable, after: datetime) -> list[ChangeResponse]:
    """What the next changes of the clocks do to it; nothing where a search for its fire times is cut."""
    try:
        return [change_response(one) for one in preview(trigger, after)]
    except SearchExhausted:
        return []


def policy_of(trigger: Combinable) -> PolicyResponse | None:
    """The policy of a trigger with wall times; None where clocks mean nothing to it, or several policies."""
    for _ in range(LAYERS_MAX):
        if not isinstance(trigger, Narrowed | Shifted):
            break
        trigger = trigger.of
    policy = _policy(trigger)
    if policy is None:
        return None
    chosen = [name for name in ("gap", "fold") if getattr(trigger, name, None) is not None]
    return PolicyResponse(gap=policy.gap, fold=policy.fold, chosen=chosen)


def _policy(trigger: Combinable) -> dst.Policy | None:
    match trigger:
        case WallTrigger() if trigger.times.zone.key == trigger.tz:
            return trigger.times.policy
        case Every(interval=CalendarStep()):
            return dst.policy(trigger.gap, trigger.fold, fixed_time=True)
        case RRule():
            return dst.policy(trigger.gap, trigger.fold, fixed_time=parse_parts(trigger.rule).fixed_time)
    return None
