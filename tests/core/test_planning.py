"""Planning loses no tick and repeats none, however it is cut into passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.core.planning import Rules, plan
from fencepost.errors import SearchExhausted
from fencepost.model.identifiers import DEFAULT_NAMESPACE, DEFAULT_QUEUE, Epoch, JobName, ScheduleId, Shard
from fencepost.model.json import JsonObject
from fencepost.model.plan import Cursor, Plan
from fencepost.model.policies import CatchUp
from fencepost.model.schedule import ScheduleSpec
from fencepost.model.stretch import parse_stretch
from fencepost.model.trigger import Trigger
from fencepost.triggers import At, Cron, Every

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
EPOCH = Epoch(7)
RULES = Rules("2026b", NOW)
MANY = 10_000

triggers: st.SearchStrategy[Trigger] = st.one_of(
    st.integers(1, 120).map(lambda seconds: Every(seconds)),
    st.sampled_from(["* * * * *", "*/7 * * * *", "5,6,50 * * * *"]).map(lambda text: Cron(text)),
    st.lists(st.integers(-60, 3600), min_size=1, max_size=20).map(
        lambda offsets: At([NOW + timedelta(seconds=one) for one in offsets])
    ),
)
passes = st.lists(st.tuples(st.integers(-600, 3600), st.integers(1, 50)), min_size=1, max_size=20)


def fired(made: Plan) -> tuple[datetime, ...]:
    return tuple(tick.fire_time for tick in made.ticks)


def accounted(made: Plan) -> tuple[datetime, ...]:
    """All of its fire times, whether they get a row or are counted in a range."""
    return (*(moment for one in made.missed for moment in one.fire_times), *fired(made))


def cursor_at(planned_through: datetime) -> Cursor:
    return Cursor(
        namespace=DEFAULT_NAMESPACE,
        schedule_id=ScheduleId("hourly"),
        shard=Shard(3),
        version=2,
        planned_through=planned_through,
        spec=ScheduleSpec(JobName("report"), trigger={}),
        queue=DEFAULT_QUEUE,
        priority=2,
    )


def walk(trigger: Trigger, through: datetime, ticks_max: int, start: Cursor) -> Iterator[Plan]:
    """Pass after pass until everything up to `through` is planned."""
    cursor = start
    for _ in range(MANY):
        made = plan(cursor, trigger, through, EPOCH, ticks_max, RULES)
        yield made
        cursor = replace(cursor, planned_through=made.planned_through)
        if made.planned_through >= through:
            return
    raise AssertionError("planning does not come to an end")


@given(triggers, passes)
def test_no_cut_into_passes_loses_or_repeats_a_tick(
    trigger: Trigger, sequence: list[tuple[int, int]]
) -> None:
    cursor = cursor_at(NOW)
    found: list[datetime] = []
    for offset_s, ticks_max in sequence:
        made = plan(cursor, trigger, NOW + timedelta(seconds=offset_s), EPOCH, ticks_max, RULES)
        assert made.planned_through >= cursor.planned_through
        assert len(made.ticks) <= ticks_max
        found += fired(made)
        cursor = replace(cursor, planned_through=made.planned_through)
    assert found == list(trigger.fire_times(NOW, cursor.planned_through))


@given(triggers, st.integers(0, 3600), st.integers(1, 50))
def test_goes_on_until_everything_is_planned(trigger: Trigger, ahead_s: int, ticks_max: int) -> None:
    through = NOW + timedelta(seconds=ahead_s)
    made = list(walk(trigger, through, ticks_max, cursor_at(NOW)))
    found = [moment for one in made for moment in fired(one)]
    assert found == list(trigger.fire_times(NOW, through))
    assert made[-1].planned_through == through


@given(triggers, passes)
def test_looks_again_exactly_at_the_next_tick(trigger: Trigger, sequence: list[tuple[int, int]]) -> None:
    for offset_s, ticks_max in sequence:
        made = plan(cursor_at(NOW), trigger, NOW + timedelta(seconds=offset_s), EPOCH, ticks_max, RULES)
        assert made.next_fire_at == trigger.next_after(made.planned_through)


def test_a_month_away_is_walked_through_and_not_skipped() -> None:
    start = cursor_at(NOW - timedelta(days=30))
    made = list(walk(Every("1h"), NOW, 100, start))
    assert [moment for one in made for moment in accounted(one)] == list(
        Every("1h").fire_times(start.planned_through, NOW)
    )


def test_the_cursor_does_not_pass_a_tick_that_was_cut_off() -> None:
    made = plan(cursor_at(NOW), Every(1), NOW + timedelta(hours=1), EPOCH, 10, RULES)
    assert made.planned_through == fired(made)[-1] == NOW + timedelta(seconds=10)
    assert made.next_fire_at == NOW + timedelta(seconds=11)


def test_the_cursor_does_not_go_back_with_the_clock() -> None:
    made = plan(cursor_at(NOW), Every(1), NOW - timedelta(hours=1), EPOCH, 10, RULES)
    assert (fired(made), made.planned_through) == ((), NOW)


def test_a_trigger_that_has_ended_is_not_looked_at_again() -> None:
    made = plan(cursor_at(NOW), At(NOW + timedelta(seconds=5)), NOW + timedelta(minutes=1), EPOCH, 10, RULES)
    assert fired(made) == (NOW + timedelta(seconds=5),)
    assert made.next_fire_at is None


def test_a_plan_carries_the_cursor_and_the_epoch_that_it_was_made_from() -> None:
    cursor = cursor_at(NOW)
    made = plan(cursor, Every(1), NOW, EPOCH, 10, RULES)
    assert (made.cursor, made.epoch) == (cursor, EPOCH)


class Endless:
    """A trigger that counts how many of its fire times anybody has looked at."""

    jitter = None

    def __init__(self) -> None:
        self.drawn = 0

    def next_after(self, after: datetime) -> datetime | None:
        return after + timedelta(microseconds=1)

    def fire_times(self, after: datetime, through: datetime) -> Iterator[datetime]:
        while after < through:
            after += timedelta(microseconds=1)
            self.drawn += 1
            yield after

    def to_json(self) -> JsonObject:
        return {}


@pytest.mark.parametrize("ticks_max", [1, 1000])
def test_a_million_due_ticks_are_not_drawn_in_one_pass(ticks_max: int) -> None:
    trigger = Endless()
    made = plan(cursor_at(NOW), trigger, NOW + timedelta(seconds=1), EPOCH, ticks_max, RULES)
    assert len(made.ticks) == ticks_max
    assert trigger.drawn == ticks_max


def test_without_a_spread_a_run_is_due_at_its_fire_time() -> None:
    made = plan(cursor_at(NOW), Every("10s"), NOW + timedelta(minutes=1), EPOCH, MANY, RULES)
    assert [tick.run_at for tick in made.ticks] == [tick.fire_time for tick in made.ticks]
    assert made.tzdata == RULES.tzdata


def test_a_spread_delays_every_run_by_the_same_and_never_to_the_next_fire_time() -> None:
    cursor = cursor_at(NOW)
    assert cursor.spec is not None
    spread = replace(cursor, spec=replace(cursor.spec, spread=parse_stretch("5m")))
    made = plan(spread, Every("10s"), NOW + timedelta(minutes=1), EPOCH, MANY, RULES)
    delays = {tick.run_at - tick.fire_time for tick in made.ticks}
    assert fired(made) == fired(plan(cursor, Every("10s"), NOW + timedelta(minutes=1), EPOCH, MANY, RULES))
    assert len(delays) == 1
    assert timedelta(0) < delays.pop() < timedelta(seconds=10)


def test_the_jitter_of_a_trigger_delays_each_run_by_its_own() -> None:
    made = plan(cursor_at(NOW), Every("10s", jitter="5s"), NOW + timedelta(minutes=1), EPOCH, MANY, RULES)
    delays = {tick.run_at - tick.fire_time for tick in made.ticks}
    assert len(delays) == 6
    assert max(delays) < timedelta(seconds=5)


def test_the_jitter_of_the_schedule_goes_before_that_of_its_trigger() -> None:
    cursor = cursor_at(NOW)
    assert cursor.spec is not None
    own = replace(cursor, spec=replace(cursor.spec, jitter=parse_stretch("1ms")))
    made = plan(own, Every("10s", jitter="5s"), NOW + timedelta(minutes=1), EPOCH, MANY, RULES)
    assert all(tick.run_at - tick.fire_time < timedelta(milliseconds=1) for tick in made.ticks)


def test_a_cut_does_not_change_when_the_runs_are_due() -> None:
    cursor = cursor_at(NOW)
    assert cursor.spec is not None
    spread = replace(
        cursor, spec=replace(cursor.spec, spread=parse_stretch("80%"), jitter=parse_stretch("9s"))
    )
    trigger, through = Cron("*/10 * * * * *"), NOW + timedelta(minutes=5)
    (whole,) = walk(trigger, through, MANY, spread)
    parts = [tick for one in walk(trigger, through, 3, spread) for tick in one.ticks]
    assert tuple(parts) == whole.ticks


def test_a_combination_whose_search_is_cut_is_planned_as_far_as_it_was_looked_through() -> None:
    rare = Every("1s") - Cron("* * 12-15 * * *")
    made = list(walk(rare, NOW + timedelta(hours=5), MANY, cursor_at(NOW)))
    assert [moment for one in made for moment in fired(one)] == list(
        Every("1s").fire_times(NOW + timedelta(hours=4) - timedelta(seconds=1), NOW + timedelta(hours=5))
    )
    assert all(one.next_fire_at is not None for one in made)


def test_what_never_fires_is_looked_at_again_and_planned_no_further_than_asked() -> None:
    never = Cron("0 12 * * *") & Cron("30 12 * * *")
    through = NOW + timedelta(minutes=1)
    made = plan(cursor_at(NOW), never, through, EPOCH, MANY, RULES)
    assert made.ticks == ()
    assert made.planned_through == through
    assert made.next_fire_at is not None
    assert made.next_fire_at > through


@pytest.mark.parametrize(
    ("planned_by", "ahead_s", "noted"),
    [("2026a", 30, "2026a"), ("2026a", 0, "2026b"), ("2026a", -30, "2026b"), ("2027a", 30, "2026b")],
)
def test_ticks_ahead_that_older_rules_have_planned_stay_noted_as_theirs(
    planned_by: str, ahead_s: int, noted: str
) -> None:
    cursor = replace(cursor_at(NOW + timedelta(seconds=ahead_s)), tzdata=planned_by)
    assert plan(cursor, Every("10s"), NOW + timedelta(minutes=1), EPOCH, MANY, RULES).tzdata == noted


def test_a_cut_that_lies_behind_never_moves_a_cursor_back() -> None:
    class Cut(Endless):
        def fire_times(self, after: datetime, through: datetime) -> Iterator[datetime]:
            raise SearchExhausted("cut", NOW - timedelta(days=1))

    made = plan(cursor_at(NOW), Cut(), NOW + timedelta(minutes=1), EPOCH, MANY, RULES)
    assert (made.ticks, made.planned_through) == ((), NOW)


def test_with_latest_a_long_absence_leaves_one_tick_however_it_is_cut_into_passes() -> None:
    """200 ticks in four passes: 199 are counted as missed, and the newest has a row."""
    latest = ScheduleSpec(JobName("report"), trigger={}, catch_up=CatchUp("latest", "1d"))
    start = replace(cursor_at(NOW - timedelta(minutes=200)), spec=latest)
    made = list(walk(Every(60), NOW, 50, start))
    assert len(made) == 4
    assert [moment for one in made for moment in fired(one)] == [NOW]
    assert sum(len(gone.fire_times) for one in made for gone in one.missed) == 199


def test_a_pass_whose_search_was_cut_does_not_give_way_to_a_tick_that_may_not_exist() -> None:
    latest = ScheduleSpec(JobName("report"), trigger={}, catch_up=CatchUp("latest", "1d"))
    start = replace(cursor_at(NOW - timedelta(minutes=50)), spec=latest)

    class Cut:
        jitter = None

        def next_after(self, after: datetime) -> datetime | None:
            raise SearchExhausted("cut", NOW - timedelta(minutes=1))

        def fire_times(self, after: datetime, through: datetime) -> Iterator[datetime]:
            yield from (NOW - timedelta(minutes=50 - minute) for minute in range(1, 31))

    made = plan(start, Cut(), NOW, EPOCH, 30, RULES)  # type: ignore[arg-type]
    assert fired(made) == (NOW - timedelta(minutes=20),)
