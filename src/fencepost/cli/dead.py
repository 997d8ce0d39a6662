"""`fencepost dead`: runs that nobody tries again by himself, and the way back for them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import click
from msgspec.structs import asdict

from fencepost.cli.calling import Caller, calling, every
from fencepost.cli.commands import command, listing
from fencepost.cli.faults import FINE, NO
from fencepost.cli.nouns import dead
from fencepost.cli.options import Place, changes_store, json_option, tz_option
from fencepost.cli.output import print_json, shown_span
from fencepost.cli.progress import Progress
from fencepost.cli.reading import read_rate
from fencepost.cli.requests import takes
from fencepost.cli.run_views import print_attempts, print_effects, print_run, print_runs
from fencepost.errors import UsageError
from fencepost.operations.dead import (
    DeadChoice,
    ListDeadRequest,
    ReplayDeadRequest,
    list_dead,
    replay_dead,
    show_dead,
)
from fencepost.operations.responses.dead import DeadReplay, LeftRun
from fencepost.operations.responses.runs import RunWithAttempts

BATCH = 500
LEFT_TOLD_MAX = 100


listing(
    list_dead,
    dead,
    'fencepost dead list --error "connection refused" --since 24h',
    none="no runs",
    limit=50,
    pairs=True,
    zoned=True,
)(print_runs)


@command(
    show_dead,
    dead,
    "fencepost dead show 'invoices#2026-03-01T00:00:00Z#3'",
    more="What looks like a secret in its payload is masked.",
    zoned=True,
)
def _shown(run: RunWithAttempts, tz: str | None) -> None:
    print_run(run, tz)
    print_attempts(run.attempts, tz)
    print_effects(run.effects)


@dead.command()
@click.argument("run_keys", metavar="[KEY]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All dead runs of the namespace.")
@takes(DeadChoice, pairs=True)
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
    request: DeadChoice,
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
    every_s = read_rate("--rate", rate)
    if sum((bool(run_keys), everything, request != DeadChoice())) != 1:
        raise UsageError("dead replay: give keys, a filter such as --job, or --all; one of them")
    with calling(place) as caller:
        keys = _named(caller, run_keys) if run_keys else _chosen(caller, request)
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
    keys = list(dict.fromkeys(run_keys))
    for batch in _batches(keys):
        for one in caller.call(replay_dead, ReplayDeadRequest(run_keys=batch, dry_run=True)).left:
            hint = "" if one.state is None else "; see: fencepost runs show"
            raise UsageError(f"run {one.run_key}: {one.why}{hint}")
    return keys


def _chosen(caller: Caller, choice: DeadChoice) -> list[str]:
    """The keys, the oldest fire time first."""
    request = ListDeadRequest(**asdict(choice))
    return [one.run_key for one in every(caller, list_dead, request)][::-1]


def _replay(caller: Caller, keys: Sequence[str], every_s: float) -> tuple[list[str], list[LeftRun]]:
    """A batch at a time, so that whoever watches sees it go on."""
    replayed: list[str] = []
    left: list[LeftRun] = []
    with Progress(len(keys), "replaying") as progress:
        for batch in _batches(keys):
            request = ReplayDeadRequest(run_keys=batch, every_s=every_s, first_in_s=len(replayed) * every_s)
            answer: DeadReplay = caller.call(replay_dead, request)
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
    takes_s = max(len(keys) - 1, 0) * every_s
    if as_json:
        print_json({"would_replay": list(keys), "duration_s": takes_s})
        return
    for one in keys:
        click.echo(one)
    over = f", over {shown_span(takes_s)}" if takes_s else ""
    click.echo(f"{len(keys)} would be replayed{over}", err=True)


def _confirm(count: int) -> None:
    if sys.stdin.isatty():
        click.confirm(f"replay {count} dead runs?", abort=True, err=True)
