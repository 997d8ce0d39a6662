"""`fencepost gate`: what to do with catch-up that is held back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fencepost.cli.options import Place, ask, changes_store, in_store, json_option, tz_option
from fencepost.cli.output import print_fields, print_json, shown_span, shown_time
from fencepost.errors import UsageError

if TYPE_CHECKING:
    from fencepost.model.gate import GateDecision
    from fencepost.services.control import GateView

id_argument = click.argument("schedule_id", metavar="ID")


@click.group()
def gate() -> None:
    """Look at closed catch-up gates, and decide what becomes of what they hold.

    A gate closes when too many late ticks wait or too many of them fail, and never opens by itself.

    \b
    Example:
      fencepost gate list
    """


@gate.command("list")
@tz_option
@in_store
@json_option
def list_gates(tz: str | None, place: Place, as_json: bool) -> None:
    """List closed gates: what each holds, why, and how much work that is.

    \b
    Example:
      fencepost gate list
    """
    found = ask(place, lambda control: control.gates.closed())
    if as_json:
        from fencepost.cli.desk_shapes import gate_json

        print_json([gate_json(one) for one in found])
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
    from fencepost.model.gate import GateDecision

    _decide(schedule_id, GateDecision.OPEN, place, as_json)


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
    from fencepost.model.gate import GateDecision

    _decide(schedule_id, GateDecision.LATEST, place, as_json)


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
    from fencepost.model.gate import GateDecision

    if not place.reason:
        raise UsageError("gate drop: say why with --reason; it is what the missed ticks will say")
    _decide(schedule_id, GateDecision.DROP, place, as_json)


def load_words(view: GateView) -> str:
    """How much work a gate holds, as far as one can tell."""
    if view.gate.load_s is None or view.lasts_s is None:
        return "unknown: no run has succeeded yet"
    at_once = "one at a time" if view.at_once == 1 else f"{view.at_once} at once"
    return f"about {shown_span(view.gate.load_s)} of work, {shown_span(view.lasts_s)} with {at_once}"


def _print_gate(view: GateView, tz: str | None) -> None:
    found = view.gate
    print_fields(
        [
            ("schedule", found.schedule_id),
            ("closed", shown_time(found.closed_at, tz)),
            ("reason", found.reason),
            ("held", f"{found.held} run{'' if found.held == 1 else 's'}"),
            ("oldest", shown_time(found.oldest, tz)),
            ("newest", shown_time(found.newest, tz)),
            ("load", load_words(view)),
        ]
    )


def _decide(schedule_id: str, decision: GateDecision, place: Place, as_json: bool) -> None:
    released = ask(place, lambda control: control.gates.decide(schedule_id, decision))
    if as_json:
        print_json({"schedule_id": schedule_id, "decision": str(decision), "released": released})
    else:
        runs = f"{released} run{'' if released == 1 else 's'}"
        click.echo(f"gate {schedule_id}: open; {runs} released")
