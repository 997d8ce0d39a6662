"""`fencepost notify`: who is told when something is wrong."""

from __future__ import annotations

import time
from collections.abc import Sequence

import click

from fencepost.cli.calling import calling
from fencepost.cli.commands import command, listing
from fencepost.cli.faults import FINE, NO
from fencepost.cli.nouns import notify
from fencepost.cli.options import Place, changes_store, json_option
from fencepost.cli.output import brief, print_json, print_table
from fencepost.operations.notify import (
    ChangeTargetRequest,
    list_targets,
    put_target,
    remove_target,
    try_target,
)
from fencepost.operations.responses.notify import RemovedTarget, TargetResponse
from fencepost.operations.responses.runs import RunWithAttempts
from fencepost.operations.runs import RunRequest, show_run

LOOK_EVERY_S = 0.2


@listing(list_targets, notify, "fencepost notify list", none="no targets")
def _listed(found: Sequence[TargetResponse]) -> None:
    print_table(("NAME", "KIND", "SENDS TO", "EVENTS", "ABOUT", "FROM"), [_row(one) for one in found])


@command(
    put_target,
    notify,
    "fencepost notify set chat --kind slack --url secret:slack --event dead --event stuck",
    name="set",
)
def _written(found: TargetResponse) -> str:
    return f"{found.name}: is told of {', '.join(found.events) or 'everything'}"


@command(remove_target, notify, "fencepost notify remove chat")
def _removed(found: RemovedTarget) -> str:
    return f"{found.name}: removed"


@notify.command("test")
@click.argument("name", metavar="NAME")
@click.option(
    "--wait",
    "wait_s",
    metavar="SECONDS",
    type=click.FloatRange(0),
    default=30.0,
    show_default=True,
    help="For how long to wait for the delivery.",
)
@changes_store
@json_option
@click.pass_context
def test_target(context: click.Context, name: str, wait_s: float, place: Place, as_json: bool) -> None:
    """Send a target a message that says that it is a test, and say what became of it.

    A worker delivers it. Exit 1 where it was not delivered.

    \b
    Example:
      fencepost notify test ops
    """
    run = _tested(name, wait_s, place)
    if as_json:
        print_json(run)
    elif run.state == "succeeded":
        click.echo(f"{name}: delivered by run {run.run_key}")
    else:
        why = run.error or run.reason or "no worker has delivered it so far"
        click.echo(f"{name}: run {run.run_key} is {run.state}: {why}", err=True)
    context.exit(FINE if run.state == "succeeded" else NO)


def _tested(name: str, wait_s: float, place: Place) -> RunWithAttempts:
    """The run that sent the test, when it has ended or the time is up."""
    with calling(place) as caller:
        key = caller.call(try_target, ChangeTargetRequest(name=name)).run_key
        run = caller.call(show_run, RunRequest(run_key=key))
        for _ in range(round(wait_s / LOOK_EVERY_S)):
            if run.finished_at is not None:
                break
            time.sleep(LOOK_EVERY_S)
            run = caller.call(show_run, RunRequest(run_key=key))
        return run


def _row(target: TargetResponse) -> tuple[object, ...]:
    about = ", ".join([*target.jobs, *target.schedules]) or "all"
    events, source = ", ".join(target.events) or "all", "code" if target.from_code else "store"
    return target.name, target.kind, brief(target.to), events, brief(about), source
