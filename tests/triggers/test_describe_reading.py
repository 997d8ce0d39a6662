"""A description never lies: read back by a reader that knows nothing of cron, it means the same times."""

from __future__ import annotations

import re
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import InvalidTrigger
from fencepost.triggers import Cron
from fencepost.triggers.cron.expression import Expression, parse_expression
from tests.properties import examples
from tests.triggers.test_describe_reader import FIRST, LAST, dates_read, read_times

# What stands in the place of a list that was too long.
SHORTENED = re.compile(r"(?:at|of|on|in) \d+ (?:seconds|minutes|hours|days|months)")

MINUTES = [
    *("*", "*/5", "2/5", "0", "30", "*/7", "5,20", "0-4", "1-4,9", "0,30", "10/20", "*/30", "0-55/5", "7/9"),
    *("59", "0-59"),
]
HOURS = [
    *(
        "*",
        "*/2",
        "1/2",
        "9-17",
        "9,17",
        "0",
        "12",
        "23",
        "0-23",
        "1-5,9-12",
        "5,9-15",
        "*/6",
        "*/5",
        "22,23",
    ),
    *("0,1", "3,7,8", "1,2,4,8,16"),
]
DAYS = [
    *(
        "*",
        "?",
        "1",
        "31",
        "29",
        "1,15",
        "1-7",
        "20-30",
        "20-31",
        "29-31",
        "*/2",
        "*/9",
        "1-31",
        "L",
        "L-3",
        "L-30",
    ),
    *("LW", "1W", "15W", "31W", "1,L", "5-9,LW", "1,5-9,20,21", "2/2", "11-13"),
]
MONTH_FIELDS = ["*", "1", "2", "1,7", "3-5", "*/3", "1,6-8", "11,12"]
WEEKDAY_FIELDS = [
    *("*", "?", "MON", "0", "7", "MON-FRI", "SAT,SUN", "1,3,5", "TUE-SUN", "0-6", "MON#2", "MON#5", "FRI#L"),
    *("MON#1,WED#3", "MON,FRI#L", "*/2", "1-6", "1,2,3,5,6,7"),
    *("+MON", "+MON-FRI", "+1,3,5", "+FRI#L", "+MON,FRI#L", "+*", "+1-6"),
]


@pytest.mark.parametrize("second", ["", "15", "0,15", "*/10", "5/10", "*", "3,9"])
def test_the_times_read_are_those_of_the_trigger(second: str) -> None:
    for minute, hour in product(MINUTES, HOURS):
        expression = f"{second} {minute} {hour} * * *"
        assert read_times(clock_words(Cron(expression).describe())) == times_of(expression), expression


@pytest.mark.parametrize("day", DAYS)
def test_the_dates_read_are_those_of_the_trigger(day: str) -> None:
    by_weekday = ((day, "*", weekday) for weekday in WEEKDAY_FIELDS)
    by_month = ((day, month, weekday) for month in MONTH_FIELDS[1:] for weekday in ("*", "MON", "+FRI#L"))
    for fields in (*by_weekday, *by_month):
        check_dates(f"0 12 {' '.join(fields)}")


@pytest.mark.parametrize("month", MONTH_FIELDS)
def test_the_months_read_are_those_of_the_trigger(month: str) -> None:
    for weekday in WEEKDAY_FIELDS:
        check_dates(f"0 12 * {month} {weekday}")


def values(low: int, high: int) -> st.SearchStrategy[str]:
    """A field of few enough items never to be cut short."""
    number = st.integers(low, high)
    span = st.tuples(number, number).map(lambda ends: f"{min(ends)}-{max(ends)}")
    stepped = st.tuples(span | st.just("*"), st.integers(2, 12)).map(lambda parts: f"{parts[0]}/{parts[1]}")
    return st.lists(number.map(str) | span | stepped, min_size=1, max_size=2).map(",".join) | st.just("*")


@examples(200)
@given(minute=values(0, 59), hour=values(0, 23))
def test_any_times_read_are_those_of_the_trigger(minute: str, hour: str) -> None:
    expression = f"{minute} {hour} * * *"
    words = clock_words(Cron(expression).describe())
    if not SHORTENED.search(words):
        assert read_times(words) == times_of(expression), words


@examples(200)
@given(day=values(1, 31), month=values(1, 12), sign=st.sampled_from(["", "+"]), weekday=values(0, 7))
def test_any_dates_read_are_those_of_the_trigger(day: str, month: str, sign: str, weekday: str) -> None:
    check_dates(f"0 12 {day} {month} {sign}{weekday}")


def test_equal_words_mean_equal_fire_times() -> None:
    times: dict[str, set[object]] = defaultdict(set)
    for minute, hour in product(MINUTES, HOURS):
        times[Cron(f"{minute} {hour} * * *").describe()].add(frozenset(times_of(f"{minute} {hour} * * *")))
    assert [words for words, meanings in times.items() if len(meanings) > 1] == []


@given(data=st.data())
def test_a_pair_with_equal_words_fires_at_equal_times(data: st.DataObject) -> None:
    fields = [st.sampled_from(one) for one in (MINUTES, HOURS, DAYS, MONTH_FIELDS, WEEKDAY_FIELDS)]
    one, other = (accepted(" ".join(data.draw(st.tuples(*fields)))) for _ in range(2))
    if one and other and one.describe() == other.describe():
        start = datetime(2026, 1, 1, tzinfo=UTC)
        assert one.next(start, 50) == other.next(start, 50)


def check_dates(expression: str) -> None:
    cron = accepted(expression)
    if cron is None or SHORTENED.search(cron.describe()):
        return
    start, stop = (
        datetime.combine(one, datetime.min.time(), UTC) for one in (FIRST, LAST + timedelta(days=1))
    )
    fired = {moment.date() for moment in cron.fire_times(start, stop)}
    words = cron.describe().removesuffix(", UTC").removeprefix("at noon ")
    assert dates_read(words) == fired, (expression, words)


def accepted(expression: str) -> Cron | None:
    try:
        return Cron(expression)
    except InvalidTrigger:
        return None


def times_of(expression: str) -> set[int]:
    parsed = parse_expression(" ".join(expression.split()), None)
    assert isinstance(parsed, Expression)
    rings = (parsed.hours, parsed.minutes, parsed.seconds)
    masks = [[value for value in range(60) if ring.mask >> value & 1] for ring in rings]
    return {hour * 3600 + minute * 60 + second for hour, minute, second in product(*masks)}


def clock_words(words: str) -> str:
    return words.removesuffix(", UTC").removesuffix(" every day")
