"""An application's schedules come into force once, whatever replicas do around it."""

from __future__ import annotations

import asyncio

import pytest

from fencepost.errors import StoreUnavailable
from fencepost.model.identifiers import JobName, NodeId, ScheduleId
from fencepost.model.job import JobSpec
from fencepost.model.node import Node, NodeReport
from fencepost.model.quotas import Quotas
from fencepost.model.schedule import ScheduleSpec, ScheduleState
from fencepost.services.deployer import BATCH_MAX, IDLE_S, LOOK_AGAIN_S, LOOKS_MAX, Deployer, code_digest
from fencepost.triggers import Calendar, Cron, Every
from tests.services.house import NS, House

BEAT, OTHER = ScheduleId("beat"), ScheduleId("other")
JOBS = {"report": JobSpec(JobName("report"))}


def spec(seconds: int) -> ScheduleSpec:
    return ScheduleSpec(JobName("report"), Every(seconds).to_json())


OLD, NEW, EDITED = spec(60), spec(30), spec(45)


def deployer(house: House, **schedules: ScheduleSpec) -> Deployer:
    return Deployer(house.store, NS, JOBS, by_id(schedules))


def by_id(schedules: dict[str, ScheduleSpec]) -> dict[ScheduleId, ScheduleSpec]:
    return {ScheduleId(name): one for name, one in schedules.items()}


async def alive(house: House, name: str, **schedules: ScheduleSpec) -> None:
    """A replica of the code that brings these schedules."""
    digest = code_digest(by_id(schedules))
    node = Node(NodeId(name), name, 1, plans=True, works=True, code_digest=digest)
    await house.memory.nodes.beat(node, NodeReport(), 1_000_000)


async def in_force(house: House) -> tuple[ScheduleSpec, int]:
    schedule = await house.memory.schedules.get(NS, BEAT)
    assert schedule is not None
    return schedule.spec, schedule.version


async def test_jobs_and_schedules_come_into_the_store() -> None:
    house = House()
    await deployer(house, beat=OLD, other=NEW).start()
    assert await house.memory.jobs.all(NS) == {JobName("report"): JOBS["report"]}
    assert await in_force(house) == (OLD, 1)
    assert await house.memory.schedules.get(NS, OTHER) is not None


async def test_a_restart_changes_nothing() -> None:
    house = House()
    await deployer(house, beat=OLD).start()
    puts = len(house.store.arguments("schedules.put_many"))
    await deployer(house, beat=OLD).start()
    assert len(house.store.arguments("schedules.put_many")) == puts
    assert await in_force(house) == (OLD, 1)


async def test_an_old_replica_that_restarts_in_mid_deploy_changes_nothing() -> None:
    house = House()
    await deployer(house, beat=OLD).start()
    await alive(house, "old", beat=OLD)
    await deployer(house, beat=NEW).start()
    await alive(house, "new", beat=NEW)
    restarted = deployer(house, beat=OLD)
    await restarted.start()
    assert await restarted.run_once() == LOOK_AGAIN_S
    assert await in_force(house) == (NEW, 2)


async def test_an_old_replica_changes_nothing_beside_code_that_only_kept_the_spec() -> None:
    """The release that brought the spec has gone, but a later one still stands for it."""
    house = House()
    await deployer(house, beat=OLD).start()
    await deployer(house, beat=NEW).start()
    await deployer(house, beat=NEW, other=OLD).start()
    await alive(house, "latest", beat=NEW, other=OLD)
    await deployer(house, beat=OLD).start()
    assert await in_force(house) == (NEW, 2)


async def test_vouching_for_a_spec_does_not_undo_an_edit_made_meanwhile() -> None:
    house = House()
    await deployer(house, beat=OLD).start()
    newer = deployer(house, beat=OLD, other=OLD)
    held = house.store.hold("schedules.put_many")
    starting = asyncio.create_task(newer.start())
    await held.reached.wait()
    await house.memory.schedules.put(NS, BEAT, EDITED, tzdata="2026a", expected_version=1)
    held.go.set()
    await starting
    assert await in_force(house) == (EDITED, 2)


async def test_a_rollback_takes_force_once_the_last_new_replica_has_gone() -> None:
    house = House()
    await deployer(house, beat=OLD).start()
    await deployer(house, beat=NEW).start()
    await alive(house, "new", beat=NEW)
    old = deployer(house, beat=OLD)
    await old.start()
    assert await in_force(house) == (NEW, 2)
    await house.memory.nodes.leave(NodeId("new"))
    assert await old.run_once() == LOOK_AGAIN_S
    assert await in_force(house) == (NEW, 2)
    rests_s = [await old.run_once() for _ in range(LOOKS_MAX)]
    assert rests_s[-1] == IDLE_S
    assert await in_force(house) == (OLD, 3)
    await old.run_once()
    assert await in_force(house) == (OLD, 3)


