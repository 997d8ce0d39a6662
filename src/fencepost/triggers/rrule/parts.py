"""The parts of a recurrence rule (RFC 5545, section 3.3.10): from text to values, and back."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import TypeVar

from fencepost.errors import InvalidTrigger
from fencepost.model.quoting import quoted

RULE_LENGTH_MAX = 2_000
RULES_MAX = 4_096
COUNT_MAX = 10_000
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


class Frequency(IntEnum):
    """The length of a period, the longest first."""

    YEARLY = 0
    MONTHLY = 1
    WEEKLY = 2
    DAILY = 3
    HOURLY = 4
    MINUTELY = 5
    SECONDLY = 6


# A century in each unit: what comes less often never comes.
INTERVAL_MAX = {
    Frequency.YEARLY: 100,
    Frequency.MONTHLY: 1_200,
    Frequency.WEEKLY: 5_200,
    Frequency.DAILY: 36_500,
    Frequency.HOURLY: 876_000,
    Frequency.MINUTELY: 52_560_000,
    Frequency.SECONDLY: 3_153_600_000,
}


@dataclass(frozen=True, slots=True)
class Span:
    """The numbers that a part may list; a signed one also counts from the end."""

    low: int
    high: int
    signed: bool = False

    @property
    def expected(self) -> str:
        """The range, in the words of an error message."""
        from_end = f", or -{self.high} to -{self.low}" if self.signed else ""
        return f"expected {self.low} to {self.high}{from_end}"

    def holds(self, number: int) -> bool:
        """Whether the number is in range."""
        return self.low <= (abs(number) if self.signed else number) <= self.high


NUMBERS = {
    "BYMONTH": Span(1, 12),
    "BYWEEKNO": Span(1, 53, signed=True),
    "BYYEARDAY": Span(1, 366, signed=True),
    "BYMONTHDAY": Span(1, 31, signed=True),
    "BYHOUR": Span(0, 23),
    "BYMINUTE": Span(0, 59),
    "BYSECOND": Span(0, 60),
    "BYSETPOS": Span(1, 366, signed=True),
}
NAMES = ("FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYDAY", *NUMBERS)

# Where RFC 5545 says that a part must not be used, with the part that says the same.
FORBIDDEN = {
    "BYWEEKNO": (set(Frequency) - {Frequency.YEARLY}, "FREQ=YEARLY"),
    "BYYEARDAY": ({Frequency.MONTHLY, Frequency.WEEKLY, Frequency.DAILY}, "FREQ=YEARLY"),
    "BYMONTHDAY": ({Frequency.WEEKLY}, "FREQ=MONTHLY"),
}

Value = TypeVar("Value", int, tuple[int, int])

_NUMBER = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)
_WEEKDAY = re.compile(r"([+-]?[0-9]{1,2})?(MO|TU|WE|TH|FR|SA|SU)", re.ASCII)
_UNTIL = re.compile(r"[0-9]{8}(T[0-9]{6}Z?)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Parts:
    """A rule as written: nothing implied yet, lists sorted. A weekday is its place and its day, 0 Monday."""

    frequency: Frequency
    interval: int
    count: int | None
    until: str | None
    week_start: int
    months: tuple[int, ...]
    week_numbers: tuple[int, ...]
    year_days: tuple[int, ...]
    month_days: tuple[int, ...]
    weekdays: tuple[tuple[int, int], ...]
    hours: tuple[int, ...]
    minutes: tuple[int, ...]
    seconds: tuple[int, ...]
    positions: tuple[int, ...]

    @property
    def names_days(self) -> bool:
        """Whether the rule says which days it means, so that the start need not."""
        return bool(self.week_numbers or self.year_days or self.month_days or self.weekdays)

    @property
    def fixed_time(self) -> bool:
        """Whether it names its hours and minutes, as a fixed-time job of cron does; else it is a beat."""
        names_hours = self.frequency < Frequency.HOURLY or bool(self.hours)
        return names_hours and (self.frequency < Frequency.MINUTELY or bool(self.minutes))

    def __str__(self) -> str:
        written = {
            "INTERVAL": "" if self.interval == 1 else str(self.interval),
            "COUNT": "" if self.count is None else str(self.count),
            "UNTIL": self.until or "",
            "BYMONTH": _listed(self.months),
            "BYWEEKNO": _listed(self.week_numbers),
            "BYYEARDAY": _listed(self.year_days),
            "BYMONTHDAY": _listed(self.month_days),
            "BYDAY": ",".join(f"{place or ''}{WEEKDAYS[day]}" for place, day in self.weekdays),
            "BYHOUR": _listed(self.hours),
            "BYMINUTE": _listed(self.minutes),
            "BYSECOND": _listed(self.seconds),
            "BYSETPOS": _listed(self.positions),
            "WKST": WEEKDAYS[self.week_start] if self.week_start else "",
        }
        parts = (f";{name}={value}" for name, value in written.items() if value)
        return f"FREQ={self.frequency.name}{''.join(parts)}"


@lru_cache(maxsize=RULES_MAX)
def parse_parts(text: str) -> Parts:
    """The parts of a rule such as FREQ=MONTHLY;BYDAY=-1FR, or a refusal."""
    try:
        return _checked(_parse(_split(text)))
    except InvalidTrigger as error:
        raise InvalidTrigger(f"rrule {quoted(text)}: {error}") from None


def _split(text: str) -> dict[str, str]:
    if len(text) > RULE_LENGTH_MAX:
        raise InvalidTrigger(f"is longer than {RULE_LENGTH_MAX} characters")
    parts: dict[str, str] = {}
    for part in text.upper().split(";"):
        name, equals, value = part.strip().partition("=")
        if not equals or not value:
            raise InvalidTrigger(f"part {quoted(part)} is not NAME=VALUE")
        if name not in NAMES:
            raise InvalidTrigger(f"part {quoted(name)} is unknown, expected one of {', '.join(NAMES)}")
        if name in parts:
            raise InvalidTrigger(f"{name} comes twice, write its values in one list")
        parts[name] = value
    return parts


def _parse(parts: Mapping[str, str]) -> Parts:
    frequency = _frequency(parts.get("FREQ"))
    numbers = {name: _numbers(name, parts.get(name)) for name in NUMBERS}
    return Parts(
        frequency=frequency,
        interval=_integer("INTERVAL", parts.get("INTERVAL", "1"), INTERVAL_MAX[frequency]),
        count=_integer("COUNT", parts["COUNT"], COUNT_MAX) if "COUNT" in parts else None,
        until=_until(parts["UNTIL"]) if "UNTIL" in parts else None,
        week_start=_week_start(parts.get("WKST", "MO")),
        months=numbers["BYMONTH"],
        week_numbers=numbers["BYWEEKNO"],
        year_days=numbers["BYYEARDAY"],
        month_days=numbers["BYMONTHDAY"],
        weekdays=_values(parts.get("BYDAY"), _weekday),
        hours=numbers["BYHOUR"],
        minutes=numbers["BYMINUTE"],
        # A second 60 is a leap second, which our clocks do not show: RFC 5545 reads it as 59.
        seconds=tuple(sorted({min(second, 59) for second in numbers["BYSECOND"]})),
        positions=numbers["BYSETPOS"],
    )


def _checked(parts: Parts) -> Parts:
    """The parts, if RFC 5545 lets them stand together."""
    used = {"BYWEEKNO": parts.week_numbers, "BYYEARDAY": parts.year_days, "BYMONTHDAY": parts.month_days}
    for name, (frequencies, remedy) in FORBIDDEN.items():
        if used[name] and parts.frequency in frequencies:
            raise InvalidTrigger(f"{name} does not go with FREQ={parts.frequency.name}, use {remedy}")
    if parts.count is not None and parts.until is not None:
        raise InvalidTrigger("has both COUNT and UNTIL, expected one of them")
    if any(place for place, _ in parts.weekdays):
        _check_places(parts)
    if parts.week_numbers and not (parts.weekdays or parts.year_days or parts.month_days):
        raise InvalidTrigger("BYWEEKNO needs BYDAY, such as BYDAY=MO for the week's Monday")
    days_or_times = parts.names_days or parts.months or parts.hours or parts.minutes or parts.seconds
    if parts.positions and not days_or_times:
        raise InvalidTrigger("BYSETPOS needs another BY part whose set it picks from")
    return parts


def _check_places(parts: Parts) -> None:
    if parts.frequency > Frequency.MONTHLY:
        raise InvalidTrigger("a numbered BYDAY needs FREQ=MONTHLY or FREQ=YEARLY")
    if parts.week_numbers:
        raise InvalidTrigger("a numbered BYDAY does not go with BYWEEKNO, write the day without its number")


def _frequency(text: str | None) -> Frequency:
    if text is not None and text in Frequency.__members__:
        return Frequency[text]
    what = "has no FREQ" if text is None else f"FREQ {quoted(text)} is unknown"
    raise InvalidTrigger(f"{what}, expected one of {', '.join(Frequency.__members__)}")


def _integer(name: str, text: str, most: int) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 10 and 1 <= int(text) <= most:
        return int(text)
    raise InvalidTrigger(f"{name} is {quoted(text)}, expected 1 to {most}")


def _until(text: str) -> str:
    if not _UNTIL.fullmatch(text):
        expected = "expected 20261231T235959Z, 20261231T235959 or 20261231"
        raise InvalidTrigger(f"UNTIL {quoted(text)} is no time, {expected}")
    return text


def _week_start(text: str) -> int:
    if text not in WEEKDAYS:
        raise InvalidTrigger(f"WKST {quoted(text)} is no weekday, expected one of {', '.join(WEEKDAYS)}")
    return WEEKDAYS.index(text)


def _weekday(text: str) -> tuple[int, int]:
    found = _WEEKDAY.fullmatch(text)
    place = int(found[1] or 0) if found else 0
    if found is None or (found[1] and not 1 <= abs(place) <= 53):
        raise InvalidTrigger(f"BYDAY {quoted(text)} is no day, expected MO-SU, or such as 2MO or -1FR")
    return place, WEEKDAYS.index(found[2])


def _numbers(name: str, text: str | None) -> tuple[int, ...]:
    span = NUMBERS[name]

    def number(item: str) -> int:
        if not _NUMBER.fullmatch(item) or not span.holds(int(item)):
            raise InvalidTrigger(f"{name} {quoted(item)} is out of range, {span.expected}")
        return int(item)

    return _values(text, number)


def _values(text: str | None, read: Callable[[str], Value]) -> tuple[Value, ...]:
    return () if text is None else tuple(sorted({read(item) for item in text.split(",")}))


def _listed(numbers: tuple[int, ...]) -> str:
    return ",".join(map(str, numbers))
