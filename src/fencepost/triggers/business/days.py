"""Which days are business days, counted in days since 1 January 1970 as wall clocks show them.

A day is a plain number here, so that a search compares numbers and makes no dates. Outside of the dates that
a calendar names only the week decides; a calendar that would close for longer than `CLOSED_DAYS_MAX` in a row
is refused where it is made. So the nearest business day is always near, and every search below is short.
"""

from __future__ import annotations

from calendar import monthrange
from datetime import date
from functools import lru_cache

DAY_S = 86_400
EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
CLOSED_DAYS_MAX = 1_000
CALENDARS_KEPT_MAX = 64
MONTHS_KEPT_MAX = 4_096

WEEK = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
# 1 January 1970 was a Thursday.
EPOCH_WEEKDAY = WEEK.index("THU")


class BusinessDays:
    """The week and the exceptions to it. `worked` has bit n set where weekday n is worked, Monday first."""

    __slots__ = ("_closed", "_opened", "holidays", "longest_closure", "workdays", "worked")

    def __init__(self, worked: int, holidays: tuple[date, ...], workdays: tuple[date, ...]) -> None:
        self.worked = worked
        self.holidays = holidays
        self.workdays = workdays
        self._closed = frozenset(map(day_of, holidays))
        self._opened = frozenset(map(day_of, workdays))
        self.longest_closure = self._longest_closure()

    def __contains__(self, day: int) -> bool:
        """Whether it is a business day."""
        if self.worked >> (day + EPOCH_WEEKDAY) % 7 & 1:
            return day not in self._closed
        return day in self._opened

    def on_or_after(self, day: int) -> int:
        """The first business day from `day` on."""
        for candidate in range(day, day + CLOSED_DAYS_MAX + 1):
            if candidate in self:
                return candidate
        raise AssertionError("a calendar that closes for so long is refused")

    def on_or_before(self, day: int) -> int:
        """The last business day up to `day`."""
        for candidate in range(day, day - CLOSED_DAYS_MAX - 1, -1):
            if candidate in self:
                return candidate
        raise AssertionError("a calendar that closes for so long is refused")

    def of_month(self, year: int, month: int) -> tuple[int, ...]:
        """The business days of a month, ascending."""
        return _of_month(self, year, month)

    def _longest_closure(self) -> range:
        """The longest run of days around a holiday without a business day."""
        longest, reached = range(0), min(self._closed, default=0)
        for day in sorted(self._closed):
            if day < reached:
                continue
            first = reached = day
            while first - 1 not in self:
                first -= 1
            while reached not in self:
                reached += 1
            longest = max(longest, range(first, reached), key=len)
        return longest


@lru_cache(maxsize=CALENDARS_KEPT_MAX)
def business_days(worked: int, holidays: tuple[date, ...], workdays: tuple[date, ...]) -> BusinessDays:
    """The days behind equal calendars: one object, however many triggers hold such a calendar."""
    return BusinessDays(worked, holidays, workdays)


def day_of(moment: date) -> int:
    """The number of a date."""
    return moment.toordinal() - EPOCH_ORDINAL


def date_of(day: int) -> date | None:
    """The date of a number, or None where dates end."""
    ordinal = EPOCH_ORDINAL + day
    return date.fromordinal(ordinal) if 1 <= ordinal <= date.max.toordinal() else None


def month_start(year: int, month: int) -> int:
    """The number of the first day of a month."""
    return day_of(date(year, month, 1))


@lru_cache(maxsize=MONTHS_KEPT_MAX)
def _of_month(days: BusinessDays, year: int, month: int) -> tuple[int, ...]:
    first = month_start(year, month)
    return tuple(day for day in range(first, first + monthrange(year, month)[1]) if day in days)
