"""Calendars: named sets of business days, and the triggers that are made from them.

A calendar comes in three forms. As a **reference** it is a name alone, `Calendar("de")`: its days live in the
store. **Inline** it carries them: a weekend, holidays, and workdays, which are worked though they fall on a
weekend. A **snapshot** is inline with the revision that the store had.

Fire times must be the same for every caller, also for times long past. So no trigger reads the store: when a
schedule is stored, the snapshots to which its references are bound are stored with it. A later revision of
the calendar is a change of the schedule, with a version of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from fencepost.errors import InvalidSpec, InvalidTrigger
from fencepost.model.identifiers import checked_name
from fencepost.model.json import JsonObject, JsonValue
from fencepost.model.quoting import quoted
from fencepost.triggers.business.days import (
    CLOSED_DAYS_MAX,
    WEEK,
    BusinessDays,
    business_days,
    date_of,
    day_of,
)
from fencepost.triggers.localtime.dst import Fold, Gap
from fencepost.triggers.series import Binding

if TYPE_CHECKING:
    from fencepost.triggers.business.trigger import BusinessDay, Otherwise, Shifted
    from fencepost.triggers.localtime.times import WallTrigger

DATES_MAX = 5_000
COUNT_MAX = 1_000
TEXTS_KEPT_MAX = 128
WEEKEND = "SAT SUN"
MEMBERS = ("name", "weekend", "holidays", "workdays", "revision")

Dates: TypeAlias = str | Iterable[date | str]
"""Dates, or texts such as 2026-12-25; one text may hold several, parted by spaces or commas."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_SEPARATORS = str.maketrans(",", " ")


