"""`fencepost runs`: the ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn, TypeAlias

import click

from fencepost.cli.faults import FINE, NO
from fencepost.cli.filters import COMMON, OF_ANY_STATE, Wanted, filters_runs, limit_option
from fencepost.cli.options import Place, ask, changes_store, in_store, json_option, tz_option
from fencepost.cli.output import print_json

if TYPE_CHECKING:
    from fencepost.model.run import RunRecord
    from fencepost.services.control import Control

    Account: TypeAlias = Callable[[RunRecord], tuple[str, bool]]

key_argument = click.argument("run_key", metavar="KEY")


@click.group()
def runs() -> None:
    """Look at runs, and change what becomes of them.

    \b
    Example:
      fencepost runs list --schedule invoices --since 2d
    """


@runs.command("list")
@filters_runs(*COMMON, *OF_ANY_STATE)
@limit_option(50)
@tz_option
@in_store
@json_option
def list_runs(wanted: Wanted, limit: int, tz: str | None, place: Place, as_json: bool) -> None:
    """List runs, the newest fire time first.

    \b
    Example:
      fencepost runs list --state dead --since 24h
      fencepost runs list --held
    """

    async def question(control: Control) -> Sequence[RunRecord]:
        return await control.runs.list(await wanted.filter(control, limit, tz))

    found = ask(place, question)
    if as_json:
        from fencepost.cli.shapes import run_json

        print_json([run_json(one) for one in found])
    else:
        from fencepost.cli.run_views import print_runs

        print_runs(found, tz)


@runs.command("show")
@key_argument
@tz_option
@in_store
@json_option
def show(run_key: str, tz: str | None, place: Place, as_json: bool) -> None:
    """Show one run with its attempts, errors and output.

    What looks like a secret in its payload is masked.

    \b
    Example:
      fencepost runs show 'invoices#2026-03-01T00:00:00Z#3'
    """
    from fencepost.cli.run_views import print_attempts, print_run
    from fencepost.cli.shapes import attempt_json, run_json

    run, attempts = ask(place, lambda control: control.runs.get(run_key))
    if as_json:
        print_json({**run_json(run), "attempts": [attempt_json(one) for one in attempts]})
        return
    print_run(run, tz)
    print_attempts(attempts, tz)


@runs.command("cancel")
@key_argument
@changes_store
@json_option
@click.pass_context
def cancel(context: click.Context, run_key: str, place: Place, as_json: bool) -> None:
    """Cancel a run: one that waits ends at once, one that runs is asked to stop.

    Exit 1 where the run had ended already.

    \b
    Example:
      fencepost runs cancel 'resize#resize-7'
    """
    run = ask(place, lambda control: control.runs.cancel(run_key))
    answer(context, run, cancelled, as_json)


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
    run = ask(place, lambda control: control.runs.skip(run_key))
    answer(context, run, skipped, as_json)


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
    run = ask(place, lambda control: control.runs.hold(run_key))
    answer(context, run, held, as_json)


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
    run = ask(place, lambda control: control.runs.release(run_key))
    answer(context, run, released, as_json)


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
    replayed = set(ask(place, lambda control: _replay(control, run_keys)))
    left = [one for one in run_keys if one not in replayed]
    if as_json:
        print_json({"replayed": [one for one in run_keys if one in replayed], "left": left})
    else:
        for one in run_keys:
            said = "replayed" if one in replayed else "has not ended, or cannot be replayed; left as it was"
            click.echo(f"{one}: {said}")
    context.exit(NO if left else FINE)


async def _replay(control: Control, run_keys: Sequence[str]) -> Sequence[str]:
    """All of them have to be there; then those that have ended are sent again."""
    for one in run_keys:
        await control.runs.get(one)
    return await control.runs.replay(run_keys)


def answer(context: click.Context, run: RunRecord, account: Account, as_json: bool) -> NoReturn:
    """Say what became of the run; exit 1 where that is not what was asked for."""
    from fencepost.cli.shapes import run_json

    said, done = account(run)
    if as_json:
        print_json(run_json(run))
    else:
        click.echo(f"{run.run_key}: {said}")
    context.exit(FINE if done else NO)


def cancelled(run: RunRecord) -> tuple[str, bool]:
    """Whether a cancel was heard."""
    from fencepost.model.run import RunState

    if run.state is RunState.RUNNING:
        return "asked to stop", True
    return str(run.state), run.state is RunState.CANCELLED


def skipped(run: RunRecord) -> tuple[str, bool]:
    """Whether the run is called off."""
    from fencepost.model.run import RunState

    return str(run.state), run.state is RunState.SKIPPED


def held(run: RunRecord) -> tuple[str, bool]:
    """Whether the run is held."""
    from fencepost.model.run import Hold

    done = _waits(run) and bool(run.held & Hold.OPERATOR)
    return "held" if done else str(run.state), done


def released(run: RunRecord) -> tuple[str, bool]:
    """Whether the run waits, and nobody holds it."""
    from fencepost.cli.run_views import held_words

    if not _waits(run):
        return str(run.state), False
    others = held_words(run.held)
    return f"released, still held: {', '.join(others)}" if others else "released", True


def _waits(run: RunRecord) -> bool:
    from fencepost.model.run import RunState

    return run.state in (RunState.PLANNED, RunState.READY)
