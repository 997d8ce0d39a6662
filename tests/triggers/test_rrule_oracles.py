"""Recurrence rules against two other readers: dateutil, and a walk through the calendar by the RFC's words.

dateutil is asked only what it reads as the RFC does. It takes `BYDAY=MO,1TU` for days that are both, counts
the days of week 53 wrongly in some Januaries, and gives `BYSETPOS` a first week that begins with the start.
The walk is asked about these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache, partial
from itertools import islice, product

import pytest
from dateutil.rrule import rrulestr
from hypothesis import assume, given
from hypothesis import strategies as st

from fencepost.errors import InvalidTrigger
from fencepost.triggers.rrule import RRule

FREQUENCIES = ("YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY")
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)
COMPARED_MAX = 40

# How far ahead each is looked at: far enough for a few periods, near enough for a reader that walks.
WINDOWS = dict(
    zip(FREQUENCIES, [timedelta(days=days) for days in (4000, 1500, 400, 200, 30, 3, 0.2)], strict=True)
)
UNITS = {"HOURLY": timedelta(hours=1), "MINUTELY": timedelta(minutes=1), "SECONDLY": SECOND}

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
starts = st.integers(631_152_000, 1_893_456_000).map(lambda seconds: EPOCH + seconds * SECOND)


def numbers(low: int, high: int, *, signed: bool = False, size: int = 4) -> st.SearchStrategy[list[int]]:
    one = st.integers(low, high)
    return st.lists(
        one | one.map(lambda number: -number) if signed else one, min_size=1, max_size=size, unique=True
    )


@dataclass
class Drawn:
    """A rule in parts, and its start."""

    frequency: str
    start: datetime
    parts: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return ";".join(f"{name}={value}" for name, value in {"FREQ": self.frequency, **self.parts}.items())

    @property
    def interval(self) -> int:
        return int(self.parts.get("INTERVAL", 1))

    def values(self, name: str) -> list[int]:
        return [int(value) for value in self.parts.get(name, "").split(",") if value]


@st.composite
def rules(draw: st.DrawFn, *, by_the_rfc: bool) -> Drawn:
    """Rules that RFC 5545 allows; by the RFC's words also those that dateutil reads in its own way."""
    rule = Drawn(draw(st.sampled_from(FREQUENCIES)), draw(starts))
    below_day = rule.frequency in UNITS
    offered = {
        "BYMONTH": numbers(1, 12),
        "BYHOUR": numbers(0, 23),
        "BYMINUTE": numbers(0, 59),
        "BYSECOND": numbers(0, 59),
    }
    if rule.frequency != "WEEKLY":
        offered["BYMONTHDAY"] = numbers(1, 31, signed=True, size=12)
    if rule.frequency == "YEARLY" or below_day:
        offered["BYYEARDAY"] = numbers(1, 366, signed=True, size=12)
    # Of hours or less, too many conditions would leave nothing to compare.
    for name, values in offered.items():
        if draw(st.integers(0, 8 if below_day else 3)) == 0:
            rule.parts[name] = ",".join(map(str, draw(values)))
    if draw(st.booleans()):
        in_months = rule.frequency == "MONTHLY" or "BYMONTH" in rule.parts
        rule.parts["BYDAY"] = draw(weekdays(rule.frequency, 5 if in_months else 53, mixed=by_the_rfc))
    if by_the_rfc and rule.frequency == "YEARLY" and draw(st.booleans()):
        rule.parts["BYDAY"] = draw(weekdays("WEEKLY", 0, mixed=False))
        rule.parts["BYWEEKNO"] = ",".join(map(str, draw(numbers(1, 53, signed=True))))
    if bool(rule.parts) and draw(st.booleans()):
        rule.parts["BYSETPOS"] = ",".join(map(str, draw(numbers(1, 2 if below_day else 12, signed=True))))
    if draw(st.booleans()):
        rule.parts["INTERVAL"] = str(
            draw(st.integers(1, 40) | st.integers(1, 1000) if below_day else st.integers(1, 7))
        )
    if draw(st.booleans()):
        rule.parts["WKST"] = draw(st.sampled_from(WEEKDAYS))
    return rule


@st.composite
def weekdays(draw: st.DrawFn, frequency: str, most: int, *, mixed: bool) -> str:
    plain = st.lists(st.sampled_from(WEEKDAYS), min_size=1, max_size=5, unique=True)
    if frequency not in ("YEARLY", "MONTHLY"):
        return ",".join(draw(plain))
    place = st.integers(1, most) | st.integers(-most, -1)
    placed = st.lists(st.builds("{}{}".format, place, st.sampled_from(WEEKDAYS)), min_size=1, max_size=4)
    if mixed:
        return ",".join(draw(plain) + draw(placed))
    return ",".join(draw(plain | placed))


def trigger_or_none(rule: Drawn) -> RRule | None:
    try:
        return RRule(str(rule), start=rule.start)
    except InvalidTrigger as refusal:
        if "never fires" not in str(refusal):
            raise
        return None


