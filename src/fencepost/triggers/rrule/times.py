"""The times that a recurrence rule is given: local ones, instants, and whole days."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import chain, islice
from typing import TypeAlias
from zoneinfo import ZoneInfo

from fencepost.errors import InvalidTrigger
from fencepost.model.quoting import quoted
from fencepost.model.times import EPOCH, SECOND, parse_local_or_instant, to_instant, to_utc_text

Given: TypeAlias = datetime | date | str

TIMES_MAX = 1_000
DATE_LENGTH = len("2026-12-24")
LOCAL_EPOCH = EPOCH.replace(tzinfo=None)
YEAR_FIRST, YEAR_LAST = 10, 9_900


@dataclass(frozen=True, slots=True)
class Times:
    """A list of times, sorted and each once: wall seconds, days by number, and instants."""

    walls: tuple[int, ...]
    days: tuple[int, ...]
    instants: tuple[datetime, ...]
    texts: tuple[str, ...]


def read_times(what: str, *lists: Iterable[Given]) -> Times:
    """The times behind some lists; a date without a time is a day."""
    for one in lists:
        if isinstance(one, str | date):
            raise InvalidTrigger(f"rrule {what} is {quoted(str(one))}, expected a list of times")
    given = tuple(islice(chain.from_iterable(lists), TIMES_MAX + 1))
    if len(given) > TIMES_MAX:
        raise InvalidTrigger(f"rrule {what} has more than {TIMES_MAX} times")
    read = {_read(what, one) for one in given}
    days = {one for one in read if not isinstance(one, datetime)}
    times = {one for one in read if isinstance(one, datetime)}
    return Times(
        walls=tuple(sorted(wall_s(one) for one in times if one.tzinfo is None)),
        days=tuple(sorted(day_number(one) for one in days)),
        instants=tuple(sorted(one for one in times if one.tzinfo is not None)),
        texts=tuple(sorted(_text(one) for one in read)),
    )


def read_start(given: Given, zone: ZoneInfo) -> datetime:
    """The local time of a start; a date is its midnight, an instant what the zone's clocks then show."""
    return to_local(_read("start", given), zone)


def to_local(moment: date, zone: ZoneInfo) -> datetime:
    """What the zone's clocks show at an instant; a local time as it is, a date as its midnight."""
    if not isinstance(moment, datetime):
        return datetime(moment.year, moment.month, moment.day)  # noqa: DTZ001
    return moment if moment.tzinfo is None else moment.astimezone(zone).replace(tzinfo=None, fold=0)


def to_first_instant(wall: int, zone: ZoneInfo) -> datetime:
    """The first instant at which the zone's clocks have reached a wall second."""
    return to_instant(LOCAL_EPOCH + wall * SECOND, zone)


def wall_s(local: datetime) -> int:
    """Seconds since 1970 as the local clock counts them."""
    return (local - LOCAL_EPOCH) // SECOND


def day_number(day: date) -> int:
    """Days since 1970."""
    return (day - LOCAL_EPOCH.date()).days


def parse_moment(what: str, text: str) -> date:
    """A date for `2026-12-24`, else a local time or an instant, in whole seconds."""
    moment = parse_local_or_instant(text)
    return moment.date() if len(text) == DATE_LENGTH else _whole(what, moment)


def _read(what: str, given: Given) -> date:
    if isinstance(given, str):
        moment = parse_moment(what, given)
    elif isinstance(given, datetime):
        moment = _whole(what, given)
    elif isinstance(given, date):
        moment = given
    else:
        raise InvalidTrigger(f"rrule {what} {quoted(given)}: expected a time")
    if not YEAR_FIRST <= moment.year <= YEAR_LAST:
        raise InvalidTrigger(f"rrule {what} {quoted(str(given))}: expected a year {YEAR_FIRST}-{YEAR_LAST}")
    return moment


def _whole(what: str, moment: datetime) -> datetime:
    if moment.microsecond:
        raise InvalidTrigger(f"rrule {what} {moment.isoformat()} is finer than a second")
    if moment.tzinfo is None:
        return moment.replace(fold=0)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise InvalidTrigger(
            f"rrule {what} {moment.isoformat()}: expected a year {YEAR_FIRST}-{YEAR_LAST}"
        ) from None


def _text(moment: date) -> str:
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        return to_utc_text(moment)
    return moment.isoformat()
