"""`fencepost log`: who did what, when, from where and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fencepost.cli.filters import LIMIT_MAX
from fencepost.cli.options import Place, asks, json_option, tz_option
from fencepost.cli.output import cell, print_json, shown_moment

if TYPE_CHECKING:
    from fencepost.operations.shapes.log import EntryShape


@click.command()
@click.option("--subject", metavar="S", help="Only of this schedule, run, calendar or backfill.")
@click.option("--action", metavar="A", help="Only this, such as schedule.pause or run.replay.")
@click.option("--by", metavar="NAME", help="Only by this name, or by this credential.")
@click.option("--since", metavar="TIME", help="From then on; also a length of time ago: 2h.")
@click.option("--until", metavar="TIME", help="Up to then; also a length of time ago.")
@click.option("--limit", type=click.IntRange(1, LIMIT_MAX), default=50, show_default=True, help="How many.")
@tz_option
@asks
@json_option
def log(
    subject: str | None,
    action: str | None,
    by: str | None,
    since: str | None,
    until: str | None,
    limit: int,
    tz: str | None,
    place: Place,
    as_json: bool,
) -> None:
    """Show what people changed, the newest first, with what it was before and after.

    A name is only a label. The credential behind it says for certain who acted: the id of a token,
    FENCEPOST_TOKEN, or os: and the user of the operating system. On the command line FENCEPOST_ACTOR sets the
    name, else it is the login name.

    \b
    Example:
      fencepost log --subject invoices --since 7d
      fencepost log --action run.replay --by anna
    """

    from fencepost.cli.calling import pages
    from fencepost.cli.reading import checked_choice, read_when
    from fencepost.model.audit import Action
    from fencepost.operations.log import ListLog, list_log

    chosen = None if action is None else Action(checked_choice("--action", action, list(Action)))
    first = None if since is None else read_when("--since", since, tz)
    last = None if until is None else read_when("--until", until, tz)

    found = pages(
        place, list_log, ListLog(subject=subject, action=chosen, by=by, since=first, until=last), limit
    )
    if as_json:
        print_json(found)
        return
    if not found:
        click.echo("no entries", err=True)
    for one in found:
        _print_entry(one, tz)


def _print_entry(entry: EntryShape, tz: str | None) -> None:
    why = f": {entry.reason}" if entry.reason else ""
    proof = f"{entry.credential}, " if entry.credential else ""
    who = f"{entry.author} ({proof}{entry.source})"
    click.echo(cell(f"{shown_moment(entry.at, tz)} {entry.action} {entry.subject} by {who}{why}"))
    for line in entry.changes:
        click.echo(f"  {cell(line)}")