def found_between(rule: Drawn, after: datetime, through: datetime) -> list[datetime]:
    trigger = trigger_or_none(rule)
    if trigger is None:
        return []
    return list(islice(trigger.fire_times(after, through), COMPARED_MAX))


def of_dateutil(rule: Drawn, start: datetime, after: datetime, count: int) -> list[datetime]:
    """The first fire times; it is not asked for more than there are, since it would walk to the year 9999."""
    if count == 0:
        return []
    text = f"{rule}{'' if 'WKST' in rule.parts else ';WKST=MO'}"
    later = (moment for moment in rrulestr(text, dtstart=start) if moment > after)
    return list(islice(later, count))


@given(rules(by_the_rfc=False), st.floats(-0.2, 1))
def test_fires_when_dateutil_does(rule: Drawn, share: float) -> None:
    window = WINDOWS[rule.frequency]
    after = rule.start + int(window.total_seconds() * share) * SECOND
    if rule.frequency == "WEEKLY" and "BYSETPOS" in rule.parts:
        after = max(after, rule.start + 7 * DAY)
    found = found_between(rule, after, after + window)
    assert found == of_dateutil(rule, rule.start, after, len(found))


@given(rules(by_the_rfc=False), st.integers(1, 10_000))
def test_fires_when_dateutil_does_far_from_the_start(rule: Drawn, periods: int) -> None:
    """dateutil begins nearby, whole intervals later, which changes nothing for units of equal length."""
    assume(rule.frequency not in ("YEARLY", "MONTHLY"))
    unit = UNITS.get(rule.frequency, DAY if rule.frequency == "DAILY" else 7 * DAY)
    near = rule.start + periods * rule.interval * unit
    assume(near.year < 2300)
    after = near + (7 * DAY if rule.frequency == "WEEKLY" else timedelta(0))
    found = found_between(rule, after, after + WINDOWS[rule.frequency])
    assert found == of_dateutil(rule, near, after, len(found))


@given(rules(by_the_rfc=True), st.floats(-0.2, 1))
def test_fires_by_the_words_of_the_rfc(rule: Drawn, share: float) -> None:
    window = WINDOWS[rule.frequency] / 2
    after = rule.start + int(window.total_seconds() * share) * SECOND
    expected = (moment for moment in walked(rule, after + window) if moment > after)
    assert found_between(rule, after, after + window) == list(islice(expected, COMPARED_MAX))


@given(rules(by_the_rfc=True), st.floats(0, 1))
def test_previous_mirrors_next(rule: Drawn, share: float) -> None:
    trigger = trigger_or_none(rule)
    if trigger is None:
        return
    ahead = trigger.next(rule.start + share * WINDOWS[rule.frequency], 5)
    assert [trigger.previous(moment) for moment in ahead[1:]] == ahead[:-1]
    for moment in ahead[:1]:
        earlier = trigger.previous(moment)
        assert trigger.previous(moment + SECOND) == moment
        assert earlier is None or trigger.next_after(earlier) == moment


def test_numbered_and_plain_weekdays_stand_side_by_side() -> None:
    found = RRule("FREQ=MONTHLY;BYDAY=MO,1TU", start="2026-03-01").next(datetime(2026, 3, 1, tzinfo=UTC), 6)
    assert [moment.day for moment in found] == [2, 3, 9, 16, 23, 30]


@pytest.mark.parametrize("weeks", ["53", "-1", "1"])
@pytest.mark.parametrize("week_start", WEEKDAYS)
def test_week_numbers_across_the_turn_of_the_year(weeks: str, week_start: str) -> None:
    parts = {"BYWEEKNO": weeks, "BYDAY": "MO,TU,WE,TH,FR,SA,SU", "WKST": week_start}
    rule = Drawn("YEARLY", datetime(1999, 1, 1, tzinfo=UTC), parts)
    through = datetime(2012, 1, 1, tzinfo=UTC)
    found = RRule(str(rule), start=rule.start).fire_times(rule.start - DAY, through)
    assert list(found) == list(walked(rule, through))


def walked(rule: Drawn, through: datetime) -> Iterator[datetime]:
    """All fire times up to an instant, found by looking at every period and every day."""
    periods = _short_periods if rule.frequency in UNITS else _long_periods
    for members in periods(rule, through):
        chosen = _chosen(members, rule.values("BYSETPOS"))
        yield from (moment for moment in chosen if rule.start <= moment <= through)


def _long_periods(rule: Drawn, through: datetime) -> Iterator[list[datetime]]:
    """The sets of the days, weeks, months or years in step, each in order."""
    hours, minutes, seconds = _times(rule)
    by_period: dict[int, list[datetime]] = {}
    first = date(rule.start.year - 1, 1, 1)
    for offset in range((date(through.year + 2, 1, 1) - first).days):
        day = first + offset * DAY
        period = _index(rule, day) - _index(rule, rule.start.date())
        if period % rule.interval == 0 and _is_day(rule, day):
            midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
            moments = (midnight + _elapsed(*one) for one in product(hours, minutes, seconds))
            by_period.setdefault(period, []).extend(moments)
    return (by_period[period] for period in sorted(by_period))


