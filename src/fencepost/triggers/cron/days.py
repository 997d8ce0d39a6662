"""The days of a month that a cron expression can name, for each shape that a month can have.

A month has one of 28 shapes: 28 to 31 days, begun on one of seven weekdays. What the two day fields name
depends on nothing else, so that an expression is turned into 28 masks once, and a search only looks them up.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

SHORTEST, LONGEST = 28, 31
WEEK = 7
SATURDAY, SUNDAY = 6, 0
MONTH_LENGTHS = ((), *((31,), (28, 29), (31,), (30,), (31,), (30,), (31,), (31,), (30,), (31,), (30,), (31,)))
MONTHS_KEPT_MAX = 4096
PAIRS_KEPT_MAX = 1_024


@dataclass(frozen=True, slots=True)
class Shape:
    """A month of `length` days whose first is a `first_weekday`; Sunday is 0."""

    length: int
    first_weekday: int

    def weekday(self, day: int) -> int:
        """The weekday of a day."""
        return (self.first_weekday + day - 1) % WEEK

    def days_of(self, weekday: int) -> range:
        """All days that are that weekday."""
        return range(1 + (weekday - self.first_weekday) % WEEK, self.length + 1, WEEK)

    def is_working(self, day: int) -> bool:
        """Whether a day is one of Monday to Friday."""
        return self.weekday(day) not in (SATURDAY, SUNDAY)


WEEKLY = sum(1 << WEEK * week for week in range(5))
SHAPES = tuple(Shape(length, first) for length in range(SHORTEST, LONGEST + 1) for first in range(WEEK))


@dataclass(frozen=True, slots=True)
class LastDay:
    """`L`, or `L-3`: a number of days before the last."""

    before: int = 0

    def days(self, shape: Shape) -> Iterator[int]:
        """The day, where the month is long enough."""
        if shape.length > self.before:
            yield shape.length - self.before


@dataclass(frozen=True, slots=True)
class LastWorkingDay:
    """`LW`: the last of Monday to Friday."""

    def days(self, shape: Shape) -> Iterator[int]:
        """One day in every month."""
        yield next(day for day in range(shape.length, 0, -1) if shape.is_working(day))


@dataclass(frozen=True, slots=True)
class NearestWorkingDay:
    """`15W`: the one of Monday to Friday that is nearest to the 15th, in the same month."""

    day: int

    def days(self, shape: Shape) -> Iterator[int]:
        """The day, where the month has the one it is near to."""
        if self.day > shape.length:
            return
        by_distance = sorted(range(1, shape.length + 1), key=lambda day: abs(day - self.day))
        yield next(day for day in by_distance if shape.is_working(day))


@dataclass(frozen=True, slots=True)
class NthWeekday:
    """`MON#2`, or with -1 the last one: `MON#L`."""

    weekday: int
    nth: int

    def days(self, shape: Shape) -> Iterator[int]:
        """The day, where the month has that many of them."""
        days = shape.days_of(self.weekday)
        if self.nth <= len(days):
            yield days[self.nth - 1 if self.nth > 0 else -1]


SpecialDay = LastDay | LastWorkingDay | NearestWorkingDay | NthWeekday


@dataclass(frozen=True, slots=True)
class DayField:
    """One of the two day fields: plain values by mask, special days by rule."""

    mask: int
    specials: tuple[SpecialDay, ...]

    def by_number(self, shape: Shape) -> int:
        """The days of the month, where the mask holds days."""
        return self.mask & _through(shape.length) | self._special(shape)

    def by_weekday(self, shape: Shape) -> int:
        """The days of the month, where the mask holds weekdays."""
        named = self._special(shape)
        for weekday in range(WEEK):
            if self.mask >> weekday & 1:
                # Every seventh day from the first of them, as far as the month goes.
                named |= (WEEKLY << 1 + (weekday - shape.first_weekday) % WEEK) & _through(shape.length)
        return named

    def _special(self, shape: Shape) -> int:
        mask = 0
        for special in self.specials:
            for day in special.days(shape):
                mask |= 1 << day
        return mask


@lru_cache(maxsize=PAIRS_KEPT_MAX)
def month_masks(days: DayField, weekdays: DayField, *, either: bool) -> tuple[int, ...]:
    """The matching days of each shape, bit n for day n; `either` where one match of the two is enough."""
    pairs = ((days.by_number(shape), weekdays.by_weekday(shape)) for shape in SHAPES)
    return tuple(number | weekday if either else number & weekday for number, weekday in pairs)


@lru_cache(maxsize=MONTHS_KEPT_MAX)
def shape_index(year: int, month: int) -> int:
    """The place of a month's shape in SHAPES."""
    monday_based, length = monthrange(year, month)
    return (length - SHORTEST) * WEEK + (monday_based + 1) % WEEK


def ever_matches(masks: tuple[int, ...], months: int) -> bool:
    """Whether one of the months has a matching day in one of its shapes.

    Each of those shapes comes: over the 400 years in which the calendar repeats, every month begins on
    every weekday, a February of 29 days too.
    """
    return any(
        masks[(length - SHORTEST) * WEEK + first]
        for month, lengths in enumerate(MONTH_LENGTHS)
        if months >> month & 1
        for length in lengths
        for first in range(WEEK)
    )


def _through(last: int) -> int:
    """Bits 1 to `last`."""
    return (1 << last + 1) - 2
