"""`fencepost runs`: the ledger."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import click

from fencepost.cli.faults import FINE, NO
from fencepost.cli.filters import COMMON, OF_ANY_STATE, Wanted, filters_runs, limit_option
from fencepost.cli.groups import CommandGroup
from fencepost.cli.options import Place, asks, changes_store, json_option, tz_option
from fencepost.cli.output import print_json
from fencepost.cli.run_logs import logs
from fencepost.cli.stuck import stuck

if TYPE_CHECKING:
    from fencepost.operations.operation import Operation
    from fencepost.operations.runs import ChangeRun
    from fencepost.operations.shapes.runs import RunShape

    Account: TypeAlias = Callable[[RunShape], tuple[str, bool]]

NOW = "0s"
"""So long ago, by the store's clock."""
key_argument = click.argument("run_key", metavar="KEY")


@click.group(cls=CommandGroup)
def runs() -> None:
    """Look at runs, and change what becomes of them.

    \b
    Example:
      fencepost runs list --schedule invoices --since 2d
    """


runs.add_command(stuck)
runs.add_command(logs)


@runs.command("list")
@filters_runs(*COMMON, *OF_ANY_STATE)
@limit_option(50)
@tz_option
@asks
@json_option
def list_runs(wanted: Wanted, limit: int, tz: str | None, place: Place, as_json: bool) -> None:
    """List runs, the newest fire time first; those to come stand behind those whose time has come.

    \b
    Example:
      fencepost runs list --state dead --since 24h
      fencepost runs list --held
    """
    found = _listed(place, wanted.choice(tz), limit)
    if as_json:
        print_json(found)
    else:
        from fencepost.cli.run_views import print_runs

        print_runs(found, tz)


def _listed(place: Place, choice: dict[str, Any], limit: int) -> list[RunShape]:
    """What happened before what is to come, unless a state or the end of the range was chosen."""
    from fencepost.cli.calling import pages
    from fencepost.operations.runs import ListRuns, list_runs

    if choice.keys() & {"state", "until"}:
        return pages(place, list_runs, ListRuns(**choice), limit)
    # A run whose time comes in between is found by both.
    to_come = pages(place, list_runs, ListRuns(**{**choice, "since": _later(choice)}), limit)
    found = pages(place, list_runs, ListRuns(**choice, until=NOW), limit)
    known = {one.run_key for one in found}
    return [*found, *(one for one in to_come if one.run_key not in known)][:limit]


def _later(choice: dict[str, Any]) -> str:
    """From when on runs are to come, within what was chosen."""
    from fencepost.clock import SystemClock
    from fencepost.model.times import to_utc_text

    since: str = choice.get("since", NOW)
    return max(since, to_utc_text(SystemClock().wall())) if since.endswith("Z") else NOW


@runs.command("show")
@key_argument
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
    from fencepost.cli.calling import calling
    from fencepost.cli.run_views import print_attempts, print_chain, print_effects, print_log_tail, print_run
    from fencepost.operations.runs import OneRun, ReadLog, read_log, show_run

    with calling(place) as caller:
        run = caller.call(show_run, OneRun(run_key=run_key))
        if as_json:
            print_json(run)
            return
        tail = caller.call(read_log, ReadLog(run_key=run_key, tail=True)).items
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
    from fencepost.operations.runs import cancel_run

    if len(run_keys) > 1:
        _cancel_many(context, run_keys, place, as_json)
    _change(context, cancel_run, run_keys[0], cancelled, place, as_json)


@runs.command("skip")
@key_argument
@changes_store
@json_option
@click.pass_context
def skip(context: click.Context, run_key: str, place: Place, as_json: bool) -> None:
    """Call off a run that nobody has begun; it ends as skipped.

    Exit 1 where it had begun or ended already.

    \b
    Example:
      fencepost runs skip 'invoices#2026-03-01T00:00:00Z#3' --reason "sent by hand"
    """
    from fencepost.operations.runs import skip_run

    _change(context, skip_run, run_key, skipped, place, as_json)


