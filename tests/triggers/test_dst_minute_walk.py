"""The engine against a walk over every minute around changes of the clocks."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fencepost.triggers import Cron, Fold, Gap
from tests.triggers.minute_walk import CHANGES, MINUTE, walk_around

GAPS: list[Gap] = ["shift", "skip"]
FOLDS: list[Fold] = ["first", "last", "both"]


def numbers(low: int, high: int) -> st.SearchStrategy[str]:
    values = st.lists(st.integers(low, high), min_size=1, max_size=4)
    return values.map(lambda chosen: ",".join(map(str, chosen)))


minutes = st.one_of(st.sampled_from(["*", "*/5", "*/7", "*/30", "0", "30"]), numbers(0, 59))
hours = st.one_of(st.sampled_from(["*", "*/2", "*/5", "0", "1", "2", "3", "23"]), numbers(0, 23))
days = st.one_of(st.just("*"), st.sampled_from(["*/2", "29,30,31", "1,4,5"]))
weekdays = st.one_of(st.just("*"), st.sampled_from(["0", "0,6", "*/2", "5"]))
expressions = st.builds(lambda *fields: " ".join(fields), minutes, hours, days, st.just("*"), weekdays)


@pytest.mark.parametrize(("name", "change"), CHANGES)
@settings(max_examples=30, deadline=None)
@given(expression=expressions, gap=st.sampled_from(GAPS), fold=st.sampled_from(FOLDS))
@example(expression="30 2 * * *", gap="shift", fold="first")
@example(expression="* * * * *", gap="shift", fold="both")
@example(expression="*/5 0,1,2,3 * * *", gap="shift", fold="last")
@example(expression="0 0 * * *", gap="shift", fold="first")
@example(expression="0,30 * * * *", gap="skip", fold="last")
def test_fires_exactly_where_the_walk_does(
    name: str, change: str, expression: str, gap: Gap, fold: Fold
) -> None:
    walk = walk_around(name, change)
    # The walk does not see wall times repeated beyond its own ends, so that a day stays at each.
    start, end = walk.instants[1440], walk.instants[-1440]
    expected = [one for one in walk.fires(expression, gap, fold) if start < one <= end]

    assert list(Cron(expression, name, gap, fold).fire_times(start, end)) == expected


@pytest.mark.parametrize(("name", "change"), CHANGES)
@settings(max_examples=30, deadline=None)
@given(
    expression=expressions,
    gap=st.sampled_from([*GAPS, None]),
    fold=st.sampled_from([*FOLDS, None]),
    minute=st.integers(1440, 2 * 1440),
    ahead_us=st.integers(-1_000_000, 59_000_000),
)
def test_a_search_from_anywhere_never_goes_back_and_finds_the_first(
    name: str,
    change: str,
    expression: str,
    gap: Gap | None,
    fold: Fold | None,
    minute: int,
    ahead_us: int,
) -> None:
    cron = Cron(expression, name, gap, fold)
    after = walk_around(name, change).instants[minute] + MINUTE / 60_000_000 * ahead_us
    found = cron.next_after(after)

    assert found is not None
    assert found > after
    assert found == next(cron.fire_times(after, found))
    assert list(cron.fire_times(after, found - MINUTE / 60_000_000)) == []


@pytest.mark.parametrize(("name", "change"), CHANGES)
@settings(max_examples=30, deadline=None)
@given(
    fields=st.tuples(st.sampled_from(["*", "*/20", "0", "59"]), minutes, hours),
    gap=st.sampled_from([*GAPS, None]),
    fold=st.sampled_from([*FOLDS, None]),
)
def test_the_series_rises_strictly_with_seconds_too(
    name: str, change: str, fields: tuple[str, str, str], gap: Gap | None, fold: Fold | None
) -> None:
    walk = walk_around(name, change)
    middle = walk.instants[len(walk.instants) // 2]
    cron = Cron(f"{' '.join(fields)} * * *", name, gap, fold)
    fired = list(cron.fire_times(middle - 90 * MINUTE, middle + 90 * MINUTE))

    assert all(earlier < later for earlier, later in pairwise(fired))
    assert fired == cron.next(middle - 90 * MINUTE, len(fired))
