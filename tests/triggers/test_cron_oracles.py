"""The engine against two other cron libraries, where those are known to be right."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice

from croniter import croniter
from cronsim import CronSim, CronSimError
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fencepost.errors import InvalidTrigger
from fencepost.triggers import Cron, zone

COUNT = 12
NOW = datetime(2026, 1, 1, tzinfo=UTC)
moments = st.integers(-(10**9), 2 * 10**9).map(lambda seconds: NOW + timedelta(seconds=seconds))


def values(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    # croniter reads 5-5, and cronsim 5-5/1, as more than the one day: a range has two ends here.
    pairs = st.tuples(number, number).filter(lambda pair: pair[0] < pair[1])
    ranges = pairs.map(lambda pair: f"{pair[0]}-{pair[1]}")
    stepped = st.tuples(ranges, st.integers(1, high - low)).map(lambda pair: f"{pair[0]}/{pair[1]}")
    items = st.one_of(number.map(str), ranges, stepped)
    return st.lists(items, min_size=1, max_size=3).map(",".join)


def starred(low: int, high: int) -> st.SearchStrategy[str]:
    step = st.integers(2, high - low).map(lambda length: f"*/{length}")
    return st.one_of(st.just("*"), step, values(low, high))


def joined(*fields: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*fields).map(" ".join)


fields = (starred(0, 59), starred(0, 23), starred(1, 31), starred(1, 12), starred(0, 6))
five_fields = joined(*fields)
six_fields = joined(starred(0, 59), *fields)
# The two libraries part where a day field is a step: croniter takes it for a restriction.
plain_days = joined(starred(0, 59), starred(0, 23), values(1, 31), starred(1, 12), st.just("*"))
plain_weekdays = joined(starred(0, 59), starred(0, 23), st.just("*"), starred(1, 12), values(0, 6))


def is_refused(expression: str) -> bool:
    try:
        Cron(expression)
    except InvalidTrigger:
        return True
    return False


def ours(expression: str, after: datetime, tz: str = "UTC") -> list[datetime]:
    try:
        return Cron(expression, tz).next(after, COUNT)
    except InvalidTrigger:
        assume(False)
        raise


@settings(max_examples=300, deadline=None)
@given(expression=st.one_of(five_fields, six_fields), after=moments)
def test_agrees_with_cronsim_in_utc(expression: str, after: datetime) -> None:
    expected = list(islice(CronSim(expression, after), COUNT))
    assert ours(expression, after)[: len(expected)] == expected


@settings(max_examples=200, deadline=None)
@given(expression=joined(*[st.just("0")] * 2, values(28, 31), values(1, 12), starred(0, 6)))
def test_refuses_only_what_cronsim_cannot_find(expression: str) -> None:
    try:
        found = next(CronSim(expression, NOW), None)
    except CronSimError:
        found = None
    assert is_refused(expression) == (found is None)


@settings(max_examples=150, deadline=None)
@given(expression=st.one_of(plain_days, plain_weekdays), after=moments)
def test_agrees_with_croniter_in_utc(expression: str, after: datetime) -> None:
    found = ours(expression, after)
    theirs = croniter(expression, after, max_years_between_matches=50)
    assert found == [theirs.get_next(datetime) for _ in found]


@settings(max_examples=100, deadline=None)
@given(
    expression=joined(starred(0, 59), starred(0, 23), *[st.just("*")] * 3),
    tz=st.sampled_from(["Europe/Berlin", "Asia/Kolkata", "America/New_York", "Australia/Adelaide"]),
    ahead=st.integers(0, 1440),
)
def test_agrees_with_cronsim_in_a_zone_whose_clocks_stay(expression: str, tz: str, ahead: int) -> None:
    after = datetime(2026, 1, 10, tzinfo=UTC) + timedelta(minutes=ahead)
    expected = islice(CronSim(expression, after.astimezone(zone(tz))), COUNT)
    assert ours(expression, after, tz) == [one.astimezone(UTC) for one in expected]
