"""Which days of a year a recurrence rule means, as one bitmask: bit 0 for 1 January.

Every part of a rule that speaks of days is such a mask, and a rule's days are what all its masks share. So a
year costs a few operations on small integers, whether one day matches or all do, and no search ever walks
day by day from a start decades ago: the phase of an interval is a remainder.
"""

from __future__ import annotations

from calendar import isleap
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache, reduce
from itertools import accumulate
from operator import or_

from fencepost.triggers.rrule.parts import Frequency

EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
EPOCH_WEEKDAY = 3
YEARS_MAX = 16_384
WEEK = 7
# A bit every seven days, for longer than a year.
WEEKLY = sum(1 << WEEK * week for week in range(54))

_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_LEAP_LENGTHS = (31, 29, *_LENGTHS[2:])


@dataclass(frozen=True, slots=True)
class DayRule:
    """The parts that speak of days, with what the start implies filled in; an empty one restricts nothing."""

    frequency: Frequency
    interval: int
    start_day: int
    week_start: int
    months: tuple[int, ...]
    week_numbers: tuple[int, ...]
    year_days: tuple[int, ...]
    month_days: tuple[int, ...]
    weekdays: tuple[tuple[int, int], ...]


@lru_cache(maxsize=YEARS_MAX)
def days_of_year(rule: DayRule, year: int) -> int:
    """The days of the year that match, whole periods at a time: days before the start may be among them."""
    days = _periods_in_step(rule, year)
    if days and rule.months:
        days &= _union(_span(*_month(year, month)) for month in rule.months)
    if days and rule.week_numbers:
        days &= _days_by_week_number(rule, year)
    if days and rule.year_days:
        days &= _days_by_number(rule.year_days, 0, 365 + isleap(year))
    if days and rule.month_days:
        days &= _union(_days_by_number(rule.month_days, *_month(year, month)) for month in range(1, 13))
    if days and rule.weekdays:
        days &= _days_by_weekday(rule, year)
    return days


def year_begins(year: int) -> int:
    """The day number of 1 January, counted from 1970; also of years beyond the last that a date can have."""
    past = year - 1
    return past * 365 + past // 4 - past // 100 + past // 400 + 1 - EPOCH_ORDINAL


def year_of(day: int) -> int:
    """The year of a day number."""
    return date.fromordinal(EPOCH_ORDINAL + day).year


def month_and_day(day: int) -> tuple[int, int]:
    """The month of a day number, and its day there."""
    found = date.fromordinal(EPOCH_ORDINAL + day)
    return found.month, found.day


def month_masks(year: int) -> list[int]:
    """A mask for each month."""
    return [_span(*_month(year, month)) for month in range(1, 13)]


def week_begins(day: int, week_start: int) -> int:
    """The first day of the week that a day number lies in."""
    return day - (day + EPOCH_WEEKDAY - week_start) % WEEK


def _periods_in_step(rule: DayRule, year: int) -> int:
    """The days of those years, months, weeks or days that the interval does not skip."""
    begins, length = year_begins(year), 365 + isleap(year)
    whole = _span(0, length)
    if rule.interval == 1 or rule.frequency > Frequency.DAILY:
        return whole
    start = date.fromordinal(EPOCH_ORDINAL + rule.start_day)
    match rule.frequency:
        case Frequency.YEARLY:
            return 0 if (year - start.year) % rule.interval else whole
        case Frequency.MONTHLY:
            ahead = (year - start.year) * 12 - start.month
            months = (month for month in range(1, 13) if not (ahead + month) % rule.interval)
            return _union(_span(*_month(year, month)) for month in months)
        case Frequency.WEEKLY:
            step, block = rule.interval * WEEK, WEEK
            first = (week_begins(rule.start_day, rule.week_start) - begins) % step
            # The week before the first in step may reach into the year.
            starts = range(first - step, length, step)
        case _:
            step, block = rule.interval, 1
            starts = range((rule.start_day - begins) % step, length, step)
    return _union(_span(first, block) for first in starts) & whole


def _days_by_week_number(rule: DayRule, year: int) -> int:
    """The days in weeks of these numbers. A week belongs to the year that holds four of its days."""
    begins, mask = year_begins(year), 0
    for owner in (year - 1, year, year + 1):
        first, following = (
            week_begins(year_begins(one) + 3, rule.week_start) - begins for one in (owner, owner + 1)
        )
        count = (following - first) // WEEK
        for number in rule.week_numbers:
            week = number - 1 if number > 0 else count + number
            if 0 <= week < count:
                mask |= _span(first + week * WEEK, WEEK)
    return mask & _span(0, 365 + isleap(year))


def _days_by_weekday(rule: DayRule, year: int) -> int:
    return _union(_places(rule, year, place, weekday) for place, weekday in rule.weekdays)


def _places(rule: DayRule, year: int, place: int, weekday: int) -> int:
    """Every such weekday of the year, or the one at a place in the year or in each month."""
    length = 365 + isleap(year)
    every = WEEKLY << (weekday - year_begins(year) - EPOCH_WEEKDAY) % WEEK & _span(0, length)
    if not place:
        return every
    if rule.frequency == Frequency.YEARLY and not rule.months:
        return _nth_bit(every, place)
    return _union(_nth_bit(every & month, place) for month in month_masks(year))


def _nth_bit(mask: int, place: int) -> int:
    """The set bit at a place counted from 1, or from -1 at the end; nothing where it is not there."""
    bits = list(_bits(mask))
    index = place - 1 if place > 0 else len(bits) + place
    return 1 << bits[index] if 0 <= index < len(bits) else 0


def _days_by_number(numbers: tuple[int, ...], first: int, length: int) -> int:
    """The days of a month or year by their numbers, negative ones from its end."""
    offsets = (number - 1 if number > 0 else length + number for number in numbers)
    return _union(1 << first + offset for offset in offsets if 0 <= offset < length)


def _month(year: int, month: int) -> tuple[int, int]:
    """The first day of a month, counted from 1 January, and its length."""
    return _MONTHS[isleap(year)][month - 1]


def _span(first: int, length: int) -> int:
    """That many days from the first on; what lies before the year is cut off."""
    if first < 0:
        first, length = 0, max(0, first + length)
    return (1 << length) - 1 << first


def _union(masks: Iterator[int]) -> int:
    return reduce(or_, masks, 0)


def _bits(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def _month_table(lengths: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    return tuple(zip(accumulate(lengths, initial=0), lengths, strict=False))


_MONTHS = (_month_table(_LENGTHS), _month_table(_LEAP_LENGTHS))
