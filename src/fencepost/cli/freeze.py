"""`fencepost freeze` and `fencepost thaw`: stop and start execution."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import click

from fencepost.cli.faults import FINE, NO
from fencepost.cli.options import Command, Place, ask, changes_store, json_option
from fencepost.cli.output import print_json
from fencepost.errors import UsageError

if TYPE_CHECKING:
    from fencepost.model.freeze import Scope
    from fencepost.services.control import Control


def takes_scope(command: Command) -> Command:
    """Give a command the options that say what it covers, handed over as one `scope`."""

    @click.option("--schedule", metavar="ID", help="Only this schedule, also one that is not there yet.")
    @click.option("--label", metavar="KEY=VALUE", help="Every schedule with this label, also later ones.")
    @click.option("--all", "everything", is_flag=True, help="Everything, as where nothing is given.")
    @functools.wraps(command)
    def with_scope(
        *args: Any, schedule: str | None, label: str | None, everything: bool, **options: Any
    ) -> Any:
        return command(*args, scope=_scope(schedule, label, everything), **options)

    return with_scope


@click.command()
@takes_scope
@changes_store
@json_option
@click.pass_context
def freeze(context: click.Context, scope: Scope, place: Place, as_json: bool) -> None:
    """Start nothing any more: of everything, of a label, or of one schedule.

    Ticks go on being planned and accounted for, and what runs is let finish. Without an option it is
    everything, runs by hand included. Exit 1 where that is frozen already.

    \b
    Example:
      fencepost freeze --label team=billing --reason "the bank is down"
      fencepost freeze
    """
    changed, schedules = ask(place, lambda control: _freeze(control, scope))
    said = f"frozen: {scope}, {_counted(schedules)}" if changed else f"{scope}: was frozen already"
    _answer(context, scope, changed, schedules, said, as_json)


@click.command()
@takes_scope
@changes_store
@json_option
@click.pass_context
def thaw(context: click.Context, scope: Scope, place: Place, as_json: bool) -> None:
    """End a freeze of everything, of a label, or of one schedule.

    What another freeze covers too stays frozen. Exit 1 where there is no such freeze.

    \b
    Example:
      fencepost thaw --label team=billing
      fencepost thaw
    """
    changed, schedules, left = ask(place, lambda control: _thaw(control, scope))
    still = f"; still frozen: {', '.join(left)}" if left else ""
    said = f"thawed: {scope}, {_counted(schedules)}{still}" if changed else f"{scope}: was not frozen{still}"
    _answer(context, scope, changed, schedules, said, as_json)


async def _freeze(control: Control, scope: Scope) -> tuple[bool, int]:
    return await control.freezes.freeze(scope), await control.freezes.covered(scope)


async def _thaw(control: Control, scope: Scope) -> tuple[bool, int, list[str]]:
    changed = await control.freezes.thaw(scope)
    left = [str(one.scope) for one in await control.freezes.all()]
    return changed, await control.freezes.covered(scope), left


def _scope(schedule: str | None, label: str | None, everything: bool) -> Scope:
    from fencepost.model.freeze import Scope, ScopeKind, label_scope
    from fencepost.model.identifiers import checked_name

    if sum((schedule is not None, label is not None, everything)) > 1:
        raise UsageError("give one of --schedule, --label and --all")
    if schedule is not None:
        return Scope(ScopeKind.SCHEDULE, checked_name("schedule", schedule))
    return Scope(ScopeKind.ALL) if label is None else label_scope(label)


def _counted(schedules: int) -> str:
    return f"{schedules} schedule{'' if schedules == 1 else 's'}"


def _answer(
    context: click.Context, scope: Scope, changed: bool, schedules: int, said: str, as_json: bool
) -> None:
    if as_json:
        print_json(
            {
                "kind": str(scope.kind),
                "value": scope.value,
                "changed": changed,
                "schedules": schedules,
            }
        )
    else:
        click.echo(said)
    context.exit(FINE if changed else NO)
