"""Triggers as people see them: where their times are shown, and what the clocks will do."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from fencepost.operations.responses.triggers import ChangeResponse

UTC = "UTC"


def print_changes(changes: Sequence[ChangeResponse]) -> None:
    """One sentence a line, apart from what stands before."""
    if changes:
        click.echo()
    for change in changes:
        click.echo(change.sentence)


def zone_shown(zones: Collection[str], tz: str | None) -> str | None:
    """The zone that was asked for, or else the one that a trigger lives in, or else this machine's own."""
    own = set(zones) - {UTC}
    return tz or (next(iter(own)) if len(own) == 1 else None)
