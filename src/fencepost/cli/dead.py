"""`fencepost dead`: runs that nobody tries again by himself, and the way back for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from fencepost.cli.faults import FINE, NO
from fencepost.cli.filters import COMMON, Wanted, filters_runs, limit_option
from fencepost.cli.groups import CommandGroup
from fencepost.cli.options import Place, asks, changes_store, json_option, tz_option
from fencepost.cli.output import print_json
from fencepost.errors import UsageError

if TYPE_CHECKING:
    from fencepost.cli.calling import Caller
    from fencepost.operations.shapes.dead import DeadReplay, LeftRun

PAGE = 500
BATCH = 500
LEFT_TOLD_MAX = 100


@click.group(cls=CommandGroup)
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
@asks
@json_option
def list_dead(wanted: Wanted, limit: int, tz: str | None, place: Place, as_json: bool) -> None:
    """List dead runs, the newest fire time first.

    \b
    Example:
      fencepost dead list --error "connection refused" --since 24h
    """
    from fencepost.cli.calling import pages
    from fencepost.operations.dead import ListDead, list_dead

    found = pages(place, list_dead, ListDead(**wanted.choice(tz)), limit)
    if as_json:
        print_json(found)
    else:
        from fencepost.cli.run_views import print_runs

        print_runs(found, tz)


@dead.command()
@click.argument("run_key", metavar="KEY")
@tz_option
@asks
@json_option
def show(run_key: str, tz: str | None, place: Place, as_json: bool) -> None:
    """Show one dead run: every attempt with its error, traceback, worker, times and output.

    What looks like a secret in its payload is masked.

    \b
    Example:
      fencepost dead show 'invoices#2026-03-01T00:00:00Z#3'
    """
    from fencepost.cli.calling import call
    from fencepost.cli.run_views import print_attempts, print_effects, print_run
    from fencepost.operations.dead import show_dead
    from fencepost.operations.runs import OneRun

    run = call(place, show_dead, OneRun(run_key=run_key))
    if as_json:
        print_json(run)
        return
    print_run(run, tz)
    print_attempts(run.attempts, tz)
    print_effects(run.effects)


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
    from fencepost.cli.calling import calling

    with calling(place) as caller:
        keys = _named(caller, run_keys) if run_keys else _chosen(caller, wanted, tz)
        if dry_run:
            _print_plan(keys, every_s, as_json)
            return
        if len(keys) > 1 and not yes:
            _confirm(len(keys))
        replayed, left = _replay(caller, keys, every_s)
    if as_json:
        print_json({"replayed": replayed, "left": [one.run_key for one in left]})
    else:
        click.echo(f"{len(replayed)} replayed{f', {len(left)} left as they were' if left else ''}")
    for line in _why_left(left):
        click.echo(line, err=True)
    context.exit(NO if left and run_keys else FINE)


def _named(caller: Caller, run_keys: tuple[str, ...]) -> list[str]:
    """The keys, each once; one that is not of a dead run is refused before anything is replayed."""
    from fencepost.operations.dead import ReplayDead, replay_dead

    keys = list(dict.fromkeys(run_keys))
    for batch in _batches(keys):
        for one in caller.call(replay_dead, ReplayDead(run_keys=batch, dry_run=True)).left:
            hint = "" if one.state is None else "; see: fencepost runs show"
            raise UsageError(f"run {one.run_key}: {one.why}{hint}")
    return keys


def _chosen(caller: Caller, wanted: Wanted, tz: str | None) -> list[str]:
    """The keys, the oldest fire time first."""
    from fencepost.operations.dead import ListDead, list_dead

    choice = wanted.choice(tz)
    newest_first: list[str] = []
    after: str | None = None
    while True:
        page = caller.call(list_dead, ListDead(**choice, limit=PAGE, after=after))
        newest_first += [one.run_key for one in page.items]
        after = page.next
        if after is None:
            return newest_first[::-1]


def _replay(caller: Caller, keys: Sequence[str], every_s: float) -> tuple[list[str], list[LeftRun]]:
    """A batch at a time, so that whoever watches sees it go on."""
    from fencepost.cli.progress import Progress
    from fencepost.operations.dead import ReplayDead, replay_dead

    replayed: list[str] = []
    left: list[LeftRun] = []
    with Progress(len(keys), "replaying") as progress:
        for batch in _batches(keys):
            asked = ReplayDead(run_keys=batch, every_s=every_s, first_in_s=len(replayed) * every_s)
            answer: DeadReplay = caller.call(replay_dead, asked)
            replayed += answer.replayed
            left += answer.left
            progress.reached(progress.value + len(batch))
    return replayed, left


def _batches(keys: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(keys), BATCH):
        yield list(keys[start : start + BATCH])


def _why_left(left: Sequence[LeftRun]) -> list[str]:
    """A line each, of very many only the first."""
    lines = [
        f"{one.run_key}: {one.why if one.state == 'dead' else 'is not dead any more'}"
        for one in left[:LEFT_TOLD_MAX]
    ]
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
