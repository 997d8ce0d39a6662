"""A cron expression as bitmasks, and the search for the wall times that match them."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from fencepost.errors import InvalidTrigger
from fencepost.model.quoting import quoted
from fencepost.triggers import cron_fields as fields
from fencepost.triggers.cron_fields import is_unrestricted, parse_field

EXPRESSION_LENGTH_MAX = 512
EXPRESSIONS_MAX = 4096
DAY_S = 86_400
EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
MONTH_DAYS_MAX = (0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
FIELD_COUNT = "expected 5 (minute hour day month weekday) or 6 (second first)"

MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


@dataclass(frozen=True, slots=True)
class Expression:
    """The values that match, bit n for n. `weeks` repeats the weekdays over a month and more.

    `either_day` is cron's rule for days: where both day fields are restricted, one match is enough.
    """

    seconds: int
    minutes: int
    hours: int
    days: int
    months: int
    weeks: int
    either_day: bool
    fixed_time: bool

    def walls(self, start: int, stop: int) -> Iterator[int]:
        """The matching wall seconds in [start, stop), as a wall clock counts from 1970."""
        if start >= stop:
            return
        first_day, floor = divmod(start, DAY_S)
        for day in self._days(first_day, (stop - 1) // DAY_S):
            midnight = day * DAY_S
            for time in self._times(floor if day == first_day else 0):
                if midnight + time >= stop:
                    return
                yield midnight + time

    def _days(self, first: int, last: int) -> Iterator[int]:
        """The matching days in [first, last], a month at a time."""
        while first <= last:
            today = date.fromordinal(EPOCH_ORDINAL + first)
            month_begins = first - today.day
            mask = self._month_mask(today.year, today.month)
            for number in _bits(mask, today.day):
                if month_begins + number > last:
                    return
                yield month_begins + number
            first = month_begins + monthrange(today.year, today.month)[1] + 1

    def _month_mask(self, year: int, month: int) -> int:
        if not self.months >> month & 1:
            return 0
        return _day_mask(self.days, self.weeks, self.either_day, year, month)

    def _times(self, floor: int) -> Iterator[int]:
        """The matching seconds of a day, from `floor` on."""
        first_hour, rest = divmod(floor, 3600)
        for hour in _bits(self.hours, first_hour):
            first_minute, first_second = divmod(rest if hour == first_hour else 0, 60)
            for minute in _bits(self.minutes, first_minute):
                begins = hour * 3600 + minute * 60
                for second in _bits(self.seconds, first_second if minute == first_minute else 0):
                    yield begins + second


@lru_cache(maxsize=EXPRESSIONS_MAX)
def parse_expression(text: str) -> Expression:
    """The expression behind a text whose words are parted by single spaces, or a refusal."""
    try:
        return _parse(_words(text))
    except InvalidTrigger as error:
        raise InvalidTrigger(f"cron {quoted(text)}: {error}") from None


def _words(text: str) -> list[str]:
    if len(text) > EXPRESSION_LENGTH_MAX:
        raise InvalidTrigger(f"is longer than {EXPRESSION_LENGTH_MAX} characters")
    if text.startswith("@"):
        return _macro(text).split()
    words = text.split()
    if len(words) not in (5, 6):
        raise InvalidTrigger(f"has {len(words)} fields, {FIELD_COUNT}")
    return words


def _macro(text: str) -> str:
    try:
        return MACROS[text.lower()]
    except KeyError:
        raise InvalidTrigger(f"is no macro, expected one of {', '.join(MACROS)}") from None


def _parse(words: list[str]) -> Expression:
    second, minute, hour, day, month, weekday = words if len(words) == 6 else ["0", *words]
    parsed = Expression(
        seconds=parse_field(fields.SECOND, second),
        minutes=parse_field(fields.MINUTE, minute),
        hours=parse_field(fields.HOUR, hour),
        days=parse_field(fields.DAY, day),
        months=parse_field(fields.MONTH, month),
        weeks=_repeated_weeks(parse_field(fields.WEEKDAY, weekday)),
        either_day=not (is_unrestricted(day) or is_unrestricted(weekday)),
        fixed_time=not (is_unrestricted(minute) or is_unrestricted(hour)),
    )
    if not _can_match(parsed):
        raise InvalidTrigger(f"never fires, no month in {quoted(month)} has a day {quoted(day)}")
    return parsed


def _can_match(parsed: Expression) -> bool:
    """Whether some month has one of the days.

    That suffices. Over the 400 years in which the calendar repeats, each date, 29 February too,
    falls on every weekday; and where one of the two day fields is enough, a weekday comes in
    every month.
    """
    return parsed.either_day or any(
        parsed.days & _mask_through(MONTH_DAYS_MAX[month]) for month in _bits(parsed.months, 1)
    )


def _repeated_weeks(weekdays: int) -> int:
    """The seven bits, Sunday first, over six weeks: enough for any month begun on any weekday."""
    return sum(weekdays << 7 * week for week in range(6))


@lru_cache(maxsize=EXPRESSIONS_MAX)
def _day_mask(days: int, weeks: int, either_day: bool, year: int, month: int) -> int:
    """The matching days of a month, bit n for day n."""
    monday_based, length = monthrange(year, month)
    by_weekday = weeks >> (monday_based + 1) % 7 << 1
    matching = days | by_weekday if either_day else days & by_weekday
    return matching & _mask_through(length)


def _mask_through(last: int) -> int:
    """Bits 1 to `last`."""
    return (1 << last + 1) - 2


def _bits(mask: int, low: int) -> Iterator[int]:
    """The set bits from `low` on, ascending."""
    mask = mask >> low << low
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
