"""Calendars as people see them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date

import click
from msgspec import UNSET

from fencepost.cli.output import brief, print_fields, print_table
from fencepost.errors import UsageError
from fencepost.operations.responses.calendars import KINDS, CalendarChange, CalendarResponse

CHANGES_SHOWN_MAX = 40
USERS_SHOWN_MAX = 10


def print_calendars(found: Sequence[CalendarResponse]) -> None:
    """One line a calendar."""
    print_table(
        ("CALENDAR", "REVISION", "WEEKEND", "HOLIDAYS", "WORKDAYS", "KNOWN THROUGH", "SCHEDULES"),
        [_row(one) for one in found],
    )


def print_calendar(found: CalendarResponse) -> None:
    """All that a calendar says."""
    if found.trouble is not UNSET:
        raise UsageError(found.trouble)
    print_fields(
        [
            ("calendar", found.name),
            ("revision", found.revision),
            ("weekend", _weekend(found.weekend or [])),
            ("known through", found.known_through or None),
            ("schedules", _shown_users(found.schedules)),
        ]
    )
    for kind in KINDS:
        for day in getattr(found, kind):
            click.echo(f"  {kind[:-1]}  {_day(day)}")


def print_change(found: CalendarChange) -> None:
    """What was written, and what is different now."""
    click.echo(f"calendar {found.name}: {_headline(found)}")
    lines = list(_changes(found))
    for line in lines[:CHANGES_SHOWN_MAX]:
        click.echo(f"  {line}")
    if len(lines) > CHANGES_SHOWN_MAX:
        click.echo(f"  and {len(lines) - CHANGES_SHOWN_MAX} more")


def _row(found: CalendarResponse) -> tuple[object, ...]:
    users = len(found.schedules)
    if found.trouble is not UNSET:
        return found.name, found.revision, brief(f"cannot be read: {found.trouble}"), None, None, None, users
    counts = [len(getattr(found, kind)) for kind in KINDS]
    weekend, through = _weekend(found.weekend or []), found.known_through or None
    return found.name, found.revision, weekend, *counts, through, users


def _headline(found: CalendarChange) -> str:
    count = len(found.schedules)
    state = f"revision {found.revision}" if found.changed else f"unchanged, revision {found.revision}"
    dry = "" if found.written else " (dry run, nothing is written)"
    through = f" through {found.known_through}" if found.known_through else ""
    users = "1 schedule uses it" if count == 1 else f"{count} schedules use it"
    holidays = "1 holiday" if len(found.holidays) == 1 else f"{len(found.holidays)} holidays"
    return f"{state}{dry}; {holidays}{through}; {users}"


def _changes(found: CalendarChange) -> Iterator[str]:
    if found.weekend_before is not UNSET:
        yield f"weekend: {_weekend(found.weekend_before)} -> {_weekend(found.weekend)}"
    for kind in KINDS:
        yield from (f"+ {_day(day)} {kind[:-1]}" for day in getattr(found.added, kind))
        yield from (f"- {_day(day)} {kind[:-1]}" for day in getattr(found.removed, kind))


def _weekend(days: Sequence[str]) -> str:
    return " ".join(days) or "none"


def _day(text: str) -> str:
    return f"{date.fromisoformat(text):%Y-%m-%d %a}"


def _shown_users(users: Sequence[str]) -> str:
    more = len(users) - USERS_SHOWN_MAX
    return ", ".join(users[:USERS_SHOWN_MAX]) + (f" and {more} more" if more > 0 else "")
