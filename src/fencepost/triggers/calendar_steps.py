"""Steps of the calendar: the same wall time every n days, weeks, months or years."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from fencepost.errors import InvalidTrigger
from fencepost.model.durations import meant_duration
from fencepost.model.quoting import quoted

DAY_S = 86_400
COUNTS_MAX = {"day": 36_525, "week": 5_200, "month": 1_200, "year": 100}
YEAR_FIRST, YEAR_LAST = 1, 9999
EPOCH = datetime.fromisoformat("1970-01-01")
EXPECTED = "expected a step such as '1 day', '2 weeks', '3 months' or '1 year'"

DAYS = {"day": 1, "week": 7}
MONTHS = {"month": 1, "year": 12}
EXACT = {"hour": "h", "minute": "m", "second": "s"}

_TEXT = re.compile(r"([0-9]{1,5}) (day|week|month|year|hour|minute|second)s?", re.ASCII)


@dataclass(frozen=True, slots=True)
class CalendarStep:
    """A number of days, weeks, months or years."""

    count: int
    unit: str

    def __post_init__(self) -> None:
        if self.unit not in COUNTS_MAX:
            raise InvalidTrigger(f"every {self}: {EXPECTED}")
        if not 1 <= self.count <= COUNTS_MAX[self.unit]:
            raise InvalidTrigger(f"every {self}: expected 1 to {COUNTS_MAX[self.unit]} {self.unit}s")

    def __str__(self) -> str:
        return f"{self.count} {self.unit}" + ("s" if self.count != 1 else "")


def parse_step(text: str) -> CalendarStep | str:
    """The step of the calendar behind words such as `1 month`; of `5 minutes`, the exact duration `5m`."""
    found = _TEXT.fullmatch(" ".join(text.split()).lower())
    if found is None:
        meant = meant_duration(text)
        raise InvalidTrigger(f"every {quoted(text)}: {EXPECTED if meant is None else f'write {meant}'}")
    count, unit = int(found[1]), found[2]
    return f"{count}{EXACT[unit]}" if unit in EXACT else CalendarStep(count, unit)


def step_walls(step: CalendarStep, anchor: datetime) -> DayWalls | MonthWalls:
    """The wall seconds `anchor + k × step` for every whole k."""
    wall = (anchor - EPOCH) // timedelta(seconds=1)
    if step.unit in DAYS:
        return DayWalls(step.count * DAYS[step.unit] * DAY_S, wall)
    months = anchor.year * 12 + anchor.month - 1
    return MonthWalls(step.count * MONTHS[step.unit], months, anchor.day, wall % DAY_S)


@dataclass(frozen=True, slots=True)
class DayWalls:
    """Whole days of wall time from an anchor."""

    step_s: int
    anchor: int

    def next_wall(self, at: int) -> int | None:
        """The first wall second of the series from `at` on."""
        return at + (self.anchor - at) % self.step_s

    def previous_wall(self, before: int) -> int | None:
        """The last wall second of the series earlier than `before`."""
        return before - 1 - (before - 1 - self.anchor) % self.step_s


@dataclass(frozen=True, slots=True)
class MonthWalls:
    """A day of the month and a time; in a month without that day, the month's last."""

    step: int
    anchor_month: int
    day: int
    time: int

    def next_wall(self, at: int) -> int | None:
        """The first wall second of the series from `at` on."""
        month = self._month_of(at)
        month += (self.anchor_month - month) % self.step
        wall = self._wall(month)
        return wall if wall is None or wall >= at else self._wall(month + self.step)

    def previous_wall(self, before: int) -> int | None:
        """The last wall second of the series earlier than `before`."""
        month = self._month_of(before - 1)
        month -= (month - self.anchor_month) % self.step
        wall = self._wall(month)
        return wall if wall is None or wall < before else self._wall(month - self.step)

    def _month_of(self, wall: int) -> int:
        day = date.fromordinal(date(1970, 1, 1).toordinal() + wall // DAY_S)
        return day.year * 12 + day.month - 1

    def _wall(self, month: int) -> int | None:
        year, number = divmod(month, 12)
        if not YEAR_FIRST <= year <= YEAR_LAST:
            return None
        day = min(self.day, monthrange(year, number + 1)[1])
        return (date(year, number + 1, day) - EPOCH.date()).days * DAY_S + self.time
