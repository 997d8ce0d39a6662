"""A cron expression as bitmasks, and the search for the wall times that match them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from fencepost.errors import InvalidDuration, InvalidTrigger
from fencepost.model.durations import parse_duration
from fencepost.model.quoting import quoted
from fencepost.triggers.cron import fields
from fencepost.triggers.cron.days import ever_matches, month_masks, shape_index
from fencepost.triggers.cron.fields import is_beat, is_hashed, is_unrestricted, parse_day_field, parse_field

EXPRESSION_LENGTH_MAX = 512
EXPRESSIONS_MAX = 4096
RINGS_KEPT_MAX = 1_024
MONTHS_SEARCHED_MAX = 100 * 12
MONTHS_BEGIN, MONTHS_END = date.min.year * 12, (date.max.year + 1) * 12
DAY_S = 86_400
EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
FIELD_COUNT = "expected 5 (minute hour day month weekday) or 6 (second first)"
QUARTZ_FIELDS = 7
EVERY = "@every "
AND_SIGN = "+"

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
class Ring:
    """The values of one field of the clock: which of them match, and the next and the last one from each."""

    mask: int
    following: tuple[int, ...]
    preceding: tuple[int, ...]

    @property
    def first(self) -> int:
        """The least value."""
        return self.following[0]

    @property
    def last(self) -> int:
        """The greatest value."""
        return self.preceding[-1]


@dataclass(frozen=True, slots=True)
class Expression:
    """The values that match. `month_days` holds the days for each shape of a month, bit n for day n."""

    seconds: Ring
    minutes: Ring
    hours: Ring
    months: int
    month_days: tuple[int, ...]
    fixed_time: bool
    hashed: bool

    def next_wall(self, at: int) -> int | None:
        """The first matching wall second from `at` on."""
        day, time = divmod(at, DAY_S)
        today = date.fromordinal(EPOCH_ORDINAL + day)
        days = self._days_of(today.year, today.month) >> today.day
        if days & 1 and (found := self._time_from(time)) >= 0:
            return at - time + found
        days >>= 1
        if not days:
            return self._in_later_month(today)
        return (day + (days & -days).bit_length()) * DAY_S + self._time_from(0)

    def previous_wall(self, before: int) -> int | None:
        """The last matching wall second earlier than `before`."""
        day, time = divmod(before, DAY_S)
        today = date.fromordinal(EPOCH_ORDINAL + day)
        days = self._days_of(today.year, today.month)
        if days >> today.day & 1 and (found := self._time_before(time)) >= 0:
            return before - time + found
        days &= (1 << today.day) - 1
        if not days:
            return self._in_earlier_month(today)
        return (day - today.day + days.bit_length() - 1) * DAY_S + self._time_before(DAY_S)

    def _in_later_month(self, today: date) -> int | None:
        month = today.year * 12 + today.month
        for later in range(month, min(month + MONTHS_SEARCHED_MAX, MONTHS_END)):
            year, number = divmod(later, 12)
            if days := self._days_of(year, number + 1):
                lowest = (days & -days).bit_length() - 1
                return _midnight(year, number + 1, lowest) + self._time_from(0)
        return None

    def _in_earlier_month(self, today: date) -> int | None:
        month = today.year * 12 + today.month - 2
        for earlier in range(month, max(month - MONTHS_SEARCHED_MAX, MONTHS_BEGIN - 1), -1):
            year, number = divmod(earlier, 12)
            if days := self._days_of(year, number + 1):
                return _midnight(year, number + 1, days.bit_length() - 1) + self._time_before(DAY_S)
        return None

    def _days_of(self, year: int, month: int) -> int:
        return self.month_days[shape_index(year, month)] if self.months >> month & 1 else 0

    def _time_from(self, time: int) -> int:
        """The first matching second of a day from `time` on, or -1."""
        hour, rest = divmod(time, 3600)
        minute, second = divmod(rest, 60)
        if self.hours.mask >> hour & 1:
            if self.minutes.mask >> minute & 1 and (found := self.seconds.following[second]) >= 0:
                return time - second + found
            if (found := self.minutes.following[minute + 1]) >= 0:
                return time - rest + found * 60 + self.seconds.first
        found = self.hours.following[hour + 1]
        return found if found < 0 else found * 3600 + self.minutes.first * 60 + self.seconds.first

    def _time_before(self, time: int) -> int:
        """The last matching second of a day earlier than `time`, or -1."""
        hour, rest = divmod(time, 3600)
        minute, second = divmod(rest, 60)
        if self.hours.mask >> hour & 1:
            if self.minutes.mask >> minute & 1 and (found := self.seconds.preceding[second]) >= 0:
                return time - second + found
            if (found := self.minutes.preceding[minute]) >= 0:
                return time - rest + found * 60 + self.seconds.last
        found = self.hours.preceding[hour]
        return found if found < 0 else found * 3600 + self.minutes.last * 60 + self.seconds.last


@dataclass(frozen=True, slots=True)
class CronInterval:
    """`@every 5m`: whole intervals of elapsed time since the epoch."""

    interval_s: int
    fixed_time: bool = False
    hashed: bool = False

    def next_wall(self, at: int) -> int | None:
        """The first beat from `at` on."""
        return at + -at % self.interval_s

    def previous_wall(self, before: int) -> int | None:
        """The last beat earlier than `before`."""
        return before - 1 - (before - 1) % self.interval_s


@lru_cache(maxsize=EXPRESSIONS_MAX)
def parse_expression(text: str, seed: str | None) -> Expression | CronInterval:
    """The expression behind a text whose words are parted by single spaces, or a refusal."""
    try:
        if len(text) > EXPRESSION_LENGTH_MAX:
            raise InvalidTrigger(f"is longer than {EXPRESSION_LENGTH_MAX} characters")
        return _beat(text) if text.lower().startswith(EVERY) else _parse(_words(text), seed)
    except InvalidTrigger as error:
        raise InvalidTrigger(f"cron {quoted(text)}: {error}") from None


def _words(text: str) -> list[str]:
    if text.startswith("@"):
        return _macro(text).split()
    words = text.split()
    if len(words) == QUARTZ_FIELDS:
        raise InvalidTrigger(f"has 7 fields, {FIELD_COUNT}; there is no year as in Quartz, leave it out")
    if len(words) not in (5, 6):
        raise InvalidTrigger(f"has {len(words)} fields, {FIELD_COUNT}")
    return words


def _macro(text: str) -> str:
    try:
        return MACROS[text.lower() if text.isascii() else ""]
    except KeyError:
        known = ", ".join([*MACROS, "@every 5m"])
        raise InvalidTrigger(f"is no macro, expected one of {known}") from None


def _beat(text: str) -> CronInterval:
    try:
        interval = parse_duration(text[len(EVERY) :])
    except InvalidDuration as error:
        raise InvalidTrigger(str(error)) from None
    if interval.microseconds or not interval:
        raise InvalidTrigger("expected whole seconds, such as @every 5m")
    return CronInterval(interval.days * DAY_S + interval.seconds)


def _parse(words: list[str], seed: str | None) -> Expression:
    second, minute, hour, day, month, weekday = words if len(words) == 6 else ["0", *words]
    both_days = weekday.startswith(AND_SIGN)
    weekday = weekday.removeprefix(AND_SIGN)
    either_day = not (both_days or is_unrestricted(day) or is_unrestricted(weekday))
    parsed = Expression(
        seconds=_ring(fields.SECOND, second, seed),
        minutes=_ring(fields.MINUTE, minute, seed),
        hours=_ring(fields.HOUR, hour, seed),
        months=parse_field(fields.MONTH, month, seed),
        month_days=month_masks(
            parse_day_field(fields.DAY, day, seed),
            parse_day_field(fields.WEEKDAY, weekday, seed),
            either=either_day,
        ),
        fixed_time=not (is_beat(minute) or is_beat(hour)),
        hashed=any(map(is_hashed, (second, minute, hour, day, month, weekday))),
    )
    if not ever_matches(parsed.month_days, parsed.months):
        named = f"day {quoted(day)} and weekday {quoted(words[-1])}"
        raise InvalidTrigger(f"never fires, no month in {quoted(month)} has a day that matches {named}")
    return parsed


def _ring(spec: fields.Field, text: str, seed: str | None) -> Ring:
    return _ring_of(parse_field(spec, text, seed), spec.high + 1)


@lru_cache(maxsize=RINGS_KEPT_MAX)
def _ring_of(mask: int, size: int) -> Ring:
    following, preceding = [-1], [-1]
    for value in range(size):
        preceding.append(value if mask >> value & 1 else preceding[-1])
        mirrored = size - 1 - value
        following.append(mirrored if mask >> mirrored & 1 else following[-1])
    return Ring(mask, tuple(reversed(following)), tuple(preceding))


def _midnight(year: int, month: int, day: int) -> int:
    return (date(year, month, day).toordinal() - EPOCH_ORDINAL) * DAY_S
