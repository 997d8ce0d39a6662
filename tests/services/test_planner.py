"""Ticks are written ahead, once, by the leader alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from fencepost.errors import StoreUnavailable
from fencepost.model.identifiers import JobName, NodeId, ScheduleId
from fencepost.model.plan import Plan, PlanningWindow, PlanReceipt
from fencepost.model.run import RunState
from fencepost.model.schedule import ScheduleSpec
from fencepost.services.planner import UNREADABLE_REST_S
from fencepost.testing.conformance.builders import register
from fencepost.triggers import Every
from tests.services.conftest import Lines
from tests.services.house import NS, START, House, PlanningNode


async def leader(house: House, name: str = "alice") -> PlanningNode:
    node = PlanningNode(house, name)
    await node.elector.run_once()
    return node


async def test_ticks_are_written_up_to_the_horizon_and_not_beyond() -> None:
    house = House()
    await house.put("beat", every_s=10)
    node = await leader(house)
    assert await node.planner.run_once() == house.settings.plan_every_s
    runs = await house.runs("beat")
    assert [one.fire_time for one in runs] == [START + timedelta(seconds=10 * n) for n in range(1, 7)]
    assert {(one.state, one.epoch) for one in runs} == {(RunState.PLANNED, 1)}


async def test_a_second_pass_writes_nothing_twice() -> None:
    house = House()
    await house.put("beat")
    node = await leader(house)
    await node.planner.run_once()
    await node.planner.run_once()
    assert len(await house.runs()) == 6


async def test_without_a_grant_the_store_is_not_even_asked() -> None:
    house = House()
    await house.put("beat")
    node = PlanningNode(house, "alice")
    await node.planner.run_once()
    assert house.store.calls == []


async def test_a_long_absence_is_planned_tick_by_tick() -> None:
    house = House(plan_ticks_max=50, plan_runs_max=120)
    await house.put("beat", every_s=10)
    house.clock.advance(3600)
    node = await leader(house)
    await node.planner.run_once()
    far = START + timedelta(days=1)
    (gone,) = await house.memory.ledger.missed_ranges(NS, ScheduleId("beat"), START, far)
    fire_times = [one.fire_time for one in await house.runs()]
    expected = list(Every(10).fire_times(START, START + timedelta(seconds=3660)))
    assert gone.count + len(fire_times) == len(expected)
    assert (gone.first, gone.last) == (expected[0], expected[gone.count - 1])
    assert fire_times == expected[gone.count :]


async def test_plans_that_another_keeps_from_being_written_are_not_made_over_and_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A schedule with more ticks than one plan takes is looked at again at once only while it gets on."""
    house = House(plan_ticks_max=2)
    await house.put("beat", every_s=10)
    node = await leader(house)

    async def pass_over(plans: Sequence[Plan]) -> PlanReceipt:
        return PlanReceipt(0, dropped=tuple(one.cursor.place for one in plans))

    with monkeypatch.context() as patch:
        patch.setattr(house.memory.plans, "write", pass_over)
        assert await node.planner.run_once() == house.settings.plan_every_s
    assert len(written(house)) == 1
    assert await node.planner.run_once() == house.settings.plan_every_s
    assert len(await house.runs()) == 6


async def test_no_write_is_larger_than_its_limit() -> None:
    house = House(plan_ticks_max=6, plan_runs_max=13)
    for number in range(10):
        await house.put(f"beat-{number}", every_s=10)
    node = await leader(house)
    await node.planner.run_once()
    writes = [sum(len(plan.ticks) for plan in plans) for (plans,) in written(house)]
    assert sum(writes) == 60
    assert max(writes) <= 13
    assert len(writes) >= 5


async def test_a_stale_epoch_writes_nothing_and_ends_the_belief(lines: Lines) -> None:
    house = House(shards=1)
    await house.put("beat")
    node = await leader(house)
    (grant,) = node.leadership.grants(house.clock.monotonic()).values()
    await register(house.memory, grant.shard, grant.epoch + 1)
    await node.planner.run_once()
    assert await house.runs() == []
    assert node.shards == set()
    assert grant.lost.is_set()
    (line,) = lines.about("write refused: the epoch is stale")
    assert (line["shard"], line["epoch"]) == (0, 1)
    (refusal,) = await house.memory.epochs.refusals(None, 10)
    assert (refusal.shard, refusal.epoch, refusal.holder) == (0, 1, node.node_id)
    assert refusal.known_epoch == 2


async def test_stepping_down_from_a_shard_does_not_wait_until_another_is_written_down() -> None:
    house = House(shards=2)
    for number in range(8):
        await house.put(f"beat-{number}")
    node = await leader(house)
    for shard, grant in node.leadership.grants(house.clock.monotonic()).items():
        await register(house.memory, shard, grant.epoch + 1)
    held = house.store.hold("epochs.note_refusal")
    planning = asyncio.create_task(node.planner.run_once())
    await held.reached.wait()
    assert node.shards == set()
    held.go.set()
    await planning
    assert {one.shard for one in await house.memory.epochs.refusals(None, 10)} == {0, 1}


