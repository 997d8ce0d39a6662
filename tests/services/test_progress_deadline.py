"""A job that does not say that it gets on is stopped and fails, even where its loop or its thread is
blocked."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from fencepost.errors import InvalidSpec
from fencepost.model.claiming import ClaimRequest
from fencepost.model.codec import job_from_text, job_to_text
from fencepost.model.identifiers import JobName, NodeId
from fencepost.model.job import JobSpec
from fencepost.model.run import RunState
from fencepost.ports.executor import Job
from fencepost.ports.run import Run
from fencepost.services.accounting import Auditor
from fencepost.services.active import ActiveRun
from fencepost.services.progress import until_stuck
from tests.services.house import NS, House, WorkingNode, make_job
from tests.virtual_loop import VirtualLoop

MINUTE_S = 60.0


def with_deadline(job: Job, seconds: float) -> Job:
    return replace(job, spec=replace(job.spec, progress_deadline=timedelta(seconds=seconds)))


async def open_node(house: House, work: Any, deadline_s: float, **options: Any) -> WorkingNode:
    node = WorkingNode(house, with_deadline(make_job(work, **options), deadline_s))
    await node.register()
    return node


async def test_a_job_that_says_nothing_is_stopped_and_tried_again() -> None:
    house, stopped = House(), []

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            stopped.append(1)
            raise

    node = await open_node(house, hang, 0.05)
    run_key = await house.enqueue("1")
    await node.work()
    run = await house.run(run_key)
    assert (run.state, run.error) == (RunState.READY, "NoProgress: no progress for 50ms")
    assert stopped == [1]


async def test_a_thread_that_says_nothing_is_left_behind() -> None:
    house, end, seen = House(), threading.Event(), []

    def hang(run: Run) -> None:
        end.wait(30)
        seen.append(run.cancelled)

    node = await open_node(house, hang, 0.05, attempts=1)
    run_key = await house.enqueue("1")
    await asyncio.wait_for(node.work(), 20)
    run = await house.run(run_key)
    assert (run.state, run.error) == (RunState.DEAD, "NoProgress: no progress for 50ms")
    end.set()
    async with asyncio.timeout(10):
        while not seen:  # noqa: ASYNC110 - a thread that nobody waits for has no event
            await asyncio.sleep(0.001)
    assert seen == [True]


async def test_a_job_that_gets_on_is_not_stopped() -> None:
    house = House()

    async def work(run: Run) -> str:
        for number in range(40):
            run.heartbeat(number / 40)
            await asyncio.sleep(0.01)
        return "done"

    node = await open_node(house, work, 30)
    run_key = await house.enqueue("1")
    await node.work()
    assert (await house.run(run_key)).state is RunState.SUCCEEDED


async def test_a_timeout_is_told_apart_from_no_progress() -> None:
    house = House()

    async def hang() -> None:
        await asyncio.Event().wait()

    node = await open_node(house, hang, 30, timeout_s=0.05)
    run_key = await house.enqueue("1")
    await node.work()
    assert (await house.run(run_key)).error == "TimedOut: longer than 0.05s"


async def test_a_job_that_fails_does_not_leave_its_watch_behind() -> None:
    house = House()

    async def fail() -> None:
        raise ConnectionError("no line")

    node = await open_node(house, fail, 30)
    await house.enqueue("1")
    before = len(asyncio.all_tasks())
    await node.work()
    await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) == before


def test_the_watch_goes_by_the_loop_s_own_time() -> None:
    """An hour of silence with a sign of progress every four minutes; then none."""
    loop = VirtualLoop()

    async def watch() -> float:
        run = Run(None)  # type: ignore[arg-type]
        watching = asyncio.ensure_future(until_stuck(run, 5 * MINUTE_S))
        for _ in range(15):
            await asyncio.sleep(4 * MINUTE_S)
            run.heartbeat()
            assert not watching.done()
        await watching
        return loop.time()

    begun = loop.time()
    ended = loop.run_until_complete(watch())
    loop.close()
    assert 65 * MINUTE_S <= ended - begun <= 66 * MINUTE_S


async def test_heartbeats_run_out_where_no_progress_is_made() -> None:
    house = House()
    await house.enqueue("1")
    claim_request = ClaimRequest(NodeId("worker-1"), house.settings.queues, (JobName("report"),), 30)
    (claim,) = await house.memory.ledger.claim_direct(claim_request, 1)
    one = ActiveRun(claim, quiet_beats_max=3)
    assert [one.use_beat() for _ in range(4)] == [True, True, True, False]
    one.run.heartbeat()
    assert [one.use_beat() for _ in range(4)] == [True, True, True, False]


async def test_work_that_is_over_does_not_run_out_of_heartbeats_while_its_report_waits() -> None:
    house = House()
    await house.enqueue("1")
    claim_request = ClaimRequest(NodeId("worker-1"), house.settings.queues, (JobName("report"),), 30)
    (claim,) = await house.memory.ledger.claim_direct(claim_request, 1)
    one = ActiveRun(claim, quiet_beats_max=1)
    one.attach(asyncio.create_task(asyncio.sleep(0)))
    await asyncio.wait({one.task})
    assert all(one.use_beat() for _ in range(5))


async def test_a_job_that_blocks_its_loop_is_left_to_be_rescued() -> None:
    """Its loop cannot stop it: only the heart, in a thread of its own, can let it go."""
    house = House(heartbeat_every_s=5, heartbeat_timeout_s=30)

    async def block() -> None:
        await asyncio.Event().wait()

    node = await open_node(house, block, 60)
    await house.enqueue("1")
    await node.worker.run_once()
    for _ in range(25):
        await node.heartbeat.run_once()
    assert len(house.store.arguments("ledger.pulse")) == (60 + 30) / 5
    node.worker.interrupt()
    await node.reported(0)


async def test_stuck_runs_are_found_by_their_progress() -> None:
    house = House()
    node = await open_node(house, lambda: None, 60)
    await house.enqueue("1")
    claim_request = ClaimRequest(NodeId("http/worker-1"), house.settings.queues, (JobName("report"),), 3600)
    (claim,) = await house.memory.ledger.claim_direct(claim_request, 1)
    active = ActiveRun(claim)
    active.attach(asyncio.create_task(asyncio.sleep(0)))
    node.active.add(active)
    verbs = Auditor(house.memory, NS)
    house.clock.advance(50)
    active.run.heartbeat(0.5, "half of it")
    await node.heartbeat.run_once()
    house.clock.advance(60)
    await house.memory.ledger.pulse([claim.ticket], 3600)
    assert list(await verbs.stuck()) == []
    house.clock.advance(1)
    (found,) = await verbs.stuck()
    assert found.why == "no progress for 1m1s, its deadline is 1m"
    assert (found.run.progress, found.run.note) == ("0.5", "half of it")


def test_a_progress_deadline_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidSpec, match="progress_deadline"):
        JobSpec(JobName("report"), progress_deadline=timedelta())


def test_a_spec_keeps_its_progress_deadline_and_says_nothing_where_there_is_none() -> None:
    spec = JobSpec(JobName("report"), progress_deadline=timedelta(minutes=5))
    assert job_from_text(job_to_text(spec)) == spec
    assert "progress_deadline" not in job_to_text(JobSpec(JobName("report")))
