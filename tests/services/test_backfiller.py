"""A backfill is filled once, whoever fills it, and says beforehand what it will do."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from fencepost.errors import TurnedAway, UnknownBackfill, UnknownSchedule, UsageError
from fencepost.model.audit import Author
from fencepost.model.backfill import BackfillState, FillMode, NewBackfill
from fencepost.model.identifiers import JobName, ScheduleId
from fencepost.model.run import Origin, RunState
from fencepost.model.schedule import ScheduleSpec
from fencepost.operations import backfills as backfill_operations
from fencepost.operations import runs as run_operations
from fencepost.operations.control import Control
from fencepost.services import backfiller as backfiller_module
from fencepost.services.backfiller import IDLE_S, LOOK_AGAIN_S, Backfiller
from fencepost.triggers import Every
from tests.services.conftest import Lines
from tests.services.house import NS, START, House, PlanningNode, WorkingNode, make_job
from tests.web.few import Few

ANNA = Author("anna", "cli on web-3")
ID = ScheduleId("invoices")
HOUR = timedelta(hours=1)


def asked(hours: float = 4, **rest: Any) -> NewBackfill:
    """The last so many hours: one fire time each."""
    return NewBackfill(ID, START - hours * HOUR, START, **rest)


async def open_house() -> tuple[House, Control, WorkingNode]:
    house = House()
    worker = WorkingNode(house, make_job(lambda: None))
    await worker.register()
    await house.put_spec(ID, ScheduleSpec(JobName("report"), Every(3600).to_json()))
    return house, Control(house.store, NS, ANNA), worker


async def states(house: House) -> list[tuple[datetime, RunState]]:
    return [(one.fire_time, one.state) for one in await house.runs()]


async def test_without_anything_to_fill_it_rests() -> None:
    house, _, _ = await open_house()
    assert await Backfiller(house.store, house.settings, house.clock).run_once() == IDLE_S


async def test_a_range_is_filled_in_batches_and_run_behind_live_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backfiller_module, "BATCH_MAX", 3)
    house, control, worker = await open_house()
    started = await backfill_operations.start(control, asked())
    service = Backfiller(house.store, house.settings, house.clock)
    assert await service.run_once() == 0.0
    assert len(await house.runs()) == 3
    assert await service.run_once() == 0.0
    assert await service.run_once() == IDLE_S
    runs = await house.runs()
    assert [one.fire_time for one in runs] == [START - hours * HOUR for hours in (3, 2, 1, 0)]
    assert {(one.origin, one.priority, one.backfill_id) for one in runs} == {
        (Origin.BACKFILL, 5, started.backfill_id)
    }
    for _ in runs:
        await worker.work()
    over = await backfill_operations.get(control, started.backfill_id)
    assert (over.state, over.over, over.runs) == (BackfillState.FILLED, True, {RunState.SUCCEEDED: 4})


@pytest.mark.parametrize("thoughts", [0, 1, 2])
async def test_who_is_turned_away_on_the_way_is_told_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, thoughts: int
) -> None:
    monkeypatch.setattr(backfiller_module, "BATCH_MAX", 1)
    house, control, _ = await open_house()
    started = await backfill_operations.start(control, asked())
    hurried = Control(house.store, NS, ANNA, offload=Few(thoughts))
    if thoughts:
        part = await backfill_operations.fill(hurried, started)
        assert (part.state, part.waiting) == (BackfillState.ACTIVE, thoughts)
    else:
        with pytest.raises(TurnedAway):
            await backfill_operations.fill(hurried, started)
    assert len(await house.runs()) == thoughts
    rest = await backfill_operations.get(control, started.backfill_id)
    assert (await backfill_operations.fill(control, rest)).state is BackfillState.FILLED


async def test_two_who_fill_at_once_write_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backfiller_module, "BATCH_MAX", 1)
    house, control, _ = await open_house()
    started = await backfill_operations.start(control, asked())
    assert await backfiller_module.fill_next(house.store, started, ANNA) == 1
    assert await backfiller_module.fill_next(house.store, started, ANNA) is None
    filled = await backfill_operations.fill(
        control, await backfill_operations.get(control, started.backfill_id)
    )
    assert filled.state is BackfillState.FILLED
    assert len(await house.runs()) == 4


async def test_a_cancelled_backfill_is_filled_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backfiller_module, "BATCH_MAX", 1)
    house, control, _ = await open_house()
    started = await backfill_operations.start(control, asked())
    await backfiller_module.fill_next(house.store, started, ANNA)
    cancelled = await backfill_operations.cancel(control, started.backfill_id)
    assert (cancelled.state, cancelled.runs) == (BackfillState.CANCELLED, {RunState.MISSED: 1})
    assert await Backfiller(house.store, house.settings, house.clock).run_once() == IDLE_S
    assert len(await house.runs()) == 1


async def test_one_that_cannot_be_read_is_told_once_and_keeps_no_other_waiting(
    lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    house, control, _ = await open_house()
    await backfill_operations.start(control, asked())

    def unreadable(spec: object, schedule_id: str) -> None:
        raise UsageError("its spec cannot be read")

    monkeypatch.setattr(backfiller_module, "stored_trigger", unreadable)
    service = Backfiller(house.store, house.settings, house.clock)
    assert [await service.run_once() for _ in range(2)] == [LOOK_AGAIN_S, LOOK_AGAIN_S]
    assert len(lines.about("backfill cannot be filled")) == 1


async def test_a_dry_run_counts_what_is_there_and_writes_nothing() -> None:
    house, control, worker = await open_house()
    node = PlanningNode(house, "planner")
    house.clock.advance(3600)
    await node.elector.run_once()
    await node.planner.run_once()
    await worker.work()
    house.clock.advance(60)
    wanted = NewBackfill(ID, START - 2 * HOUR, START + HOUR)
    estimate = await backfill_operations.estimate(control, wanted)
    assert estimate.account.states == {"missing": 2, "succeeded": 1}
    assert (estimate.account.fire_times, estimate.account.recorded, estimate.account.to_run) == (3, 1, 2)
    assert estimate.duration_s == pytest.approx(0.0)
    forced = await backfill_operations.estimate(control, replace(wanted, mode=FillMode.ALL))
    assert forced.account.to_run == 3
    assert len(await house.runs()) == 1


async def test_before_any_run_succeeded_its_length_is_unknown() -> None:
    _, control, _ = await open_house()
    estimate = await backfill_operations.estimate(control, asked())
    assert (estimate.account.to_run, estimate.run_s, estimate.duration_s) == (4, None, None)


async def test_what_the_estimate_says_is_what_is_written() -> None:
    house, control, _ = await open_house()
    for hours in (3, 1):
        await backfill_operations.fill(control, await backfill_operations.start(control, asked(hours)))
    estimate = await backfill_operations.estimate(control, asked(6))
    assert estimate.account.to_run == 3
    filled = await backfill_operations.fill(control, await backfill_operations.start(control, asked(6)))
    assert sum(filled.runs.values()) == 3
    assert len(await house.runs()) == 6


async def run_and_forget(house: House, worker: WorkingNode) -> None:
    """The tick of one o'clock ran, and a day later retention has removed it."""
    node = PlanningNode(house, "planner")
    house.clock.advance(3600)
    await node.elector.run_once()
    await node.planner.run_once()
    await worker.work()
    assert await house.states() == [RunState.SUCCEEDED]
    house.clock.advance(24 * 3600)
    assert await house.memory.ledger.forget(3600, 10) == 1
    assert await house.runs() == []


