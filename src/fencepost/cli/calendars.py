"""`fencepost calendars`: which days are business days."""

from __future__ import annotations

from contextlib import suppress

import click
from msgspec.structs import replace

from fencepost.cli.calendar_views import print_calendar, print_calendars, print_change
from fencepost.cli.calling import call
from fencepost.cli.commands import command, listing, show
from fencepost.cli.nouns import calendars
from fencepost.cli.option_words import OptionWords
from fencepost.cli.options import Place, changes_store, json_option
from fencepost.cli.reading import read_dates
from fencepost.cli.requests import takes
from fencepost.errors import MissingExtra
from fencepost.operations.calendars import (
    SetCalendarRequest,
    calendar_of,
    list_calendars,
    remove_calendar,
    set_calendar,
    show_calendar,
)
from fencepost.operations.responses.calendars import RemovedCalendar

NAMES = {"holidays": "--holiday", "workdays": "--workday"}


listing(list_calendars, calendars, "fencepost calendars list", none="no calendars")(print_calendars)
command(show_calendar, calendars, "fencepost calendars show de")(print_calendar)


@command(remove_calendar, calendars, "fencepost calendars remove de")
def _removed(found: RemovedCalendar) -> str:
    return f"calendar {found.name}: removed"


@calendars.command("set")
@takes(SetCalendarRequest, arguments=("name",))
@click.option("--file", metavar="PATH", help="Holidays from a text, one date a line; # begins a comment.")
@changes_store
@json_option
def write_calendar(request: SetCalendarRequest, file: str | None, place: Place, as_json: bool) -> None:
    """Write a calendar: all of its days, in place of those that it has.

    Single holidays and workdays win over the region. The schedules that use the calendar are planned anew,
    as far as they have not fired.

    \b
    Example:
      fencepost calendars set de --region DE-BY --years 2026-2030 --holiday 2026-12-24
      fencepost calendars set plant --weekend SUN --file closed.txt --dry-run
    """
    in_file = () if file is None else read_dates("--file", file)
    request = replace(request, holidays=[*(request.holidays or ()), *in_file] or None)
    # Looked at here first, so that a refusal speaks of options; a region that cannot be looked up here is
    # left to the server.
    with suppress(MissingExtra):
        calendar_of(request, OptionWords(NAMES))
    show(call(place, set_calendar, request), as_json, print_change)
