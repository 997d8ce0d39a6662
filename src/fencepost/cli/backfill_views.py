"""Backfills as people see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import click

from fencepost.cli.output import print_fields, print_table, shown_span, shown_time
from fencepost.core.backfilling import FORGOTTEN, MISSING
from fencepost.model.backfill import Backfill
from fencepost.services.desks.backfills import Estimate


def print_estimate(estimate: Estimate) -> None:
    """What would run, and for how long."""
    account = estimate.account
    states = {one: count for one, count in account.states.items() if one not in (MISSING, FORGOTTEN)}
    print_fields(
        [
            ("fire times", account.fire_times),
            ("accounted for", _with_states(account.accounted, states)),
            ("forgotten", account.forgotten),
            ("to run", account.to_run),
            ("takes", _takes(estimate)),
        ]
    )


def print_warnings(estimate: Estimate) -> None:
    """What may surprise whoever asked for it."""
    if estimate.warning is not None:
        click.echo(f"warning: {estimate.warning}", err=True)
    most = estimate.at_once_max
    if most is not None and estimate.asked.at_once_max > most:
        said = f"the overlap policy lets {most} run at a time, so --parallel works like {most}"
        click.echo(f"warning: {said}", err=True)


def print_backfills(found: Sequence[Backfill], tz: str | None) -> None:
    """One line a backfill."""
    print_table(
        ("N", "SCHEDULE", "STATE", "FROM", "TO", "MODE", "RUNS"),
        [
            (
                one.backfill_id,
                one.asked.schedule_id,
                _state(one),
                _from(one, tz),
                shown_time(one.asked.until, tz),
                one.asked.mode,
                _counts(one),
            )
            for one in found
        ],
    )


def print_backfill(found: Backfill, tz: str | None) -> None:
    """What was asked for, and how it stands."""
    asked = found.asked
    print_fields(
        [
            ("backfill", found.backfill_id),
            ("schedule", asked.schedule_id),
            ("state", _state(found)),
            ("from", _from(found, tz)),
            ("to", shown_time(asked.until, tz)),
            ("mode", asked.mode),
            ("at once", asked.at_once_max),
            ("one every", shown_span(asked.every_s) if asked.every_s >= 1 else asked.every_s or None),
            ("filled through", shown_time(found.filled_through, tz)),
            ("asked for", shown_time(found.created_at, tz)),
            ("runs", _counts(found)),
        ]
    )


def _from(found: Backfill, tz: str | None) -> str | None:
    """The range is open at its beginning; people name the first instant that is inside."""
    return shown_time(found.asked.since + datetime.resolution, tz)


def _state(found: Backfill) -> str:
    return f"{found.state}, over" if found.over else str(found.state)


def _counts(found: Backfill) -> str:
    return _with_states(sum(found.runs.values()), {str(one): count for one, count in found.runs.items()})


def _with_states(total: int, states: Mapping[str, int]) -> str:
    listed = ", ".join(f"{count} {state}" for state, count in sorted(states.items()) if count)
    return f"{total} ({listed})" if listed else str(total)


def _takes(estimate: Estimate) -> str:
    if not estimate.account.to_run:
        return "nothing to run"
    if estimate.duration_s is None:
        return "unknown: no run has succeeded yet"
    return f"about {shown_span(max(estimate.duration_s, 1))}"
