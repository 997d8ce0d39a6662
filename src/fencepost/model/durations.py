"""Lengths of time as people write them: 90s, 1h30m, 2d."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from decimal import Decimal
from typing import TypeAlias

from fencepost.errors import InvalidDuration
from fencepost.model.quoting import quoted

Duration: TypeAlias = str | int | float | timedelta

UNITS_US = {
    "w": 604_800_000_000,
    "d": 86_400_000_000,
    "h": 3_600_000_000,
    "m": 60_000_000,
    "s": 1_000_000,
    "ms": 1_000,
}
DURATION_LENGTH_MAX = 64
DURATION_MAX = timedelta(days=36_525)
EXPECTED = "expected a length of time such as 90s, 1h30m or 2d (units w, d, h, m, s, ms)"

_TEXT = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:ms|[wdhms]))+", re.ASCII)
_WORDS = {
    **dict.fromkeys(("week", "weeks", "wk", "wks"), "w"),
    **dict.fromkeys(("day", "days"), "d"),
    **dict.fromkeys(("hour", "hours", "hr", "hrs"), "h"),
    **dict.fromkeys(("minute", "minutes", "min", "mins"), "m"),
    **dict.fromkeys(("second", "seconds", "sec", "secs"), "s"),
    **dict.fromkeys(("millisecond", "milliseconds", "msec", "msecs"), "ms"),
    **{unit: unit for unit in UNITS_US},
}
_WORDED = re.compile(r"(?:[0-9]+(?:\.[0-9]+)? *[a-z]+[ ,]*)+", re.ASCII | re.IGNORECASE)
_WORD = re.compile(r"([0-9]+(?:\.[0-9]+)?) *([a-z]+)", re.ASCII | re.IGNORECASE)
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|[wdhms])", re.ASCII)


def parse_duration(value: Duration) -> timedelta:
    """The length of time behind a text, a number of seconds or a timedelta; never negative."""
    match value:
        case timedelta():
            return _bounded(value, value)
        case str():
            return _from_text(value)
        case bool():
            raise _refusal(value, EXPECTED)
        case int() | float():
            return _from_seconds(value)
    raise _refusal(value, EXPECTED)


def format_duration(duration: timedelta) -> str:
    """The shortest text that `parse_duration` reads back as the same length; weeks show as days."""
    rest_us = duration // timedelta(microseconds=1)
    parts = []
    for unit in ("d", "h", "m", "s"):
        count, rest_us = divmod(rest_us, UNITS_US[unit])
        if count:
            parts.append(f"{count}{unit}")
    if rest_us:
        parts.append(f"{Decimal(rest_us) / 1000:f}ms")
    return "".join(parts) or "0s"


def meant_duration(text: str) -> str | None:
    """How a length of time in other words, such as `7days` or `1 hour`, should be written; None where the
    text is none."""
    if len(text) > DURATION_LENGTH_MAX or not _WORDED.fullmatch(text):
        return None
    # A large M may be a month.
    found = _WORD.findall(text)
    parts = [(number, None if word == "M" else _WORDS.get(word.lower())) for number, word in found]
    meant = "".join(f"{number}{unit}" for number, unit in parts)
    return meant if all(unit for _, unit in parts) and _TEXT.fullmatch(meant) else None


def _from_text(text: str) -> timedelta:
    if len(text) > DURATION_LENGTH_MAX or not _TEXT.fullmatch(text):
        meant = meant_duration(text)
        raise _refusal(text, EXPECTED if meant is None else f"write {meant}")
    parts = _PART.findall(text)
    units = [unit for _, unit in parts]
    if units != [unit for unit in UNITS_US if unit in units]:
        raise _refusal(text, "each unit may come once, the larger before the smaller")
    total_us = sum(Decimal(number) * UNITS_US[unit] for number, unit in parts)
    if total_us != int(total_us):
        raise _refusal(text, "nothing finer than a microsecond can be told apart")
    return _bounded(_whole(int(total_us), text), text)


def _from_seconds(seconds: float) -> timedelta:
    if not math.isfinite(seconds) or abs(seconds) > DURATION_MAX.total_seconds():
        raise _refusal(seconds, _limits())
    return _bounded(timedelta(seconds=seconds), seconds)


def _whole(total_us: int, value: object) -> timedelta:
    if total_us > DURATION_MAX // timedelta(microseconds=1):
        raise _refusal(value, _limits())
    return timedelta(microseconds=total_us)


def _bounded(duration: timedelta, value: object) -> timedelta:
    if not timedelta(0) <= duration <= DURATION_MAX:
        raise _refusal(value, _limits())
    return duration


def _limits() -> str:
    return f"expected at least 0 and at most {format_duration(DURATION_MAX)}"


def _refusal(value: object, complaint: str) -> InvalidDuration:
    return InvalidDuration(f"duration {quoted(value)}: {complaint}")
