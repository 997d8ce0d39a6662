"""What a planner makes of ticks that are late when it finds them: missed ranges, and catch-up runs."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.core.catchup import is_on_time, why_too_late
from fencepost.core.planning import RANGE_MIN, plan
from fencepost.model.clocks import StoreTime
from fencepost.model.plan import Plan
from fencepost.model.policies import CatchUp, Overlap
from fencepost.triggers import Every
from tests.core.test_planning import EPOCH, MANY, NOW, RULES, accounted, cursor_at, fired

AHEAD = NOW + timedelta(minutes=1)


def planned(catch_up: CatchUp, away: timedelta, every: str, ticks_max: int = MANY) -> Plan:
    """One pass of a planner that was away for so long."""
    cursor = cursor_at(NOW - away)
    assert cursor.spec is not None
    mine = replace(cursor, spec=replace(cursor.spec, catch_up=catch_up))
    return plan(mine, Every(every), AHEAD, EPOCH, ticks_max, RULES)


def ago(span: timedelta) -> datetime:
    return NOW - span


def test_a_month_of_seconds_costs_ranges_and_not_rows() -> None:
    made = planned(CatchUp("none", "1m"), timedelta(hours=2), "1s")
    (gone,) = made.missed
    assert gone.reason == "too late: max_lateness is 60s"
    assert (len(gone.fire_times), gone.fire_times[-1]) == (7139, ago(timedelta(seconds=61)))
    assert fired(made)[0] == ago(timedelta(seconds=60))
    assert not any(tick.catches_up for tick in made.ticks)


def test_what_is_late_and_still_runs_is_a_catch_up_run_from_the_start() -> None:
    made = planned(CatchUp("sequential", "10m"), timedelta(minutes=40), "1m")
    late = [tick.fire_time for tick in made.ticks if tick.catches_up]
    assert (late[0], late[-1]) == (ago(timedelta(minutes=10)), ago(timedelta(minutes=1)))
    assert [tick.fire_time for tick in made.ticks if not tick.catches_up] == [NOW, AHEAD]
    assert len(made.missed[0].fire_times) == 29


def test_with_latest_what_gives_way_is_a_range_of_its_own() -> None:
    made = planned(CatchUp("latest", "10m"), timedelta(minutes=20), "5s")
    too_late, coalesced = made.missed
    assert too_late.reason == "too late: max_lateness is 600s"
    assert coalesced.reason == "coalesced into the tick of 2026-03-01T12:00:00Z"
    assert coalesced.fire_times[0] == ago(timedelta(minutes=10))
    assert fired(made)[0] == ago(timedelta(seconds=10))


def test_a_few_missed_ticks_stay_rows_that_people_can_look_at() -> None:
    away = timedelta(minutes=RANGE_MIN)
    made = planned(CatchUp("none", "1m"), away, "1m")
    assert made.missed == ()
    assert len(made.ticks) == RANGE_MIN + 1


def test_a_latest_tick_that_no_newer_one_follows_is_written() -> None:
    made = planned(CatchUp("latest", "1d"), timedelta(hours=30), "1h")
    assert fired(made)[-1] == NOW
    assert all(moment < NOW for one in made.missed for moment in one.fire_times)


modes = st.sampled_from(["none", "latest", "sequential", "parallel(3)"])


@given(
    st.builds(CatchUp, modes, st.sampled_from(["5s", "1m", "10m", "2h"])),
    st.integers(0, 7200),
    st.sampled_from(["1s", "7s", "1m", "30m"]),
    st.integers(1, 400),
)
def test_nothing_is_lost_between_ranges_and_rows(
    catch_up: CatchUp, away_s: int, every: str, ticks_max: int
) -> None:
    made = planned(catch_up, timedelta(seconds=away_s), every, ticks_max)
    start = NOW - timedelta(seconds=away_s)
    expected = list(Every(every).fire_times(start, made.planned_through))
    assert list(accounted(made)) == expected
    for tick in made.ticks:
        on_time = is_on_time(catch_up, tick.run_at, StoreTime(NOW))
        too_late = why_too_late(catch_up, tick.run_at, StoreTime(NOW)) is not None
        assert tick.catches_up is (not on_time and not too_late)


@pytest.mark.parametrize("overlap", [Overlap.BUFFER_ONE, Overlap.BUFFER_ALL, Overlap.CANCEL_OTHER], ids=str)
def test_what_may_have_waited_is_left_to_the_claim_to_judge(overlap: Overlap) -> None:
    cursor = cursor_at(NOW - timedelta(hours=1))
    assert cursor.spec is not None
    mine = replace(cursor, spec=replace(cursor.spec, overlap=overlap, catch_up=CatchUp("latest", "10m")))
    made = plan(mine, Every("1m"), AHEAD, EPOCH, MANY, RULES)
    assert made.missed == ()
    assert not any(tick.catches_up for tick in made.ticks)


@pytest.mark.parametrize("mode", ["none", "latest", "sequential", "parallel(3)"])
def test_no_range_holds_a_tick_that_may_still_run(mode: str) -> None:
    catch_up = CatchUp(mode, "10m")
    made = planned(catch_up, timedelta(hours=1), "1s")
    for one in made.missed:
        last = one.fire_times[-1]
        assert not is_on_time(catch_up, last, StoreTime(NOW))
        assert one.reason.startswith("coalesced") or last < ago(timedelta(minutes=10))
