"""Which late ticks still run."""

from __future__ import annotations

import pytest

from fencepost.core.catchup import ON_TIME_MAX, is_on_time, why_missed
from fencepost.errors import InvalidDuration, InvalidSpec
from fencepost.model.schedule import CatchUp
from tests.core.facts import moment, tick

TOLERANCE_S = ON_TIME_MAX.total_seconds()


@pytest.mark.parametrize(
    ("catch_up", "age_s", "on_time"),
    [
        (CatchUp("none", "1m"), 0, True),
        (CatchUp("none", "1m"), 60, True),
        (CatchUp("none", "1m"), 60.001, False),
        (CatchUp("none", "2s"), 2.001, False),
        (CatchUp("latest", "1h"), TOLERANCE_S, True),
        (CatchUp("latest", "1h"), TOLERANCE_S + 0.001, False),
        (CatchUp("latest", "2s"), 2, True),
        (CatchUp("latest", "2s"), 2.001, False),
    ],
)
def test_a_tick_is_on_time_no_longer_than_its_policy_says(
    catch_up: CatchUp, age_s: float, on_time: bool
) -> None:
    assert is_on_time(tick(0, catch_up), moment(age_s)) is on_time


@pytest.mark.parametrize(
    ("catch_up", "age_s", "newest_s", "reason"),
    [
        (CatchUp("none", "1m"), 60, 0, None),
        (CatchUp("none", "1m"), 60, 59, None),
        (CatchUp("none", "1m"), 60.001, 0, "too late: max_lateness is 60s"),
        (CatchUp("none", 0), 0.001, 0, "too late: max_lateness is 0s"),
        (CatchUp("latest", "1h"), 3600, 0, None),
        (CatchUp("latest", "1h"), 3600.001, 0, "too late: max_lateness is 3600s"),
        (CatchUp("latest", "1h"), 3000, 2940, "coalesced into the tick of 2026-03-01T09:49:00Z"),
        (CatchUp("latest", "1h"), TOLERANCE_S + 1, 1, "coalesced into the tick of 2026-03-01T09:00:01Z"),
        (CatchUp("latest", "1h"), TOLERANCE_S, 1, None),
        (CatchUp("latest", "1h"), 4000, 3990, "too late: max_lateness is 3600s"),
    ],
)
def test_a_late_tick_is_missed_for_a_reason(
    catch_up: CatchUp, age_s: float, newest_s: float, reason: str | None
) -> None:
    assert why_missed(tick(0, catch_up), moment(newest_s), moment(age_s)) == reason


def test_a_policy_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(InvalidSpec, match="expected one of none, latest"):
        CatchUp("newest")
    with pytest.raises(InvalidDuration):
        CatchUp("none", "-1s")


def test_a_spread_tick_is_late_by_how_long_it_has_been_due() -> None:
    spread = tick(0, CatchUp("none", "1m"), delay_s=600)
    assert is_on_time(spread, moment(660))
    assert why_missed(spread, moment(0), moment(660)) is None
    assert why_missed(spread, moment(0), moment(660.001)) == "too late: max_lateness is 60s"
