"""The expected wall times of business days.

**Chosen days.** Every business day, or the nth of a month, at fixed times of the day: a lookup in the
business days of a month, which are kept.

**Moved times.** A wall time on a closed day moves to the same time of the next or the previous business day.
Moved times do not keep the order of the times they came from: Saturday's noon comes to Monday after Sunday's
nine o'clock. So nothing is moved one by one. Each business day D has a *group* of days whose times it takes
over: itself and the closed days before it (`next`) or after it (`previous`). The groups follow each other
without holes and without overlap, every day lies in exactly one, and the times of D are the union of the
times of day over its group. Therefore no time is lost, two that meet fire once, and the series rises
strictly: inside D by the time of day, and from one business day to the next.

**Kept times.** With `skip`, times on closed days are dropped instead, and a search leaps from closure to
closure. It gives up after `FRUITLESS_MAX` of them, which is two decades for times that come weekly.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from datetime import date

from fencepost.triggers.business.calendar import Calendar
from fencepost.triggers.business.days import DAY_S, EPOCH_ORDINAL, WEEK, day_of
from fencepost.triggers.localtime.dst import Walls

MONTHS_SEARCHED_MAX = 100 * 12
FRUITLESS_MAX = 1_000
FIRST_MONTH, LAST_MONTH = date.min.year * 12, date.max.year * 12 + 11
# Over 28 years without a turn of the century every month begins on every weekday, also a leap February.
WEEKDAY_CYCLE = range(2001, 2029)


@dataclass(frozen=True, slots=True)
class ChosenDays:
    """Business days of the months that have their bit set: all of them, or the nth from either end.

    `times` are seconds of the day, ascending.
    """

    calendar: Calendar
    nth: int | None
    months: int
    times: tuple[int, ...]

    def next_wall(self, at: int) -> int | None:
        """The first expected wall second from `at` on."""
        day, time = divmod(at, DAY_S)
        place = bisect_left(self.times, time)
        if place == len(self.times):
            day, place = day + 1, 0
        today = date.fromordinal(EPOCH_ORDINAL + day)
        days = self._of_month(_month(today))
        if (index := bisect_left(days, day)) < len(days):
            return days[index] * DAY_S + self.times[place if days[index] == day else 0]
        begin = _month(today) + 1
        for month in range(begin, min(begin + MONTHS_SEARCHED_MAX, LAST_MONTH + 1)):
            if days := self._of_month(month):
                return days[0] * DAY_S + self.times[0]
        return None

    def previous_wall(self, before: int) -> int | None:
        """The last expected wall second earlier than `before`."""
        day, time = divmod(before, DAY_S)
        place = bisect_left(self.times, time) - 1
        if place < 0:
            day -= 1
        today = date.fromordinal(EPOCH_ORDINAL + day)
        days = self._of_month(_month(today))
        if (index := bisect_right(days, day) - 1) >= 0:
            return days[index] * DAY_S + self.times[place if days[index] == day else -1]
        begin = _month(today) - 1
        for month in range(begin, max(begin - MONTHS_SEARCHED_MAX, FIRST_MONTH - 1), -1):
            if days := self._of_month(month):
                return days[-1] * DAY_S + self.times[-1]
        return None

    def ever_fires(self) -> bool:
        """Whether some month has that many business days, by its week alone or with a workday in it."""
        days = self.calendar.days
        with_workdays = {_month(workday) for workday in days.workdays}
        return self._fits_some_week(days.worked) or any(map(self._of_month, with_workdays))

    def _of_month(self, month: int) -> tuple[int, ...]:
        """The chosen days of a month, ascending; months are counted from year 0."""
        if not self.months >> month % 12 & 1:
            return ()
        days = self.calendar.days.of_month(month // 12, month % 12 + 1)
        if self.nth is None:
            return days
        if len(days) < abs(self.nth):
            return ()
        return (days[self.nth - 1 if self.nth > 0 else self.nth],)

    def _fits_some_week(self, worked: int) -> bool:
        plain = Calendar("week", [name for number, name in enumerate(WEEK) if not worked >> number & 1])
        weekly = ChosenDays(plain, self.nth, self.months, self.times)
        return any(weekly._of_month(year * 12 + month) for year in WEEKDAY_CYCLE for month in range(12))


@dataclass(frozen=True, slots=True)
class MovedTimes:
    """The times of other walls, those of closed days on the next or else on the previous business day."""

    walls: Walls
    calendar: Calendar
    to_next: bool

    def next_wall(self, at: int) -> int | None:
        """The first expected wall second from `at` on."""
        day, time = divmod(at, DAY_S)
        home = self.calendar.days.on_or_after(day)
        group = self._group(home)
        found = _earliest(self.walls, group, time if home == day else 0)
        if found is not None:
            return home * DAY_S + found
        later = self.walls.next_wall(group.stop * DAY_S)
        if later is None:
            return None
        home = self._home(later // DAY_S)
        found = _earliest(self.walls, self._group(home), 0)
        assert found is not None, "the time that led here lies in the group"
        return home * DAY_S + found

    def previous_wall(self, before: int) -> int | None:
        """The last expected wall second earlier than `before`."""
        day, time = divmod(before - 1, DAY_S)
        home = self.calendar.days.on_or_before(day)
        group = self._group(home)
        found = _latest(self.walls, group, time if home == day else DAY_S - 1)
        if found is not None:
            return home * DAY_S + found
        earlier = self.walls.previous_wall(group.start * DAY_S)
        if earlier is None:
            return None
        home = self._home(earlier // DAY_S)
        found = _latest(self.walls, self._group(home), DAY_S - 1)
        assert found is not None, "the time that led here lies in the group"
        return home * DAY_S + found

    def _home(self, day: int) -> int:
        """The business day whose group a day lies in."""
        days = self.calendar.days
        return days.on_or_after(day) if self.to_next else days.on_or_before(day)

    def _group(self, home: int) -> range:
        """The days whose times a business day takes over."""
        days = self.calendar.days
        if self.to_next:
            return range(days.on_or_before(home - 1) + 1, home + 1)
        return range(home, days.on_or_after(home + 1))


@dataclass(frozen=True, slots=True)
class KeptTimes:
    """The times of other walls that fall on business days."""

    walls: Walls
    calendar: Calendar

    def next_wall(self, at: int) -> int | None:
        """The first expected wall second from `at` on."""
        days, wall = self.calendar.days, self.walls.next_wall(at)
        for _ in range(FRUITLESS_MAX):
            if wall is None or wall // DAY_S in days:
                return wall
            wall = self.walls.next_wall(days.on_or_after(wall // DAY_S) * DAY_S)
        return None

    def previous_wall(self, before: int) -> int | None:
        """The last expected wall second earlier than `before`."""
        days, wall = self.calendar.days, self.walls.previous_wall(before)
        for _ in range(FRUITLESS_MAX):
            if wall is None or wall // DAY_S in days:
                return wall
            wall = self.walls.previous_wall((days.on_or_before(wall // DAY_S) + 1) * DAY_S)
        return None

    def ever_fires(self, since: int) -> bool:
        """Whether it fires at all: from an instant on, or on a workday however far away."""
        if self.next_wall(since) is not None:
            return True
        worked = map(day_of, self.calendar.workdays)
        return any(_earliest(self.walls, range(day, day + 1), 0) is not None for day in worked)


def _earliest(walls: Walls, group: range, floor: int) -> int | None:
    """The first time of day from `floor` on that one of the days has, or None where none has."""
    best: int | None = None
    day = group.start
    while day < group.stop:
        wall = walls.next_wall(day * DAY_S + floor)
        if wall is None:
            break
        found, time = divmod(wall, DAY_S)
        if found == day:
            best = time if best is None else min(best, time)
            found += 1
        # Days without any time are leapt over.
        day = found
    return best


def _latest(walls: Walls, group: range, ceiling: int) -> int | None:
    """The last time of day up to `ceiling` that one of the days has, or None where none has."""
    best: int | None = None
    day = group.stop - 1
    while day >= group.start:
        wall = walls.previous_wall(day * DAY_S + ceiling + 1)
        if wall is None:
            break
        found, time = divmod(wall, DAY_S)
        if found == day:
            best = time if best is None else max(best, time)
            found -= 1
        day = found
    return best


def _month(day: date) -> int:
    return day.year * 12 + day.month - 1