async def test_old_code_does_not_win_because_the_new_nodes_are_late_after_an_outage() -> None:
    house = House()
    await deployer(house, beat=OLD).start()
    await deployer(house, beat=NEW).start()
    old = deployer(house, beat=OLD)
    await old.start()
    house.store.fail_before("nodes.live")
    with pytest.raises(StoreUnavailable):
        await old.run_once()
    await old.run_once()
    assert await in_force(house) == (NEW, 2)
    await alive(house, "new", beat=NEW)
    await old.run_once()
    assert await in_force(house) == (NEW, 2)


async def test_an_operators_edit_survives_a_restart_but_not_new_code() -> None:
    house = House()
    await deployer(house, beat=OLD).start()
    await house.put_spec("beat", EDITED)
    await deployer(house, beat=OLD).start()
    assert await in_force(house) == (EDITED, 2)
    await deployer(house, beat=NEW).start()
    assert await in_force(house) == (NEW, 3)


async def test_what_an_operator_removed_stays_removed() -> None:
    house = House()
    await deployer(house, beat=OLD).start()
    await house.memory.schedules.remove(NS, BEAT)
    await deployer(house, beat=OLD).start()
    schedule = await house.memory.schedules.get(NS, BEAT)
    assert schedule is not None
    assert schedule.state is ScheduleState.REMOVED


async def test_a_paused_schedule_is_not_woken_by_new_code() -> None:
    house = House()
    await deployer(house, beat=OLD).start()
    await house.memory.schedules.pause(NS, BEAT, "quiet")
    await deployer(house, beat=NEW).start()
    schedule = await house.memory.schedules.get(NS, BEAT)
    assert schedule is not None
    assert (schedule.state, schedule.spec) == (ScheduleState.PAUSED, NEW)


async def test_a_start_that_broke_off_can_be_repeated() -> None:
    house = House()
    house.store.fail_after("schedules.put_many")
    first = deployer(house, beat=OLD, other=NEW)
    try:
        await first.start()
    except Exception:
        await first.start()
    assert await in_force(house) == (OLD, 1)
    assert await house.memory.schedules.get(NS, OTHER) is not None


async def test_many_schedules_are_looked_at_and_written_a_batch_at_a_time() -> None:
    house = House()
    many = {f"beat-{number:04}": OLD for number in range(BATCH_MAX + 500)}
    await deployer(house, **many).start()
    assert [len(given[1]) for given in house.store.arguments("schedules.put_many")] == [BATCH_MAX, 500]
    asked = len(house.store.calls)
    await deployer(house, **many).start()
    assert len(house.store.arguments("schedules.put_many")) == 2
    assert len(house.store.calls) - asked < 12, house.store.calls[asked:]
    await deployer(house, **many | {"beat-0000": NEW}).start()
    page = await house.memory.schedules.page(NS, None, 3)
    assert [one.version for one in page] == [2, 1, 1]
    assert len({one.code_digest for one in page}) == 1


async def test_a_schedule_that_is_refused_does_not_keep_others_of_its_batch_out() -> None:
    house = House()
    missing = ScheduleSpec(JobName("report"), Calendar("de").keep(Cron("0 6 * * *")).to_json())
    quotas = Quotas(schedules=3)
    few = {"a": OLD, "b": missing, "c": OLD, "d": OLD, "e": OLD}
    new = Deployer(house.store, NS, JOBS, by_id(few), quotas=quotas)
    await new.start()
    page = await house.memory.schedules.page(NS, None, 9)
    assert [one.schedule_id for one in page] == ["a", "c", "d"]
    assert await new.run_once() == LOOK_AGAIN_S


async def test_old_code_does_not_win_because_its_batch_is_tried_again_in_halves() -> None:
    house = House()
    await deployer(house, beat=OLD).start()
    await deployer(house, beat=NEW).start()
    some = by_id({"beat": OLD, "x": OLD, "y": OLD})
    old = Deployer(house.store, NS, JOBS, some, quotas=Quotas(schedules=2))
    await old.start()
    assert await in_force(house) == (NEW, 2)


def test_the_digest_tells_code_apart_and_not_the_order() -> None:
    assert code_digest({BEAT: OLD, OTHER: NEW}) == code_digest({OTHER: NEW, BEAT: OLD})
    assert code_digest({BEAT: OLD}) != code_digest({BEAT: NEW})
    assert code_digest({BEAT: OLD}) != code_digest({OTHER: OLD})
