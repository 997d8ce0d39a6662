"""`fencepost freeze` and `fencepost thaw`: stop and start execution."""

from __future__ import annotations

import functools
from typing import Any

import click

from fencepost.cli.calling import call, pages
from fencepost.cli.faults import FINE, NO
from fencepost.cli.options import Command, Place, changes_store, json_option
from fencepost.cli.output import print_json
from fencepost.errors import UsageError
from fencepost.model.freeze import Scope, ScopeKind, label_scope
from fencepost.model.identifiers import checked_name
from fencepost.operations.freezes import ChangeFreezeRequest, ListFreezesRequest, list_freezes
from fencepost.operations.freezes import freeze as freeze_scope
from fencepost.operations.freezes import thaw as thaw_scope
from fencepost.operations.responses.freezes import FreezeChangeResponse

LIST_MAX = 10_000


def takes_scope(command: Command) -> Command:
    """Give a command the options that say what it covers, handed over as one `scope`."""

    @click.option("--schedule", metavar="ID", help="Only this schedule, also one that is not there yet.")
    @click.option("--label", metavar="KEY=VALUE", help="Every schedule with this label, also later ones.")
    @click.option("--queue", metavar="NAME", help="Everything of this queue, runs by hand and retries too.")
    @click.option("--all", "everything", is_flag=True, help="Everything, as where nothing is given.")
    @functools.wraps(command)
    def with_scope(
        *args: Any,
        schedule: str | None,
        label: str | None,
        queue: str | None,
        everything: bool,
        **options: Any,
    ) -> Any:
        return command(*args, scope=_scope(schedule, label, queue, everything), **options)

    return with_scope


@click.command()
@takes_scope
@changes_store
@json_option
@click.pass_context
def freeze(context: click.Context, scope: Scope, place: Place, as_json: bool) -> None:
    """Start nothing any more: of everything, of a label, of a queue, or of one schedule.

    Ticks go on being planned and accounted for, and what runs is let finish. Without an option it is
    everything, runs by hand included. Exit 1 where that is frozen already.

    \b
    Example:
      fencepost freeze --label team=billing --reason "the bank is down"
      fencepost freeze --queue mail
      fencepost freeze
    """
    found = call(place, freeze_scope, ChangeFreezeRequest(kind=scope.kind, value=scope.value))
    said = f"frozen: {scope}, {_counted(found)}" if found.changed else f"{scope}: was frozen already"
    _answer(context, found, said, as_json)


@click.command()
@takes_scope
@changes_store
@json_option
@click.pass_context
def thaw(context: click.Context, scope: Scope, place: Place, as_json: bool) -> None:
    """End a freeze of everything, of a label, of a queue, or of one schedule.

    What another freeze covers too stays frozen. Exit 1 where there is no such freeze.

    \b
    Example:
      fencepost thaw --label team=billing
      fencepost thaw --queue mail
      fencepost thaw
    """
    found = call(place, thaw_scope, ChangeFreezeRequest(kind=scope.kind, value=scope.value))
    still = "" if as_json else _still(place)
    said = (
        f"thawed: {scope}, {_counted(found)}{still}" if found.changed else f"{scope}: was not frozen{still}"
    )
    _answer(context, found, said, as_json)


def _still(place: Place) -> str:
    left = pages(place, list_freezes, ListFreezesRequest(), LIST_MAX)
    return f"; still frozen: {', '.join(str(one.scope) for one in left)}" if left else ""


def _scope(schedule: str | None, label: str | None, queue: str | None, everything: bool) -> Scope:
    if sum((schedule is not None, label is not None, queue is not None, everything)) > 1:
        raise UsageError("give one of --schedule, --label, --queue and --all")
    if schedule is not None:
        return Scope(ScopeKind.SCHEDULE, checked_name("schedule", schedule))
    if queue is not None:
        return Scope(ScopeKind.QUEUE, checked_name("queue", queue))
    return Scope(ScopeKind.ALL) if label is None else label_scope(label)


def _counted(found: FreezeChangeResponse) -> str:
    return f"{found.schedules} schedule{'' if found.schedules == 1 else 's'}"


def _answer(context: click.Context, found: FreezeChangeResponse, said: str, as_json: bool) -> None:
    if as_json:
        print_json(found)
    else:
        click.echo(said)
    context.exit(FINE if found.changed else NO)
