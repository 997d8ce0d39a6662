"""`fencepost runs`: the ledger."""

from __future__ import annotations

from typing import NoReturn

import click
from msgspec.structs import asdict, replace

from fencepost.cli.calling import call, calling, pages
from fencepost.cli.commands import command, limit_option, show_all
from fencepost.cli.faults import FINE, NO
from fencepost.cli.nouns import runs
from fencepost.cli.options import Place, asks, changes_store, json_option, tz_option
from fencepost.cli.output import print_json
from fencepost.cli.requests import takes
from fencepost.cli.run_changes import cancelled, changes, held, released, skipped
from fencepost.cli.run_logs import logs
from fencepost.cli.run_views import (
    print_attempts,
    print_chain,
    print_effects,
    print_log_tail,
    print_run,
    print_runs,
)
from fencepost.cli.stuck import stuck
from fencepost.clock import SystemClock
from fencepost.model.times import to_utc_text
from fencepost.operations.cancelling import CancelRunsRequest, cancel_runs
from fencepost.operations.responses.runs import ReplayResponse, RunResponse
from fencepost.operations.runs import (
    ChangeRunRequest,
    ListRunsRequest,
    ReadLogRequest,
    RunChoice,
    RunRequest,
    cancel_run,
    hold_run,
    list_runs,
    read_log,
    release_run,
    replay_runs,
    show_run,
    skip_run,
)

NOW = "0s"
"""So long ago, by the store's clock."""


runs.add_command(stuck)
runs.add_command(logs)


@runs.command("list")
@takes(RunChoice, pairs=True)
@limit_option(50)
@tz_option
@asks
@json_option
def list_ledger(request: RunChoice, limit: int, tz: str | None, place: Place, as_json: bool) -> None:
    """List runs, the newest fire time first; those to come stand behind those whose time has come.

    \b
    Example:
      fencepost runs list --state dead --since 24h
      fencepost runs list --held
    """
    show_all(_listed(place, ListRunsRequest(**asdict(request)), limit), as_json, "no runs", print_runs, tz)


def _listed(place: Place, request: ListRunsRequest, limit: int) -> list[RunResponse]:
    """What happened before what is to come, unless a state or the end of the range was chosen."""
    if request.state is not None or request.until is not None:
        return pages(place, list_runs, request, limit)
    # A run whose time comes in between is found by both.
    to_come = pages(place, list_runs, replace(request, since=_later(request.since or NOW)), limit)
    found = pages(place, list_runs, replace(request, until=NOW), limit)
    known = {one.run_key for one in found}
    return [*found, *(one for one in to_come if one.run_key not in known)][:limit]


def _later(since: str) -> str:
    """From when on runs are to come, within what was chosen."""
    return max(since, to_utc_text(SystemClock().wall())) if since.endswith("Z") else NOW


@runs.command("show")
@click.argument("run_key", metavar="KEY")
@tz_option
@asks
@json_option
def show(run_key: str, tz: str | None, place: Place, as_json: bool) -> None:
    """Show one run with its attempts, errors and output, and the end of its log.

    What looks like a secret in its payload is masked.

    \b
    Example:
      fencepost runs show 'invoices#2026-03-01T00:00:00Z#3'
    """
    with calling(place) as caller:
        run = caller.call(show_run, RunRequest(run_key=run_key))
        if as_json:
            print_json(run)
            return
        tail = caller.call(read_log, ReadLogRequest(run_key=run_key, tail=True)).items
    print_run(run, tz)
    print_chain(run)
    print_attempts(run.attempts, tz)
    print_effects(run.effects)
    print_log_tail(tail)


@runs.command("cancel")
@click.argument("run_keys", metavar="KEY...", nargs=-1, required=True)
@changes_store
@json_option
@click.pass_context
def cancel(context: click.Context, run_keys: tuple[str, ...], place: Place, as_json: bool) -> None:
    """Cancel runs: one that waits ends at once, one that runs is asked to stop.

    Exit 1 where one of them had ended already, or, of several, cannot be found.

    \b
    Example:
      fencepost runs cancel 'resize#resize-7'
    """
    if len(run_keys) > 1:
        _cancel_many(context, run_keys, place, as_json)
    run = call(place, cancel_run, ChangeRunRequest(run_key=run_keys[0]))
    said, done = cancelled(run)
    if as_json:
        print_json(run)
    else:
        click.echo(f"{run.run_key}: {said}")
    context.exit(FINE if done else NO)


@command(
    replay_runs,
    runs,
    """fencepost runs replay 'invoices#2026-03-01T00:00:00Z#3' --reason "the mail server is back\"""",
    more="Exit 1 where one of them was left.",
    arguments=("run_keys",),
    done=lambda found: not found.left,
)
def _replayed(found: ReplayResponse) -> str:
    left = "has not ended, or cannot be replayed; left as it was"
    return "\n".join(
        [*(f"{one}: replayed" for one in found.replayed), *(f"{one}: {left}" for one in found.left)]
    )


def _cancel_many(context: click.Context, run_keys: tuple[str, ...], place: Place, as_json: bool) -> NoReturn:
    found = call(place, cancel_runs, CancelRunsRequest(run_keys=list(run_keys))).items
    if as_json:
        print_json(found)
    else:
        for one in found:
            click.echo(
                one.why or f"{one.run_key}: {'asked to stop' if one.state == 'running' else one.state}"
            )
    context.exit(FINE if all(one.fate in ("cancelled", "asked_to_stop") for one in found) else NO)


changes(
    runs,
    skip_run,
    skipped,
    """fencepost runs skip 'invoices#2026-03-01T00:00:00Z#3' --reason "sent by hand\"""",
    more="Exit 1 where it had begun or ended already.",
)
changes(
    runs,
    hold_run,
    held,
    """fencepost runs hold 'invoices#2026-03-01T00:00:00Z#3' --reason "the bank is closed\"""",
    more="Exit 1 where it runs or has ended.",
)
changes(
    runs,
    release_run,
    released,
    "fencepost runs release 'invoices#2026-03-01T00:00:00Z#3'",
    more="Exit 1 where it does not wait.",
)
