"""Which late ticks still run."""

from __future__ import annotations

import pytest

from fencepost.core.catchup import ON_TIME_MAX, is_on_time, queues, why_coalesced, why_too_late
from fencepost.errors import InvalidDuration, InvalidSpec
from fencepost.model.policies import CatchUp, GateTerms
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
        (CatchUp("sequential", "2d"), TOLERANCE_S, True),
        (CatchUp("sequential", "2d"), TOLERANCE_S + 0.001, False),
        (CatchUp("parallel(3)", "2d"), TOLERANCE_S + 0.001, False),
    ],
)
def test_a_tick_is_on_time_no_longer_than_its_policy_says(
    catch_up: CatchUp, age_s: float, on_time: bool
) -> None:
    assert is_on_time(catch_up, moment(0), moment(age_s)) is on_time


@pytest.mark.parametrize("mode", ["none", "latest", "sequential", "parallel(2)"])
@pytest.mark.parametrize(("age_s", "reason"), [(60, None), (60.001, "too late: max_lateness is 60s")])
def test_no_mode_runs_what_is_too_late(mode: str, age_s: float, reason: str | None) -> None:
    assert why_too_late(CatchUp(mode, "1m"), moment(0), moment(age_s)) == reason


@pytest.mark.parametrize(
    ("mode", "newest_s", "reason"),
    [
        ("latest", 0, None),
        ("latest", 60, "coalesced into the tick of 2026-03-01T09:01:00Z"),
        ("none", 60, None),
        ("sequential", 60, None),
        ("parallel(2)", 60, None),
    ],
)
def test_only_latest_gives_way_to_a_newer_tick(mode: str, newest_s: float, reason: str | None) -> None:
    assert why_coalesced(CatchUp(mode, "1h"), moment(0), moment(newest_s)) == reason


@pytest.mark.parametrize(
    ("mode", "expected"), [("none", False), ("latest", False), ("sequential", True), ("parallel(2)", True)]
)
def test_which_modes_line_up(mode: str, expected: bool) -> None:
    assert queues(tick(0, CatchUp(mode))) is expected


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("newest", "expected one of none, latest, sequential, parallel(n)"),
        ("parallel", "say how many at once, 1 to 1000, such as parallel(4)"),
        ("parallel(0)", "say how many at once"),
        ("latest(2)", "latest takes no number"),
    ],
)
def test_a_mode_that_does_not_exist_is_refused_with_those_that_do(text: str, complaint: str) -> None:
    with pytest.raises(InvalidSpec) as refused:
        CatchUp(text)
    assert complaint in str(refused.value)


def test_a_negative_lateness_is_refused() -> None:
    with pytest.raises(InvalidDuration):
        CatchUp("none", "-1s")


@pytest.mark.parametrize("mode", ["none", "latest", "sequential", "parallel(7)"])
def test_a_mode_is_read_as_it_is_written(mode: str) -> None:
    assert CatchUp(mode).words == mode


@pytest.mark.parametrize("terms", [{"waiting_max": 0}, {"failed_share": 1.1}, {"of_last": 101}])
def test_a_gate_out_of_bounds_is_refused(terms: dict[str, float]) -> None:
    with pytest.raises(InvalidSpec, match=next(iter(terms))):
        GateTerms(**terms)  # type: ignore[arg-type]