@dataclass(frozen=True, init=False, repr=False)
class Calendar:
    """A name, and the days that are worked: the week but for its weekend and the holidays, and the workdays.

    `weekend` is None for a reference, which says nothing about days.
    """

    name: str
    weekend: str | None
    holidays: tuple[date, ...]
    workdays: tuple[date, ...]
    revision: int | None
    _days: BusinessDays | None = field(compare=False)

    def __init__(
        self,
        name: str,
        weekend: str | Iterable[str] | None = None,
        holidays: Dates | None = None,
        workdays: Dates | None = None,
        revision: int | None = None,
    ) -> None:
        what = f"calendar {quoted(_checked_name(name))}"
        is_reference = weekend is None and holidays is None and workdays is None
        if is_reference and revision is not None:
            raise InvalidTrigger(f"{what}: a revision needs days, give weekend, holidays or workdays")
        rest = _weekend(what, WEEKEND if weekend is None else weekend)
        days = None if is_reference else _days(what, rest, holidays or (), workdays or ())
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "weekend", None if is_reference else " ".join(rest))
        object.__setattr__(self, "holidays", days.holidays if days else ())
        object.__setattr__(self, "workdays", days.workdays if days else ())
        object.__setattr__(self, "revision", _checked_revision(what, revision))
        object.__setattr__(self, "_days", days)

    def __repr__(self) -> str:
        if self.is_reference:
            return f"Calendar({self.name!r})"
        revision = "" if self.revision is None else f", revision={self.revision}"
        dates = f"holidays=<{len(self.holidays)}>, workdays=<{len(self.workdays)}>"
        return f"Calendar({self.name!r}, weekend={self.weekend!r}, {dates}{revision})"

    def __reduce__(self) -> tuple[type[Calendar], tuple[object, ...]]:
        # What is computed from the dates is shared within a process, so it is made again.
        if self.is_reference:
            return Calendar, (self.name,)
        return Calendar, (self.name, self.weekend, self.holidays, self.workdays, self.revision)

    @property
    def is_reference(self) -> bool:
        """Whether it is a name alone."""
        return self.weekend is None

    @property
    def is_stored(self) -> bool:
        """Whether the store is where its days come from."""
        return self.is_reference or self.revision is not None

    @property
    def known_through(self) -> int | None:
        """The last year with a holiday; after it only the week decides, so the calendar has run out."""
        return self.holidays[-1].year if self.holidays else None

    @property
    def days(self) -> BusinessDays:
        """The days as numbers, for the search of fire times."""
        if self._days is None:
            remedy = "it is read from the store when a schedule is added; to look here, give its holidays"
            raise InvalidTrigger(f"calendar {quoted(self.name)} is only a name here: {remedy}")
        return self._days

    def is_business_day(self, day: date) -> bool:
        """Whether that day is worked."""
        return day_of(_plain(day)) in self.days

    def next_business_day(self, day: date, count: int = 1) -> date | None:
        """The business day that is `count` after `day`; None where dates end."""
        days, number = self.days, day_of(_plain(day))
        for _ in range(_checked_count(count)):
            number = days.on_or_after(number + 1)
        return date_of(number)

    def previous_business_day(self, day: date, count: int = 1) -> date | None:
        """The business day that is `count` before `day`; None where dates begin."""
        days, number = self.days, day_of(_plain(day))
        for _ in range(_checked_count(count)):
            number = days.on_or_before(number - 1)
        return date_of(number)

    def business_days_of(self, year: int, month: int) -> list[date]:
        """The business days of a month, ascending."""
        try:
            date(year, month, 1)
        except (ValueError, TypeError, OverflowError):
            raise InvalidTrigger(f"month {quoted(month)} of year {quoted(year)} does not exist") from None
        return [found for day in self.days.of_month(year, month) if (found := date_of(day))]

    def business_day(
        self,
        n: int,
        at: str | Sequence[str],
        tz: str = "UTC",
        months: str | Iterable[str] | None = None,
        gap: Gap | None = None,
        fold: Fold | None = None,
    ) -> BusinessDay:
        """A trigger for the nth business day of a month, -1 for the last; months with fewer are left out."""
        from fencepost.triggers.business.trigger import BusinessDay, checked_nth

        return BusinessDay(self, at, checked_nth(n), tz=tz, months=months, gap=gap, fold=fold)

    def business_days(
        self,
        at: str | Sequence[str],
        tz: str = "UTC",
        months: str | Iterable[str] | None = None,
        gap: Gap | None = None,
        fold: Fold | None = None,
    ) -> BusinessDay:
        """A trigger for every business day."""
        from fencepost.triggers.business.trigger import BusinessDay

        return BusinessDay(self, at, tz=tz, months=months, gap=gap, fold=fold)

    def keep(self, trigger: WallTrigger, otherwise: Otherwise = "next") -> Shifted:
        """The same trigger on business days only: its other times move to the next or the previous one, or
        are skipped."""
        from fencepost.triggers.business.trigger import Shifted

        return Shifted(trigger, self, otherwise)

    def bound(self, binding: Binding) -> Calendar:
        """With the days that the store has, unless these are as new, or never came from there."""
        if not self.is_stored:
            return self
        stored = binding.calendars.get(self.name)
        if stored is None or stored.is_reference:
            remedy = f"run: fencepost calendars set {self.name}"
            raise InvalidTrigger(f"calendar {quoted(self.name)} is not in the store; {remedy}")
        assert stored.name == self.name, "calendars are bound by their names"
        return self if (self.revision or 0) >= (stored.revision or 1) else stored

    def to_json(self) -> JsonObject:
        """The stable form: a name alone for a reference, else all days, each list as one text."""
        if self.weekend is None:
            return {"name": self.name}
        form: JsonObject = {
            "name": self.name,
            "weekend": self.weekend,
            "holidays": _joined(self.holidays),
            "workdays": _joined(self.workdays),
        }
        return form if self.revision is None else {**form, "revision": self.revision}

    @staticmethod
    def from_json(data: JsonValue) -> Calendar:
        """The calendar that a `to_json` wrote."""
        if not isinstance(data, dict):
            raise InvalidTrigger(f"calendar {quoted(data)}: expected an object with a name")
        for member in data:
            if member not in MEMBERS:
                raise InvalidTrigger(f"calendar: {quoted(member)} is unknown")
        name, revision = _text(data, "name"), data.get("revision")
        if data.keys() == {"name"}:
            return Calendar(name)
        if revision is not None and type(revision) is not int:
            raise InvalidTrigger(f"calendar: revision is {quoted(revision)}, expected a whole number")
        weekend, holidays, workdays = (_text(data, member) for member in ("weekend", "holidays", "workdays"))
        return Calendar(name, weekend, holidays, workdays, revision)


def _text(data: JsonObject, member: str) -> str:
    value = data.get(member)
    if not isinstance(value, str):
        raise InvalidTrigger(f"calendar: {member} is {quoted(value)}, expected a text")
    return value


