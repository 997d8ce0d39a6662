"""`fencepost explain`: an expression in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from fencepost.cli.expressions import Asked, takes_expression
from fencepost.cli.options import json_option
from fencepost.cli.output import print_fields, print_json, shown_time

if TYPE_CHECKING:
    from fencepost.cli.trigger_views import PolicyInForce
    from fencepost.triggers import Combinable

NEXT_SHOWN = 3
GAP_WORDS = {"shift": "fires as the gap ends", "skip": "does not fire"}
FOLD_WORDS = {"first": "fires the first time", "last": "fires the second time", "both": "fires both times"}


@dataclass(frozen=True)
class Explanation:
    """All that can be said about a trigger at a moment."""

    trigger: Combinable
    tz: str | None
    next: list[datetime]
    previous: datetime | None
    policy: PolicyInForce | None
    changes: list[Any]
    tzdata: str


@click.command()
@takes_expression
@json_option
def explain(asked: Asked, as_json: bool) -> None:
    """Say in plain words when an expression fires, and what a change of the clocks does to it.

    EXPR is as for `fencepost next`.

    \b
    Example:
      fencepost explain "30 2 * * MON-FRI" --tz Europe/Berlin
      fencepost explain "every 1 month" --anchor 2026-01-31T09:00 --tz America/New_York
    """
    found = _explained(asked)
    if as_json:
        print_json(_json(found))
    else:
        _print(found)


def _explained(asked: Asked) -> Explanation:
    from fencepost.cli.trigger_views import changes_ahead, policy_of
    from fencepost.triggers import tzdata_version

    trigger, after = asked.trigger(), asked.moment()
    return Explanation(
        trigger=trigger,
        tz=asked.tz,
        next=trigger.next(after, NEXT_SHOWN),
        previous=_previous(trigger, after),
        policy=policy_of(trigger),
        changes=changes_ahead(trigger, after),
        tzdata=tzdata_version(),
    )


def _previous(trigger: Combinable, after: datetime) -> datetime | None:
    from fencepost.errors import SearchExhausted

    try:
        return trigger.previous(after)
    except SearchExhausted:
        return None


def _json(found: Explanation) -> dict[str, Any]:
    from fencepost.cli.shapes import change_json, moment

    policy = found.policy
    return {
        "description": found.trigger.describe(),
        "tz": found.tz or _own_zone(found.trigger),
        "zones": sorted(found.trigger.zones()),
        "policy": policy and {"gap": policy.gap, "fold": policy.fold, "chosen": list(policy.chosen)},
        "next": [moment(one) for one in found.next],
        "previous": moment(found.previous),
        "changes": [change_json(one) for one in found.changes],
        "tzdata": found.tzdata,
        "trigger": found.trigger.to_json(),
    }


def _print(found: Explanation) -> None:
    from fencepost.cli.trigger_views import print_changes, zone_shown

    shown_in = zone_shown(found.trigger, found.tz)
    click.echo(found.trigger.describe())
    click.echo()
    upcoming = [("next", shown_time(one, shown_in)) for one in found.next]
    print_fields(
        [
            ("previous", shown_time(found.previous, shown_in)),
            *(upcoming or [("next", "never again")]),
            ("zone", _zones(found)),
            *_policy_fields(found.policy),
        ]
    )
    print_changes(found.changes)


def _own_zone(trigger: Combinable) -> str | None:
    """The zone that it lives in; None where there are several."""
    zones = trigger.zones() or {"UTC"}
    return next(iter(zones)) if len(zones) == 1 else None


def _zones(found: Explanation) -> str:
    zones = ", ".join(sorted(found.trigger.zones()))
    return f"{zones} (zone rules {found.tzdata})" if zones else "none: no change of the clocks moves it"


def _policy_fields(policy: PolicyInForce | None) -> list[tuple[str, str]]:
    if policy is None:
        return []
    gap, fold = policy.gap, policy.fold
    return [
        ("skipped", f"{GAP_WORDS[gap]} (gap {gap}, {policy.origin('gap')})"),
        ("repeated", f"{FOLD_WORDS[fold]} (fold {fold}, {policy.origin('fold')})"),
    ]
