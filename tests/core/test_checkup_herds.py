"""The check-up counts what is due in the same second, as the planner would have it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from fencepost.core.checkup import Point, Severity, herds
from fencepost.core.checkup.facts import Rhythm, ScheduleSheet
from fencepost.core.checkup.herds import HERDS_TOLD_MAX, count, spread_for
from fencepost.model.identifiers import DEFAULT_NAMESPACE
from fencepost.model.stretch import parse_stretch
from fencepost.triggers import At, Cron, Every
from tests.core.sheets import DAY, HOUR, LIMITS, MINUTE, NOW, facts, found, is_clean, only, schedule

HOURLY = Rhythm(Cron("0 * * * *"), HOUR, HOUR)
DAILY = Rhythm(Cron("0 0 * * *"), DAY, DAY)


def many(number: int, beat: Rhythm, prefix: str = "s", **spec: str) -> list[ScheduleSheet]:
    stretches: dict[str, Any] = {name: parse_stretch(text) for name, text in spec.items()}
    return [schedule(f"{prefix}{index:03}", beat=beat, **stretches) for index in range(number)]


def test_fewer_than_a_herd_are_none() -> None:
    assert is_clean(Point.HERDS, facts(*many(49, HOURLY)))
    assert not is_clean(Point.HERDS, facts(*many(50, HOURLY)))


def test_what_one_process_runs_at_once_is_no_herd() -> None:
    limits = replace(LIMITS, concurrency=60)
    assert is_clean(Point.HERDS, facts(*many(60, HOURLY), limits=limits))
    assert not is_clean(Point.HERDS, facts(*many(61, HOURLY), limits=limits))


def test_a_herd_is_told_once_with_its_count_and_a_spread() -> None:
    finding = only(Point.HERDS, facts(*many(700, HOURLY)))
    assert finding.severity is Severity.WARN
    assert finding.reason == (
        "700 runs are due in the second of 2026-03-01T12:00:00Z and in 23 more seconds until a day later: "
        "s000, s001, s002 and 697 more"
    )
    assert finding.remedy == 'spread = "2m" on each of these schedules'


def test_the_spread_that_is_offered_is_a_mend() -> None:
    assert is_clean(Point.HERDS, facts(*many(700, HOURLY, spread="2m")))
    assert is_clean(Point.HERDS, facts(*many(700, HOURLY, jitter="2m")))


def test_schedules_of_different_triggers_are_one_herd_where_they_meet() -> None:
    finding, other = found(Point.HERDS, facts(*many(60, HOURLY, "h"), *many(80, DAILY, "d")))
    assert "140 runs are due in the second of 2026-03-02T00:00:00Z: d000" in finding.reason
    assert "60 runs are due in the second of 2026-03-01T12:00:00Z and in 22 more" in other.reason


def test_many_herds_are_told_in_short() -> None:
    beats = [Rhythm(At(NOW + timedelta(minutes=number))) for number in range(1, HERDS_TOLD_MAX + 3)]
    known = [one for number, beat in enumerate(beats) for one in many(50 + number, beat, f"{number}-")]
    told = found(Point.HERDS, facts(*known))
    assert len(told) == HERDS_TOLD_MAX + 1
    assert told[0].reason.startswith("56 runs are due")
    assert told[-1].reason == "2 other herds of 50 or more schedules"


@pytest.mark.parametrize(
    ("number", "period", "spread"),
    [
        (50, HOUR, "1m"),
        (600, HOUR, "1m"),
        (601, HOUR, "2m"),
        (10_000, HOUR, "30m"),
        (20_000, HOUR, "50%"),
        (50, MINUTE, "50%"),
        (100_000, DAY, "1h"),
        (100, None, "1m"),
    ],
)
def test_the_spread_fits_the_number_and_the_period(
    number: int, period: timedelta | None, spread: str
) -> None:
    assert spread_for(number, period) == spread


def counted(known: list[ScheduleSheet], steps_max: int) -> tuple[list[int], datetime, bool]:
    seen = count(known, DEFAULT_NAMESPACE, NOW, 2, steps_max)
    return [herd.count for herd in seen.herds], seen.through, seen.cut


def test_a_count_that_is_cut_is_complete_up_to_where_it_says() -> None:
    beat = Rhythm(Every("1m"), MINUTE, MINUTE)
    known = many(3, beat, spread="30s")
    seen, through, cut = counted(known, steps_max=100)
    assert (through, cut) == (NOW + timedelta(minutes=32), True)
    assert counted(known, steps_max=3 * 24 * 60)[1:] == (NOW + DAY, False)
    assert seen == counted(known, 10_000)[0][: len(seen)]


def test_a_cut_is_told_as_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    beat = Rhythm(Every("1s"), timedelta(seconds=1), timedelta(seconds=1))
    monkeypatch.setattr(herds, "STEPS_MAX", 1_000)
    unknown, fine = found(Point.HERDS, facts(*many(2, beat, jitter="100ms")))
    assert unknown.reason == (
        "more than 1000 ticks come within a day: they were counted until 2026-03-01T12:08:00Z, and not after"
    )
    assert fine.reason == "no more than 2 runs are due in any second until 2026-03-01T12:08:00Z"


def test_a_million_ticks_that_share_their_fire_times_are_counted_whole() -> None:
    beat = Rhythm(Every("1m"), MINUTE, MINUTE)
    seen = count(many(1_000, beat), DEFAULT_NAMESPACE, NOW, 50, 10_000)
    assert not seen.cut
    assert [(herd.count, herd.repeats) for herd in seen.herds] == [(1_000, 24 * 60 - 1)]


def test_a_schedule_that_cannot_be_read_joins_no_herd() -> None:
    blind = [replace(one, rhythm=None, trouble="no") for one in many(60, HOURLY)]
    assert is_clean(Point.HERDS, facts(*blind))


@pytest.mark.parametrize(("pool_max", "found_it"), [(None, False), (3, False), (2, True)])
def test_a_pool_in_which_all_wait_is_found(pool_max: int | None, found_it: bool) -> None:
    told = found(Point.HERDS, facts(schedule(), limits=replace(LIMITS, pool_max=pool_max)))
    assert ([one.remedy for one in told if one.remedy] == ["pool_max = 3 or more"]) == found_it
