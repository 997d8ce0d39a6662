"""Triggers as people see them: in words, with their zone, their policy and what the clocks will do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import click

from fencepost.errors import SearchExhausted, UsageError
from fencepost.model.schedule import ScheduleSpec
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
UTC = "UTC"


@dataclass(frozen=True)
class PolicyInForce:
    """What a gap and a fold do to a trigger; `chosen` names those that somebody has chosen."""

    gap: dst.Gap
    fold: dst.Fold
    chosen: tuple[str, ...]

    def origin(self, name: str) -> str:
        """How the policy came to be."""
        return "chosen" if name in self.chosen else "by default"


def described(spec: ScheduleSpec, schedule_id: str) -> str:
    """When a stored schedule fires; one that this release cannot read says so, and fails nothing."""
    try:
        return stored_trigger(spec, schedule_id).describe()
    except UsageError as error:
        return f"cannot be read: {error}"


def changes_ahead(trigger: Combinable, after: datetime) -> list[ChangePreview]:
    """What the next changes of the clocks do to it; nothing where a search for its fire times is cut."""
    try:
        return preview(trigger, after)
    except SearchExhausted:
        return []


def print_changes(changes: Sequence[ChangePreview]) -> None:
    """One sentence a line, apart from what stands before."""
    if changes:
        click.echo()
    for change in changes:
        click.echo(change.sentence)


def zone_shown(trigger: Combinable, tz: str | None) -> str | None:
    """The zone that was asked for, or else the one that the trigger lives in, or else this machine's own."""
    own = trigger.zones() - {UTC}
    return tz or (next(iter(own)) if len(own) == 1 else None)


def policy_of(trigger: Combinable) -> PolicyInForce | None:
    """The policy of a trigger with wall times; None where clocks mean nothing to it, or several policies."""
    for _ in range(LAYERS_MAX):
        if not isinstance(trigger, Narrowed | Shifted):
            break
        trigger = trigger.of
    policy = _policy(trigger)
    if policy is None:
        return None
    chosen = tuple(name for name in ("gap", "fold") if getattr(trigger, name, None) is not None)
    return PolicyInForce(policy.gap, policy.fold, chosen)


def _policy(trigger: Combinable) -> dst.Policy | None:
    match trigger:
        case WallTrigger() if trigger.times.zone.key == trigger.tz:
            return trigger.times.policy
        case Every(interval=CalendarStep()):
            return dst.policy(trigger.gap, trigger.fold, fixed_time=True)
        case RRule():
            return dst.policy(trigger.gap, trigger.fold, fixed_time=parse_parts(trigger.rule).fixed_time)
    return None
