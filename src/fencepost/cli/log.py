"""`fencepost log`: who did what, when, from where and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from fencepost.cli.filters import LIMIT_MAX
from fencepost.cli.options import Place, ask, in_store, json_option, tz_option
from fencepost.cli.output import cell, print_json, shown_time

if TYPE_CHECKING:
    from fencepost.model.audit import Entry
    from fencepost.model.json import JsonObject
    from fencepost.services.control import Control


@click.command()
@click.option("--subject", metavar="S", help="Only of this schedule, run, calendar or backfill.")
@click.option("--action", metavar="A", help="Only this, such as schedule.pause or run.replay.")
@click.option("--by", metavar="NAME", help="Only what this person did.")
@click.option("--since", metavar="TIME", help="From then on; also a length of time ago: 2h.")
@click.option("--until", metavar="TIME", help="Up to then; also a length of time ago.")
@click.option("--limit", type=click.IntRange(1, LIMIT_MAX), default=50, show_default=True, help="How many.")
@tz_option
@in_store
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

    Who acts is told by FENCEPOST_ACTOR, or else by the login name.

    \b
    Example:
      fencepost log --subject invoices --since 7d
      fencepost log --action run.replay --by anna
    """

    async def question(control: Control) -> Sequence[Entry]:
        from fencepost.cli.reading import checked_choice, read_since
        from fencepost.model.audit import Action, LogFilter

        now = await control.store.now()
        wanted = LogFilter(
            subject=subject,
            action=None if action is None else Action(checked_choice("--action", action, list(Action))),
            author=by,
            since=None if since is None else read_since("--since", since, tz, now),
            until=None if until is None else read_since("--until", until, tz, now),
            limit=limit,
        )
        return await control.log(wanted)

    found = ask(place, question)
    if as_json:
        from fencepost.cli.desk_shapes import entry_json

        print_json([entry_json(one, changes(one)) for one in found])
        return
    if not found:
        click.echo("no entries", err=True)
    for one in found:
        _print_entry(one, tz)


def changes(entry: Entry) -> list[str]:
    """What the action changed, one line a value; of what is new only how it stands."""
    from fencepost.cli.differences import differences

    before, after = entry.before, entry.after
    if entry.action.startswith("run."):
        before, after = _in_words(before), _in_words(after)
    if not before:
        after = {name: value for name, value in after.items() if name != "spec"}
    return differences(before, after)


def _in_words(value: JsonObject) -> JsonObject:
    """A run's holds are kept as a number."""
    from fencepost.cli.run_views import held_words
    from fencepost.model.run import Hold

    held = value.get("held")
    if not isinstance(held, int):
        return value
    return {**value, "held": ", ".join(held_words(Hold(held))) or "no"}


def _print_entry(entry: Entry, tz: str | None) -> None:
    who = f"{entry.author.name} ({entry.author.source})"
    why = f": {entry.author.reason}" if entry.author.reason else ""
    click.echo(cell(f"{shown_time(entry.at, tz)} {entry.action} {entry.subject} by {who}{why}"))
    for line in changes(entry):
        click.echo(f"  {cell(line)}")