FORGOTTEN = NewBackfill(ID, START, START + 2 * HOUR)
"""One and two o'clock, a day ago."""


@pytest.mark.parametrize("mode", [FillMode.MISSING, FillMode.MISSED])
async def test_a_tick_that_ran_and_was_forgotten_does_not_run_again(mode: FillMode) -> None:
    house, control, worker = await open_house()
    await run_and_forget(house, worker)
    wanted = replace(FORGOTTEN, mode=mode)
    estimate = await backfill_operations.estimate(control, wanted)
    assert (estimate.account.states, estimate.account.to_run) == ({"forgotten": 2}, 0)
    assert "what is older does not run; --force runs it all the same" in (estimate.warning or "")
    filled = await backfill_operations.fill(control, await backfill_operations.start(control, wanted))
    assert (filled.state, filled.runs) == (BackfillState.FILLED, {})


async def test_with_force_also_what_was_forgotten_runs_and_says_so() -> None:
    house, control, worker = await open_house()
    await run_and_forget(house, worker)
    wanted = replace(FORGOTTEN, mode=FillMode.ALL)
    estimate = await backfill_operations.estimate(control, wanted)
    assert (estimate.account.states, estimate.account.to_run) == ({"forgotten": 2}, 2)
    assert "what is older runs, also where it ran before" in (estimate.warning or "")
    filled = await backfill_operations.fill(control, await backfill_operations.start(control, wanted))
    assert sum(filled.runs.values()) == 2


async def test_only_a_range_that_begins_before_what_is_kept_is_warned_of() -> None:
    house, control, worker = await open_house()
    await run_and_forget(house, worker)
    kept_from = await house.memory.ledger.forgotten_before()
    assert kept_from is not None
    since = kept_from - datetime.resolution
    assert (
        await backfill_operations.estimate(control, NewBackfill(ID, since, kept_from + HOUR))
    ).warning is None
    since -= datetime.resolution
    assert (
        await backfill_operations.estimate(control, NewBackfill(ID, since, kept_from + HOUR))
    ).warning is not None


async def test_what_was_replayed_by_hand_is_not_cancelled_with_its_backfill() -> None:
    house, control, worker = await open_house()
    started = await backfill_operations.fill(control, await backfill_operations.start(control, asked(2)))
    await worker.work()
    done, waiting = await house.runs()
    assert (done.state, waiting.state) == (RunState.SUCCEEDED, RunState.READY)
    await run_operations.replay(control, [done.run_key])
    cancelled = await backfill_operations.cancel(control, started.backfill_id)
    assert cancelled.runs == {RunState.MISSED: 1}
    assert await house.states() == [RunState.READY, RunState.MISSED]


async def test_a_wrong_range_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    house, control, _ = await open_house()
    wrong = {
        "an end that is later": replace(asked(), until=START - 9 * HOUR),
        "lies in the future": replace(asked(), until=START + HOUR),
        "0 at once is not within": replace(asked(), at_once_max=0),
    }
    for said, one in wrong.items():
        with pytest.raises(UsageError, match=said):
            await backfill_operations.estimate(control, one)
        with pytest.raises(UsageError, match=said):
            await backfill_operations.start(control, one)
    monkeypatch.setattr(backfill_operations, "FIRE_TIMES_MAX", 3)
    with pytest.raises(UsageError, match="more than 3 fire times; fill it in parts"):
        await backfill_operations.estimate(control, asked())
    with pytest.raises(UnknownSchedule):
        await backfill_operations.start(control, replace(asked(), schedule_id=ScheduleId("other")))
    with pytest.raises(UnknownBackfill, match="backfill 9: not found"):
        await backfill_operations.cancel(control, 9)
    assert await control.store.backfills.list(control.namespace, 10) == []
    assert await house.runs() == []
