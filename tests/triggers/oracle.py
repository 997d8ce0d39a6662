"""Cron read a second time, slowly and obviously: the oracle that the engine is held against.

Nothing here is shared with the engine but the zone data. A field becomes a set of numbers; a day field
becomes, for each month, the set of its days that match, found by writing down all days of that month and
taking those that the definition names. `15W`, for instance, lists the days from Monday to Friday and takes
the nearest. What an expression does when the clocks change is found in `oracle_walk`.

The reader is strict: whatever the syntax does not name raises `Unreadable`, so that the engine's refusals
can be compared as well as its fire times.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from functools import cache, lru_cache
from hashlib import blake2b
from typing import TypeAlias

MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
FRIDAY = 5

MACROS = {
    "@YEARLY": "0 0 1 1 *",
    "@ANNUALLY": "0 0 1 1 *",
    "@MONTHLY": "0 0 1 * *",
    "@WEEKLY": "0 0 * * 0",
    "@DAILY": "0 0 * * *",
    "@MIDNIGHT": "0 0 * * *",
    "@HOURLY": "0 * * * *",
}

# All fourteen kinds of year, by the weekday of 1 January and by leap day, come within these.
EVERY_KIND_OF_YEAR = range(2001, 2029)

Days: TypeAlias = Callable[[list[date]], Iterable[date]]
"""From all days of a month, ascending, to those that an item of a day field names."""


class Unreadable(Exception):
    """The expression does not follow the syntax."""


@dataclass(frozen=True)
class Field:
    """The numbers of a field, and the names for some of them."""

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()
    longest_step: int = 0
    hashed_high: int = 0

    @property
    def last(self) -> int:
        """The last number before they begin again: Sunday is 0 and 7."""
        return self.longest_step + self.low - 1

    @property
    def value(self) -> str:
        """A pattern for one value."""
        return "|".join((r"\d{1,600}", *self.names))


SECOND = Field("second", 0, 59, longest_step=60, hashed_high=59)
MINUTE = Field("minute", 0, 59, longest_step=60, hashed_high=59)
HOUR = Field("hour", 0, 23, longest_step=24, hashed_high=23)
DAY = Field("day", 1, 31, longest_step=31, hashed_high=28)
MONTH = Field("month", 1, 12, MONTHS, longest_step=12, hashed_high=12)
WEEKDAY = Field("weekday", 0, 7, WEEKDAYS, longest_step=7, hashed_high=6)


@dataclass(frozen=True)
class Rule:
    """An expression as sets of numbers and as definitions of days."""

    seconds: frozenset[int]
    minutes: frozenset[int]
    hours: frozenset[int]
    months: frozenset[int]
    days: tuple[Days, ...]
    weekdays: tuple[Days, ...]
    either_day: bool
    fixed_time: bool

    def days_of(self, year: int, month: int) -> frozenset[int]:
        """The days of a month that match."""
        if month not in self.months:
            return frozenset()
        every = every_day(year, month)
        by_day = {one for item in self.days for one in item(every)}
        by_weekday = {one for item in self.weekdays for one in item(every)}
        return frozenset(one.day for one in (by_day | by_weekday if self.either_day else by_day & by_weekday))

    def matches_day(self, day: date) -> bool:
        """Whether the day is one of those that match."""
        return day.day in self.days_of(day.year, day.month)

    def can_match(self) -> bool:
        """Whether any day of any kind of year matches."""
        return any(self.days_of(year, month) for year in EVERY_KIND_OF_YEAR for month in sorted(self.months))


@cache
def every_day(year: int, month: int) -> list[date]:
    """All days of a month, ascending."""
    return [date(year, month, day) for day in range(1, monthrange(year, month)[1] + 1)]


def read(expression: str, seed: str | None = None) -> Rule:
    """The rule behind an expression; `seed` is what an `H` is hashed by."""
    words = _words(expression)
    if len(words) not in (5, 6) or not all(map(str.isascii, words)):
        raise Unreadable(expression)
    second, minute, hour, day, month, weekday = words if len(words) == 6 else ["0", *words]
    both = weekday.startswith("+")
    weekday = weekday.removeprefix("+")
    return Rule(
        seconds=_numbers(SECOND, second, seed),
        minutes=_numbers(MINUTE, minute, seed),
        hours=_numbers(HOUR, hour, seed),
        months=_numbers(MONTH, month, seed),
        days=tuple(_day_item(item, seed) for item in day.split(",")),
        weekdays=tuple(_weekday_item(item, seed) for item in weekday.split(",")),
        either_day=not (both or day.startswith(("*", "?")) or weekday.startswith(("*", "?"))),
        fixed_time=not (_is_beat(minute) or _is_beat(hour)),
    )


def _words(expression: str) -> list[str]:
    words = [word.upper() if word.isascii() else word for word in expression.split()]
    return MACROS.get(" ".join(words), " ".join(words)).split()


def _is_beat(text: str) -> bool:
    """Whether a minute or hour begins with a star, or an item is an open step such as 0/15 or H/15."""
    return text.startswith("*") or any(_matched(r"(\d+|H|\*)/\d+", item) for item in text.split(","))


def _numbers(field: Field, text: str, seed: str | None) -> frozenset[int]:
    return frozenset(number for item in text.split(",") for number in _item_numbers(field, item, seed))


def _item_numbers(field: Field, item: str, seed: str | None) -> range:
    if found := _matched(rf"H(\((?P<low>{field.value})-(?P<high>{field.value})\))?(/(?P<step>\d+))?", item):
        return _hashed(field, found, seed)
    if found := _matched(r"\*(/(?P<step>\d+))?", item):
        return range(field.low, field.high + 1, _step(field, found["step"]))
    found = _matched(rf"(?P<low>{field.value})(-(?P<high>{field.value}))?(/(?P<step>\d+))?", item)
    if not found:
        raise Unreadable(item)
    low, step = _number(field, found["low"]), _step(field, found["step"])
    if found["high"]:
        high = _range_end(field, found["low"], found["high"])
    else:
        high = field.high if found["step"] else low
    if low > high:
        raise Unreadable(item)
    return range(low, high + 1, step)


def _hashed(field: Field, found: dict[str, str], seed: str | None) -> range:
    if seed is None:
        raise Unreadable("H without a seed")
    low, high = field.low, field.hashed_high
    if found["low"]:
        low, high = _number(field, found["low"]), _range_end(field, found["low"], found["high"])
    if low > high:
        raise Unreadable("H backwards")
    if not found["step"]:
        chosen = _chosen(seed, field, low, high)
        return range(chosen, chosen + 1)
    step = _step(field, found["step"])
    return range(_chosen(seed, field, low, min(high, low + step - 1)), high + 1, step)


def _chosen(seed: str, field: Field, low: int, high: int) -> int:
    """A number that stays the same for as long as the schedule keeps its id: a promise, so it stands here."""
    number = int.from_bytes(blake2b(f"{field.name}\n{seed}".encode(), digest_size=8).digest(), "big")
    return low + number % (high - low + 1)


def _range_end(field: Field, low: str, high: str) -> int:
    """SUN at the end of a range is the Sunday after, as in FRI-SUN; SUN-SUN is one Sunday."""
    if field is WEEKDAY and high == "SUN" and _number(field, low) > 0:
        return 7
    return _number(field, high)


def _number(field: Field, text: str) -> int:
    if text in field.names:
        return field.names.index(text) + (1 if field is MONTH else 0)
    if not field.low <= int(text) <= field.high:
        raise Unreadable(text)
    return int(text)


def _step(field: Field, text: str) -> int:
    if text and not 1 <= int(text) <= field.longest_step:
        raise Unreadable(text)
    return int(text or "1")


def _day_item(item: str, seed: str | None) -> Days:
    if item == "?":
        return lambda every: every
    if found := _matched(r"L(-(?P<less>\d+))?", item):
        less = _within(found["less"], 1, 30) if found["less"] else 0
        return lambda every: every[-1 - less : len(every) - less] if less < len(every) else []
    if item == "LW":
        return lambda every: _working(every)[-1:]
    if found := _matched(r"(?P<day>\d+)W", item):
        wanted = _within(found["day"], 1, 31)
        return lambda every: [_nearest(_working(every), wanted)] if wanted <= len(every) else []
    numbers = _item_numbers(DAY, item, seed)
    return lambda every: [one for one in every if one.day in numbers]


def _weekday_item(item: str, seed: str | None) -> Days:
    if item == "?":
        return lambda every: every
    if found := _matched(rf"(?P<day>{WEEKDAY.value})(L|#(?P<nth>0*[1-5]|L))", item):
        weekday, nth = _number(WEEKDAY, found["day"]) % 7, found["nth"]
        chosen = slice(int(nth) - 1, int(nth)) if nth.isdigit() else slice(-1, None)
        return lambda every: _on(every, {weekday})[chosen]
    numbers = {number % 7 for number in _item_numbers(WEEKDAY, item, seed)}
    return lambda every: _on(every, numbers)


def _within(text: str, low: int, high: int) -> int:
    if not low <= int(text) <= high:
        raise Unreadable(text)
    return int(text)


def _working(every: list[date]) -> list[date]:
    return [one for one in every if one.isoweekday() <= FRIDAY]


def _nearest(days: list[date], wanted: int) -> date:
    return min(days, key=lambda one: abs(one.day - wanted))


def _on(every: list[date], weekdays: set[int]) -> list[date]:
    return [one for one in every if one.isoweekday() % 7 in weekdays]


@lru_cache(maxsize=65_536)
def _matched(pattern: str, text: str) -> dict[str, str]:
    """The named groups of a pattern that fits the whole text; empty where it does not fit."""
    found = re.fullmatch(pattern, text, re.ASCII)
    return {"all": text, **found.groupdict("")} if found else {}
