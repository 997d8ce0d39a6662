"""A storm of failures does not become a storm of retries, and no attempt begins past the deadline."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from fencepost.core.retry_budget import RESERVE
from fencepost.errors import RetryableFailure
from fencepost.executors.callable import CallableExecutor
from fencepost.model.clocks import later
from fencepost.model.identifiers import JobName
from fencepost.model.job import JobSpec, Retry
from fencepost.model.run import Claim, RunState
from fencepost.ports.executor import Job
from tests.services.house import House, WorkingNode
from tests.virtual_loop import run_virtually

RUNS = 30
FAST_S, SLOW_S = 5.0, 225.0
"""With dice of one half: half of the base, and three quarters of the cap."""
SPENT = "waits for a retry; at the pace of the cap, as the retry budget is spent"


async def fail() -> None:
    raise ConnectionError("the target is down")


async def open_node(house: House, work: Any, retry: Retry) -> WorkingNode:
    node = WorkingNode(house, Job(JobSpec(JobName("report"), retry=retry), CallableExecutor(work)))
    await node.register()
    return node


async def attempts(house: House) -> Counter[int]:
    """How many runs have had how many attempts."""
    return Counter(run.attempt for run in await house.runs())


async def storm(house: House, node: WorkingNode) -> None:
    for number in range(RUNS):
        await house.enqueue(str(number))
    await node.work()


async def test_a_storm_of_failures_retries_at_the_pace_of_the_cap() -> None:
    house = House(concurrency=100)
    node = await open_node(house, fail, Retry(3, base="10s", cap="5m"))
    await storm(house, node)
    assert await attempts(house) == {1: RUNS}
    reasons = Counter(run.reason for run in await house.runs())
    assert reasons == {"waits for a retry": RESERVE, SPENT: RUNS - RESERVE}

    house.clock.advance(FAST_S)
    await node.work()
    house.clock.advance(SLOW_S - FAST_S - 1)
    await node.work()
    assert await attempts(house) == {1: RUNS - RESERVE, 2: RESERVE}

    house.clock.advance(1)
    await node.work()
    assert (await attempts(house))[1] == 0


async def test_no_run_of_a_storm_is_lost() -> None:
    house = House(concurrency=100)
    node = await open_node(house, fail, Retry(3, base="10s", cap="5m"))
    await storm(house, node)
    for _ in range(4):
        house.clock.advance(SLOW_S)
        await node.work()
    runs = await house.runs()
    assert {(run.state, run.reason) for run in runs} == {(RunState.DEAD, "failed 3 of 3 attempts")}
    assert await attempts(house) == {3: RUNS}


async def test_without_a_budget_every_failure_is_retried_fast() -> None:
    house = House(concurrency=100)
    node = await open_node(house, fail, Retry(3, base="10s", cap="5m", budget=None))
    await storm(house, node)
    house.clock.advance(FAST_S)
    await node.work()
    assert await attempts(house) == {2: RUNS}


async def test_first_attempts_pay_for_retries_again_and_retries_do_not() -> None:
    house = House(concurrency=100)
    node = await open_node(house, fail, Retry(5, base="10s", cap="5m", budget=0.5))
    await storm(house, node)
    house.clock.advance(SLOW_S)
    await node.work()
    assert {run.reason for run in await house.runs()} == {SPENT}

    for key in ("a", "b"):
        await house.enqueue(key)
        await node.work()
    assert (await house.run("report#a")).reason == SPENT
    assert (await house.run("report#b")).reason == "waits for a retry"


async def test_a_run_waits_as_long_as_its_failure_asks_to() -> None:
    async def busy() -> None:
        raise RetryableFailure("busy", retry_after="10m")

    house = House()
    node = await open_node(house, busy, Retry(3, base="10s", cap="5m"))
    run_key = await house.enqueue("1")
    await node.work()
    run = await house.run(run_key)
    assert run.reason == "waits for a retry, as long as it asked to"
    assert run.run_at == house.clock.wall() + timedelta(minutes=10)


@pytest.mark.parametrize(
    ("retry", "state"),
    [
        (Retry(only=OSError), RunState.READY),
        (Retry(only="ConnectionError"), RunState.READY),
        (Retry(only=ValueError), RunState.DEAD),
        (Retry(never=OSError), RunState.DEAD),
        (Retry(never="builtins.ConnectionError"), RunState.DEAD),
        (Retry(never=ValueError), RunState.READY),
    ],
)
async def test_an_error_that_the_policy_excludes_is_not_retried(retry: Retry, state: RunState) -> None:
    house = House()
    node = await open_node(house, fail, retry)
    run_key = await house.enqueue("1")
    await node.work()
    assert (await house.run(run_key)).state is state


async def claim(house: House, node: WorkingNode) -> Claim:
    await house.enqueue("1")
    (claimed,) = await house.memory.ledger.claim_direct(node.worker._claim_request, 1)
    return claimed


async def begin(node: WorkingNode, claimed: Claim) -> None:
    node.worker._begin([claimed])
    await node.reported(0)


async def test_an_attempt_that_is_granted_past_the_deadline_is_not_begun() -> None:
    """The run was due in time, but no worker came for it, or the one that had it died."""
    done: list[str] = []

    async def report() -> None:
        done.append("once")

    house = House()
    node = await open_node(house, report, Retry(deadline="1m"))
    claimed = await claim(house, node)
    await begin(node, replace(claimed, first_started_at=later(claimed.started_at, -61)))
    run = await house.run(claimed.run_key)
    assert (done, run.state) == ([], RunState.DEAD)
    assert run.reason == "61s after the first attempt began, past the retry deadline of 1m"


@pytest.mark.parametrize(("begun_s", "state"), [(-54, RunState.READY), (-56, RunState.DEAD)])
async def test_the_deadline_counts_from_the_first_attempt(begun_s: float, state: RunState) -> None:
    house = House()
    node = await open_node(house, fail, Retry(base="10s", deadline="1m"))
    claimed = await claim(house, node)
    await begin(node, replace(claimed, first_started_at=later(claimed.started_at, begun_s)))
    assert (await house.run(claimed.run_key)).state is state


@pytest.mark.parametrize(("took_s", "state"), [(54.0, RunState.READY), (56.0, RunState.DEAD)])
def test_the_deadline_counts_how_long_the_attempt_itself_took(took_s: float, state: RunState) -> None:
    async def slow() -> None:
        await asyncio.sleep(took_s)
        raise ConnectionError("too slow")

    async def tell() -> RunState:
        house = House()
        node = await open_node(house, slow, Retry(base="10s", deadline="1m"))
        run_key = await house.enqueue("1")
        await node.worker.run_once()
        await asyncio.wait(node.worker._tasks)
        await node.reported(0)
        return (await house.run(run_key)).state

    assert run_virtually(tell()) is state


async def test_the_first_attempt_after_a_replay_counts_as_a_first_one() -> None:
    house = House()
    node = await open_node(house, fail, Retry(max_attempts=2, budget=0.25))
    run_key = await house.enqueue("1")
    await node.work()
    house.clock.advance(60)
    (claimed,) = await house.memory.ledger.claim_direct(node.worker._claim_request, 1)
    await begin(node, replace(claimed, attempts_before_replay=1))
    assert (claimed.attempt, (await house.run(run_key)).state) == (2, RunState.READY)
    assert node.worker._attempts._budgets[claimed.job].balance == RESERVE - 1 + 0.25 - 1