def _short_periods(rule: Drawn, through: datetime) -> Iterator[list[datetime]]:
    """The sets of the hours, minutes or seconds in step."""
    unit = UNITS[rule.frequency]
    period = rule.start - (rule.start - EPOCH) % unit
    is_day = lru_cache(partial(_is_day, rule))
    while period <= through:
        if is_day(period.date()):
            yield list(_moments(rule, period))
        period += rule.interval * unit


def _moments(rule: Drawn, period: datetime) -> Iterator[datetime]:
    hours, minutes, seconds = _times(rule)
    if rule.frequency in ("MINUTELY", "SECONDLY"):
        minutes = [period.minute] if period.minute in minutes else []
    if rule.frequency == "SECONDLY":
        seconds = [period.second] if period.second in seconds else []
    if period.hour in hours:
        yield from (
            period.replace(minute=minute, second=second) for minute, second in product(minutes, seconds)
        )


def _elapsed(hours: int, minutes: int, seconds: int) -> timedelta:
    return timedelta(hours=hours, minutes=minutes, seconds=seconds)


def _times(rule: Drawn) -> tuple[list[int], list[int], list[int]]:
    """The hours, minutes and seconds: as listed, else the start's, or all where the period is shorter."""
    level = FREQUENCIES.index(rule.frequency) - 3
    start = (rule.start.hour, rule.start.minute, rule.start.second)
    found = []
    for place, (name, count) in enumerate((("BYHOUR", 24), ("BYMINUTE", 60), ("BYSECOND", 60))):
        implied = list(range(count)) if place < level else [start[place]]
        found.append(sorted(rule.values(name)) or implied)
    return found[0], found[1], found[2]


def _chosen(members: list[datetime], positions: list[int]) -> list[datetime]:
    if not positions:
        return members
    places = {place - 1 if place > 0 else len(members) + place for place in positions}
    return [members[place] for place in sorted(places) if 0 <= place < len(members)]


def _index(rule: Drawn, day: date) -> int:
    match rule.frequency:
        case "YEARLY":
            return day.year
        case "MONTHLY":
            return day.year * 12 + day.month
        case "WEEKLY":
            return _week_begins(day, rule).toordinal() // 7
        case _:
            return day.toordinal()


def _is_day(rule: Drawn, day: date) -> bool:
    year_length = date(day.year, 12, 31).timetuple().tm_yday
    year_day = day.timetuple().tm_yday
    checks = {
        "BYMONTH": {day.month},
        "BYMONTHDAY": {day.day, day.day - _month_length(day) - 1},
        "BYYEARDAY": {year_day, year_day - year_length - 1},
        "BYWEEKNO": _week_numbers(day, rule),
    }
    listed = all(not rule.values(name) or found & set(rule.values(name)) for name, found in checks.items())
    return listed and _is_weekday(rule, day) and _is_implied_day(rule, day)


def _is_weekday(rule: Drawn, day: date) -> bool:
    if "BYDAY" not in rule.parts:
        return True
    name, (number, length) = WEEKDAYS[day.weekday()], _place_in_scope(rule, day)
    place, place_from_end = (number - 1) // 7 + 1, -((length - number) // 7 + 1)
    names = {name, f"{place}{name}", f"{place_from_end}{name}"}
    return bool(names & set(rule.parts["BYDAY"].split(",")))


def _place_in_scope(rule: Drawn, day: date) -> tuple[int, int]:
    """The day's number in the month or the year that numbered weekdays count in, and the length of that."""
    if rule.frequency == "MONTHLY" or "BYMONTH" in rule.parts:
        return day.day, _month_length(day)
    return day.timetuple().tm_yday, date(day.year, 12, 31).timetuple().tm_yday


def _month_length(day: date) -> int:
    return ((day.replace(day=28) + 4 * DAY).replace(day=1) - DAY).day


def _is_implied_day(rule: Drawn, day: date) -> bool:
    if rule.parts.keys() & {"BYDAY", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO"}:
        return True
    match rule.frequency:
        case "YEARLY":
            return day.day == rule.start.day and ("BYMONTH" in rule.parts or day.month == rule.start.month)
        case "MONTHLY":
            return day.day == rule.start.day
        case "WEEKLY":
            return day.weekday() == rule.start.weekday()
        case _:
            return True


def _week_begins(day: date, rule: Drawn) -> date:
    return day - (day.weekday() - WEEKDAYS.index(rule.parts.get("WKST", "MO"))) % 7 * DAY


def _week_numbers(day: date, rule: Drawn) -> set[int]:
    """The week's number in the year that holds four of its days, and that number counted from the end."""
    begins = _week_begins(day, rule)
    owner = (begins + 3 * DAY).year
    first = _week_begins(date(owner, 1, 4), rule)
    count = (_week_begins(date(owner + 1, 1, 4), rule) - first).days // 7
    number = (begins - first).days // 7 + 1
    return {number, number - count - 1}
