"""`fencepost dead`: runs that nobody tries again by himself, and the way back for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import click

from fencepost.cli.faults import FINE, NO
from fencepost.cli.filters import COMMON, Wanted, filters_runs, limit_option
from fencepost.cli.options import Place, ask, changes_store, in_store, json_option, tz_option
from fencepost.cli.output import print_json
from fencepost.errors import UsageError

if TYPE_CHECKING:
    from fencepost.model.run import Attempt, RunRecord
    from fencepost.services.control import Control

PAGE = 10_000
LEFT_TOLD_MAX = 100


@click.group()
def dead() -> None:
    """Look at dead runs, and send them on their way again.

    \b
    Example:
      fencepost dead list --job send_invoices --since 2d
    """


@dead.command("list")
@filters_runs(*COMMON)
@limit_option(50)
@tz_option
@in_store
@json_option
def list_dead(wanted: Wanted, limit: int, tz: str | None, place: Place, as_json: bool) -> None:
    """List dead runs, the newest fire time first.

    \b
    Example:
      fencepost dead list --error "connection refused" --since 24h
    """
    found = ask(place, lambda control: _dead(control, wanted, limit, tz))
    if as_json:
        from fencepost.cli.shapes import run_json

        print_json([run_json(one) for one in found])
    else:
        from fencepost.cli.run_views import print_runs

        print_runs(found, tz)


@dead.command()
@click.argument("run_key", metavar="KEY")
@tz_option
@in_store
@json_option
def show(run_key: str, tz: str | None, place: Place, as_json: bool) -> None:
    """Show one dead run: every attempt with its error, traceback, worker, times and output.

    What looks like a secret in its payload is masked.

    \b
    Example:
      fencepost dead show 'invoices#2026-03-01T00:00:00Z#3'
    """
    from fencepost.cli.run_views import print_attempts, print_run
    from fencepost.cli.shapes import attempt_json, run_json

    run, attempts = ask(place, lambda control: _one(control, run_key))
    if as_json:
        print_json({**run_json(run), "attempts": [attempt_json(one) for one in attempts]})
        return
    print_run(run, tz)
    print_attempts(attempts, tz)


class Chosen(NamedTuple):
    """What is to be replayed, and how."""

    run_keys: Sequence[str]
    every_s: float


@dead.command()
@click.argument("run_keys", metavar="[KEY]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All dead runs of the namespace.")
@filters_runs(*COMMON)
@click.option("--rate", metavar="RATE", help="At most so many a time: 5/s, 10/m, 100/h.")
@click.option("--dry-run", is_flag=True, help="Only show which.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@tz_option
@changes_store
@json_option
@click.pass_context
def replay(
    context: click.Context,
    run_keys: tuple[str, ...],
    everything: bool,
    wanted: Wanted,
    rate: str | None,
    dry_run: bool,
    yes: bool,
    tz: str | None,
    place: Place,
    as_json: bool,
) -> None:
    """Replay dead runs: by their keys, by a filter, or all of them, the oldest first.

    A run keeps its key and its history, and each replay leaves an entry in the log. At a terminal it asks
    first where there is more than one. One that is not dead any more when its turn comes stays as it is. Exit
    1 where that was a named one.

    \b
    Example:
      fencepost dead replay 'invoices#2026-03-01T00:00:00Z#3'
      fencepost dead replay --job send_invoices --since 2d --rate 10/m --reason "the mail server is back"
      fencepost dead replay --all --dry-run
    """
    from fencepost.cli.reading import read_rate

    every_s = read_rate("--rate", rate)
    if sum((bool(run_keys), everything, not wanted.everything)) != 1:
        raise UsageError("dead replay: give keys, a filter such as --job, or --all; one of them")
    keys = ask(place, lambda control: _keys(control, run_keys, wanted, tz))
    if dry_run:
        _print_plan(keys, every_s, as_json)
        return
    if len(keys) > 1 and not yes:
        _confirm(len(keys))
    replayed = set(ask(place, lambda control: _replay(control, Chosen(keys, every_s))))
    left = [one for one in keys if one not in replayed]
    if as_json:
        print_json({"replayed": [one for one in keys if one in replayed], "left": left})
    else:
        click.echo(f"{len(replayed)} replayed{f', {len(left)} left as they were' if left else ''}")
    for line in ask(place, lambda control: _why_left(control, left)) if left else ():
        click.echo(line, err=True)
    context.exit(NO if left and run_keys else FINE)


async def _dead(control: Control, wanted: Wanted, limit: int, tz: str | None) -> Sequence[RunRecord]:
    return await control.runs.list(await replace(wanted, state="dead").filter(control, limit, tz))


async def _one(control: Control, run_key: str) -> tuple[RunRecord, Sequence[Attempt]]:
    from fencepost.model.run import RunState

    run, attempts = await control.runs.get(run_key)
    if run.state is not RunState.DEAD:
        raise UsageError(f"run {run_key}: is {run.state}, not dead; see: fencepost runs show")
    return run, attempts


async def _keys(control: Control, run_keys: tuple[str, ...], wanted: Wanted, tz: str | None) -> Sequence[str]:
    """The keys, the oldest fire time first; a named run that is not dead is refused."""
    if run_keys:
        return [(await _one(control, one))[0].run_key for one in dict.fromkeys(run_keys)]
    chosen = await replace(wanted, state="dead").filter(control, PAGE, tz)
    newest_first = [one.run_key async for one in control.runs.all_of(chosen)]
    return newest_first[::-1]


async def _replay(control: Control, chosen: Chosen) -> list[str]:
    from fencepost.cli.progress import Progress
    from fencepost.model.run import RunState
    from fencepost.services.desks.runs import REPLAY_BATCH_MAX

    replayed: list[str] = []
    only = frozenset({RunState.DEAD})
    with Progress(len(chosen.run_keys), "replaying") as progress:
        async for keys in control.runs.replaying(chosen.run_keys, chosen.every_s, only=only):
            replayed += keys
            progress.reached(min(progress.value + REPLAY_BATCH_MAX, len(chosen.run_keys)))
    return replayed


async def _why_left(control: Control, left: Sequence[str]) -> list[str]:
    """A line each, of very many only the first."""
    from fencepost.model.identifiers import RunKey
    from fencepost.model.run import RunState

    lines = []
    for one in left[:LEFT_TOLD_MAX]:
        run = await control.store.ledger.get(control.namespace, RunKey(one))
        by_hand = run is not None and run.state is RunState.DEAD and run.schedule_id is None
        said = "retention has removed its payload" if by_hand else "is not dead any more"
        lines.append(f"{one}: {said}")
    more = len(left) - len(lines)
    return [*lines, f"and {more} more"] if more else lines


def _print_plan(keys: Sequence[str], every_s: float, as_json: bool) -> None:
    from fencepost.cli.output import shown_span

    takes_s = max(len(keys) - 1, 0) * every_s
    if as_json:
        print_json({"would_replay": list(keys), "duration_s": takes_s})
        return
    for one in keys:
        click.echo(one)
    over = f", over {shown_span(takes_s)}" if takes_s else ""
    click.echo(f"{len(keys)} would be replayed{over}", err=True)


def _confirm(count: int) -> None:
    import sys

    if sys.stdin.isatty():
        click.confirm(f"replay {count} dead runs?", abort=True, err=True)
