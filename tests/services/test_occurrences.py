"""One tick by name: called off or held ahead of the planner, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost.errors import UsageError
from fencepost.model.audit import Action, LogFilter
from fencepost.model.identifiers import ScheduleId
from fencepost.model.run import Hold, RunState
from fencepost.model.stretch import parse_stretch
from fencepost.operations import pausing, ticks
from fencepost.operations import schedules as schedule_operations
from tests.services.house import NS, House, WorkingNode, make_job
from tests.services.verbs_work import ANNA, at, logged, open_control, plan, spec


async def test_a_tick_can_be_called_off_long_before_it_is_planned() -> None:
    house = House()
    control = await open_control(house)
    run = await ticks.skip(control, "invoices", at(6_000))
    assert (run.run_key, run.state) == ("invoices#2026-03-01T13:40:00Z#1", RunState.SKIPPED)
    await schedule_operations.edit(control, "invoices", spec(30), expected_version=1)
    house.clock.advance(5_990)
    await plan(house)
    at_that_time = [one for one in await house.runs() if one.fire_time == at(6_000)]
    assert [one.state for one in at_that_time] == [RunState.SKIPPED]
    assert await logged(control, action=Action.RUN_RESTORE) == []
    assert await logged(control, action=Action.RUN_SKIP) == [(Action.RUN_SKIP, run.run_key)]


async def test_a_tick_that_is_planned_is_called_off_under_its_own_key() -> None:
    house = House()
    control = await open_control(house)
    await plan(house)
    await ticks.skip(control, "invoices", at(60))
    assert await house.states() == [RunState.SKIPPED]


async def test_a_held_tick_waits_until_it_is_released() -> None:
    house = House()
    control = await open_control(house)
    worker = WorkingNode(house, make_job(lambda: None))
    held = await ticks.hold(control, "invoices", at(60))
    assert held.held is Hold.OPERATOR
    house.clock.advance(62)
    await worker.work()
    assert (await house.run(held.run_key)).state is RunState.READY
    released = await ticks.release(control, "invoices", at(60))
    assert released.held is Hold.NONE
    await worker.work()
    assert (await house.run(held.run_key)).state is RunState.SUCCEEDED


async def test_a_named_tick_is_due_when_the_planner_would_have_it_due() -> None:
    planned, named = House(), House()
    stretches = {"spread": parse_stretch("30s"), "jitter": parse_stretch("10s")}
    await open_control(planned, **stretches)
    control = await open_control(named, **stretches)
    await plan(planned)
    await ticks.hold(control, "invoices", at(60))
    assert [one.run_at for one in await named.runs()] == [one.run_at for one in await planned.runs()]


@pytest.mark.parametrize("verb", ["skip", "hold", "release"])
async def test_what_is_no_fire_time_is_refused_with_the_nearest(verb: str) -> None:
    house = House()
    control = await open_control(house)
    with pytest.raises(UsageError) as refused:
        await getattr(ticks, verb)(control, "invoices", at(70))
    assert str(refused.value) == (
        "schedule invoices at 2026-03-01T12:01:10Z: is no fire time; "
        "the nearest are 2026-03-01T12:01:00Z and 2026-03-01T12:02:00Z"
    )
    assert await house.runs() == []


async def test_a_tick_that_is_not_planned_cannot_be_released() -> None:
    house = House()
    control = await open_control(house)
    with pytest.raises(UsageError, match="has no run; see: fencepost why invoices 2026-03-01T12:01:00Z"):
        await ticks.release(control, "invoices", at(60))
    assert await house.runs() == []


@pytest.mark.parametrize("verb", ["skip", "hold"])
async def test_a_time_at_which_no_version_was_in_force_is_refused_with_the_mend(verb: str) -> None:
    house = House()
    control = await open_control(house)
    house.clock.advance(90)
    await pausing.pause(control, "invoices")
    house.clock.advance(120)
    await pausing.resume(control, "invoices")
    for seconds, time in ((-60, "11:59:00Z"), (120, "12:02:00Z")):
        with pytest.raises(UsageError) as refused:
            await getattr(ticks, verb)(control, "invoices", at(seconds))
        assert str(refused.value) == (
            f"schedule invoices at 2026-03-01T{time}: no version was in force then, so nothing fired; "
            "to run it all the same: fencepost backfill invoices "
            f"--from 2026-03-01T{time} --to 2026-03-01T{time}"
        )
    assert await house.runs() == []


@pytest.mark.parametrize("verb", ["skip", "hold"])
async def test_a_paused_schedule_has_no_ticks_ahead(verb: str) -> None:
    house = House()
    control = await open_control(house)
    await plan(house)
    await pausing.pause(control, "invoices")
    withdrawn = await house.runs()
    for seconds in (60, 6_000):
        with pytest.raises(UsageError, match=r"is paused, .*: fencepost schedules resume invoices"):
            await getattr(ticks, verb)(control, "invoices", at(seconds))
    assert await house.runs() == withdrawn


@pytest.mark.parametrize("verb", ["skip", "hold"])
async def test_a_tick_that_retention_may_have_removed_is_not_written_again(verb: str) -> None:
    house = House()
    control = await open_control(house)
    await plan(house)
    await ticks.skip(control, "invoices", at(60))
    house.clock.advance(7_200)
    await house.memory.ledger.forget(3_600, 10)
    with pytest.raises(UsageError, match=r"older than what retention keeps; .* --force$"):
        await getattr(ticks, verb)(control, "invoices", at(60))
    assert await house.runs() == []


FATES = [
    ("skip", RunState.SKIPPED, Hold.NONE, Action.RUN_SKIP),
    ("hold", RunState.PLANNED, Hold.OPERATOR, Action.RUN_HOLD),
]


@pytest.mark.parametrize(("verb", "state", "held", "action"), FATES)
async def test_a_tick_is_written_with_its_fate_in_one_call(
    verb: str, state: RunState, held: Hold, action: Action, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were it written first and sealed after, it could start, or be withdrawn by an edit, in between."""
    house = House()
    control = await open_control(house)

    async def never(*_: object, **__: object) -> None:
        raise AssertionError("a second call")

    monkeypatch.setattr(house.memory.ledger, verb, never)
    run = await getattr(ticks, verb)(control, "invoices", at(6_000))
    assert (run.state, run.held) == (state, held)
    (entry,) = await control.log(LogFilter(subject=run.run_key))
    assert (entry.action, entry.author, entry.before) == (action, ANNA, {})


