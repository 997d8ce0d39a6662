"""`fencepost runs`: the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from fencepost.cli.faults import NO
from fencepost.cli.options import Place, ask, in_store, json_option, tz_option
from fencepost.cli.output import brief, print_block, print_fields, print_json, print_table, shown_time
from fencepost.cli.reading import checked_choice, read_since

if TYPE_CHECKING:
    from fencepost.model.run import Attempt, RunFilter, RunRecord
    from fencepost.services.control import Control

LIMIT_MAX = 100_000


@click.group()
def runs() -> None:
    """Look at runs, and cancel them.

    \b
    Example:
      fencepost runs list --schedule invoices --since 2d
    """


@runs.command("list")
@click.option("--schedule", metavar="ID", help="Only the ticks of this schedule.")
@click.option("--job", metavar="JOB", help="Only runs of this job.")
@click.option("--state", metavar="STATE", help="Only runs in this state, such as ready or dead.")
@click.option("--since", metavar="TIME", help="Fire times from then on; also a length of time ago: 2h.")
@click.option("--until", metavar="TIME", help="Fire times up to then; also a length of time ago.")
@click.option("--limit", type=click.IntRange(1, LIMIT_MAX), default=50, show_default=True, help="How many.")
@tz_option
@in_store
@json_option
def list_runs(
    schedule: str | None,
    job: str | None,
    state: str | None,
    since: str | None,
    until: str | None,
    limit: int,
    tz: str | None,
    place: Place,
    as_json: bool,
) -> None:
    """List runs, the newest fire time first.

    \b
    Example:
      fencepost runs list --state dead --since 24h
    """

    async def question(control: Control) -> Sequence[RunRecord]:
        wanted = await _filter(control, schedule, job, state, since, until, limit, tz)
        return await control.runs.list(wanted)

    found = ask(place, question)
    if as_json:
        from fencepost.cli.shapes import run_json

        print_json([run_json(one) for one in found])
    else:
        _print_runs(found, tz)


@runs.command("show")
@click.argument("run_key", metavar="KEY")
@tz_option
@in_store
@json_option
def show(run_key: str, tz: str | None, place: Place, as_json: bool) -> None:
    """Show one run with its attempts, errors and output.

    \b
    Example:
      fencepost runs show 'invoices#2026-03-01T00:00:00Z#3'
    """
    from fencepost.cli.shapes import attempt_json, run_json

    run, attempts = ask(place, lambda control: control.runs.get(run_key))
    if as_json:
        print_json({**run_json(run), "attempts": [attempt_json(one) for one in attempts]})
        return
    _print_run(run, tz)
    for one in attempts:
        _print_attempt(one, tz)


@runs.command("cancel")
@click.argument("run_key", metavar="KEY")
@in_store
@json_option
@click.pass_context
def cancel(context: click.Context, run_key: str, place: Place, as_json: bool) -> None:
    """Cancel a run: one that waits ends at once, one that runs is asked to stop.

    Exit 1 where the run had ended already.

    \b
    Example:
      fencepost runs cancel 'resize#resize-7'
    """
    from fencepost.cli.shapes import run_json
    from fencepost.model.run import RunState

    run = ask(place, lambda control: control.runs.cancel(run_key))
    stopping = run.state is RunState.RUNNING
    if as_json:
        print_json(run_json(run))
    elif stopping:
        click.echo(f"{run.run_key}: asked to stop")
    else:
        click.echo(f"{run.run_key}: {run.state}")
    if not stopping and run.state is not RunState.CANCELLED:
        context.exit(NO)


async def _filter(
    control: Control,
    schedule: str | None,
    job: str | None,
    state: str | None,
    since: str | None,
    until: str | None,
    limit: int,
    tz: str | None,
) -> RunFilter:
    from fencepost.model.identifiers import JobName, ScheduleId
    from fencepost.model.run import RunFilter, RunState

    now = await control.store.now()
    return RunFilter(
        schedule_id=None if schedule is None else ScheduleId(schedule),
        job=None if job is None else JobName(job),
        state=None if state is None else RunState(checked_choice("--state", state, list(RunState))),
        since=None if since is None else read_since("--since", since, tz, now),
        until=None if until is None else read_since("--until", until, tz, now),
        limit=limit,
    )


def _print_runs(found: Sequence[RunRecord], tz: str | None) -> None:
    if not found:
        click.echo("no runs", err=True)
        return
    print_table(
        ("RUN", "STATE", "FIRE TIME", "STARTED", "ATTEMPT", "FENCE", "WHY"),
        [
            (
                one.run_key,
                one.state,
                shown_time(one.fire_time, tz),
                shown_time(one.started_at, tz),
                one.attempt,
                one.fence,
                brief(one.error or one.reason),
            )
            for one in found
        ],
    )


def _print_run(run: RunRecord, tz: str | None) -> None:
    import json

    print_fields(
        [
            ("run", run.run_key),
            ("job", run.job),
            ("schedule", run.schedule_id),
            ("state", run.state),
            ("reason", run.reason),
            ("fire time", shown_time(run.fire_time, tz)),
            ("due", shown_time(run.run_at, tz)),
            ("started", shown_time(run.started_at, tz)),
            ("finished", shown_time(run.finished_at, tz)),
            ("attempt", run.attempt),
            ("fence", run.fence),
            ("epoch", run.epoch),
            ("worker", run.worker),
            ("queue", run.queue),
            ("priority", run.priority),
            ("payload", json.dumps(run.payload)),
            ("progress", run.progress),
            ("error", run.error),
        ]
    )


def _print_attempt(attempt: Attempt, tz: str | None) -> None:
    finished = shown_time(attempt.finished_at, tz)
    click.echo(f"\nattempt {attempt.attempt} (fence {attempt.fence}): {attempt.outcome} at {finished}")
    print_block("error", attempt.error)
    print_block("detail", attempt.detail)
    print_block("output", attempt.output)
