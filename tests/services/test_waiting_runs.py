"""Runs that wait for their turn in a worker: their bounds and their heartbeats count from their beginning."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from fencepost.model.claiming import ClaimRequest
from fencepost.model.identifiers import JobName, NodeId
from fencepost.model.job import JobSpec, Retry
from fencepost.model.json import JsonObject
from fencepost.model.run import RunState
from fencepost.ports.executor import Job
from fencepost.ports.run import Run
from fencepost.services.active import ActiveRun
from fencepost.services.claiming import helpings
from tests.services.house import House, WorkingNode, until

REPORT, MAIL = JobName("report"), JobName("mail")
LIMIT = timedelta(seconds=0.05)


class Queueing:
    """Work that waits for its turn, then begins, and goes on until it may end."""

    stoppable = True
    queues = True

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.turn = asyncio.Event()
        self.finish = asyncio.Event()

    def check(self, payload: JsonObject) -> None: ...

    async def execute(self, run: Run) -> str | None:
        self.runs.append(run)
        await self.turn.wait()
        run.begun.set()
        await self.finish.wait()
        return None


async def open_node(house: House, work: Queueing, bound: str) -> WorkingNode:
    bounds: dict[str, Any] = {bound: LIMIT}
    spec = JobSpec(REPORT, retry=Retry(max_attempts=1), **bounds)
    node = WorkingNode(house, Job(spec, work))
    await node.register()
    return node


async def outwait() -> None:
    """So long that every bound is over, by the loop's own time."""
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    loop.call_later(4 * LIMIT.total_seconds(), over.set)
    await over.wait()


@pytest.mark.parametrize("bound", ["timeout", "progress_deadline"])
async def test_a_bound_does_not_count_before_the_work_begins(bound: str) -> None:
    house, work = House(), Queueing()
    node = await open_node(house, work, bound)
    run_key = await house.enqueue("1")
    await node.worker.run_once()
    await outwait()
    assert not work.runs[0].cancelled
    work.finish.set()
    work.turn.set()
    await node.reported(0)
    assert (await house.run(run_key)).state is RunState.SUCCEEDED


@pytest.mark.parametrize(
    ("bound", "error"),
    [("timeout", "TimedOut: longer than 0.05s"), ("progress_deadline", "NoProgress: no progress for 50ms")],
)
async def test_a_bound_counts_once_the_work_has_begun(bound: str, error: str) -> None:
    house, work = House(), Queueing()
    node = await open_node(house, work, bound)
    run_key = await house.enqueue("1")
    await node.worker.run_once()
    await outwait()
    work.turn.set()
    await node.reported(0)
    assert (await house.run(run_key)).error == error


async def test_a_run_that_is_interrupted_while_it_waits_leaves_nothing_behind() -> None:
    house, work = House(), Queueing()
    node = await open_node(house, work, "timeout")
    await house.enqueue("1")
    before = len(asyncio.all_tasks())
    await node.worker.run_once()
    await until(lambda: len(work.runs) == 1)
    node.worker.interrupt()
    await node.reported(0)
    await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) == before


async def test_a_run_that_waits_uses_up_none_of_its_heartbeats() -> None:
    house = House()
    await house.enqueue("1")
    claim_request = ClaimRequest(NodeId("worker-1"), house.settings.queues, (REPORT,), 30)
    (claim,) = await house.memory.ledger.claim_direct(claim_request, 1)
    for one in (ActiveRun(claim, beats_max=2), ActiveRun(claim, quiet_beats_max=2)):
        one.run.queue()
        assert all(one.use_beat() for _ in range(9))
        one.run.begun.set()
        assert [one.use_beat() for _ in range(3)] == [True, True, False]


async def test_a_run_that_ended_before_it_began_does_not_look_alive_for_ever() -> None:
    house = House()
    await house.enqueue("1")
    claim_request = ClaimRequest(NodeId("worker-1"), house.settings.queues, (REPORT,), 30)
    (claim,) = await house.memory.ledger.claim_direct(claim_request, 1)
    one = ActiveRun(claim, beats_max=2)
    one.run.queue()
    one.attach(asyncio.create_task(asyncio.sleep(0)))
    await asyncio.wait({one.task})
    assert [one.use_beat() for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize(
    ("queueing", "near", "asked"),
    [
        ((), -3, [((MAIL, REPORT), 20)]),
        ((REPORT,), 30, [((MAIL, REPORT), 20)]),
        ((REPORT,), 2, [((MAIL, REPORT), 2), ((MAIL,), 20)]),
        ((REPORT,), 0, [((MAIL,), 20)]),
        ((REPORT,), -3, [((MAIL,), 20)]),
        ((MAIL, REPORT), 2, [((MAIL, REPORT), 2)]),
        ((MAIL, REPORT), 0, []),
    ],
)
def test_what_would_only_wait_is_not_asked_for(
    queueing: tuple[JobName, ...], near: int, asked: list[tuple[tuple[JobName, ...], int]]
) -> None:
    claim_request = ClaimRequest(NodeId("worker-1"), (), (MAIL, REPORT), 30)
    found = helpings(claim_request, 20, [(queueing, near)])
    assert [(one.jobs, limit) for one, limit in found] == asked


@pytest.mark.parametrize(
    ("bounds", "asked"),
    [
        ([((MAIL,), 3), ((REPORT,), 5)], [((MAIL, REPORT), 3)]),
        ([((MAIL,), 0), ((REPORT,), 5)], [((REPORT,), 5)]),
        ([((MAIL,), 20), ((REPORT,), 5)], [((MAIL, REPORT), 5), ((MAIL,), 20)]),
    ],
)
def test_no_bound_is_exceeded(
    bounds: list[tuple[tuple[JobName, ...], int]], asked: list[tuple[tuple[JobName, ...], int]]
) -> None:
    claim_request = ClaimRequest(NodeId("worker-1"), (), (MAIL, REPORT), 30)
    assert [(one.jobs, limit) for one, limit in helpings(claim_request, 20, bounds)] == asked
