"""`fencepost notify`: who is told when something is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fencepost.cli.faults import FINE, NO
from fencepost.cli.groups import CommandGroup
from fencepost.cli.options import Place, asks, changes_store, json_option
from fencepost.cli.output import brief, print_json, print_table

if TYPE_CHECKING:
    from fencepost.operations.shapes.runs import RunWithAttempts

LIST_MAX = 10_000
LOOK_EVERY_S = 0.2
KINDS = ("webhook", "slack", "email")
name_argument = click.argument("name", metavar="NAME")


@click.group(cls=CommandGroup)
def notify() -> None:
    """Look at notification targets, change them and test them.

    \b
    Example:
      fencepost notify set ops --kind email --to ops@example.org --event dead
      fencepost notify test ops
    """


@notify.command("list")
@asks
@json_option
def list_targets(place: Place, as_json: bool) -> None:
    """List notification targets: where each sends, and of what it is told.

    \b
    Example:
      fencepost notify list
    """
    from fencepost.cli.calling import pages
    from fencepost.operations.notify import ListTargets, list_targets

    found = pages(place, list_targets, ListTargets(), LIST_MAX)
    if as_json:
        print_json(found)
    elif not found:
        click.echo("no targets", err=True)
    else:
        rows = [
            (
                *(one.name, one.kind, brief(one.to), ", ".join(one.events) or "all"),
                *(
                    brief(", ".join([*one.jobs, *one.schedules]) or "all"),
                    "code" if one.from_code else "store",
                ),
            )
            for one in found
        ]
        print_table(("NAME", "KIND", "SENDS TO", "EVENTS", "ABOUT", "FROM"), rows)


@notify.command("set")
@name_argument
@click.option("--kind", type=click.Choice(KINDS), required=True, help="How it is told.")
@click.option("--url", metavar="URL", default="", help="Of a webhook or Slack: https://…, or secret:NAME.")
@click.option("--secret", metavar="secret:NAME", help="What a webhook's requests are signed with.")
@click.option("--to", metavar="ADDRESS", multiple=True, help="Whom an e-mail goes to; may be repeated.")
@click.option("--event", metavar="EVENT", multiple=True, help="Of what it is told; all unless given.")
@click.option("--job", metavar="JOB", multiple=True, help="Of which jobs; a name may end in *.")
@click.option("--schedule", metavar="ID", multiple=True, help="Of which schedules; an id may end in *.")
@changes_store
@json_option
def set_target(
    name: str,
    kind: str,
    url: str,
    secret: str | None,
    to: tuple[str, ...],
    event: tuple[str, ...],
    job: tuple[str, ...],
    schedule: tuple[str, ...],
    place: Place,
    as_json: bool,
) -> None:
    """Write a notification target, in place of one of that name.

    \b
    Example:
      fencepost notify set chat --kind slack --url secret:slack --event dead --event stuck
    """
    from fencepost.cli.calling import call
    from fencepost.model.notification import TargetKind
    from fencepost.operations.notify import PutTarget, put_target

    asked = PutTarget(
        name=name,
        kind=TargetKind(kind),
        url=url,
        secret=secret,
        to=list(to),
        events=list(event),
        jobs=list(job),
        schedules=list(schedule),
    )
    found = call(place, put_target, asked)
    if as_json:
        print_json(found)
    else:
        click.echo(f"{name}: is told of {', '.join(found.events) or 'everything'}")


@notify.command("remove")
@name_argument
@changes_store
@json_option
def remove_target(name: str, place: Place, as_json: bool) -> None:
    """Take a notification target away. One that code or a file brings is back at its next start.

    \b
    Example:
      fencepost notify remove chat
    """
    from fencepost.cli.calling import call
    from fencepost.operations.notify import ChangeTarget, remove_target

    found = call(place, remove_target, ChangeTarget(name=name))
    if as_json:
        print_json(found)
    else:
        click.echo(f"{name}: removed")


@notify.command("test")
@name_argument
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
def try_target(context: click.Context, name: str, wait_s: float, place: Place, as_json: bool) -> None:
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
    import time

    from fencepost.cli.calling import calling
    from fencepost.operations.notify import ChangeTarget, try_target
    from fencepost.operations.runs import OneRun, show_run

    with calling(place) as caller:
        key = caller.call(try_target, ChangeTarget(name=name)).run_key
        run = caller.call(show_run, OneRun(run_key=key))
        for _ in range(round(wait_s / LOOK_EVERY_S)):
            if run.finished_at is not None:
                break
            time.sleep(LOOK_EVERY_S)
            run = caller.call(show_run, OneRun(run_key=key))
        return run
