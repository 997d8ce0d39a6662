"""The wall times of a recurrence rule, found from anywhere in the same time.

A rule is days and times of day. The days of a year are a bitmask (`rrule_days`), the seconds of a day are
another (`rrule_clock`), and the first wall time from a given one on is the lowest bit left in each. Two
things bend this picture:

- **BYSETPOS** picks from the set of one period. Of a day or less that set is the same in every period, and
  the mask of seconds is thinned once. Of a week, a month or a year it is days times seconds, and each year
  has a list of what was picked.
- **COUNT** counts from the start. The counted wall times are walked through once, and the last is kept.

No search looks further than a century, by years first, so that a rule which never fires is told in
milliseconds.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

from fencepost.errors import InvalidTrigger
from fencepost.model.quoting import quoted
from fencepost.triggers.rrule.clock import DAY_S, Clock, CombedClock, clock, picks, set_bits
from fencepost.triggers.rrule.days import (
    EPOCH_WEEKDAY,
    WEEK,
    DayRule,
    days_of_year,
    month_and_day,
    month_masks,
    week_begins,
    year_begins,
    year_of,
)
from fencepost.triggers.rrule.parts import Frequency, Parts

NEAR = (1 << 128) - 1
YEAR_LAST = 9_998
SEARCH_YEARS = 101
CENTURY_S = 36_525 * DAY_S
RECURRENCES_MAX = 512
PICKED_YEARS_MAX = 512


class Source(Protocol):
    """The wall seconds of a rule that never began and never ends."""

    def next_in(self, year: int, at: int) -> int | None:
        """The first of the year's wall seconds from `at` on."""
        ...

    def last_in(self, year: int, before: int) -> int | None:
        """The last of the year's wall seconds earlier than `before`."""
        ...


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A rule from its start to its end, both included."""

    source: Source
    start: int
    end: int | None = None

    def next_wall(self, at: int) -> int | None:
        """The first wall second from `at` on, None where none comes within a century."""
        at = max(at, self.start)
        year = year_of(at // DAY_S)
        for one in range(year, min(year + SEARCH_YEARS, YEAR_LAST + 1)):
            found = self.source.next_in(one, at)
            if found is not None:
                return found if self.end is None or found <= self.end else None
        return None

    def previous_wall(self, before: int) -> int | None:
        """The last wall second earlier than `before`, None where there is none."""
        before = before if self.end is None else min(before, self.end + 1)
        if before <= self.start:
            return None
        year = year_of((before - 1) // DAY_S)
        earliest = max(year - SEARCH_YEARS, year_of(self.start // DAY_S))
        for one in range(year, earliest - 1, -1):
            found = self.source.last_in(one, before)
            if found is not None:
                return found if found >= self.start else None
        return None


@dataclass(frozen=True, slots=True)
class Pruned:
    """A rule without some wall seconds, and without some whole days."""

    rule: Recurrence
    excluded: frozenset[int]
    excluded_days: frozenset[int]

    def next_wall(self, at: int) -> int | None:
        """The first wall second from `at` on; each look that fails uses up one exclusion."""
        while (wall := self.rule.next_wall(at)) is not None:
            if wall // DAY_S in self.excluded_days:
                at = (wall // DAY_S + 1) * DAY_S
            elif wall in self.excluded:
                at = wall + 1
            else:
                break
        return wall

    def previous_wall(self, before: int) -> int | None:
        """The last wall second earlier than `before`."""
        while (wall := self.rule.previous_wall(before)) is not None:
            if wall // DAY_S in self.excluded_days:
                before = wall // DAY_S * DAY_S
            elif wall in self.excluded:
                before = wall
            else:
                break
        return wall


@dataclass(frozen=True, slots=True)
class Listed:
    """Wall seconds one by one, ascending."""

    walls: tuple[int, ...]

    def next_wall(self, at: int) -> int | None:
        """The first of them from `at` on."""
        index = bisect_left(self.walls, at)
        return self.walls[index] if index < len(self.walls) else None

    def previous_wall(self, before: int) -> int | None:
        """The last of them earlier than `before`."""
        index = bisect_left(self.walls, before)
        return self.walls[index - 1] if index else None


@lru_cache(maxsize=RECURRENCES_MAX)
def recurrence(parts: Parts, start: int, end: int | None) -> Recurrence:
    """The rule from a start to an end; what it leaves open is taken from the start."""
    times, days = clock(parts, start), _day_rule(parts, start)
    by_period = parts.positions and parts.frequency < Frequency.DAILY
    source = Picked(days, picks(times.seconds, parts.positions)) if by_period else Spread(days, times)
    rule = Recurrence(source, start, end)
    return rule if parts.count is None else replace(rule, end=_last_counted(parts, rule))


@dataclass(frozen=True, slots=True)
class Spread:
    """Every matching day at every matching time."""

    days: DayRule
    clock: Clock | CombedClock

    def next_in(self, year: int, at: int) -> int | None:
        begins, today = year_begins(year), at // DAY_S
        skipped = max(today - begins, 0)
        left = (days_of_year(self.days, year) & self.clock.days(begins)) >> skipped
        while left:
            lowest = left & -left
            day = begins + skipped + lowest.bit_length() - 1
            floor = at - day * DAY_S if day == today else 0
            seconds = self.clock.on(day) >> floor
            if seconds:
                return day * DAY_S + floor + _lowest(seconds)
            left ^= lowest
        return None

    def last_in(self, year: int, before: int) -> int | None:
        begins, today = year_begins(year), before // DAY_S
        left = days_of_year(self.days, year) & self.clock.days(begins)
        if today - begins < 366:
            left &= (1 << today - begins + 1) - 1
        while left:
            day = begins + left.bit_length() - 1
            seconds = self.clock.on(day)
            if day == today:
                seconds &= (1 << before - day * DAY_S) - 1
            if seconds:
                return day * DAY_S + seconds.bit_length() - 1
            left ^= 1 << day - begins
        return None


@dataclass(frozen=True, slots=True)
class Picked:
    """Of each week, month or year, the picks: which of its matching days, and at which second."""

    days: DayRule
    picks: tuple[tuple[int, int], ...]

    def next_in(self, year: int, at: int) -> int | None:
        return _picked_walls(self, year).next_wall(at)

    def last_in(self, year: int, before: int) -> int | None:
        return _picked_walls(self, year).previous_wall(before)


@lru_cache(maxsize=PICKED_YEARS_MAX)
def _picked_walls(picked: Picked, year: int) -> Listed:
    walls: set[int] = set()
    for days in _periods(picked.days, year):
        size = len(days)
        walls.update(days[index] * DAY_S + time for index, time in picked.picks if -size <= index < size)
    first, last = year_begins(year) * DAY_S, year_begins(year + 1) * DAY_S
    return Listed(tuple(sorted(wall for wall in walls if first <= wall < last)))


def _periods(rule: DayRule, year: int) -> Iterator[Sequence[int]]:
    """The matching days of each period that meets the year."""
    begins, days = year_begins(year), days_of_year(rule, year)
    if rule.frequency == Frequency.YEARLY:
        yield _numbered(days, begins)
    elif rule.frequency == Frequency.MONTHLY:
        for month in month_masks(year):
            yield _numbered(days & month, begins)
    else:
        before = year_begins(year - 1)
        after = year_begins(year + 1)
        around = days_of_year(rule, year - 1) | days << begins - before
        around |= days_of_year(rule, year + 1) << after - before
        for week in range(week_begins(begins, rule.week_start), after, WEEK):
            yield _numbered(around >> week - before & (1 << WEEK) - 1, week)


def _numbered(mask: int, first: int) -> list[int]:
    return [first + bit for bit in set_bits(mask)]


def _day_rule(parts: Parts, start: int) -> DayRule:
    """The days of the rule; where it names none, they are those that the start lies on."""
    day = start // DAY_S
    rule = DayRule(
        frequency=parts.frequency,
        interval=parts.interval,
        start_day=day,
        week_start=parts.week_start,
        months=parts.months,
        week_numbers=parts.week_numbers,
        year_days=parts.year_days,
        month_days=parts.month_days,
        weekdays=parts.weekdays,
    )
    if parts.names_days or parts.frequency > Frequency.WEEKLY:
        return rule
    if parts.frequency == Frequency.WEEKLY:
        return replace(rule, weekdays=((0, (day + EPOCH_WEEKDAY) % WEEK),))
    month, month_day = month_and_day(day)
    if parts.frequency == Frequency.YEARLY and not parts.months:
        rule = replace(rule, months=(month,))
    return replace(rule, month_days=(month_day,))


def _last_counted(parts: Parts, rule: Recurrence) -> int:
    """The wall second at which the count is used up; of a rule that never fires, one before its start.

    Days are found by the year, and a count of them may last to the end of the calendar. Where days have to
    be looked at one by one, a century is enough.
    """
    assert parts.count is not None
    last = rule.start - 1
    for _ in range(parts.count):
        wall = rule.next_wall(last + 1)
        if parts.frequency > Frequency.DAILY and last >= rule.start:
            _check_within_a_century(parts, rule.start, wall)
        if wall is None:
            break
        last = wall
    return last


def _check_within_a_century(parts: Parts, start: int, wall: int | None) -> None:
    if wall is None or wall - start > CENTURY_S:
        raise InvalidTrigger(f"rrule {quoted(str(parts))}: COUNT is not used up within a century")


def _lowest(bits: int) -> int:
    """The place of the lowest set bit; most often it is near, and a long number need not be touched."""
    bits = bits & NEAR or bits
    return (bits & -bits).bit_length() - 1
