"""The load to come is counted as triggers and planners have it, and never for longer than allowed."""

from datetime import UTC, datetime, timedelta

import pytest

from fencepost.core.forecast import BUCKET, HORIZON, STEPS_A_FIRE_TIME, Alike, Planned, forecast, planned
from fencepost.core.spreading import due_at
from fencepost.model.identifiers import JobName, Namespace, ScheduleId
from fencepost.model.schedule import ScheduleSpec
from fencepost.model.stretch import Stretch, parse_stretch
from fencepost.model.trigger import Trigger
from fencepost.triggers import Cron, Every

NOW = datetime(2026, 3, 1, 12, 0, 17, tzinfo=UTC)
NS = Namespace("default")
PLENTY = 10_000_000


def alike(trigger: Trigger, count: int, spread: str | None = None, jitter: str | None = None) -> Alike:
    def stretch(text: str | None) -> Stretch | None:
        return None if text is None else parse_stretch(text)

    names = [ScheduleId(f"s{number}") for number in range(count)]
    return Alike(trigger, tuple(Planned(name, stretch(spread), stretch(jitter)) for name in names))


def test_schedules_that_share_a_trigger_are_all_counted() -> None:
    found = forecast([alike(Cron("0 * * * *"), 7)], NS, NOW, PLENTY)
    assert (sum(found.fired), sum(found.due), found.busiest_due) == (7 * 24, 7 * 24, 7)
    assert len(found.due) == HORIZON // BUCKET
    assert (found.schedules, found.spread, found.cut) == (7, 0, False)


def test_a_fire_time_lands_in_its_own_bucket() -> None:
    found = forecast([alike(Cron("7 13 * * *"), 3)], NS, NOW, PLENTY)
    assert [index for index, number in enumerate(found.fired) if number] == [(67 * 60) // 300]


def test_a_spread_moves_what_is_due_as_planners_move_it() -> None:
    midnight = datetime(2026, 3, 2, tzinfo=UTC)
    found = forecast([alike(Cron("0 0 * * *"), 40, spread="30m")], NS, NOW, PLENTY)
    dues = [
        due_at(f"{NS}\ns{number}", midnight, midnight + timedelta(days=1), parse_stretch("30m"), None)
        for number in range(40)
    ]
    expected = [0] * len(found.due)
    for due in dues:
        expected[(due - found.start) // BUCKET] += 1
    assert list(found.due) == expected
    assert (found.busiest_fired, found.spread) == (40, 40)
    assert found.busiest_due < 5


def test_a_jitter_moves_each_tick_by_itself() -> None:
    found = forecast([alike(Cron("*/30 * * * *"), 1, jitter="20m")], NS, NOW, PLENTY)
    assert sum(found.fired) == 48
    assert len({index % 6 for index, number in enumerate(found.due) if number}) > 1


def test_the_same_crowd_again_and_again_is_told_once() -> None:
    found = forecast([alike(Cron("0 * * * *"), 60), alike(Cron("30 2 * * *"), 9)], NS, NOW, PLENTY)
    assert [(one.due, one.repeats) for one in found.busy] == [(60, 23), (9, 0)]
    assert found.busy[0].spread is not None
    assert found.busy[1].spread is None
    assert found.busy[0].names[:2] == ("s0", "s1")


def test_where_steps_run_out_whole_hours_are_told_and_nothing_after() -> None:
    every_minute = alike(Every(60), 2)
    hours = 3
    found = forecast([every_minute], NS, NOW, STEPS_A_FIRE_TIME * 60 * hours + 5)
    assert found.cut
    assert found.through - found.start == timedelta(hours=hours)
    assert sum(found.fired) == 2 * 60 * hours
    assert len(found.fired) == hours * 12


def test_a_spread_schedule_costs_a_step_a_tick() -> None:
    group = alike(Cron("0 * * * *"), 100, spread="10m")
    assert forecast([group], NS, NOW, (STEPS_A_FIRE_TIME + 100) * 24).cut is False
    assert forecast([group], NS, NOW, (STEPS_A_FIRE_TIME + 100) * 24 - 1).cut is True


def test_nothing_is_to_come_where_nothing_fires() -> None:
    found = forecast([], NS, NOW, PLENTY, unread=2)
    assert (sum(found.due), found.busy, found.busiest_due, found.unread) == (0, (), 0, 2)


@pytest.mark.parametrize(("own", "expected"), [(None, "5m"), ("1m", "1m")])
def test_the_jitter_of_a_trigger_counts_unless_the_schedule_has_its_own(
    own: str | None, expected: str
) -> None:
    jitter = None if own is None else parse_stretch(own)
    spec = ScheduleSpec(JobName("report"), {}, jitter=jitter)
    found = planned(ScheduleId("x"), spec, Every("1h", jitter="5m"))
    assert found.jitter == parse_stretch(expected)