@pytest.mark.parametrize(("verb", "state", "held", "action"), FATES)
async def test_where_the_planner_is_quicker_its_run_is_taken(
    verb: str, state: RunState, held: Hold, action: Action, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House()
    control = await open_control(house)
    write = house.memory.ledger.plan_by_name

    async def after_the_planner(*given: Any, **rest: Any) -> object:
        await plan(house)
        return await write(*given, **rest)

    monkeypatch.setattr(house.memory.ledger, "plan_by_name", after_the_planner)
    run = await getattr(ticks, verb)(control, "invoices", at(60))
    assert (run.state, run.held) == (state, held)
    assert run.epoch > 0
    assert await logged(control, subject=run.run_key) == [(action, run.run_key)]


@pytest.mark.parametrize("verb", ["skip", "hold"])
async def test_an_edit_or_a_pause_that_is_quicker_leaves_nothing_behind(
    verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House()
    control = await open_control(house)
    write = house.memory.ledger.plan_by_name

    async def after_the_pause(*given: Any, **rest: Any) -> object:
        await house.memory.schedules.pause(NS, ScheduleId("invoices"), "enough")
        return await write(*given, **rest)

    monkeypatch.setattr(house.memory.ledger, "plan_by_name", after_the_pause)
    with pytest.raises(UsageError, match="has no run; see: fencepost why invoices"):
        await getattr(ticks, verb)(control, "invoices", at(6_000))
    assert await house.runs() == []
