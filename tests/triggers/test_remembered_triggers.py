"""Many schedules share what one computed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.core.planning import _walk
from fencepost.errors import SearchExhausted
from fencepost.triggers import At, Combinable, Cron, Every, Remembered, combine
from fencepost.triggers.remembered import TIMES_KEPT_MAX
from tests.properties import examples

NOW = datetime(2026, 3, 28, tzinfo=UTC)
TRIGGERS: list[Combinable] = [
    Cron("*/20 * * * * *"),
    Cron("30 2 * * *", "Europe/Berlin"),
    Every("1s"),
    Every("1 month", tz="Europe/Berlin"),
    At([NOW, NOW + timedelta(minutes=1), NOW + timedelta(hours=5)]),
    Every("7m") & Every("5m"),
]


class Counted(At):
    """Counts how often it is asked."""

    asked = 0

    def next_after(self, after: datetime) -> datetime | None:
        type(self).asked += 1
        return super().next_after(after)

    def previous(self, before: datetime) -> datetime | None:
        type(self).asked += 1
        return super().previous(before)


@examples(200)
@given(
    trigger=st.sampled_from(TRIGGERS),
    jumps=st.lists(st.integers(-(10**9), 10**10), min_size=1, max_size=40),
)
def test_answers_as_the_trigger_does_in_whatever_order_it_is_asked(
    trigger: Combinable, jumps: list[int]
) -> None:
    remembered, moment = Remembered(trigger), NOW
    for jump in jumps:
        moment = max(
            NOW - timedelta(days=1), min(moment + timedelta(microseconds=jump), NOW + timedelta(days=2))
        )
        assert remembered.next_after(moment) == trigger.next_after(moment)
        through = moment + timedelta(seconds=90)
        assert list(remembered.fire_times(moment, through)) == list(trigger.fire_times(moment, through))


def test_each_fire_time_is_computed_once_for_all_who_ask() -> None:
    Counted.asked = 0
    trigger = Counted([NOW + timedelta(minutes=minute) for minute in range(100)])
    remembered = Remembered(trigger)
    for number in range(10_000):
        after = NOW + timedelta(milliseconds=(number * 7919) % 60_000)
        list(remembered.fire_times(after, NOW + timedelta(minutes=5)))
    assert Counted.asked <= 10


def test_no_more_than_a_bounded_stretch_is_kept() -> None:
    remembered = Remembered(Every("1s"))
    moment: datetime | None = NOW
    for _ in range(5 * TIMES_KEPT_MAX):
        assert moment is not None
        moment = remembered.next_after(moment)
    assert len(remembered._times) <= TIMES_KEPT_MAX + 1


RARE: list[Combinable] = [
    Every("1m") - Cron("* * * * SUN"),
    Every("1m").outside(Cron("30 8 * * *"), "8h"),
    (Every("1m") | Every("7m")) - Cron("* 3-20 * * *"),
]


@pytest.mark.parametrize("trigger", RARE, ids=["difference", "outside", "union"])
@pytest.mark.parametrize("starts", [[0, 2, 1], [2, 0, 1], [1, 0, 2, 1]])
def test_planning_through_cuts_comes_to_the_same_end_with_a_shared_memory(
    trigger: Combinable, starts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several cursors walk over a Sunday with one memory between them, a pass at a time."""
    monkeypatch.setattr(combine, "LOOKS_MAX", 300)
    sunday = datetime(2026, 3, 29, tzinfo=UTC)
    through = sunday + timedelta(hours=24, minutes=3)
    shared = Remembered(trigger)
    for start in starts:
        reached, found = sunday + timedelta(hours=7 * start), list[datetime]()
        expected = list(_patient(trigger, reached, through))
        for _ in range(1_000):
            ticks, further = _walk(shared, reached, through, 500)
            assert further > reached or further == through
            found += ticks
            reached = further
            if reached == through:
                break
        assert found == expected


def _patient(trigger: Combinable, after: datetime, through: datetime) -> Iterator[datetime]:
    while after < through:
        ticks, after = _walk(trigger, after, through, 100_000)
        yield from ticks


def test_what_never_fires_is_looked_further_at_each_time() -> None:
    never = Remembered(Cron("0 12 * * *") & Cron("30 12 * * *"))
    reached = NOW
    for _ in range(3):
        with pytest.raises(SearchExhausted) as cut:
            never.next_after(reached)
        assert cut.value.searched_through > reached
        reached = cut.value.searched_through


def test_a_schedule_far_behind_neither_fills_nor_moves_the_memory() -> None:
    shared = Remembered(Every("1s"))
    shared.next_after(NOW)
    behind = NOW - timedelta(days=2)
    for _ in range(2_000):
        moment = shared.next_after(behind)
        assert moment == behind + timedelta(seconds=1)
        behind = moment
    assert len(shared._times) <= TIMES_KEPT_MAX + 1
    assert shared.next_after(NOW) == NOW + timedelta(seconds=1)


def test_a_question_from_before_does_not_search_back_through_what_never_fired() -> None:
    """One look back is cheap; a search back through a year of exceptions would stop the planner."""
    rare = Every("1m") - Cron("* * * 1-11 *")
    shared = Remembered(rare)
    december = datetime(2026, 12, 1, tzinfo=UTC)
    assert shared.next_after(december - timedelta(minutes=1)) == december
    object.__setattr__(rare, "previous", None)
    assert shared.next_after(december - timedelta(minutes=2)) == december
    assert shared.next_after(december - timedelta(hours=2)) == december
