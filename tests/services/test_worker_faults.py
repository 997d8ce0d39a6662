"""Workers that lose a run, an answer or their time: nothing is done twice, and nothing is kept secret."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from fencepost.errors import StoreUnavailable
from fencepost.model.run import RunState
from tests.services.conftest import Lines
from tests.services.house import NS, Bench, House, PlanningNode, WorkingNode, make_job, until


async def succeed() -> str:
    return "done"


async def open_node(house: House, work: Any, **options: Any) -> WorkingNode:
    node = WorkingNode(house, make_job(work, **options))
    await node.register()
    return node


async def test_a_run_lost_to_another_attempt_is_stopped_and_not_reported(lines: Lines) -> None:
    house, bench = House(), Bench()
    node = await open_node(house, bench)
    run_key = await house.enqueue("1")
    await node.worker.run_once()
    house.clock.advance(31)
    await node.reaper.run_once()

    await node.heartbeat.run_once()
    await node.reported(0)
    assert bench.stopped == [run_key]
    assert "ledger.finish" not in house.store.names()
    assert len(node.active) == 0
    assert [line["run_key"] for line in lines.about("lost to another attempt")] == [run_key]
    assert (await house.run(run_key)).state is RunState.READY


async def test_a_late_report_changes_nothing(lines: Lines) -> None:
    house, bench = House(), Bench()
    node = await open_node(house, bench)
    run_key = await house.enqueue("1")
    await node.worker.run_once()
    house.clock.advance(31)
    await node.reaper.run_once()
    bench.finish.set()
    await node.reported(0)
    assert (await house.run(run_key)).state is RunState.READY
    (line,) = lines.about("late report refused")
    assert line["run_key"] == run_key
    assert len(node.active) == 0


async def test_a_heartbeat_keeps_a_long_run_alive() -> None:
    house, bench = House(), Bench()
    node = await open_node(house, bench)
    run_key = await house.enqueue("1")
    await node.worker.run_once()
    for _ in range(5):
        house.clock.advance(20)
        await node.heartbeat.run_once()
        await node.reaper.run_once()
    assert (await house.run(run_key)).state is RunState.RUNNING
    bench.finish.set()
    await node.reported(0)


async def test_a_run_cancelled_by_an_operator_stops() -> None:
    house, bench = House(), Bench()
    node = await open_node(house, bench)
    run_key = await house.enqueue("1")
    await node.worker.run_once()
    await until(lambda: bench.now == 1)
    await house.memory.ledger.cancel(NS, run_key, "enough")
    await node.heartbeat.run_once()
    await node.reported(0)
    run = await house.run(run_key)
    assert (run.state, run.reason) == (RunState.CANCELLED, "stopped on request")
    assert bench.stopped == [run_key]


@pytest.mark.parametrize("claim", ["ledger.claim_direct", "ledger.claim_ticks"])
async def test_runs_whose_claim_was_not_answered_are_adopted(claim: str, lines: Lines) -> None:
    house = House()
    node = await open_node(house, succeed)
    await house.put("beat", every_s=10)
    await plan(house)
    house.clock.advance(10)
    if claim == "ledger.claim_direct":
        await house.enqueue("1", priority=1)
    house.store.fail_after(claim)
    with pytest.raises(StoreUnavailable):
        await node.worker.run_once()
    assert (await house.states()).count(RunState.RUNNING) == 1
    await node.work()
    assert RunState.RUNNING not in await house.states()
    assert len(lines.about("adopted after a lost answer")) == 1
    run = next(one for one in await house.runs() if one.state is RunState.SUCCEEDED)
    assert run.attempt == 1


async def test_a_run_that_waits_for_its_report_is_not_adopted_a_second_time() -> None:
    house, bench = House(), Bench()
    bench.finish.set()
    node = await open_node(house, bench)
    run_key = await house.enqueue("1")
    await node.worker.run_once()
    await until(lambda: node.reporter.backlog == 1)
    house.store.fail_before("ledger.outlook")
    with pytest.raises(StoreUnavailable):
        await node.worker.run_once()
    await node.work()
    assert bench.begun == [run_key]


async def test_an_unconfirmed_adoption_is_asked_for_again() -> None:
    house = House()
    node = await open_node(house, succeed)
    run_key = await house.enqueue("1")
    house.store.fail_after("ledger.claim_direct")
    house.store.fail_after("ledger.adopt")
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            await node.worker.run_once()
    await node.work()
    assert (await house.run(run_key)).state is RunState.SUCCEEDED


async def test_a_stopping_worker_claims_nothing_more() -> None:
    house = House()
    node = await open_node(house, succeed)
    run_key = await house.enqueue("1")
    await node.worker.stop(0)
    await node.work()
    assert (await house.run(run_key)).state is RunState.READY


async def test_a_stopping_worker_lets_work_finish_within_the_grace() -> None:
    house, bench = House(), Bench()
    node = await open_node(house, bench)
    run_key = await house.enqueue("1")
    await node.worker.run_once()
    await until(lambda: bench.now == 1)
    stopping = asyncio.create_task(node.worker.stop(5))
    await asyncio.sleep(0)
    bench.finish.set()
    await stopping
    await node.reported(0)
    assert (await house.run(run_key)).state is RunState.SUCCEEDED
    assert bench.stopped == []


@pytest.mark.parametrize(
    ("at_most_once", "attempts", "state"),
    [(False, 3, RunState.READY), (False, 1, RunState.DEAD), (True, 3, RunState.DEAD)],
)
async def test_work_that_does_not_finish_within_the_grace_is_handed_back_where_it_may_run_again(
    at_most_once: bool, attempts: int, state: RunState
) -> None:
    house, bench = House(), Bench()
    node = await open_node(house, bench, at_most_once=at_most_once, attempts=attempts)
    run_key = await house.enqueue("1")
    await node.worker.run_once()
    await until(lambda: bench.now == 1)
    await node.worker.stop(0.01)
    await node.reported(0)
    run = await house.run(run_key)
    assert (run.state, run.attempt) == (state, 1)
    assert run.run_at <= await house.store.now()
    assert bench.stopped == [run_key]


async def test_work_that_cannot_be_stopped_is_not_handed_back_while_it_goes_on(lines: Lines) -> None:
    go_on = threading.Event()

    def blocking() -> None:
        go_on.wait(10)

    house = House()
    node = await open_node(house, blocking)
    run_key = await house.enqueue("1")
    await node.worker.run_once()
    await node.worker.stop(0.01)
    assert node.reporter.backlog == 0
    assert (await house.run(run_key)).state is RunState.RUNNING
    assert len(lines.about("cannot be stopped; left to be rescued")) == 1
    go_on.set()
    await node.reported(0)


async def plan(house: House) -> None:
    """Write what is ahead, as the leader of everything."""
    node = PlanningNode(house, "planner")
    await node.elector.run_once()
    await node.planner.run_once()
