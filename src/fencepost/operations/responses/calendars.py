"""Calendars, and what a change of one changes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from fencepost.errors import UsageError
from fencepost.model.calendar import CalendarRecord
from fencepost.model.dataclasses import dataclass
from fencepost.operations.paging import Next
from fencepost.operations.words import Moment, moment
from fencepost.triggers import Calendar

KINDS = ("holidays", "workdays")

Day = Annotated[str, Meta(extra_json_schema={"format": "date"}, examples=["2026-12-25"])]
Year = Annotated[int | None, Meta(description="The last year with a holiday.")]
Users = Annotated[list[str], Meta(description="The ids of the schedules that use it.")]


class CalendarResponse(Struct, kw_only=True):
    """A calendar. One that a newer release wrote has `trouble` in place of its days."""

    name: str
    revision: int
    weekend: Annotated[list[str] | UnsetType, Meta(examples=[["SAT", "SUN"]])] = UNSET
    holidays: list[Day] | UnsetType = UNSET
    workdays: list[Day] | UnsetType = UNSET
    known_through: Annotated[int | UnsetType | None, Meta(description="The last year with a holiday.")] = (
        UNSET
    )
    trouble: str | UnsetType = UNSET
    updated_at: Moment
    schedules: Users


class CalendarPage(Struct, kw_only=True):
    """Calendars, by name."""

    items: list[CalendarResponse]
    next: Next


class DaysResponse(Struct, kw_only=True):
    """Days of both kinds."""

    holidays: list[Day]
    workdays: list[Day]


class CalendarChange(Struct, kw_only=True):
    """A calendar that was written, or would be, and what is different."""

    name: str
    revision: Annotated[int, Meta(description="The one that it has, or would have.")]
    written: bool
    changed: bool
    weekend: list[str]
    holidays: list[Day]
    workdays: list[Day]
    known_through: Year
    added: DaysResponse
    removed: DaysResponse
    schedules: Users
    weekend_before: Annotated[list[str] | UnsetType, Meta(description="Only where it was another one.")] = (
        UNSET
    )


class RemovedCalendar(Struct, kw_only=True):
    """A calendar that is no more."""

    name: str
    removed: bool


@dataclass(frozen=True)
class Rewritten:
    """A calendar that was written, or with nothing after it, that would be."""

    calendar: Calendar
    before: CalendarRecord | None
    after: CalendarRecord | None
    users: Sequence[str]

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

    def came(self, kind: str) -> list[str]:
        """The days of a kind that were not there before."""
        return _texts(sorted(set(getattr(self.calendar, kind)) - set(getattr(self.old, kind, ()))))

    def went(self, kind: str) -> list[str]:
        """The days of a kind that are not there any more."""
        return _texts(sorted(set(getattr(self.old, kind, ())) - set(getattr(self.calendar, kind))))


def calendar_response(record: CalendarRecord, users: Sequence[str]) -> CalendarResponse:
    """A calendar of the store."""
    try:
        days = _days(Calendar.from_json(record.definition))
    except UsageError as error:
        days = {"trouble": str(error)}
    return CalendarResponse(
        name=record.name,
        revision=record.revision,
        **days,
        updated_at=moment(record.updated_at),
        schedules=list(users),
    )


def change_of_calendar(found: Rewritten) -> CalendarChange:
    """What was written, or would be."""
    old, new = found.old, found.calendar
    return CalendarChange(
        name=new.name,
        revision=found.revision,
        written=found.after is not None,
        changed=found.is_changed,
        **_days(new),
        added=DaysResponse(**{kind: found.came(kind) for kind in KINDS}),
        removed=DaysResponse(**{kind: found.went(kind) for kind in KINDS}),
        schedules=list(found.users),
        weekend_before=UNSET if old is None or old.weekend == new.weekend else _weekend(old),
    )


def _days(calendar: Calendar) -> dict[str, Any]:
    return {
        "weekend": _weekend(calendar),
        "holidays": _texts(calendar.holidays),
        "workdays": _texts(calendar.workdays),
        "known_through": calendar.known_through,
    }


def _weekend(calendar: Calendar) -> list[str]:
    return (calendar.weekend or "").split()


def _texts(days: Sequence[date]) -> list[str]:
    return [day.isoformat() for day in days]
