"""`fencepost gate`: what to do with catch-up that is held back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fencepost.cli.groups import CommandGroup
from fencepost.cli.options import Place, asks, changes_store, json_option, tz_option
from fencepost.cli.output import print_fields, print_json, shown_moment, shown_span
from fencepost.errors import UsageError

if TYPE_CHECKING:
    from msgspec import Struct

    from fencepost.operations.operation import Operation
    from fencepost.operations.shapes.gates import GateAnswer, GateShape

LIST_MAX = 100_000
id_argument = click.argument("schedule_id", metavar="ID")


@click.group(cls=CommandGroup)
def gate() -> None:
    """Look at closed catch-up gates, and decide what becomes of what they hold.

    A gate closes when too many late ticks wait or too many of them fail, and never opens by itself.

    \b
    Example:
      fencepost gate list
    """


@gate.command("list")
@tz_option
@asks
@json_option
def list_gates(tz: str | None, place: Place, as_json: bool) -> None:
    """List closed gates: what each holds, why, and how much work that is.

    \b
    Example:
      fencepost gate list
    """
    from fencepost.cli.calling import pages
    from fencepost.operations.gates import ListGates, list_gates

    found = pages(place, list_gates, ListGates(), LIST_MAX)
    if as_json:
        print_json(found)
    elif not found:
        click.echo("no gate is closed", err=True)
    for number, one in enumerate(found if not as_json else ()):
        click.echo("", nl=number > 0)
        _print_gate(one, tz)


@gate.command("open")
@id_argument
@changes_store
@json_option
def open_gate(schedule_id: str, place: Place, as_json: bool) -> None:
    """Let all that a gate holds run.

    \b
    Example:
      fencepost gate open invoices --reason "the mail server is back"
    """
    from fencepost.operations.gates import DecideGate, open_gate

    _decide(place, open_gate, DecideGate(schedule_id=schedule_id), as_json)


@gate.command()
@id_argument
@changes_store
@json_option
def latest(schedule_id: str, place: Place, as_json: bool) -> None:
    """Let only the newest tick that a gate holds run; the others are missed.

    \b
    Example:
      fencepost gate latest reports
    """
    from fencepost.operations.gates import DecideGate, keep_latest

    _decide(place, keep_latest, DecideGate(schedule_id=schedule_id), as_json)


@gate.command()
@id_argument
@changes_store
@json_option
def drop(schedule_id: str, place: Place, as_json: bool) -> None:
    """Let nothing that a gate holds run: all of it is missed. It needs a --reason.

    \b
    Example:
      fencepost gate drop reports --reason "nobody reads last week's"
    """
    from fencepost.operations.gates import DropGate, drop_gate

    if not place.reason:
        raise UsageError("gate drop: say why with --reason; it is what the missed ticks will say")
    _decide(place, drop_gate, DropGate(schedule_id=schedule_id, reason=place.reason), as_json)


def load_words(gate: GateShape) -> str:
    """How much work a gate holds, as far as one can tell."""
    if gate.load_s is None or gate.lasts_s is None:
        return "unknown: no run has succeeded yet"
    at_once = "one at a time" if gate.at_once == 1 else f"{gate.at_once} at once"
    return f"about {shown_span(gate.load_s)} of work, {shown_span(gate.lasts_s)} with {at_once}"


def _print_gate(found: GateShape, tz: str | None) -> None:
    print_fields(
        [
            ("schedule", found.schedule_id),
            ("closed", shown_moment(found.closed_at, tz)),
            ("reason", found.reason),
            ("held", f"{found.held} run{'' if found.held == 1 else 's'}"),
            ("oldest", shown_moment(found.oldest, tz)),
            ("newest", shown_moment(found.newest, tz)),
            ("load", load_words(found)),
        ]
    )


def _decide(place: Place, verb: Operation[Any, Any, GateAnswer], asked: Struct, as_json: bool) -> None:
    from fencepost.cli.calling import call

    found = call(place, verb, asked)
    if as_json:
        print_json(found)
    else:
        runs = f"{found.released} run{'' if found.released == 1 else 's'}"
        click.echo(f"gate {found.schedule_id}: open; {runs} released")
