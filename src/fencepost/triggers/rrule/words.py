"""A recurrence rule in plain words, where people have words for it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import product

from fencepost.triggers.rrule.lines import from_icalendar
from fencepost.triggers.rrule.parts import Frequency, Parts
from fencepost.triggers.rrule.times import LOCAL_EPOCH
from fencepost.triggers.words import place

SHOWN_MAX = 4

UNITS = {
    Frequency.YEARLY: "year",
    Frequency.MONTHLY: "month",
    Frequency.WEEKLY: "week",
    Frequency.DAILY: "day",
    Frequency.HOURLY: "hour",
    Frequency.MINUTELY: "minute",
    Frequency.SECONDLY: "second",
}
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
WORKDAYS = tuple((0, day) for day in range(5))
PLACES = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", -1: "last", -2: "second last"}


class Wordless(Exception):
    """There are no short words for this rule."""


def describe_rule(parts: Parts, start: datetime, tz: str) -> str:
    """Every month on the last Friday at 09:00, Berlin time; or the rule itself."""
    since = "" if start == LOCAL_EPOCH else f", from {start:%Y-%m-%d}"
    try:
        return f"{_recurring(parts, start)}, {place(tz)}{since}{_end(parts)}"
    except Wordless:
        since = "" if start == LOCAL_EPOCH else f", from {start:%Y-%m-%d %H:%M:%S}"
        return f"by the rule {parts}, {place(tz)}{since}"


def _recurring(parts: Parts, start: datetime) -> str:
    if parts.positions or parts.week_numbers or parts.year_days:
        raise Wordless
    match parts.frequency:
        case Frequency.YEARLY:
            days = _period(parts) + _yearly(parts, start)
        case Frequency.MONTHLY:
            days = _period(parts) + _monthly(parts, start) + _months(parts)
        case Frequency.WEEKLY | Frequency.DAILY:
            days = _weekly(parts, start) + _months(parts)
        case _:
            return _beat(parts, start)
    return f"{days} at {_times(parts, start)}"


def _period(parts: Parts) -> str:
    unit = UNITS[parts.frequency]
    return f"every {unit}" if parts.interval == 1 else f"every {parts.interval} {unit}s"


def _yearly(parts: Parts, start: datetime) -> str:
    if parts.month_days and parts.weekdays:
        raise Wordless
    if parts.weekdays:
        if not parts.months:
            raise Wordless
        return f" on {_places(parts)} of {_joined([MONTHS[month - 1] for month in parts.months])}"
    days = parts.month_days or (start.day,)
    # Without a month, a day of the month comes in each of them.
    months = parts.months or (() if parts.month_days else (start.month,))
    if not months or min(days) < 0:
        raise Wordless
    return f" on {_joined([f'{day} {MONTHS[month - 1]}' for month, day in product(months, days)])}"


def _monthly(parts: Parts, start: datetime) -> str:
    if parts.weekdays and not parts.month_days:
        return f" on {_places(parts)}"
    if parts.weekdays or (days := parts.month_days or (start.day,))[0] < -1:
        raise Wordless
    numbered = [f"the {_ordinal(day)}" for day in days if day > 0]
    return f" on {_joined(numbered + ['the last day'] * (days[0] == -1))}"


def _weekly(parts: Parts, start: datetime) -> str:
    if parts.month_days or (parts.weekdays and parts.frequency == Frequency.DAILY and parts.interval > 1):
        raise Wordless
    weekdays = parts.weekdays
    if parts.frequency == Frequency.WEEKLY and not weekdays:
        weekdays = ((0, start.weekday()),)
    if not weekdays:
        return _period(parts)
    days = "weekday" if weekdays == WORKDAYS else _joined([WEEKDAYS[day] for _, day in weekdays], most=7)
    return f"every {days}" if parts.interval == 1 else f"{_period(parts)} on {days}"


def _beat(parts: Parts, start: datetime) -> str:
    """An interval of hours, minutes or seconds without further conditions."""
    limited = parts.names_days or parts.months or parts.hours
    if parts.frequency == Frequency.HOURLY:
        minutes, seconds = parts.minutes or (start.minute,), parts.seconds or (start.second,)
        past = "" if minutes == (0,) else f" at minute {_joined([str(minute) for minute in minutes])}"
    else:
        minutes, past = parts.minutes, ""
        seconds = parts.seconds or (0 if parts.frequency == Frequency.SECONDLY else start.second,)
        limited = limited or minutes
    if limited or seconds != (0,) or (parts.seconds and parts.frequency == Frequency.SECONDLY):
        raise Wordless
    return _period(parts) + past


def _months(parts: Parts) -> str:
    return f" in {_joined([MONTHS[month - 1] for month in parts.months])}" if parts.months else ""


def _places(parts: Parts) -> str:
    words = []
    for nth, day in parts.weekdays:
        if nth not in PLACES and nth != 0:
            raise Wordless
        words.append(f"the {PLACES[nth]} {WEEKDAYS[day]}" if nth else f"every {WEEKDAYS[day]}")
    return _joined(words)


def _times(parts: Parts, start: datetime) -> str:
    hours = parts.hours or (start.hour,)
    minutes = parts.minutes or (start.minute,)
    seconds = parts.seconds or (start.second,)
    if len(hours) * len(minutes) * len(seconds) > SHOWN_MAX:
        raise Wordless
    return _joined([_time(*one) for one in product(hours, minutes, seconds)])


def _time(hour: int, minute: int, second: int) -> str:
    return f"{hour:02}:{minute:02}" + (f":{second:02}" if second else "")


def _end(parts: Parts) -> str:
    if parts.count is not None:
        return ", once" if parts.count == 1 else f", {parts.count} times"
    if parts.until is None:
        return ""
    day, _, time = from_icalendar(parts.until).partition("T")
    return f", until {day} {time}".rstrip().replace("Z", " UTC")


def _joined(words: Sequence[str], most: int = SHOWN_MAX) -> str:
    """One; one and two; one, two and three."""
    if not 1 <= len(words) <= most:
        raise Wordless
    *head, last = words
    return f"{', '.join(head)} and {last}" if head else last


def _ordinal(day: int) -> str:
    suffix = "th" if 11 <= day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{suffix}"
