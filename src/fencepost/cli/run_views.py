"""Runs as people see them."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from fencepost.cli.output import brief, print_block, print_fields, print_table, shown_time
from fencepost.core.masking import masked
from fencepost.model.run import Attempt, Hold, Origin, RunRecord


def held_words(held: Hold) -> list[str]:
    """`operator`, `frozen`, `gate`, `parked`: why nobody may start it."""
    return [str(one.name).lower() for one in held]


def print_runs(found: Sequence[RunRecord], tz: str | None) -> None:
    """One line a run."""
    if not found:
        click.echo("no runs", err=True)
        return
    print_table(
        ("RUN", "STATE", "FIRE TIME", "STARTED", "ATTEMPT", "FENCE", "WHY"),
        [
            (
                one.run_key,
                _state(one),
                shown_time(one.fire_time, tz),
                shown_time(one.started_at, tz),
                one.attempt,
                one.fence,
                brief(one.error or one.reason),
            )
            for one in found
        ],
    )


def print_run(run: RunRecord, tz: str | None) -> None:
    """All that the ledger says of a run."""
    print_fields(
        [
            ("run", run.run_key),
            ("job", run.job),
            ("schedule", run.schedule_id),
            ("state", _state(run)),
            ("reason", run.reason),
            ("origin", _origin(run)),
            ("met", run.met),
            ("fire time", shown_time(run.fire_time, tz)),
            ("due", shown_time(run.run_at, tz)),
            ("begun", shown_time(run.begun_at, tz)),
            ("started", shown_time(run.started_at, tz)),
            ("finished", shown_time(run.finished_at, tz)),
            ("attempt", run.attempt),
            ("fence", run.fence),
            ("epoch", run.epoch or "0 (no leader planned it)"),
            ("worker", run.worker),
            ("queue", run.queue),
            ("priority", run.priority),
            ("payload", json.dumps(masked(run.payload))),
            ("progress", run.progress),
            ("error", run.error),
        ]
    )


def print_attempts(attempts: Sequence[Attempt], tz: str | None) -> None:
    """The attempts worth remembering, each with what it left."""
    for one in attempts:
        began, finished = shown_time(one.started_at, tz), shown_time(one.finished_at, tz)
        by = f" by {one.worker}" if one.worker else ""
        since = f", begun {began}" if began else ""
        click.echo(f"\nattempt {one.attempt} (fence {one.fence}): {one.outcome} at {finished}{by}{since}")
        print_block("error", one.error)
        print_block("detail", one.detail)
        print_block("output", one.output)


def _state(run: RunRecord) -> str:
    held = held_words(run.held)
    return f"{run.state} (held: {', '.join(held)})" if held else str(run.state)


def _origin(run: RunRecord) -> str:
    if run.origin is Origin.BACKFILL and run.backfill_id is not None:
        return f"{run.origin} {run.backfill_id}"
    return str(run.origin)
