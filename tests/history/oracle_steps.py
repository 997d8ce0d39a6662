"""Steps of the calendar, counted off one by one from their anchor: the wall times of a stretch."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from datetime import datetime, timedelta

MARGIN = timedelta(days=2)
"""More than any wall clock differs from UTC."""
DAYS = {"day": 1, "week": 7}
MONTHS = {"month": 1, "year": 12}


def walls(step: str, anchor: datetime, first: datetime, last: datetime) -> Iterator[datetime]:
    """All naive wall times `anchor + k × step` from about `first` to about `last`."""
    number, unit = step.split()
    count, unit = int(number), unit.removesuffix("s")
    if unit in DAYS:
        yield from _days(timedelta(days=count * DAYS[unit]), anchor, first - MARGIN, last + MARGIN)
    else:
        yield from _months(count * MONTHS[unit], anchor, first - MARGIN, last + MARGIN)


def _days(period: timedelta, anchor: datetime, first: datetime, last: datetime) -> Iterator[datetime]:
    wall = anchor + (first - anchor) // period * period
    while wall <= last:
        yield wall
        wall += period


def _months(period: int, anchor: datetime, first: datetime, last: datetime) -> Iterator[datetime]:
    """In a month that is too short, its last day."""
    origin = anchor.year * 12 + anchor.month - 1
    for month in range(first.year * 12 + first.month - 1, last.year * 12 + last.month):
        if (month - origin) % period == 0:
            year, index = divmod(month, 12)
            day = min(anchor.day, monthrange(year, index + 1)[1])
            yield anchor.replace(year=year, month=index + 1, day=day)
