"""`fencepost calendars`: which days are business days."""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import click

from fencepost.cli.groups import CommandGroup
from fencepost.cli.options import Command, Place, asks, changes_store, json_option
from fencepost.cli.output import print_json

if TYPE_CHECKING:
    from fencepost.operations.calendars import SetCalendar

ALL = 1_000_000
NAMES = {"holidays": "--holiday", "workdays": "--workday"}
name_argument = click.argument("name", metavar="NAME")


@dataclass(frozen=True)
class Given:
    """What was typed of a calendar; None or nothing where an option was left out."""

    weekend: str | None
    holiday: tuple[str, ...]
    workday: tuple[str, ...]
    region: str | None
    years: str | None
    file: str | None


OPTIONS = (
    click.option("--weekend", metavar="DAYS", help="Days without work, SAT,SUN unless given; or none."),
    click.option("--holiday", metavar="DATE", multiple=True, help="A day without work; may be repeated."),
    click.option("--workday", metavar="DATE", multiple=True, help="A day that is worked all the same."),
    click.option(
        "--region", metavar="CODE", help="The holidays of a country, a part or a market: DE-BY, XNYS."
    ),
    click.option("--years", metavar="A-B", help="For which years to look the region up, such as 2026-2030."),
    click.option("--file", metavar="PATH", help="Holidays from a text, one date a line; # begins a comment."),
)


@click.group(cls=CommandGroup)
def calendars() -> None:
    """Look at business calendars and change them.

    \b
    Example:
      fencepost calendars set de --region DE-BY --years 2026-2030 --holiday 2026-12-24
    """


@calendars.command("list")
@asks
@json_option
def list_calendars(place: Place, as_json: bool) -> None:
    """List all calendars: their revision, how many holidays they have, and through which year.

    \b
    Example:
      fencepost calendars list
    """
    from fencepost.cli.calling import pages
    from fencepost.operations.calendars import ListCalendars, list_calendars

    found = pages(place, list_calendars, ListCalendars(), ALL)
    if as_json:
        print_json(found)
    elif found:
        from fencepost.cli.calendar_views import print_calendars

        print_calendars(found)
    else:
        click.echo("no calendars", err=True)


@calendars.command()
@name_argument
@asks
@json_option
def show(name: str, place: Place, as_json: bool) -> None:
    """Show one calendar: its weekend, its days, and the schedules that use it.

    \b
    Example:
      fencepost calendars show de
    """
    from fencepost.cli.calling import call
    from fencepost.operations.calendars import OneCalendar, show_calendar

    found = call(place, show_calendar, OneCalendar(name=name))
    if as_json:
        print_json(found)
    else:
        from fencepost.cli.calendar_views import print_calendar

        print_calendar(found)


def describes_calendar(command: Command) -> Command:
    """Give a command the options of a calendar, handed over as one `given`."""

    @functools.wraps(command)
    def with_calendar(*args: Any, **options: Any) -> Any:
        given = Given(**{one.name: options.pop(one.name) for one in fields(Given)})
        return command(*args, given=given, **options)

    return functools.reduce(lambda inner, option: option(inner), reversed(OPTIONS), with_calendar)


@calendars.command("set")
@name_argument
@describes_calendar
@click.option("--dry-run", is_flag=True, help="Show what would change, and write nothing.")
@changes_store
@json_option
def set_calendar(name: str, given: Given, dry_run: bool, place: Place, as_json: bool) -> None:
    """Write a calendar: all of its days, in place of those that it has.

    Single holidays and workdays win over the region. The schedules that use the calendar are planned anew,
    as far as they have not fired.

    \b
    Example:
      fencepost calendars set de --region DE-BY --years 2026-2030 --holiday 2026-12-24
      fencepost calendars set plant --weekend SUN --file closed.txt --dry-run
    """
    from fencepost.cli.calling import call
    from fencepost.operations.calendars import set_calendar

    found = call(place, set_calendar, _asked(name, given, dry_run))
    if as_json:
        print_json(found)
    else:
        from fencepost.cli.calendar_views import print_change

        print_change(found)


@calendars.command()
@name_argument
@changes_store
@json_option
def remove(name: str, place: Place, as_json: bool) -> None:
    """Take a calendar away that no schedule uses.

    \b
    Example:
      fencepost calendars remove de
    """
    from fencepost.cli.calling import call
    from fencepost.operations.calendars import RemoveCalendar, remove_calendar

    removed = call(place, remove_calendar, RemoveCalendar(name=name))
    if as_json:
        print_json(removed)
    else:
        click.echo(f"calendar {name}: removed")


def _asked(name: str, given: Given, dry_run: bool) -> SetCalendar:
    """What is asked. It is looked at here first, so that a refusal speaks of options; a region that nobody
    here can look up is left to whoever carries it out."""
    from contextlib import suppress

    from fencepost.cli.reading import read_dates
    from fencepost.cli.voices import OptionVoice
    from fencepost.errors import MissingExtra
    from fencepost.operations.calendars import SetCalendar, calendar_of

    in_file = () if given.file is None else read_dates("--file", given.file)
    asked = SetCalendar(
        name=name,
        weekend=given.weekend,
        holidays=[*given.holiday, *in_file] or None,
        workdays=list(given.workday) or None,
        region=given.region,
        years=given.years,
        dry_run=dry_run,
    )
    with suppress(MissingExtra):
        calendar_of(asked, OptionVoice(NAMES))
    return asked
