"""Runs as people see them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import timedelta

import click

from fencepost.cli.output import (
    brief,
    cell,
    print_block,
    print_fields,
    print_table,
    printable,
    shown_moment,
    shown_span,
)
from fencepost.model.run import RunState
from fencepost.model.times import from_utc_text, to_utc_text
from fencepost.operations.responses.runs import (
    AttemptResponse,
    EffectResponse,
    LogChunk,
    RunResponse,
    RunWithAttempts,
)

TAIL_LINES = 20
SHARE = re.compile(r"[01]\.[0-9]+")


def print_runs(found: Sequence[RunResponse], tz: str | None) -> None:
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
                shown_moment(one.fire_time, tz),
                shown_moment(one.started_at, tz),
                one.attempt,
                one.fence,
                brief(one.error or one.reason),
            )
            for one in found
        ],
    )


def print_chain(run: RunWithAttempts) -> None:
    """What it followed, and what follows it."""
    for one in run.after:
        click.echo(f"\nafter {one.run_key}: {one.state}")
        print_block("result", one.result)
    for follower in run.then:
        click.echo(f"\nthen {follower.run_key}: {follower.state or 'waits for another run'}")


def first_due(run: RunResponse) -> str:
    """When its first attempt was due: a retry moves `run_at`."""
    if run.first_started_at is None or run.late_s is None:
        return run.run_at
    return to_utc_text(from_utc_text(run.first_started_at) - timedelta(seconds=run.late_s))


def _waits_for_retry(run: RunResponse) -> bool:
    return run.first_started_at is not None and run.state in (RunState.PLANNED, RunState.READY)


def print_run(run: RunResponse, tz: str | None) -> None:
    """All that the ledger says of a run."""
    print_fields(
        [
            ("run", run.run_key),
            ("job", run.job),
            ("schedule", run.schedule_id),
            ("state", _state(run)),
            ("reason", run.reason),
            ("origin", _origin(run)),
            ("blocked by", run.blocked_by),
            ("fire time", shown_moment(run.fire_time, tz)),
            ("due", shown_moment(first_due(run), tz)),
            ("late", shown_span(run.late_s)),
            *([("next attempt", shown_moment(run.run_at, tz))] if _waits_for_retry(run) else []),
            ("expires", shown_moment(run.expires_at, tz)),
            ("first started", shown_moment(run.first_started_at, tz)),
            ("started", shown_moment(run.started_at, tz)),
            ("finished", shown_moment(run.finished_at, tz)),
            ("attempt", run.attempt),
            ("fence", run.fence),
            ("epoch", run.epoch or "0 (no leader planned it)"),
            ("worker", run.worker),
            ("queue", run.queue),
            ("priority", run.priority),
            ("payload", json.dumps(run.payload)),
            ("progress", shown_progress(run.progress)),
            ("note", run.note),
            ("last progress", shown_moment(run.progress_at, tz)),
            ("error", run.error),
        ]
    )


def print_attempts(attempts: Sequence[AttemptResponse], tz: str | None) -> None:
    """The attempts worth remembering, each with what it left."""
    for one in attempts:
        began, finished = shown_moment(one.started_at, tz), shown_moment(one.finished_at, tz)
        by = f" by {one.worker}" if one.worker else ""
        since = f", begun {began}" if began else ""
        click.echo(f"\nattempt {one.attempt} (fence {one.fence}): {one.outcome} at {finished}{by}{since}")
        print_block("error", one.error)
        print_block("detail", one.detail)
        print_block("output", one.output)


def print_effects(effects: Sequence[EffectResponse]) -> None:
    """What attempts said that they did."""
    if effects:
        click.echo()
    for one in effects:
        mark = " ! not what the attempt before it did" if one.differs else ""
        click.echo(cell(f"effect of attempt {one.attempt}: {one.effect}{mark}"))


def print_log_tail(chunks: Sequence[LogChunk]) -> None:
    """The last lines of the run's log."""
    lines = [printable(line) for one in chunks for line in one.lines][-TAIL_LINES:]
    if lines:
        click.echo(f"\nlog of attempt {chunks[-1].attempt}, its last lines (all: fencepost runs logs):")
        for line in lines:
            click.echo(f"    {line}")


def shown_progress(progress: str | None) -> str | None:
    """A share as `40%`, a text as it is."""
    if progress is None or not SHARE.fullmatch(progress):
        return progress
    return f"{float(progress):.1%}".replace(".0%", "%")


def _state(run: RunResponse) -> str:
    return f"{run.state} (held: {', '.join(run.held)})" if run.held else run.state


def _origin(run: RunResponse) -> str:
    return run.origin if run.backfill_id is None else f"{run.origin} {run.backfill_id}"
