"""`fencepost gate`: what to do with catch-up that is held back."""

from __future__ import annotations

from collections.abc import Sequence

import click

from fencepost.cli.commands import command, listing
from fencepost.cli.nouns import gate
from fencepost.cli.output import print_fields, shown_moment, shown_span
from fencepost.operations.gates import drop_gate, keep_latest, list_gates, open_gate
from fencepost.operations.responses.gates import GateChangeResponse, GateResponse


@listing(list_gates, gate, "fencepost gate list", none="no gate is closed", zoned=True)
def _listed(found: Sequence[GateResponse], tz: str | None) -> None:
    for number, one in enumerate(found):
        click.echo("", nl=number > 0)
        _print_gate(one, tz)


def load_words(gate: GateResponse) -> str:
    """How much work a gate holds, as far as one can tell."""
    if gate.load_s is None or gate.lasts_s is None:
        return "unknown: no run has succeeded yet"
    at_once = "one at a time" if gate.at_once == 1 else f"{gate.at_once} at once"
    return f"about {shown_span(gate.load_s)} of work, {shown_span(gate.lasts_s)} with {at_once}"


def _print_gate(found: GateResponse, tz: str | None) -> None:
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


def _decided(found: GateChangeResponse) -> str:
    runs = f"{found.released} run{'' if found.released == 1 else 's'}"
    return f"gate {found.schedule_id}: open; {runs} released"


for verb, example in (
    (open_gate, 'fencepost gate open invoices --reason "the mail server is back"'),
    (keep_latest, "fencepost gate latest reports"),
    (drop_gate, 'fencepost gate drop reports --reason "nobody reads last week\'s"'),
):
    command(verb, gate, example)(_decided)
