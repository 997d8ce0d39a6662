"""`simulate`: the real planner and judge through a night with an outage."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fencepost import CatchUp, Cron, Every, Retry
from fencepost.errors import UsageError
from fencepost.model.identifiers import JobName
from fencepost.model.job import JobSpec
from fencepost.testing import Simulation, simulate

SINCE, UNTIL = "2026-03-01T00:00:00Z", "2026-03-01T06:00:00Z"
OUTAGE = ("2026-03-01T02:00:00Z", "2026-03-01T04:30:00Z")
HOURLY = Cron("0 * * * *")


def states(shown: Simulation) -> list[str]:
    return [row.state for row in shown]


def at(hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 3, 1, hour, minute, tzinfo=UTC)


def test_without_an_outage_every_tick_runs_at_its_time() -> None:
    shown = simulate(HOURLY, SINCE, UNTIL)
    assert [row.fire_time for row in shown] == [at(hour) for hour in range(7)]
    assert [row.started_at for row in shown] == [at(hour) for hour in range(7)]
    assert set(states(shown)) == {"succeeded"}


@pytest.mark.parametrize("away", ["all", "workers", "planners"])
@pytest.mark.parametrize(
    ("catch_up", "expected"),
    [
        (None, ["missed", "missed", "missed"]),
        (CatchUp("latest", max_lateness="1d"), ["missed", "missed", "succeeded"]),
        (CatchUp("sequential", max_lateness="1d"), ["succeeded", "succeeded", "succeeded"]),
    ],
)
def test_what_an_outage_leaves_is_caught_up_as_the_policy_says(
    away: str, catch_up: CatchUp | None, expected: list[str]
) -> None:
    shown = simulate(HOURLY, SINCE, UNTIL, outage=OUTAGE, away=away, catch_up=catch_up)
    if away == "planners" and catch_up is None:
        # What was planned ahead of the outage runs all the same.
        expected = ["succeeded", "missed", "missed"]
    elif away == "planners":
        expected = ["succeeded", *expected[1:]]
    assert states(shown) == ["succeeded", "succeeded", *expected, "succeeded", "succeeded"]


def test_a_tick_is_too_late_after_its_window() -> None:
    shown = simulate(HOURLY, SINCE, UNTIL, outage=OUTAGE, catch_up=CatchUp("sequential", max_lateness="2h"))
    assert states(shown)[2:5] == ["missed", "succeeded", "succeeded"]


def test_long_runs_overlap_as_the_policy_says() -> None:
    skipped = simulate(HOURLY, SINCE, UNTIL, duration="90m", overlap="skip")
    assert states(skipped) == [
        "succeeded",
        "skipped",
        "succeeded",
        "skipped",
        "succeeded",
        "skipped",
        "running",
    ]
    assert skipped[1].reason == "overlap with simulated#2026-03-01T00:00:00Z#1"
    allowed = simulate(HOURLY, SINCE, UNTIL, duration="90m", overlap="allow")
    assert states(allowed) == ["succeeded"] * 5 + ["running"] * 2


def test_a_run_that_the_outage_cut_is_rescued_and_tried_again() -> None:
    outage = ("2026-03-01T01:10:00Z", "2026-03-01T01:20:00Z")
    shown = simulate(HOURLY, SINCE, UNTIL, outage=outage, away="workers", duration="30m")
    assert (shown[1].state, shown[1].attempt) == ("succeeded", 2)
    assert shown[1].started_at is not None
    assert shown[1].started_at >= at(1, 20)
    once = JobSpec(JobName("work"), at_most_once=True)
    shown = simulate(HOURLY, SINCE, UNTIL, outage=outage, duration="30m", job=once)
    assert (shown[1].state, shown[1].attempt) == ("dead", 1)


def test_a_duration_may_depend_on_the_tick_and_may_fail() -> None:
    def took(fire_time: datetime) -> str:
        if fire_time.hour == 3:
            raise ConnectionError("down at three")
        return "90m" if fire_time.hour == 1 else "1m"

    job = JobSpec(JobName("work"), retry=Retry(max_attempts=1))
    shown = simulate(HOURLY, SINCE, UNTIL, duration=took, job=job)
    assert states(shown) == [
        "succeeded",
        "succeeded",
        "skipped",
        "dead",
        "succeeded",
        "succeeded",
        "running",
    ]


def test_many_missed_ticks_are_rows_all_the_same() -> None:
    shown = simulate(Every("1m"), SINCE, UNTIL, outage=OUTAGE)
    assert len(shown) == 361
    assert len({row.fire_time for row in shown}) == 361
    assert shown.counts["missed"] == 149, "the tick of 04:29 was one minute late, which is allowed"


def test_the_same_question_has_the_same_answer() -> None:
    asked: dict[str, Any] = {"outage": OUTAGE, "duration": "7m", "overlap": "buffer_one", "spread": "3m"}
    first, second = (simulate(Every("5m"), SINCE, UNTIL, **asked) for _ in range(2))
    assert first == second
    assert str(first) == str(second)


async def test_it_can_be_asked_while_a_loop_runs() -> None:
    assert len(simulate(HOURLY, SINCE, UNTIL)) == 7


def test_the_table_is_for_people() -> None:
    lines = str(simulate(HOURLY, SINCE, UNTIL, outage=OUTAGE)).splitlines()
    assert lines[0].split() == [
        "FIRE",
        "TIME",
        "STATE",
        "STARTED",
        "FINISHED",
        "LATE",
        "BY",
        "ATTEMPT",
        "REASON",
    ]
    assert lines[3].startswith("2026-03-01 02:00:00 UTC  missed")
    assert lines[3].endswith("too late: max_lateness is 60s")
    assert lines[-1] == "7 ticks: 3 missed, 4 succeeded"
    many = str(simulate(Every("1m"), SINCE, UNTIL)).splitlines()
    assert len(many) == 203
    assert many[101] == "… 161 more …"


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"until": "2026-02-01"}, "is before since"),
        ({"until": "2028-03-01"}, "at most 366 days"),
        ({"outage": (UNTIL, SINCE)}, "expected a beginning before its end"),
        ({"outage": [(SINCE, OUTAGE[1]), (OUTAGE[0], UNTIL)]}, "do not overlap"),
        ({"away": "everybody"}, "expected all, workers, planners"),
        ({"duration": "soon"}, "expected a length of time"),
        ({"schedule": Every("1s"), "until": "2026-03-02"}, "more than 50000 ticks"),
    ],
)
def test_what_cannot_be_simulated_is_refused(asked: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        simulate(**{"schedule": HOURLY, "since": SINCE, "until": UNTIL, **asked})


@pytest.mark.proof
def test_a_month_of_hours_is_quick() -> None:
    shown = simulate(HOURLY, SINCE, at(0) + timedelta(days=31), outage=OUTAGE, duration="10m")
    assert len(shown) == 31 * 24 + 1
