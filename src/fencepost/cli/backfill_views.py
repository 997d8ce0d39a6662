"""Backfills as people see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fencepost.cli.output import print_fields, print_table, shown_moment, shown_span
from fencepost.core.backfilling import FORGOTTEN, MISSING
from fencepost.operations.responses.backfills import BackfillResponse, EstimateResponse, first_instant


def print_estimate(estimate: EstimateResponse) -> None:
    """What would run, and for how long."""
    states = {one: count for one, count in estimate.states.items() if one not in (MISSING, FORGOTTEN)}
    print_fields(
        [
            ("fire times", estimate.fire_times),
            ("recorded", _with_states(estimate.recorded, states)),
            ("forgotten", estimate.states.get(FORGOTTEN, 0)),
            ("to run", estimate.to_run),
            ("takes", _takes(estimate)),
        ]
    )


def print_backfills(found: Sequence[BackfillResponse], tz: str | None) -> None:
    """One line a backfill."""
    print_table(
        ("N", "SCHEDULE", "STATE", "FROM", "TO", "MODE", "RUNS"),
        [
            (
                one.backfill_id,
                one.schedule_id,
                _state(one),
                _from(one, tz),
                shown_moment(one.until, tz),
                one.mode,
                _counts(one),
            )
            for one in found
        ],
    )


def print_backfill(found: BackfillResponse, tz: str | None) -> None:
    """What was asked for, and how it stands."""
    print_fields(
        [
            ("backfill", found.backfill_id),
            ("schedule", found.schedule_id),
            ("state", _state(found)),
            ("from", _from(found, tz)),
            ("to", shown_moment(found.until, tz)),
            ("mode", found.mode),
            ("at once", found.at_once_max),
            ("one every", shown_span(found.every_s) if found.every_s >= 1 else found.every_s or None),
            ("filled through", shown_moment(found.filled_through, tz)),
            ("asked for", shown_moment(found.created_at, tz)),
            ("runs", _counts(found)),
        ]
    )


def _from(found: BackfillResponse, tz: str | None) -> str | None:
    """The range is open at its beginning; people name the first instant that is inside."""
    return shown_moment(first_instant(found.since), tz)


def _state(found: BackfillResponse) -> str:
    return f"{found.state}, over" if found.over else str(found.state)


def _counts(found: BackfillResponse) -> str:
    return _with_states(sum(found.runs.values()), found.runs)


def _with_states(total: int, states: Mapping[str, int]) -> str:
    listed = ", ".join(f"{count} {state}" for state, count in sorted(states.items()) if count)
    return f"{total} ({listed})" if listed else str(total)


def _takes(estimate: EstimateResponse) -> str:
    if not estimate.to_run:
        return "nothing to run"
    if estimate.duration_s is None:
        return "unknown: no run has succeeded yet"
    return f"about {shown_span(max(estimate.duration_s, 1))}"
