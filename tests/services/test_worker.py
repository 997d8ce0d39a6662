"""Workers take on what they have room for, and tell the truth about how it ended."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

from fencepost.errors import PermanentFailure, RetryableFailure
from fencepost.model.limits import JobLimit
from fencepost.model.run import RunState
from fencepost.ports.run import Run
from fencepost.services.attempt import DETAIL_LENGTH_MAX, ERROR_LENGTH_MAX
from fencepost.services.worker import BEGUN_MAX
from tests.services.house import NS, Bench, House, PlanningNode, WorkingNode, make_job, until


async def succeed() -> str:
    return "done"


async def fail() -> None:
    raise ValueError("no such month")


async def open_node(house: House, work: Any, name: str = "worker-1", **options: Any) -> WorkingNode:
    node = WorkingNode(house, make_job(work, **options), name=name)
    await node.register()
    return node


async def test_a_run_is_done_and_reported() -> None:
    house = House()
    node = await open_node(house, succeed)
    run_key = await house.enqueue("1")
    await node.work()
    run = await house.run(run_key)
    assert (run.state, run.attempt, run.worker) == (RunState.SUCCEEDED, 1, "worker-1")
    assert len(node.active) == 0


async def test_no_more_runs_at_once_than_the_concurrency() -> None:
    house, bench = House(concurrency=3), Bench()
    node = await open_node(house, bench)
    for number in range(8):
        await house.enqueue(str(number))
    for _ in range(3):
        await node.worker.run_once()
    await until(lambda: bench.now == 3)
    assert node.worker.room == 0
    assert (await house.memory.ledger.depth(NS)).running == 3

    bench.finish.set()
    for _ in range(5):
        await node.work()
    assert bench.most == 3
    assert set(await house.states()) == {RunState.SUCCEEDED}


async def test_without_room_the_store_is_not_asked() -> None:
    house, bench = House(concurrency=1), Bench()
    node = await open_node(house, bench)
    await house.enqueue("1")
    await node.worker.run_once()
    asked = len(house.store.calls)
    assert await node.worker.run_once() == house.settings.poll_s
    assert len(house.store.calls) == asked
    bench.finish.set()
    await node.reported(0)


async def test_an_urgent_run_does_not_wait_behind_others() -> None:
    house, bench = House(concurrency=1), Bench()
    bench.finish.set()
    node = await open_node(house, bench)
    for key, priority in (("last", 4), ("middle", 2), ("first", 1)):
        await house.enqueue(key, priority=priority)
    for _ in range(3):
        await node.work()
    assert bench.begun == ["report#first", "report#middle", "report#last"]


@pytest.mark.parametrize(("tick", "by_hand", "first"), [(1, 3, "beat"), (3, 1, "report"), (4, 2, "report")])
async def test_the_more_urgent_kind_goes_first(tick: int, by_hand: int, first: str) -> None:
    house, bench = House(concurrency=1), Bench()
    bench.finish.set()
    node = await open_node(house, bench)
    await house.put("beat", every_s=10, priority=tick)
    await plan(house)
    house.clock.advance(10)
    await house.enqueue("1", priority=by_hand)
    await node.work()
    assert [key.partition("#")[0] for key in bench.begun] == [first]


async def test_a_tick_is_not_started_before_its_time() -> None:
    house = House()
    node = await open_node(house, succeed)
    await house.put("beat", every_s=10)
    await plan(house)
    assert await node.worker.run_once() == house.settings.poll_s
    house.clock.advance(7)
    assert await node.worker.run_once() == pytest.approx(3)
    assert set(await house.states()) == {RunState.PLANNED}


async def test_no_two_runs_of_a_schedule_at_once_under_skip() -> None:
    house, bench = House(), Bench()
    first, second = await open_node(house, bench, "one"), await open_node(house, bench, "two")
    await house.put("beat", every_s=1)
    await plan(house)
    house.clock.advance(15)
    for node in (first, second, first, second):
        await node.worker.run_once()
    await until(lambda: bench.now == 1)
    assert bench.most == 1
    states = await house.states()
    assert (states.count(RunState.RUNNING), states.count(RunState.SKIPPED)) == (1, 14)
    bench.finish.set()
    for node in (first, second):
        await node.reported(0)


async def test_a_failure_is_retried_until_its_attempts_are_used_up() -> None:
    house = House()
    node = await open_node(house, fail, attempts=3)
    run_key = await house.enqueue("1")
    for attempt in (1, 2, 3):
        await node.work()
        assert (await house.run(run_key)).attempt == attempt
        house.clock.advance(60)
    run = await house.run(run_key)
    assert (run.state, run.reason) == (RunState.DEAD, "failed 3 of 3 attempts")
    attempts = await house.memory.ledger.attempts(NS, run_key)
    assert [one.error for one in attempts] == ["ValueError: no such month"] * 3
    assert all("in fail" in (one.detail or "") for one in attempts)
    assert len({one.fence for one in attempts}) == 3
    await node.work()
    assert (await house.run(run_key)).attempt == 3


async def test_a_retry_is_not_started_before_its_delay() -> None:
    house = House()
    node = await open_node(house, fail)
    run_key = await house.enqueue("1")
    await node.work()
    house.clock.advance(4.9)
    await node.work()
    assert (await house.run(run_key)).attempt == 1
    house.clock.advance(0.1)
    await node.work()
    assert (await house.run(run_key)).attempt == 2


async def test_a_permanent_failure_is_not_retried() -> None:
    async def give_up() -> None:
        raise PermanentFailure("the customer is gone")

    house = House()
    node = await open_node(house, give_up)
    run_key = await house.enqueue("1")
    await node.work()
    run = await house.run(run_key)
    assert (run.state, run.error) == (RunState.DEAD, "PermanentFailure: the customer is gone")


async def test_work_that_outlives_its_timeout_is_stopped_retried_and_given_up() -> None:
    house, bench = House(), Bench()
    node = await open_node(house, bench, attempts=2, timeout_s=0.01)
    run_key = await house.enqueue("1")
    await node.work()
    run = await house.run(run_key)
    assert (run.state, run.error) == (RunState.READY, "TimedOut: longer than 0.01s")
    house.clock.advance(60)
    await node.work()
    assert (await house.run(run_key)).state is RunState.DEAD
    assert bench.stopped == [run_key, run_key]


async def test_a_timeout_within_the_work_is_not_taken_for_the_jobs_own() -> None:
    async def impatient() -> None:
        async with asyncio.timeout(0):
            await asyncio.Event().wait()

    house = House()
    node = await open_node(house, impatient, timeout_s=60)
    run_key = await house.enqueue("1")
    await node.work()
    (attempt,) = await house.memory.ledger.attempts(NS, run_key)
    assert attempt.error == "TimeoutError"
    assert "in impatient" in (attempt.detail or "")


async def test_work_that_exits_does_not_take_the_worker_along() -> None:
    async def leave() -> None:
        sys.exit(3)

    house = House()
    node = await open_node(house, leave)
    run_key = await house.enqueue("1")
    await node.work()
    run = await house.run(run_key)
    assert (run.state, run.error) == (RunState.READY, "SystemExit: 3")


async def test_work_in_a_thread_that_exits_does_not_take_the_worker_along() -> None:
    house = House()
    node = await open_node(house, lambda: sys.exit(3))
    run_key = await house.enqueue("1")
    await node.work()
    assert (await house.run(run_key)).error == "SystemExit: 3"


async def test_work_that_cancels_itself_is_a_failure_and_no_interruption() -> None:
    async def confused() -> None:
        raise asyncio.CancelledError

    house = House()
    node = await open_node(house, confused)
    run_key = await house.enqueue("1")
    await node.work()
    run = await house.run(run_key)
    assert (run.reason, run.error) == ("waits for a retry", "CancelledError")
    assert run.run_at > await house.store.now()


async def test_errors_are_cut_to_what_the_ledger_keeps() -> None:
    async def verbose() -> None:
        raise ValueError("x" * 100_000)

    house = House()
    node = await open_node(house, verbose)
    run_key = await house.enqueue("1")
    await node.work()
    (attempt,) = await house.memory.ledger.attempts(NS, run_key)
    assert len(attempt.error or "") == ERROR_LENGTH_MAX
    assert len(attempt.detail or "") == DETAIL_LENGTH_MAX


async def test_the_output_of_a_failure_is_kept() -> None:
    async def chatty() -> None:
        failure = RetryableFailure("exit 1")
        failure.output = "last words"
        raise failure

    house = House()
    node = await open_node(house, chatty)
    run_key = await house.enqueue("1")
    await node.work()
    (attempt,) = await house.memory.ledger.attempts(NS, run_key)
    assert (attempt.error, attempt.output) == ("RetryableFailure: exit 1", "last words")


async def test_a_job_sees_its_run_and_its_fence() -> None:
    seen: list[Run] = []

    async def look(run: Run) -> None:
        seen.append(run)

    house = House()
    node = await open_node(house, look)
    await house.put("beat", every_s=10)
    await plan(house)
    house.clock.advance(10)
    await node.work()
    house.clock.advance(10)
    await node.work()
    first, second = seen
    assert first.key == "beat#2026-03-01T12:00:10Z#1"
    assert (first.attempt, first.version, first.epoch, first.previous) == (1, 1, 1, None)
    assert second.fence > first.fence
    assert second.previous == first.fire_time


async def test_reports_that_the_store_does_not_take_leave_less_room() -> None:
    house = House(concurrency=5, finish_batch_max=1)
    node = await open_node(house, succeed)
    for number in range(4):
        await house.enqueue(str(number))
    await node.worker.run_once()
    await until(lambda: node.reporter.backlog == 4 and not node.worker._tasks)
    assert node.worker.room == 5 - 3


async def plan(house: House) -> None:
    """Write what is ahead, as the leader of everything."""
    node = PlanningNode(house, "planner")
    await node.elector.run_once()
    await node.planner.run_once()


async def test_a_worker_that_waits_for_its_reports_goes_on_when_one_was_taken() -> None:
    house, bench = House(concurrency=1, finish_batch_max=1), Bench()
    node = await open_node(house, bench)
    bench.finish.set()
    for key in "abc":
        await house.enqueue(key)
    for _ in "ab":
        await node.worker.run_once()
        await until(lambda: node.worker.busy == 0)
    assert node.worker.room == 0
    await node.worker.wakeup.rest(0)
    assert await node.worker.run_once() == house.settings.poll_s
    await node.reporter.run_once()
    await asyncio.wait_for(node.worker.wakeup.rest(house.settings.poll_s), house.settings.poll_s / 2)


async def test_a_worker_without_room_does_not_take_what_it_saw_for_what_waits_later() -> None:
    house, bench = House(concurrency=1), Bench()
    node = await open_node(house, bench)
    bench.finish.set()
    await node.worker.run_once()
    for key in "ab":
        await house.enqueue(key)
        await node.worker.run_once()
        await until(lambda: node.worker.busy == 0)
    assert len(bench.begun) == 2


async def test_a_worker_whose_runs_began_one_turn_after_the_other_claims_more() -> None:
    house, bench = House(concurrency=100), Bench()
    node = await open_node(house, bench)
    for number in range(60):
        await house.enqueue(f"{number}")
    await node.worker.run_once()
    await house.enqueue("one more")
    await node.worker.run_once()
    assert len(node.worker._tasks) == BEGUN_MAX
    await until(lambda: len(node.worker._tasks) == 60)
    await asyncio.wait_for(node.worker.wakeup.rest(house.settings.poll_s), house.settings.poll_s / 2)
    await node.worker.run_once()
    await until(lambda: len(node.worker._tasks) == 61)
    bench.finish.set()
    await node.reported(0)


async def test_an_idle_worker_does_not_ask_for_runs_of_limited_jobs_before_it_looks_what_waits() -> None:
    house, bench = House(), Bench()
    node = await open_node(house, bench, limit=JobLimit(concurrency=1))
    await node.worker.run_once()
    run_key = await house.enqueue("1")
    held = house.store.hold("ledger.outlook")
    looking = asyncio.create_task(node.worker.run_once())
    await held.reached.wait()
    assert "ledger.claim_direct" not in house.store.names()
    held.go.set()
    await looking
    await until(lambda: bench.begun == [run_key])
    bench.finish.set()
    await node.reported(0)


async def test_an_idle_worker_that_hears_of_a_run_begins_it_before_it_looks_what_waits() -> None:
    house, bench = House(), Bench()
    node = await open_node(house, bench)
    await node.worker.run_once()
    run_key = await house.enqueue("1")
    held = house.store.hold_answer("ledger.outlook")
    looking = asyncio.create_task(node.worker.run_once())
    await held.reached.wait()
    await until(lambda: bench.begun == [run_key])
    held.go.set()
    await looking
    bench.finish.set()
    await node.reported(0)
