"""`fencepost explain`: an expression in plain words."""

from __future__ import annotations

from typing import Any

import click

from fencepost.cli.expressions import expression_voice, takes_expression
from fencepost.cli.options import json_option
from fencepost.cli.output import print_fields, print_json, shown_moment
from fencepost.cli.trigger_views import print_changes, zone_shown
from fencepost.clock import SystemClock
from fencepost.operations.policies import FOLD_WORDS, GAP_WORDS
from fencepost.operations.responses.triggers import ExplainResponse, PolicyResponse
from fencepost.operations.triggers import TriggerRequest, explained


@click.command()
@takes_expression
@json_option
def explain(given: dict[str, Any], as_json: bool) -> None:
    """Say in plain words when an expression fires, and what a change of the clocks does to it.

    EXPR is as for `fencepost next`.

    \b
    Example:
      fencepost explain "30 2 * * MON-FRI" --tz Europe/Berlin
      fencepost explain "every 1 month" --anchor 2026-01-31T09:00 --tz America/New_York
    """
    request = TriggerRequest(**given)
    found = explained(request, SystemClock().wall(), expression_voice())
    if as_json:
        print_json(found)
    else:
        _print(found, request.tz)


def _print(found: ExplainResponse, tz: str | None) -> None:
    shown_in = zone_shown(found.zones, tz)
    click.echo(found.description)
    click.echo()
    upcoming = [("next", shown_moment(one, shown_in)) for one in found.next]
    print_fields(
        [
            ("previous", shown_moment(found.previous, shown_in)),
            *(upcoming or [("next", "never again")]),
            ("zone", _zones(found)),
            *_policy_fields(found.policy),
        ]
    )
    print_changes(found.changes)
    for one in found.warnings:
        click.echo(f"\nwarning: {one}.")


def _zones(found: ExplainResponse) -> str:
    zones = ", ".join(found.zones)
    return f"{zones} (zone rules {found.tzdata})" if zones else "none: no change of the clocks moves it"


def _policy_fields(policy: PolicyResponse | None) -> list[tuple[str, str]]:
    if policy is None:
        return []
    gap, fold = policy.gap, policy.fold
    return [
        ("skipped", f"{GAP_WORDS[gap]} (gap {gap}, {_origin(policy, 'gap')})"),
        ("repeated", f"{FOLD_WORDS[fold]} (fold {fold}, {_origin(policy, 'fold')})"),
    ]


def _origin(policy: PolicyResponse, name: str) -> str:
    """How the policy came to be."""
    return "chosen" if name in policy.chosen else "by default"
