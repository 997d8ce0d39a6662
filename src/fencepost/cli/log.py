"""`fencepost log`: who did what, when, from where and why."""

from __future__ import annotations

from collections.abc import Sequence

import click

from fencepost.cli.commands import listing
from fencepost.cli.output import cell, shown_moment
from fencepost.operations.log import list_log
from fencepost.operations.responses.log import AuditEntryResponse

MORE = """A name is only a label. The credential behind it says for certain who acted: the id of a token,
FENCEPOST_TOKEN, or os: and the user of the operating system. On the command line FENCEPOST_ACTOR sets the
name, else it is the login name."""


@listing(
    list_log,
    None,
    "fencepost log --subject invoices --since 7d",
    "fencepost log --action run.replay --by anna",
    name="log",
    more=MORE,
    none="no entries",
    limit=50,
    zoned=True,
)
def log(found: Sequence[AuditEntryResponse], tz: str | None) -> None:
    """One line an entry, and one for each change."""
    for one in found:
        _print_entry(one, tz)


def _print_entry(entry: AuditEntryResponse, tz: str | None) -> None:
    why = f": {entry.reason}" if entry.reason else ""
    proof = f"{entry.credential}, " if entry.credential else ""
    who = f"{entry.author} ({proof}{entry.source})"
    click.echo(cell(f"{shown_moment(entry.at, tz)} {entry.action} {entry.subject} by {who}{why}"))
    for line in entry.changes:
        click.echo(f"  {cell(line)}")
