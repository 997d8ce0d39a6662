"""Retry-After: how long a target, or a job, asks to wait.

A header's value is a number of seconds or a date (RFC 9110, section 10.2.3). It comes from outside: a value
that is neither counts as not sent, a moment that has passed as no wait, and more than a day as a day.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from fencepost.errors import InvalidDuration
from fencepost.model.durations import parse_duration

RETRY_AFTER_MAX = timedelta(hours=24)
HEADER_LENGTH_MAX = 64

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})"
_TIME = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_WHOLE_DAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"

_SECONDS = re.compile(r"[0-9]+", re.ASCII)
_DATES = (
    re.compile(rf"{_DAY}, (?P<day>[0-9]{{2}}) {_MONTH} (?P<year>[0-9]{{4}}) {_TIME} GMT"),
    re.compile(rf"{_WHOLE_DAY}, (?P<day>[0-9]{{2}})-{_MONTH}-(?P<year>[0-9]{{2}}) {_TIME} GMT"),
    re.compile(rf"{_DAY} {_MONTH} (?P<day>[0-9 ][0-9]) {_TIME} (?P<year>[0-9]{{4}})"),
)
"""Today's form, and the two of old that a recipient must still read."""


def parse_retry_after(value: str, now: datetime) -> timedelta | None:
    """The wait that a header's value asks for, by the recipient's clock; None where the value is nonsense."""
    text = value.strip(" \t")
    if len(text) > HEADER_LENGTH_MAX:
        return None
    if _SECONDS.fullmatch(text):
        return timedelta(seconds=min(int(text), RETRY_AFTER_MAX.total_seconds()))
    moment = _moment(text, now)
    return None if moment is None else min(max(moment - now, timedelta()), RETRY_AFTER_MAX)


def asked_wait_s(retry_after: object) -> float:
    """The wait that a failure asks for, in seconds; 0 where it asks for none, or for nonsense."""
    match retry_after:
        case bool():
            return 0.0
        case timedelta():
            return _bounded_s(retry_after.total_seconds())
        case int() | float():
            return _bounded_s(retry_after)
        case str():
            return _bounded_s(_text_s(retry_after))
    return 0.0


def _text_s(text: str) -> float:
    try:
        return parse_duration(text).total_seconds()
    except InvalidDuration:
        return 0.0


def _bounded_s(seconds: float) -> float:
    """Between zero and a day; a value that is not a number is zero."""
    return float(min(seconds, RETRY_AFTER_MAX.total_seconds())) if seconds > 0 else 0.0


def _moment(text: str, now: datetime) -> datetime | None:
    found = next((one for form in _DATES if (one := form.fullmatch(text))), None)
    if found is None:
        return None
    numbers = {name: int(found[name]) for name in ("day", "hour", "minute", "second")}
    month = _MONTHS.index(found["month"]) + 1
    try:
        return datetime(_year(found["year"], now), month, **numbers, tzinfo=UTC)
    except ValueError:
        return None


def _year(digits: str, now: datetime) -> int:
    """A year of two digits lies in the century that puts it at most fifty years ahead."""
    if len(digits) == 4:
        return int(digits)
    year = now.year - now.year % 100 + int(digits)
    return year - 100 if year > now.year + 50 else year
