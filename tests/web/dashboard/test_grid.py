"""The heat grid: a cell for each tick that the versions ask for, and what became of it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fencepost.core.accounting import Frame
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import JobName, RunKey, ScheduleId, tick_key
from fencepost.model.missed import MissedRange
from fencepost.model.run import Hold, Origin, RunRecord, RunState
from fencepost.model.schedule import ScheduleSpec, ScheduleVersion
from fencepost.services.accounting import triggers_of
from fencepost.triggers import Combinable, Cron, Every
from fencepost.triggers.localtime.zones import zone
from fencepost.web.dashboard.grid import CELLS_MAX, Grid, expected_of, extra_runs, make_grid
from fencepost.web.dashboard.heat_rows import heads, heat_rows
from fencepost.web.dashboard.spans import SPANS_S, Row, cut_for, default_span, offered, typical_period_s
from fencepost.web.dashboard.tell import Tell
from tests.rows import run_of
from tests.services.house import NS, House
from tests.web.dashboard.furnished import put_run

NOW = datetime(2026, 3, 1, 13, tzinfo=UTC)
NOON = NOW - timedelta(hours=1)
ID = ScheduleId("minutely")


def at(minute: int) -> datetime:
    return NOON + timedelta(minutes=minute)


def frame(trigger: Combinable | None = None, **more: Any) -> Frame:
    spec = ScheduleSpec(JobName("report"), (trigger or Every("10m")).to_json())
    version = ScheduleVersion(1, spec, StoreTime(NOON - timedelta(days=3)), "2026a")
    given: dict[str, Any] = {
        "since": NOON,
        "until": NOW,
        "versions": (version,),
        "planned_version": 1,
        "planned_through": NOW,
        **more,
    }
    return Frame(namespace=NS, schedule_id=ID, now=StoreTime(NOW), **given)


def run(minute: int, **fields: Any) -> RunRecord:
    house = House()
    key = put_run(house, str(ID), at(minute), **fields)
    return run_of(house.memory, key)


def grid(runs: list[RunRecord], around: Frame | None = None) -> Grid:
    given = around or frame()
    return make_grid(given, triggers_of(ID), expected_of(given, triggers_of(ID)), runs)


def marks(runs: list[RunRecord], around: Frame | None = None) -> list[str]:
    return [one.mark for one in grid(runs, around).cells]


def late(minute: int, **fields: Any) -> RunRecord:
    began = StoreTime(at(minute) + timedelta(seconds=90))
    return run(minute, started_at=began, first_started_at=began, **fields)


WAITING: dict[str, Any] = {
    "started_at": None,
    "first_started_at": None,
    "finished_at": None,
    "attempt": 0,
    "fence": 0,
}


@pytest.mark.parametrize(
    ("record", "mark"),
    [
        (run(10), "fine"),
        (late(10), "late"),
        (run(10, origin=Origin.CATCH_UP), "late"),
        (run(10, origin=Origin.REPLAY), "replayed"),
        (run(10, origin=Origin.BACKFILL), "replayed"),
        (run(10, state=RunState.DEAD), "dead"),
        (run(10, state=RunState.SKIPPED), "skipped"),
        (run(10, state=RunState.MISSED), "missed"),
        (run(10, state=RunState.CANCELLED), "cancelled"),
        (run(10, state=RunState.RUNNING, finished_at=None), "running"),
        (run(10, state=RunState.READY, **WAITING), "ready"),
        (run(10, state=RunState.READY, held=Hold.FROZEN, **WAITING), "held"),
        (run(10, state=RunState.WITHDRAWN, **WAITING), "unaccounted"),
    ],
)
def test_a_cell_shows_what_became_of_its_tick(record: RunRecord, mark: str) -> None:
    assert marks([record])[0] == mark


def test_every_expected_tick_has_a_cell_and_what_nothing_accounts_for_says_so() -> None:
    assert marks([run(10), run(30)]) == ["fine", "unaccounted", "fine", *["unaccounted"] * 3]


def test_a_tick_that_no_planner_has_had_its_chance_at_is_not_unaccounted() -> None:
    assert marks([], frame(planned_through=at(30)))[-1] == "planned"
    assert marks([], frame(planned_through=at(30)))[-2] == "unaccounted"


def test_a_missed_range_accounts_for_all_of_its_ticks() -> None:
    span = MissedRange(NS, ID, 1, at(20), at(40), 3, "nobody was there")
    found = grid([], frame(missed=(span,))).cells
    assert [one.mark for one in found[1:4]] == ["missed"] * 3
    assert found[1].words == "nobody was there"
    assert found[0].mark == "unaccounted"


def test_what_retention_may_have_removed_is_not_called_unaccounted() -> None:
    assert marks([], frame(forgotten_before=at(30))) == ["forgotten"] * 2 + ["unaccounted"] * 4


def test_of_two_runs_the_one_that_came_further_stands_for_the_tick() -> None:
    other = replace(run(10, state=RunState.READY, **WAITING), run_key=RunKey(f"{ID}#x#2"), version=2)
    assert marks([run(10), other])[0] == "fine"
    assert marks([other, run(10)])[0] == "fine"


def test_a_run_that_nobody_expects_is_no_cell_but_is_counted() -> None:
    by_hand = run(13, origin=Origin.MANUAL)
    found = grid([by_hand, run(10)])
    assert extra_runs(found, [by_hand, run(10)]) == 1
    assert by_hand.run_key not in [one.run_key for one in found.cells]


def test_there_are_never_more_cells_than_fit() -> None:
    seconds = frame(Every("1s"))
    found = grid([], seconds)
    assert found.cut
    assert len(found.cells) == CELLS_MAX
    assert expected_of(seconds, triggers_of(ID)).last == found.cells[-1].fire_time
    assert expected_of(frame(), triggers_of(ID)).last is None


def test_an_edit_changes_what_is_expected_from_its_boundary_on() -> None:
    first = frame().versions[0]
    half = StoreTime(at(30))
    second = ScheduleVersion(2, ScheduleSpec(JobName("report"), Every("5m").to_json()), half, "2026a")
    versions = (replace(first, in_force_until=half), second)
    found = grid([], frame(versions=versions, planned_version=2)).cells
    assert [one.version for one in found] == [1] * 3 + [2] * 6


@pytest.mark.parametrize("period_s", [1, 5, 60, 300, 600, 900, 3_600, 86_400, 7 * 86_400, 30 * 86_400, None])
def test_the_stretch_that_is_chosen_fits(period_s: float | None) -> None:
    span = default_span(period_s)
    assert span in offered(period_s)
    if period_s is not None:
        assert 1 <= SPANS_S[span] / period_s <= CELLS_MAX


@pytest.mark.parametrize(
    ("trigger", "row"),
    [
        (Every("5s"), Row.MINUTE),
        (Every("30s"), Row.TEN_MINUTES),
        (Every("1m"), Row.HOUR),
        (Every("5m"), Row.SIX_HOURS),
        (Cron("0 * * * *"), Row.DAY),
        (Cron("0 */6 * * *"), Row.WEEK),
        (Cron("0 3 * * *"), Row.MONTH),
        (Cron("0 3 * * 1"), Row.YEAR),
    ],
)
def test_rows_follow_the_beat_of_the_schedule(trigger: Combinable, row: Row) -> None:
    cut = cut_for(typical_period_s(trigger, NOW))
    assert cut.row is row
    assert heads(cut)[0][0] == 0


@pytest.mark.parametrize("tz", ["UTC", "Europe/Berlin", "Asia/Kathmandu"])
def test_hours_of_the_same_name_stand_in_one_column_through_a_change_of_the_clocks(tz: str) -> None:
    since, until = datetime(2026, 3, 27, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)
    hourly = frame(Cron("0 * * * *", tz=tz), since=since, until=until)
    version = replace(hourly.versions[0], in_force_from=StoreTime(since - timedelta(days=1)))
    cells = grid([], replace(hourly, versions=(version,), now=StoreTime(until))).cells
    tell = Tell(until, zone(tz))
    rows = heat_rows(cells, cut_for(3_600), tell, lambda one: tick_key(ID, one.fire_time, one.version))
    assert sum(len(row.cells) for row in rows) == len(cells) == 120
    whole = [row for row in rows if len(row.cells) == 24]
    assert whole
    assert all([cell.column for cell in row.cells] == list(range(24)) for row in whole)