async def test_a_stale_shard_does_not_cost_the_others_their_ticks() -> None:
    house = House()
    ids = [f"beat-{number}" for number in range(20)]
    for schedule_id in ids:
        await house.put(schedule_id)
    node = await leader(house)
    stale = house.shard_of(ids[0])
    await register(house.memory, stale, 50)
    await node.planner.run_once()
    for schedule_id in ids:
        expected = 0 if house.shard_of(schedule_id) == stale else 6
        assert len(await house.runs(schedule_id)) == expected


async def test_a_refusal_of_an_old_epoch_does_not_end_a_newer_grant() -> None:
    house = House(shards=1)
    await house.put("beat")
    node = await leader(house)
    writing = house.store.hold("plans.write")
    planning = asyncio.create_task(node.planner.run_once())
    await writing.reached.wait()
    house.clock.advance(20)
    await node.elector.run_once()
    assert node.epochs == {0: 2}
    writing.go.set()
    await planning
    assert node.epochs == {0: 2}
    await node.planner.run_once()
    assert len(await house.runs()) == 8


async def test_a_refusal_of_an_old_epoch_does_not_upset_a_campaign() -> None:
    house = House(shards=1)
    await house.put("beat")
    node = await leader(house)
    writing = house.store.hold("plans.write")
    planning = asyncio.create_task(node.planner.run_once())
    await writing.reached.wait()
    house.clock.advance(20)
    registering = house.store.hold_answer("epochs.register")
    electing = asyncio.create_task(node.elector.run_once())
    await registering.reached.wait()
    writing.go.set()
    await planning
    registering.go.set()
    await electing
    assert node.epochs == {0: 2}


async def test_a_deadline_that_passes_between_reading_and_writing_writes_nothing() -> None:
    house = House()
    await house.put("beat")
    node = await leader(house)
    slow = house.store.hold_answer("plans.window")
    planning = asyncio.create_task(node.planner.run_once())
    await slow.reached.wait()
    house.clock.advance(9)
    slow.go.set()
    await planning
    assert written(house) == []
    assert await house.runs() == []


async def test_a_leader_superseded_between_reading_and_writing_writes_nothing() -> None:
    house = House(shards=1)
    await house.put("beat")
    node = await leader(house)

    async def supersede() -> None:
        house.clock.advance(20)
        bob = NodeId("bob")
        await house.memory.leases.acquire([house.shard_of("beat")], bob, 10)
        await register(house.memory, house.shard_of("beat"), 2)

    house.store.before["plans.write"].append(supersede)
    await node.planner.run_once()
    assert await house.runs() == []


async def test_an_edit_between_reading_and_writing_is_not_followed_by_a_tick_of_the_old_spec() -> None:
    house = House()
    await house.put("beat", every_s=10)
    node = await leader(house)

    async def edit() -> None:
        await house.put("beat", every_s=30)

    house.store.before["plans.write"].append(edit)
    await node.planner.run_once()
    runs = await house.runs()
    assert {one.version for one in runs} <= {2}
    await node.planner.run_once()
    assert [(one.version, one.fire_time) for one in await house.runs()] == [
        (2, START + timedelta(seconds=30)),
        (2, START + timedelta(seconds=60)),
    ]


async def test_a_pause_between_reading_and_writing_leaves_nothing_planned() -> None:
    house = House()
    await house.put("beat")
    node = await leader(house)

    async def pause() -> None:
        await house.memory.schedules.pause(NS, ScheduleId("beat"), "quiet")

    house.store.before["plans.write"].append(pause)
    await node.planner.run_once()
    assert await house.runs() == []


UNREADABLE: list[dict[str, Any]] = [
    {"v": 1, "kind": "moon"},
    {"v": 99, "kind": "every", "interval": "1m"},
    {"v": 1, "kind": "every", "interval": "5 parsecs"},
    {"v": 1, "kind": "cron", "expression": "* * * * *", "tz": "Mars/Base"},
    {},
]


@pytest.mark.parametrize("trigger", UNREADABLE, ids=str)
async def test_a_schedule_that_cannot_be_read_does_not_stop_the_others(
    trigger: dict[str, Any], lines: Lines
) -> None:
    house = House(shards=1)
    await house.put_spec("aaa", ScheduleSpec(JobName("report"), trigger))
    await house.put("beat")
    node = await leader(house)
    await node.planner.run_once()
    assert len(await house.runs("beat")) == 6
    assert [line["schedule"] for line in lines.about("schedule cannot be planned")] == ["aaa"]


async def test_many_that_cannot_be_read_do_not_fill_the_window(lines: Lines) -> None:
    house = House(shards=1, plan_schedules_max=2)
    for number in range(9):
        await house.put_spec(f"aaa-{number}", ScheduleSpec(JobName("report"), UNREADABLE[0]))
    await house.put("beat")
    node = await leader(house)
    assert await node.planner.run_once() == house.settings.plan_every_s
    assert len(await house.runs("beat")) == 6
    assert len(lines.about("schedule cannot be planned")) == 9


