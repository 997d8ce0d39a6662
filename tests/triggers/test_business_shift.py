"""Times moved onto business days, against a walk that moves each of them by itself, a day at a time."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from itertools import pairwise
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import InvalidTrigger
from fencepost.model.times import from_epoch_s, to_epoch_s
from fencepost.triggers import Cron, zone
from fencepost.triggers.business.calendar import Calendar
from fencepost.triggers.business.days import WEEK
from fencepost.triggers.business.trigger import Otherwise, Shifted
from fencepost.triggers.business.walls import KeptTimes, MovedTimes
from fencepost.triggers.localtime.dst import FOLDS, GAPS, Fold, Gap, Walls
from tests.properties import examples

DAY = timedelta(days=1)
MINUTE = timedelta(minutes=1)
FIRST = date(2026, 1, 1)
# Closures reach out of the days that are compared, and the walk has to see both of their ends.
COMPARED_DAYS = 70
AROUND_DAYS = 60
SHIFTS: list[Otherwise] = ["next", "previous", "skip"]

GERMAN = Calendar(
    "de", holidays="2026-01-01 2026-04-03 2026-04-06 2026-05-01 2026-05-14 2026-05-25 2026-12-25 2026-12-26"
)


@dataclass(frozen=True)
class Rules:
    """A calendar as a test makes it: which days it leaves out and which it takes in."""

    weekend: frozenset[int]
    holidays: frozenset[date]
    workdays: frozenset[date]

    def calendar(self) -> Calendar:
        """The same as a calendar."""
        return Calendar("made", [WEEK[number] for number in self.weekend], self.holidays, self.workdays)

    def is_worked(self, day: date) -> bool:
        """Whether it is a business day, by the words of the definition."""
        return day in self.workdays or (day.weekday() not in self.weekend and day not in self.holidays)

    def moved(self, wall: datetime, otherwise: str) -> datetime | None:
        """Where one wall time goes, a day at a time."""
        if otherwise == "skip" and not self.is_worked(wall.date()):
            return None
        while not self.is_worked(wall.date()):
            wall += DAY if otherwise == "next" else -DAY
        return wall


@st.composite
def rules(draw: st.DrawFn, around: date = FIRST) -> Rules:
    offsets = st.integers(-40, COMPARED_DAYS + 40)
    closures = draw(st.lists(st.tuples(offsets, st.integers(1, 18)), max_size=5))
    closed = {around + (start + number) * DAY for start, length in closures for number in range(length)}
    opened = {around + offset * DAY for offset in draw(st.sets(offsets, max_size=8))}
    weekend = draw(st.frozensets(st.integers(0, 6), max_size=6))
    return Rules(weekend, frozenset(closed - opened), frozenset(opened))


@dataclass(frozen=True)
class Pattern:
    """Fields of cron whose meaning is plain: minutes and hours, and days of the month or of the week."""

    minutes: frozenset[int]
    hours: frozenset[int]
    month_days: frozenset[int]
    weekdays: frozenset[int]

    def __str__(self) -> str:
        return (
            f"{_field(self.minutes)} {_field(self.hours)} {_field(self.month_days)} * {_field(self.weekdays)}"
        )

    def walls(self, first: date, days: int) -> list[datetime]:
        """All wall times of so many days."""
        times = [time(hour, minute) for hour in sorted(self.hours) for minute in sorted(self.minutes)]
        dates = (first + number * DAY for number in range(days))
        return [datetime.combine(one, at) for one in dates if self._matches(one) for at in times]

    def _matches(self, day: date) -> bool:
        by_number = not self.month_days or day.day in self.month_days
        return by_number and (not self.weekdays or day.isoweekday() % 7 in self.weekdays)


def _field(values: frozenset[int]) -> str:
    return ",".join(map(str, sorted(values))) or "*"


def some(*values: int) -> st.SearchStrategy[frozenset[int]]:
    return st.frozensets(st.sampled_from(values), min_size=1, max_size=3)


every_hour = st.just(frozenset(range(24)))
any_day, no_day = st.just(frozenset[int]()), st.just(frozenset[int]())
minutes, hours = some(0, 20, 30, 40, 59), some(*range(24)) | every_hour
patterns = st.one_of(
    st.builds(Pattern, minutes, hours, any_day, any_day),
    st.builds(Pattern, minutes, hours, some(1, 2, 15, 16, 28, 30, 31), no_day),
    st.builds(Pattern, minutes, hours, no_day, some(0, 1, 5, 6)),
)
shifts = st.sampled_from(SHIFTS)
gaps = st.sampled_from(sorted(GAPS.values()))
folds = st.sampled_from(sorted(FOLDS.values()))


def walked(rule: Rules, pattern: Pattern, otherwise: str) -> list[datetime]:
    """The expected times of the compared days, in UTC."""
    walls = pattern.walls(FIRST - AROUND_DAYS * DAY, COMPARED_DAYS + 2 * AROUND_DAYS)
    moved = {rule.moved(wall, otherwise) for wall in walls}
    begin, end = datetime.combine(FIRST, time()), datetime.combine(FIRST + COMPARED_DAYS * DAY, time())
    return sorted(one.replace(tzinfo=UTC) for one in moved if one is not None and begin <= one < end)


def shifted(rule: Rules, pattern: Pattern, otherwise: Otherwise) -> Shifted | None:
    try:
        return Shifted(Cron(str(pattern)), rule.calendar(), otherwise)
    except InvalidTrigger:
        return None


class Given:
    """Walls at any times. Those of cron are the same on all of its days, which would hide a mistake."""

    def __init__(self, walls: set[int]) -> None:
        self._walls = sorted(walls)

    def next_wall(self, at: int) -> int | None:
        return next(iter(self._walls[bisect_left(self._walls, at) :]), None)

    def previous_wall(self, before: int) -> int | None:
        return next(iter(self._walls[: bisect_left(self._walls, before)][::-1]), None)


FIRST_S = to_epoch_s(datetime.combine(FIRST, time(), UTC))
seconds_given = st.integers(FIRST_S, FIRST_S + COMPARED_DAYS * 86_400 - 1)


@examples(300)
@given(rule=rules(), given_s=st.sets(seconds_given, max_size=40), otherwise=shifts, begin_s=seconds_given)
def test_days_with_times_of_their_own_meet_in_order(
    rule: Rules, given_s: set[int], otherwise: Otherwise, begin_s: int
) -> None:
    moved = {rule.moved(from_epoch_s(second), otherwise) for second in given_s}
    expected = sorted(to_epoch_s(one) for one in moved if one is not None)
    walls = walls_for(Given(given_s), rule.calendar(), otherwise)
    coming, gone = walls.next_wall(begin_s), walls.previous_wall(begin_s)
    assert coming == next((one for one in expected if one >= begin_s), None)
    assert gone == next((one for one in reversed(expected) if one < begin_s), None)


def walls_for(inner: Walls, calendar: Calendar, otherwise: Otherwise) -> KeptTimes | MovedTimes:
    if otherwise == "skip":
        return KeptTimes(inner, calendar)
    return MovedTimes(inner, calendar, to_next=otherwise == "next")


BEGIN = datetime.combine(FIRST, time(), UTC)
END = BEGIN + COMPARED_DAYS * DAY
TICK = timedelta(microseconds=1)


@examples(200)
@given(rule=rules(), pattern=patterns, otherwise=shifts)
def test_no_time_is_lost_or_made_up_or_doubled(rule: Rules, pattern: Pattern, otherwise: Otherwise) -> None:
    trigger = shifted(rule, pattern, otherwise)
    found = [] if trigger is None else list(trigger.fire_times(BEGIN - TICK, END - TICK))
    assert found == walked(rule, pattern, otherwise)
    assert all(earlier < later for earlier, later in pairwise(found))


@examples(200)
@given(rule=rules(), pattern=patterns, otherwise=shifts, seconds=st.integers(0, COMPARED_DAYS * 86_400 - 1))
def test_a_search_may_begin_anywhere_and_go_either_way(
    rule: Rules, pattern: Pattern, otherwise: Otherwise, seconds: int
) -> None:
    trigger = shifted(rule, pattern, otherwise)
    if trigger is None:
        return
    expected, moment = walked(rule, pattern, otherwise), BEGIN + timedelta(seconds=seconds)
    coming = trigger.next_after(moment)
    gone = trigger.previous(moment)
    assert [one for one in expected if one > moment][:1] == [one for one in (coming,) if one and one < END]
    assert [one for one in expected if one < moment][-1:] == [one for one in (gone,) if one and one >= BEGIN]


@examples(60)
@given(rule=rules(), pattern=patterns, otherwise=shifts)
def test_backwards_is_the_same_series_as_forwards(
    rule: Rules, pattern: Pattern, otherwise: Otherwise
) -> None:
    trigger = shifted(rule, pattern, otherwise)
    if trigger is None:
        return
    forwards = list(trigger.fire_times(BEGIN - TICK, END - TICK))[-200:]
    backwards: list[datetime] = []
    moment = END
    while len(backwards) < len(forwards):
        found = trigger.previous(moment)
        assert found is not None
        backwards.append(found)
        moment = found
    assert backwards[::-1] == forwards


MIDDLE = date(2026, 2, 5)


@examples(60)
@given(rule=rules(), hour=st.integers(0, 23), weekdays=some(0, 1, 5, 6) | any_day)
def test_previous_is_next_seen_in_a_mirror(rule: Rules, hour: int, weekdays: frozenset[int]) -> None:
    """In the mirror time runs backwards from a Thursday, which stays one, while Monday becomes Sunday."""
    mirror = Rules(
        frozenset(6 - number for number in rule.weekend),
        frozenset(map(mirrored, rule.holidays)),
        frozenset(map(mirrored, rule.workdays)),
    )
    turned = frozenset((8 - number) % 7 for number in weekdays)
    image = [mirrored(one) for one in days_around(mirror, hour, turned, "next")]
    assert sorted(image) == days_around(rule, hour, weekdays, "previous")


def mirrored(day: date) -> date:
    return MIDDLE - (day - MIDDLE)


def days_around(rule: Rules, hour: int, weekdays: frozenset[int], otherwise: Otherwise) -> list[date]:
    trigger = Shifted(Cron(f"0 {hour} * * {_field(weekdays)}"), rule.calendar(), otherwise)
    begin = datetime.combine(MIDDLE - 30 * DAY, time(), UTC)
    return [one.date() for one in trigger.fire_times(begin - TICK, begin + 61 * DAY - TICK)]


# The first instants of new offsets: gaps and folds of half an hour to two hours, at night and at midnight,
# on weekdays too, and a day that was left out.
CHANGES = {
    "2026-03-29T01:00:00Z": "Europe/Berlin",
    "2026-10-25T01:00:00Z": "Europe/Berlin",
    "2026-10-03T15:30:00Z": "Australia/Lord_Howe",
    "2026-04-04T15:00:00Z": "Australia/Lord_Howe",
    "2025-04-24T22:00:00Z": "Africa/Cairo",
    "2025-10-30T21:00:00Z": "Africa/Cairo",
    "2011-12-30T10:00:00Z": "Pacific/Apia",
    "2016-05-01T07:00:00Z": "America/Caracas",
}
WALKED_DAYS = 2
Leap: TypeAlias = tuple[datetime, datetime, datetime]
"""The wall time before a gap and after it, and the instant at which the clocks go on."""


@pytest.mark.parametrize("change", CHANGES)
@examples(25)
@given(data=st.data(), pattern=patterns, otherwise=shifts, gap=gaps, fold=folds)
def test_times_are_moved_before_the_clocks_are_asked(
    change: str, data: st.DataObject, pattern: Pattern, otherwise: Otherwise, gap: Gap, fold: Fold
) -> None:
    middle = datetime.fromisoformat(change)
    rule = data.draw(rules(middle.date() - COMPARED_DAYS // 2 * DAY))
    moved = {rule.moved(wall, otherwise) for wall in pattern.walls(middle.date() - 65 * DAY, 130)}
    expected = fired(change, {one for one in moved if one is not None}, gap, fold)
    try:
        trigger = Shifted(Cron(str(pattern), CHANGES[change], gap, fold), rule.calendar(), otherwise)
    except InvalidTrigger:
        assert not expected
        return
    found = trigger.fire_times(middle - WALKED_DAYS * DAY - TICK, middle + WALKED_DAYS * DAY - TICK)
    assert list(found) == expected


def fired(change: str, expected: set[datetime], gap: Gap, fold: Fold) -> list[datetime]:
    """What the clocks make of wall times, found by reading them at every minute of some days."""
    shown, leaps = clocks_around(change)
    fires = set[datetime]()
    for wall in expected.intersection(shown):
        fires.update({"first": shown[wall][:1], "last": shown[wall][-1:], "both": shown[wall]}[fold])
    for before, after, resumed in leaps if gap == "shift" else ():
        fires.update(resumed for one in expected if before < one < after)
    return sorted(fires)


@cache
def clocks_around(change: str) -> tuple[dict[datetime, list[datetime]], list[Leap]]:
    """The instants at which each wall time is shown, and where the clocks leap ahead."""
    middle, local = datetime.fromisoformat(change), zone(CHANGES[change])
    moments = [middle + number * MINUTE for number in range(-1440 * WALKED_DAYS, 1440 * WALKED_DAYS)]
    walls = [one.astimezone(local).replace(tzinfo=None, fold=0) for one in moments]
    shown: dict[datetime, list[datetime]] = {}
    for wall, moment in zip(walls, moments, strict=True):
        shown.setdefault(wall, []).append(moment)
    steps = zip(walls, walls[1:], moments[1:], strict=False)
    return shown, [step for step in steps if step[1] - step[0] > MINUTE]


class Counted:
    """Daily walls that count how often they are asked."""

    def __init__(self) -> None:
        self.asked = 0

    def next_wall(self, at: int) -> int | None:
        self.asked += 1
        return at + -at % 86_400

    def previous_wall(self, before: int) -> int | None:
        self.asked += 1
        return before - 1 - (before - 1) % 86_400


@pytest.mark.parametrize("otherwise", SHIFTS)
def test_a_search_asks_as_often_as_its_closure_has_days_and_no_more(otherwise: Otherwise) -> None:
    counted = Counted()
    walls = walls_for(counted, GERMAN, otherwise)
    for day in range(20_000, 20_100):
        counted.asked = 0
        walls.next_wall(day * 86_400 + 1)
        walls.previous_wall(day * 86_400)
        assert counted.asked <= 24
