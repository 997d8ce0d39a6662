"""Every minute or second of some days, with what a wall clock showed at it, and what fires there.

Two ways lead from wall times to instants, and a test holds them against each other:

- A **walk** goes over real instants one by one and reads each on the wall clock of a zone. A wall time that
  comes twice is seen twice, and one that never comes is missed between two rows. It is kept for a zone and a
  window, so that many expressions can be laid over it.
- **Resolving** asks `zoneinfo` what a single wall time means, with either fold, and keeps the answers that
  read back as that wall time. It reaches over decades, for expressions that fire rarely.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from functools import lru_cache
from typing import TypeAlias
from zoneinfo import ZoneInfo

from fencepost.triggers import zone
from tests.triggers.oracle import Rule

DAY_S = 86_400
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# How far around a window wall times are read, to know which of them come twice. By minutes that is more than
# any zone ever moved its clocks; by seconds, of which there are many, as much as any does without a new date.
MARGIN_S = {60: 26 * 3600, 1: 2 * 3600}

Row: TypeAlias = tuple[int, date, int, int, int]
"""An instant, in seconds since 1970, and the day, hour, minute and second that the wall clock shows."""


@dataclass(frozen=True)
class Policy:
    """What to do in a gap and in a fold, with nothing left open."""

    gap: str
    fold: str


def policy_of(rule: Rule, gap: str | None, fold: str | None) -> Policy:
    """The policy in force: what is left open follows Debian's cron."""
    default = Policy("shift", "first") if rule.fixed_time else Policy("skip", "both")
    return Policy(gap or default.gap, fold or default.fold)


@dataclass(frozen=True)
class Walk:
    """The rows of a window, one a minute or one a second, and the rows that the clocks left out."""

    unit_s: int
    by_fold: dict[str, list[Row]]
    skipped: dict[int, list[Row]]

    def fires(self, rule: Rule, policy: Policy) -> list[int]:
        """The instants of the window at which a rule fires, by looking at every row."""
        found = set(self._matching(rule, self.by_fold[policy.fold]))
        if policy.gap == "shift":
            found |= {at for at, rows in self.skipped.items() if any(self._matching(rule, rows))}
        return sorted(found)

    def _matching(self, rule: Rule, rows: list[Row]) -> Iterator[int]:
        days = {day for day in {row[1] for row in rows} if rule.matches_day(day)}
        hours, minutes, seconds = rule.hours, rule.minutes, rule.seconds
        if self.unit_s == 1:
            return (
                at
                for at, day, hour, minute, second in rows
                if second in seconds and minute in minutes and hour in hours and day in days
            )
        return (
            at + second
            for at, day, hour, minute, _ in rows
            if minute in minutes and hour in hours and day in days
            for second in seconds
        )


@lru_cache(maxsize=64)
def walk(tz: str, start_s: int, stop_s: int, unit_s: int) -> Walk:
    """The walk over the instants [start, stop). A unit of a minute needs clocks that change at whole ones."""
    rows, walls = _read(zone(tz), range(start_s - MARGIN_S[unit_s], stop_s + MARGIN_S[unit_s], unit_s))
    assert unit_s == 1 or not any(wall % unit_s for wall in walls), f"{tz} changes its clocks within a minute"
    inside = slice(MARGIN_S[unit_s] // unit_s, -MARGIN_S[unit_s] // unit_s)
    # Of two rows with the same wall time a dictionary keeps the one that comes later.
    lasts = set(dict(zip(walls, rows, strict=True)).values())
    firsts = set(dict(zip(reversed(walls), reversed(rows), strict=True)).values())
    return Walk(
        unit_s,
        {
            "both": rows[inside],
            "first": [row for row in rows[inside] if row in firsts],
            "last": [row for row in rows[inside] if row in lasts],
        },
        {
            row[0]: list(_left_out(before, wall, row[0], unit_s))
            for before, wall, row in zip(walls, walls[1:], rows[1:], strict=False)
            if wall - before > unit_s and start_s <= row[0] < stop_s
        },
    )


def _read(local: ZoneInfo, instants: range) -> tuple[list[Row], list[int]]:
    """What the clock shows at each instant: as a row, and in seconds of a clock that never changes."""
    rows, walls = [], []
    for at in instants:
        wall = datetime.fromtimestamp(at, local)
        hour, minute, second = wall.hour, wall.minute, wall.second
        rows.append((at, wall.date(), hour, minute, second))
        walls.append(wall.toordinal() * DAY_S + hour * 3600 + minute * 60 + second)
    return rows, walls


def resolved(wall: datetime, tz: str, policy: Policy) -> set[int]:
    """The instants at which something that is due at a naive wall time fires."""
    local = zone(tz)
    read = [int(wall.replace(tzinfo=local, fold=fold).timestamp()) for fold in (0, 1)]
    shown = sorted({at for at in read if wall_at(tz, at) == wall})
    if shown:
        chosen = {"first": slice(1), "last": slice(-1, None), "both": slice(None)}[policy.fold]
        return set(shown[chosen])
    return {_end_of_gap(tz, wall, min(read))} if policy.gap == "shift" else set()


def fires_on(rule: Rule, tz: str, policy: Policy, days: Iterable[date]) -> list[int]:
    """The instants at which a rule fires for the wall times of some days."""
    times = [
        time(hour, minute, second)
        for hour in rule.hours
        for minute in rule.minutes
        for second in rule.seconds
    ]
    walls = (datetime.combine(day, clock) for day in days for clock in times)
    return sorted({at for wall in walls for at in resolved(wall, tz, policy)})


def matching_days(rule: Rule, first: date, last: date) -> Iterator[date]:
    """The days from `first` to `last` that match, by going through every month between them."""
    for number in range(first.year * 12 + first.month - 1, last.year * 12 + last.month):
        year, month = divmod(number, 12)
        for day in sorted(rule.days_of(year, month + 1)):
            if first <= date(year, month + 1, day) <= last:
                yield date(year, month + 1, day)


def wall_at(tz: str, at: int) -> datetime:
    """What the wall clock shows at an instant."""
    return datetime.fromtimestamp(at, zone(tz)).replace(tzinfo=None, fold=0)


def _left_out(before: int, wall: int, resumed: int, unit_s: int) -> Iterator[Row]:
    """The rows that the clock would have shown without the change, as if at the instant it resumed."""
    for wall_s in range(before + unit_s, wall, unit_s):
        day, second = divmod(wall_s, DAY_S)
        yield resumed, date.fromordinal(day), second // 3600, second // 60 % 60, second % 60


def _end_of_gap(tz: str, wall: datetime, at: int) -> int:
    """The first instant at which the clock shows more than a wall time that never comes.

    `at` lies before the gap. The clock is followed second by second within the minute, minute by minute
    within the hour and so on, which finds the same instant as following it second by second.
    """
    for step_s in (3600, 60, 1):
        while wall_at(tz, at + step_s) < wall:
            at += step_s
    return at + 1
