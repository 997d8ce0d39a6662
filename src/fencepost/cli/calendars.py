"""`fencepost calendars`: which days are business days."""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import click

from fencepost.cli.options import Command, Place, ask, changes_store, in_store, json_option
from fencepost.cli.output import print_json

if TYPE_CHECKING:
    from fencepost.cli.calendar_views import Listed, Rewritten
    from fencepost.services.control import Control
    from fencepost.triggers import Calendar

USERS_MAX = 10_000
NONE = "none"
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


@click.group()
def calendars() -> None:
    """Look at business calendars and change them.

    \b
    Example:
      fencepost calendars set de --region DE-BY --years 2026-2030 --holiday 2026-12-24
    """


@calendars.command("list")
@in_store
@json_option
def list_calendars(place: Place, as_json: bool) -> None:
    """List all calendars: their revision, how many holidays they have, and through which year.

    \b
    Example:
      fencepost calendars list
    """
    from fencepost.cli.calendar_views import calendar_json, print_calendars

    found = ask(place, _all)
    if as_json:
        print_json([calendar_json(one) for one in found])
    elif found:
        print_calendars(found)
    else:
        click.echo("no calendars", err=True)


@calendars.command()
@name_argument
@in_store
@json_option
def show(name: str, place: Place, as_json: bool) -> None:
    """Show one calendar: its weekend, its days, and the schedules that use it.

    \b
    Example:
      fencepost calendars show de
    """
    from fencepost.cli.calendar_views import calendar_json, print_calendar

    found = ask(place, lambda control: _one(control, name))
    if as_json:
        print_json(calendar_json(found))
    else:
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
    from fencepost.cli.calendar_views import print_rewritten, rewritten_json

    calendar = _calendar(name, given)
    found = ask(place, lambda control: _set(control, calendar, dry_run))
    if as_json:
        print_json(rewritten_json(found))
    else:
        print_rewritten(found)


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
    ask(place, lambda control: control.calendars.remove(name))
    if as_json:
        print_json({"name": name, "removed": True})
    else:
        click.echo(f"calendar {name}: removed")


def _calendar(name: str, given: Given) -> Calendar:
    from fencepost.cli.reading import read_dates
    from fencepost.cli.voices import OptionVoice
    from fencepost.manifest.calendars import CalendarWords, build_calendar

    in_file = () if given.file is None else read_dates("--file", given.file)
    words = CalendarWords(
        weekend="" if given.weekend == NONE else given.weekend,
        holidays=(*given.holiday, *in_file) or None,
        workdays=given.workday or None,
        region=given.region,
        years=given.years,
    )
    return build_calendar(name, words, OptionVoice(NAMES))


async def _all(control: Control) -> list[Listed]:
    return [await _one(control, one.name) for one in await control.calendars.all()]


async def _one(control: Control, name: str) -> Listed:
    from fencepost.cli.calendar_views import Listed

    record = await control.calendars.get(name)
    return Listed(record, await _users(control, name))


async def _set(control: Control, calendar: Calendar, dry_run: bool) -> Rewritten:
    from fencepost.cli.calendar_views import Rewritten

    before = await control.store.calendars.get(control.namespace, calendar.name)
    after = None if dry_run else await control.calendars.set(calendar)
    return Rewritten(calendar, before, after, await _users(control, calendar.name))


async def _users(control: Control, name: str) -> tuple[str, ...]:
    return tuple(await control.store.calendars.users(control.namespace, name, USERS_MAX))
