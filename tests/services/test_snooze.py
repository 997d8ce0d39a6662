"""A job that cannot do its work yet comes again later, spends no attempt, and does not do so for ever."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from fencepost import Snooze
from fencepost.errors import WaitTimeout
from fencepost.executors.callable import CallableExecutor
from fencepost.executors.process import ProcessExecutor, ProcessPool
from fencepost.model.identifiers import JobName
from fencepost.model.job import JobSpec, Retry
from fencepost.model.run import RunState
from fencepost.model.run_log import LOG_BEGIN
from fencepost.ports.executor import Job
from fencepost.services.explainer import Explainer
from fencepost.services.results import wait_for_end
from tests.executors import far_functions as far
from tests.services.house import NS, House, WorkingNode

WHY = "the export is not there yet"


async def node_of(house: House, work: Callable[..., Any], **retry: Any) -> WorkingNode:
    spec = JobSpec(JobName("report"), retry=Retry(max_attempts=1, **retry))
    node = WorkingNode(house, Job(spec, CallableExecutor(work)))
    await node.register()
    return node


async def on_the_loop() -> None:
    raise Snooze("10m", WHY)


def in_a_thread() -> None:
    raise Snooze("10m", WHY)


@pytest.mark.parametrize("work", [on_the_loop, in_a_thread])
async def test_a_snooze_does_not_spend_the_only_attempt(work: Callable[..., Any]) -> None:
    house = House()
    node = await node_of(house, work)
    key = await house.enqueue("one")
    fences = []
    for number in range(1, 4):
        await node.work()
        run = await house.run(key)
        assert (run.state, run.attempt, run.attempts_before_replay) == (RunState.READY, number, number)
        assert run.reason == f"snoozed for 10m: {WHY}"
        assert run.run_at == house.clock.wall() + timedelta(minutes=10)
        fences.append(run.fence)
        house.clock.advance(599)
        await node.work()
        assert (await house.run(key)).attempt == number
        house.clock.advance(1)
    assert fences == sorted(set(fences))


async def test_a_snooze_in_a_child_process_does_not_spend_the_only_attempt() -> None:
    house, pool = House(), ProcessPool(lambda: 1)
    spec = JobSpec(JobName("report"), retry=Retry(max_attempts=1), open_payload=True)
    node = WorkingNode(house, Job(spec, ProcessExecutor(far.snooze, pool)))
    await node.register()
    try:
        key = await house.enqueue("one", wait="10m")
        await node.work()
        run = await house.run(key)
        assert (run.state, run.attempts_before_replay, run.reason) == (
            RunState.READY,
            1,
            f"snoozed for 10m: {WHY}",
        )
        assert run.run_at == house.clock.wall() + timedelta(minutes=10)
    finally:
        await pool.close()


async def test_a_failure_after_a_snooze_is_the_first() -> None:
    async def work() -> None:
        raise Snooze(60) if not failing else ValueError("no")

    failing: list[bool] = []
    house = House()
    node = await node_of(house, work)
    key = await house.enqueue("one")
    await node.work()
    failing.append(True)
    house.clock.advance(60)
    await node.work()
    run = await house.run(key)
    assert (run.state, run.reason) == (RunState.DEAD, "failed 1 of 1 attempts")
    words = " ".join((await Explainer(house.memory, NS).why_run(key)).sentences)
    assert "It failed for good at 2026-03-01T12:01:00Z, after one attempt: " in words


async def test_who_waits_for_a_run_that_snoozes_is_not_told_to_start_a_worker() -> None:
    house = House()
    node = await node_of(house, on_the_loop)
    key = await house.enqueue("one")
    await node.work()
    with pytest.raises(WaitTimeout, match="is ready after 0s, and goes on; wait longer"):
        await wait_for_end(house.memory, NS, key, 0.0, 1.0)


async def test_a_wait_that_cannot_be_read_is_a_failure_that_says_so() -> None:
    async def work() -> None:
        raise Snooze("10 minutes", WHY)

    house = House()
    node = await node_of(house, work)
    key = await house.enqueue("one")
    await node.work()
    run = await house.run(key)
    said = f'Snooze: {WHY}; its wait "10 minutes" is no length of time, such as "10m"'
    assert (run.state, run.error) == (RunState.DEAD, said)


async def test_a_run_that_does_nothing_but_snooze_is_dead_in_the_end() -> None:
    house = House()
    node = await node_of(house, on_the_loop, deadline="25m")
    key = await house.enqueue("one")
    for _ in range(5):
        await node.work()
        house.clock.advance(600)
    run = await house.run(key)
    past = "that would be past the retry deadline of 25m"
    assert (run.state, run.reason) == (RunState.DEAD, f"snoozed for 10m: {WHY}; {past}")
    assert run.attempt == 3


async def test_a_snooze_is_in_the_log_of_the_run_and_in_why() -> None:
    house = House()
    node = await node_of(house, on_the_loop)
    key = await house.enqueue("one")
    await node.work()
    chunks = await house.memory.run_logs.read(NS, key, attempt=1, after=LOG_BEGIN, limit=10)
    assert [one.chunk.text for one in chunks] == [f"snoozed for 10m: {WHY}"]
    words = " ".join((await Explainer(house.memory, NS).why_run(key)).sentences)
    assert f"which spent no attempt: snoozed for 10m: {WHY}" in words
    assert f"due at 2026-03-01T12:10:00Z (snoozed for 10m: {WHY})" in words
