"""Which fire times a backfill has, under which versions, and what it would do with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from fencepost.core.backfilling import BackfillCounts, duration_s, next_batch
from fencepost.errors import SearchExhausted
from fencepost.model.backfill import FillMode, FillTick, NewBackfill
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import (
    DEFAULT_NAMESPACE,
    DEFAULT_QUEUE,
    Epoch,
    Fence,
    JobName,
    RunKey,
    ScheduleId,
)
from fencepost.model.missed import MissedRange
from fencepost.model.run import RunRecord, RunState
from fencepost.model.schedule import ScheduleSpec, ScheduleVersion
from fencepost.model.trigger import Trigger
from fencepost.triggers import Every, stored_trigger

ID = ScheduleId("invoices")
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def version(number: int, every_m: int, since: float, until: float | None = None) -> ScheduleVersion:
    spec = ScheduleSpec(JobName("report"), Every(every_m * 60).to_json())
    ends = None if until is None else StoreTime(at(until))
    return ScheduleVersion(number, spec, StoreTime(at(since)), "2026a", ends)


def trigger_of(one: ScheduleVersion) -> Trigger:
    return stored_trigger(one.spec, ID)


def walked(
    versions: list[ScheduleVersion], since: float, until: float, limit: int = 100
) -> list[tuple[float, int]]:
    """VerdictLog and versions of the whole range, in batches."""
    found: list[FillTick] = []
    after = at(since)
    while after < at(until):
        batch = next_batch(versions, trigger_of, after, at(until), limit)
        assert after < batch.through <= at(until)
        assert len(batch.ticks) <= limit
        found += batch.ticks
        after = batch.through
    return [((one.fire_time - NOON) / timedelta(minutes=1), one.version) for one in found]


HISTORY = [version(1, 10, 0, 30), version(2, 5, 50, 60), version(3, 5, 60, 60), version(4, 10, 60)]


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_each_fire_time_has_the_version_in_force_or_else_the_latest(limit: int) -> None:
    expected = [
        *((-20, 4), (-10, 4), (0, 4)),
        *((10, 1), (20, 1), (30, 1)),
        *((40, 4), (50, 4)),
        *((55, 2), (60, 2)),
        *((70, 4), (80, 4)),
    ]
    assert walked(HISTORY, -21, 80, limit) == expected


def test_a_range_is_open_at_its_beginning_and_closed_at_its_end() -> None:
    assert walked(HISTORY, 10, 20) == [(20, 1)]


def test_a_paused_schedule_fills_its_pause_by_its_latest_version() -> None:
    assert walked([version(1, 10, 0, 30)], 0, 50) == [(10, 1), (20, 1), (30, 1), (40, 1), (50, 1)]


def test_a_range_without_fire_times_is_walked_through_all_the_same() -> None:
    assert next_batch(HISTORY, trigger_of, at(31), at(39), 10) == ((), at(39))


class Cut:
    """A trigger that gives up a search after each fire time."""

    jitter = None

    def __init__(self, lost: bool = False) -> None:
        self.lost = lost

    def fire_times(self, after: datetime, through: datetime) -> Iterator[datetime]:
        if self.lost:
            raise SearchExhausted("nothing", after)
        yield after + timedelta(minutes=1)
        raise SearchExhausted("nothing more", after + timedelta(minutes=2))


def test_a_search_that_is_cut_ends_the_batch_where_it_got_to() -> None:
    batch = next_batch(HISTORY, lambda one: Cut(), at(61), at(80), 10)  # type: ignore[arg-type,return-value]
    assert batch == ((FillTick(at(62), 4),), at(63))


def test_a_search_that_gets_nowhere_is_not_tried_for_ever() -> None:
    with pytest.raises(SearchExhausted):
        next_batch(HISTORY, lambda one: Cut(lost=True), at(61), at(80), 10)  # type: ignore[arg-type,return-value]


def run(minutes: float, state: RunState, number: int = 1) -> RunRecord:
    return RunRecord(
        namespace=DEFAULT_NAMESPACE,
        run_key=RunKey(f"{minutes}#{number}"),
        schedule_id=ID,
        job=JobName("report"),
        fire_time=at(minutes),
        version=number,
        state=state,
        reason=None,
        attempt=0,
        fence=Fence(0),
        epoch=Epoch(0),
        run_at=at(minutes),
        started_at=None,
        finished_at=None,
        worker=None,
        error=None,
        queue=DEFAULT_QUEUE,
        priority=2,
        payload={},
    )


RUNS = [
    run(1, RunState.SUCCEEDED),
    run(2, RunState.MISSED),
    run(3, RunState.SKIPPED),
    run(4, RunState.DEAD),
    run(5, RunState.RUNNING),
    run(6, RunState.WITHDRAWN),
    run(7, RunState.WITHDRAWN, 2),
    run(7, RunState.SUCCEEDED, 1),
    run(8, RunState.MISSED, 1),
    run(8, RunState.SUCCEEDED, 2),
]
RANGE = MissedRange(DEFAULT_NAMESPACE, ID, 1, at(10), at(11), 2, "too late")


@pytest.mark.parametrize(
    ("mode", "to_run"), [(FillMode.MISSING, {6, 9, 12}), (FillMode.MISSED, {6, 9, 12, 2, 3, 10, 11})]
)
def test_what_runs_is_what_the_mode_asks_for(mode: FillMode, to_run: set[int]) -> None:
    for minute in range(1, 13):
        account = BackfillCounts(mode)
        account.add([FillTick(at(minute), 1)], RUNS, [RANGE])
        assert account.to_run == (minute in to_run), minute


def test_with_force_everything_runs_but_what_waits_or_runs() -> None:
    account = BackfillCounts(FillMode.ALL)
    account.add([FillTick(at(minute), 1) for minute in range(1, 13)], RUNS, [RANGE])
    assert (account.fire_times, account.recorded, account.to_run) == (12, 9, 11)
    assert account.states == {
        "missing": 3,
        "succeeded": 3,
        "missed": 3,
        "skipped": 1,
        "dead": 1,
        "running": 1,
    }


@pytest.mark.parametrize(
    ("mode", "to_run"), [(FillMode.MISSING, 1), (FillMode.MISSED, 2), (FillMode.ALL, 11)]
)
def test_what_retention_may_have_forgotten_does_not_run_by_itself(mode: FillMode, to_run: int) -> None:
    """Of the fire times before the eleventh minute nobody can say whether they ran."""
    account = BackfillCounts(mode, forgotten_before=at(11))
    account.add([FillTick(at(minute), 1) for minute in range(1, 13)], RUNS, [RANGE])
    assert (account.fire_times, account.recorded, account.forgotten) == (12, 9, 2)
    assert (account.states["missing"], account.to_run) == (1, to_run)


ASKED = NewBackfill(ID, at(0), at(60), at_once_max=4)


@pytest.mark.parametrize(
    ("asked", "count", "most", "run_s", "expected"),
    [
        (ASKED, 10, None, 60.0, 180.0),
        (ASKED, 10, 1, 60.0, 600.0),
        (ASKED, 10, 8, 60.0, 180.0),
        (replace(ASKED, every_s=100.0), 10, None, 60.0, 960.0),
        (ASKED, 10, None, None, None),
        (ASKED, 0, None, None, 0.0),
    ],
)
def test_how_long_it_takes(
    asked: NewBackfill, count: int, most: int | None, run_s: float | None, expected: float | None
) -> None:
    assert duration_s(asked, count, most, run_s) == expected
