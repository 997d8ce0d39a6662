"""Calendars as people and scripts see them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import click

from fencepost.cli.output import brief, print_fields, print_table
from fencepost.errors import UsageError
from fencepost.model.calendar import CalendarRecord
from fencepost.model.times import to_utc_text
from fencepost.triggers import Calendar

CHANGES_SHOWN_MAX = 40
USERS_SHOWN_MAX = 10
KINDS = ("holidays", "workdays")


@dataclass(frozen=True)
class Listed:
    """A calendar of the store, and the schedules that use it."""

    record: CalendarRecord
    users: tuple[str, ...]

    @property
    def calendar(self) -> Calendar:
        """Its days; UsageError where a newer release wrote what this one cannot read."""
        return Calendar.from_json(self.record.definition)


@dataclass(frozen=True)
class Rewritten:
    """A calendar that was written, or with nothing after it, that would be."""

    calendar: Calendar
    before: CalendarRecord | None
    after: CalendarRecord | None
    users: tuple[str, ...]

    @property
    def old(self) -> Calendar | None:
        """The days that were there; None also where a newer release wrote what this one cannot read."""
        try:
            return None if self.before is None else Calendar.from_json(self.before.definition)
        except UsageError:
            return None

    @property
    def revision(self) -> int:
        """The revision that it has, or would have."""
        if self.after is not None:
            return self.after.revision
        last = self.before.revision if self.before is not None else 0
        return last + self.is_changed

    @property
    def is_changed(self) -> bool:
        """Whether it differs from what was there."""
        return self.old is None or _days(self.old) != _days(self.calendar)

    def differences(self, kind: str) -> tuple[list[date], list[date]]:
        """The days of a kind that came, and those that went."""
        old, new = set(getattr(self.old, kind, ())), set(getattr(self.calendar, kind))
        return sorted(new - old), sorted(old - new)


def print_calendars(found: Sequence[Listed]) -> None:
    """One line a calendar."""
    print_table(
        ("CALENDAR", "REVISION", "WEEKEND", "HOLIDAYS", "WORKDAYS", "KNOWN THROUGH", "SCHEDULES"),
        [_row(one) for one in found],
    )


def print_calendar(found: Listed) -> None:
    """All that a calendar says."""
    calendar = found.calendar
    print_fields(
        [
            ("calendar", calendar.name),
            ("revision", found.record.revision),
            ("weekend", calendar.weekend or "none"),
            ("known through", calendar.known_through),
            ("schedules", _shown_users(found.users)),
        ]
    )
    for kind in KINDS:
        for day in getattr(calendar, kind):
            click.echo(f"  {kind[:-1]}  {day:%Y-%m-%d %a}")


def print_rewritten(found: Rewritten) -> None:
    """What was written, and what is different now."""
    click.echo(f"calendar {found.calendar.name}: {_headline(found)}")
    lines = list(_changes(found))
    for line in lines[:CHANGES_SHOWN_MAX]:
        click.echo(f"  {line}")
    if len(lines) > CHANGES_SHOWN_MAX:
        click.echo(f"  and {len(lines) - CHANGES_SHOWN_MAX} more")


def calendar_json(found: Listed) -> dict[str, Any]:
    """A calendar."""
    return {
        "name": found.record.name,
        "revision": found.record.revision,
        **_days_or_trouble(found),
        "updated_at": to_utc_text(found.record.updated_at),
        "schedules": list(found.users),
    }


def rewritten_json(found: Rewritten) -> dict[str, Any]:
    """A calendar that was written, or would be, and what is different."""
    changes = {kind: found.differences(kind) for kind in KINDS}
    return {
        "name": found.calendar.name,
        "revision": found.revision,
        "written": found.after is not None,
        "changed": found.is_changed,
        **_days(found.calendar),
        "added": {kind: _texts(came) for kind, (came, _) in changes.items()},
        "removed": {kind: _texts(went) for kind, (_, went) in changes.items()},
        "schedules": list(found.users),
    }


def _row(found: Listed) -> tuple[object, ...]:
    record, users = found.record, len(found.users)
    try:
        calendar = found.calendar
    except UsageError as error:
        return record.name, record.revision, brief(f"cannot be read: {error}"), None, None, None, users
    counts = len(calendar.holidays), len(calendar.workdays)
    return record.name, record.revision, calendar.weekend or "none", *counts, calendar.known_through, users


def _days_or_trouble(found: Listed) -> dict[str, Any]:
    try:
        return _days(found.calendar)
    except UsageError as error:
        return {"trouble": str(error)}


def _days(calendar: Calendar) -> dict[str, Any]:
    return {
        "weekend": (calendar.weekend or "").split(),
        "holidays": _texts(calendar.holidays),
        "workdays": _texts(calendar.workdays),
        "known_through": calendar.known_through,
    }


def _texts(days: Sequence[date]) -> list[str]:
    return [day.isoformat() for day in days]


def _headline(found: Rewritten) -> str:
    calendar, count = found.calendar, len(found.users)
    state = f"revision {found.revision}" if found.is_changed else f"unchanged, revision {found.revision}"
    dry = "" if found.after is not None else " (dry run, nothing is written)"
    through = f" through {calendar.known_through}" if calendar.known_through else ""
    users = "1 schedule uses it" if count == 1 else f"{count} schedules use it"
    holidays = "1 holiday" if len(calendar.holidays) == 1 else f"{len(calendar.holidays)} holidays"
    return f"{state}{dry}; {holidays}{through}; {users}"


def _changes(found: Rewritten) -> Iterator[str]:
    old, new = found.old, found.calendar
    if old is not None and old.weekend != new.weekend:
        yield f"weekend: {old.weekend or 'none'} -> {new.weekend or 'none'}"
    for kind in KINDS:
        came, went = found.differences(kind)
        yield from (f"+ {day:%Y-%m-%d %a} {kind[:-1]}" for day in came)
        yield from (f"- {day:%Y-%m-%d %a} {kind[:-1]}" for day in went)


def _shown_users(users: Sequence[str]) -> str:
    more = len(users) - USERS_SHOWN_MAX
    return ", ".join(users[:USERS_SHOWN_MAX]) + (f" and {more} more" if more > 0 else "")