async def test_what_cannot_be_read_is_looked_at_again_and_not_complained_of_again(lines: Lines) -> None:
    house = House(shards=1)
    await house.put_spec("aaa", ScheduleSpec(JobName("report"), UNREADABLE[0]))
    node = await leader(house)
    for looks in (1, 2, 3):
        await node.planner.run_once()
        await node.planner.run_once()
        assert len(house.store.arguments("plans.postpone")) == looks
        house.clock.advance(UNREADABLE_REST_S)
        await node.elector.run_once()
    assert len(lines.about("schedule cannot be planned")) == 1
    await house.put_spec("aaa", ScheduleSpec(JobName("report"), UNREADABLE[1]))
    await node.planner.run_once()
    assert [line["version"] for line in lines.about("schedule cannot be planned")] == [1, 2]


async def test_a_cursor_without_a_spec_does_not_stop_the_others_and_loses_nothing(
    lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(shards=1)
    await house.put("aaa")
    await house.put("beat")
    node = await leader(house)
    window = house.memory.plans.window

    async def half_read(*arguments: Any) -> PlanningWindow:
        found = await window(*arguments)
        cursors = [replace(one, spec=None) if one.schedule_id == "aaa" else one for one in found.cursors]
        return replace(found, cursors=tuple(cursors))

    with monkeypatch.context() as older_release:
        older_release.setattr(house.memory.plans, "window", half_read)
        await node.planner.run_once()
    assert (len(await house.runs("aaa")), len(await house.runs("beat"))) == (0, 6)
    assert [line["schedule"] for line in lines.about("schedule cannot be planned")] == ["aaa"]
    house.clock.advance(UNREADABLE_REST_S)
    await node.elector.run_once()
    await node.planner.run_once()
    assert len(await house.runs("aaa")) == 12


@pytest.mark.parametrize("lost", ["before", "after"])
async def test_a_write_without_an_answer_loses_and_repeats_nothing(lost: str) -> None:
    house = House()
    await house.put("beat")
    node = await leader(house)
    fail = house.store.fail_before if lost == "before" else house.store.fail_after
    fail("plans.write")
    with pytest.raises(StoreUnavailable):
        await node.planner.run_once()
    assert not node.leadership.writing.locked()
    await node.planner.run_once()
    assert len(await house.runs()) == 6


async def test_a_failover_loses_and_repeats_nothing() -> None:
    house = House(shards=1)
    await house.put("beat")
    alice, bob = await leader(house), PlanningNode(house, "bob")
    await alice.planner.run_once()
    house.clock.advance(45)
    await bob.elector.run_once()
    await bob.planner.run_once()
    fire_times = [one.fire_time for one in await house.runs()]
    assert fire_times == list(Every(10).fire_times(START, START + timedelta(seconds=105)))


def written(house: House) -> list[tuple[Any, ...]]:
    return house.store.arguments("plans.write")


async def test_a_clock_that_is_an_hour_ahead_for_some_seconds_writes_no_tick_off(lines: Lines) -> None:
    house = House()
    await house.put("beat", every_s=10)
    node = await leader(house)
    await node.planner.run_once()
    house.clock.set_back(-3600)
    for _ in range(3):
        await node.planner.run_once()
        house.clock.advance(5)
    await node.membership.run_once()
    house.clock.set_back(3600)
    await node.elector.run_once()
    await node.planner.run_once()
    runs = await house.runs("beat")
    assert [one.fire_time for one in runs] == [START + timedelta(seconds=10 * n) for n in range(1, 8)]
    assert RunState.MISSED not in await house.states("beat")
    (line,) = lines.about("the clock of the store was set ahead")
    assert line["by_s"] == 3600
    (record,) = await house.memory.nodes.live()
    assert record.report.set_ahead_s == 3600


async def test_a_clock_that_stays_ahead_is_followed_within_the_horizon(lines: Lines) -> None:
    house = House()
    await house.put("beat", every_s=10)
    node = await leader(house)
    await node.planner.run_once()
    house.clock.set_back(-3600)
    last = []
    for _ in range(7):
        await node.elector.run_once()
        await node.planner.run_once()
        last.append((await house.runs("beat"))[-1].fire_time - START)
        house.clock.advance(5)
    assert last == [timedelta(minutes=1)] * 6 + [timedelta(hours=1, minutes=1, seconds=30)]
    assert len(lines.about("the clock of the store was set ahead")) == 1


async def test_a_host_that_slept_plans_at_once(lines: Lines) -> None:
    house = House()
    await house.put("beat", every_s=10)
    node = await leader(house)
    await node.planner.run_once()
    house.clock.advance(3600)
    await node.elector.run_once()
    await node.planner.run_once()
    assert (await house.runs("beat"))[-1].fire_time == START + timedelta(seconds=3660)
    assert lines.about("the clock of the store was set ahead") == []