@runs.command("hold")
@key_argument
@changes_store
@json_option
@click.pass_context
def hold(context: click.Context, run_key: str, place: Place, as_json: bool) -> None:
    """Hold a run that waits: nobody starts it until it is released.

    Exit 1 where it runs or has ended.

    \b
    Example:
      fencepost runs hold 'invoices#2026-03-01T00:00:00Z#3' --reason "the bank is closed"
    """
    from fencepost.operations.runs import hold_run

    _change(context, hold_run, run_key, held, place, as_json)


@runs.command("release")
@key_argument
@changes_store
@json_option
@click.pass_context
def release(context: click.Context, run_key: str, place: Place, as_json: bool) -> None:
    """Release a run that somebody holds.

    One whose time has come meanwhile is due from now on. Exit 1 where it does not wait.

    \b
    Example:
      fencepost runs release 'invoices#2026-03-01T00:00:00Z#3'
    """
    from fencepost.operations.runs import release_run

    _change(context, release_run, run_key, released, place, as_json)


@runs.command("replay")
@click.argument("run_keys", metavar="KEY...", nargs=-1, required=True)
@changes_store
@json_option
@click.pass_context
def replay(context: click.Context, run_keys: tuple[str, ...], place: Place, as_json: bool) -> None:
    """Send runs that have ended on their way again, under their own keys.

    Their attempts stay and count on. Exit 1 where one of them could not be: it waits or runs, or was
    withdrawn.

    \b
    Example:
      fencepost runs replay 'invoices#2026-03-01T00:00:00Z#3' --reason "the mail server is back"
    """
    from fencepost.cli.calling import call
    from fencepost.operations.runs import ReplayRuns, replay_runs

    found = call(place, replay_runs, ReplayRuns(run_keys=list(run_keys)))
    if as_json:
        print_json(found)
    else:
        for one in run_keys:
            left = "has not ended, or cannot be replayed; left as it was"
            click.echo(f"{one}: {left if one in found.left else 'replayed'}")
    context.exit(NO if found.left else FINE)


def _cancel_many(context: click.Context, run_keys: tuple[str, ...], place: Place, as_json: bool) -> NoReturn:
    from fencepost.cli.calling import call
    from fencepost.operations.cancelling import CancelRuns, cancel_runs

    found = call(place, cancel_runs, CancelRuns(run_keys=list(run_keys))).items
    if as_json:
        print_json(found)
    else:
        for one in found:
            click.echo(
                one.why or f"{one.run_key}: {'asked to stop' if one.state == 'running' else one.state}"
            )
    context.exit(FINE if all(one.fate in ("cancelled", "asked_to_stop") for one in found) else NO)


def _change(
    context: click.Context,
    verb: Operation[Any, ChangeRun, RunShape],
    run_key: str,
    account: Account,
    place: Place,
    as_json: bool,
) -> NoReturn:
    from fencepost.cli.calling import call
    from fencepost.operations.runs import ChangeRun

    answer(context, call(place, verb, ChangeRun(run_key=run_key)), account, as_json)


def answer(context: click.Context, run: RunShape, account: Account, as_json: bool) -> NoReturn:
    """Say what became of the run; exit 1 where that is not what was asked for."""
    said, done = account(run)
    if as_json:
        print_json(run)
    else:
        click.echo(f"{run.run_key}: {said}")
    context.exit(FINE if done else NO)


def cancelled(run: RunShape) -> tuple[str, bool]:
    """Whether a cancel was heard."""
    return ("asked to stop", True) if run.state == "running" else (run.state, run.state == "cancelled")


def skipped(run: RunShape) -> tuple[str, bool]:
    """Whether the run is called off."""
    return run.state, run.state == "skipped"


def held(run: RunShape) -> tuple[str, bool]:
    """Whether the run is held."""
    done = _waits(run) and "operator" in run.held
    return "held" if done else run.state, done


def released(run: RunShape) -> tuple[str, bool]:
    """Whether the run waits, and nobody holds it."""
    if not _waits(run):
        return run.state, False
    return f"released, still held: {', '.join(run.held)}" if run.held else "released", True


def _waits(run: RunShape) -> bool:
    return run.state in ("planned", "ready")