def _joined(dates: tuple[date, ...]) -> str:
    return " ".join(map(date.isoformat, dates))


def _checked_name(name: object) -> str:
    if not isinstance(name, str):
        raise InvalidTrigger(f"calendar {quoted(name)}: expected a text")
    try:
        return checked_name("calendar", name)
    except InvalidSpec as error:
        raise InvalidTrigger(str(error)) from None


def _checked_revision(what: str, revision: int | None) -> int | None:
    if revision is None or (type(revision) is int and revision >= 1):
        return revision
    raise InvalidTrigger(f"{what}: revision {quoted(revision)}, expected a whole number from 1 on")


def _checked_count(count: int) -> int:
    if type(count) is int and 1 <= count <= COUNT_MAX:
        return count
    raise InvalidTrigger(f"count {quoted(count)}: expected a whole number from 1 to {COUNT_MAX}")


def _weekend(what: str, given: str | Iterable[str]) -> list[str]:
    """The days of the weekend in the order of the week."""
    if isinstance(given, str):
        given = given.translate(_SEPARATORS).split(None, len(WEEK))
    if not isinstance(given, Iterable):
        raise InvalidTrigger(f"{what}: weekend is {quoted(given)}, expected days such as SAT,SUN")
    names = [_weekday(what, item) for item in islice(given, len(WEEK) + 1)]
    if len(names) > len(WEEK) or len(set(names)) == len(WEEK):
        raise InvalidTrigger(f"{what}: a weekend of seven days leaves no business day")
    return [name for name in WEEK if name in names]


def _weekday(what: str, item: object) -> str:
    if isinstance(item, str) and item.upper() in WEEK:
        return item.upper()
    raise InvalidTrigger(f"{what}: weekend has {quoted(item)}, expected days from {' '.join(WEEK)}")


def _days(what: str, weekend: list[str], holidays: Dates, workdays: Dates) -> BusinessDays:
    closed, opened = _dates(what, "holidays", holidays), _dates(what, "workdays", workdays)
    if len(closed) + len(opened) > DATES_MAX:
        raise InvalidTrigger(f"{what} has {len(closed) + len(opened)} dates, expected at most {DATES_MAX}")
    for both in sorted(set(opened).intersection(closed)):
        raise InvalidTrigger(f"{what}: {both} is both a holiday and a workday")
    worked = sum(1 << number for number, name in enumerate(WEEK) if name not in weekend)
    days = business_days(worked, closed, opened)
    if (length := len(days.longest_closure)) > CLOSED_DAYS_MAX:
        since = f"no business day in the {length} days from {date_of(days.longest_closure.start)}"
        raise InvalidTrigger(f"{what} has {since}, expected at most {CLOSED_DAYS_MAX}")
    return days


def _dates(what: str, member: str, given: object) -> tuple[date, ...]:
    if isinstance(given, str):
        return _dates_of_text(what, member, given)
    if not isinstance(given, Iterable):
        raise InvalidTrigger(f"{what}: {member} is {quoted(given)}, expected a list of dates")
    items = list(islice(given, DATES_MAX + 1))
    if len(items) > DATES_MAX:
        raise InvalidTrigger(f"{what} has more than {DATES_MAX} {member}")
    return tuple(sorted({_date(what, member, item) for item in items}))


# Every schedule that uses a calendar has the same texts with it.
@lru_cache(maxsize=TEXTS_KEPT_MAX)
def _dates_of_text(what: str, member: str, text: str) -> tuple[date, ...]:
    return _dates(what, member, text.translate(_SEPARATORS).split(None, DATES_MAX))


def _date(what: str, member: str, item: object) -> date:
    if isinstance(item, str) and _DATE.fullmatch(item):
        try:
            return date.fromisoformat(item)
        except ValueError as error:
            raise InvalidTrigger(f"{what}: {member} has {quoted(item)}: {error}") from None
    if isinstance(item, date) and not isinstance(item, datetime):
        return item
    raise InvalidTrigger(f"{what}: {member} has {quoted(item)}, expected a date such as 2026-12-25")


def _plain(day: object) -> date:
    """A datetime is no day: which one it means depends on a zone."""
    if isinstance(day, date) and not isinstance(day, datetime):
        return day
    raise InvalidTrigger(f"day {quoted(day)}: expected a date without a time")
