"""A slow and obvious clock: every minute of some days, with what a wall clock shows at it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from itertools import pairwise

from fencepost.triggers import zone

MINUTE = timedelta(minutes=1)
DAYS_AROUND = 2

CHANGES = [
    ("Europe/Berlin", "2026-03-29T01:00:00Z"),
    ("Europe/Berlin", "2026-10-25T01:00:00Z"),
    ("America/New_York", "2026-03-08T07:00:00Z"),
    ("America/New_York", "2026-11-01T06:00:00Z"),
    ("Australia/Lord_Howe", "2026-10-03T15:30:00Z"),
    ("Australia/Lord_Howe", "2026-04-04T15:00:00Z"),
    ("America/Sao_Paulo", "2018-11-04T03:00:00Z"),
    ("America/Sao_Paulo", "2018-02-18T02:00:00Z"),
    ("Africa/Cairo", "2025-04-24T22:00:00Z"),
    ("Africa/Cairo", "2025-10-30T21:00:00Z"),
    ("Antarctica/Troll", "2026-03-29T01:00:00Z"),
    ("Antarctica/Troll", "2026-10-25T01:00:00Z"),
    ("Pacific/Apia", "2011-12-30T10:00:00Z"),
    ("Pacific/Kwajalein", "1993-08-21T12:00:00Z"),
    ("America/Caracas", "2007-12-09T07:00:00Z"),
    ("America/Caracas", "2016-05-01T07:00:00Z"),
    ("Asia/Kathmandu", "1985-12-31T18:30:00Z"),
    ("Asia/Tokyo", "2026-01-01T00:00:00Z"),
]


@dataclass(frozen=True)
class Walk:
    """The minutes of a few days: each instant with its wall time, and what the clocks left out."""

    instants: tuple[datetime, ...]
    shown: dict[datetime, list[datetime]]
    skipped: dict[datetime, list[datetime]]

    def fires(self, expression: str, gap: str, fold: str) -> list[datetime]:
        """The instants at which an expression fires, found by looking at every one of them."""
        chosen = {"first": slice(1), "last": slice(-1, None), "both": slice(None)}[fold]
        found = {
            moment
            for wall, times in self.shown.items()
            if matches(expression, wall)
            for moment in times[chosen]
        }
        if gap == "shift":
            found |= {
                resumed
                for resumed, walls in self.skipped.items()
                if any(matches(expression, wall) for wall in walls)
            }
        return sorted(found)


@cache
def walk_around(name: str, change: str) -> Walk:
    """The walk over the days around a change of the clocks."""
    middle = datetime.fromisoformat(change)
    count = 2 * DAYS_AROUND * 1440
    instants = tuple(middle + (n - count // 2) * MINUTE for n in range(count))
    local = zone(name)
    walls = [one.astimezone(local).replace(tzinfo=None, fold=0) for one in instants]
    shown: dict[datetime, list[datetime]] = {}
    for wall, moment in zip(walls, instants, strict=True):
        shown.setdefault(wall, []).append(moment)
    skipped = {
        instants[n]: list(_missing(before, after))
        for n, (before, after) in enumerate(pairwise(walls), 1)
        if after - before > MINUTE
    }
    return Walk(instants, shown, skipped)


def matches(expression: str, wall: datetime) -> bool:
    """Whether a five-field expression of plain lists, wildcards and steps matches a wall time."""
    minute, hour, day, month, weekday = expression.split()
    by_day = _holds(day, wall.day, 1)
    by_weekday = _holds(weekday, wall.isoweekday() % 7, 0)
    starred = day.startswith("*") or weekday.startswith("*")
    return (
        _holds(minute, wall.minute, 0)
        and _holds(hour, wall.hour, 0)
        and _holds(month, wall.month, 1)
        and (by_day and by_weekday if starred else by_day or by_weekday)
    )


@cache
def _holds(field: str, value: int, low: int) -> bool:
    if field == "*":
        return True
    if field.startswith("*/"):
        return (value - low) % int(field[2:]) == 0
    return value in {int(one) for one in field.split(",")}


def _missing(before: datetime, after: datetime) -> Iterator[datetime]:
    wall = before + MINUTE
    while wall < after:
        yield wall
        wall += MINUTE
