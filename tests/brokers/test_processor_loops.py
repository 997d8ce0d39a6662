"""A job that blocks its event loop silences no other run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from fencepost.config import settings_from
from fencepost.executors.callable import CallableExecutor
from fencepost.model.job import JobSpec
from fencepost.model.run import RunState
from fencepost.ports.executor import Job
from fencepost.ports.run import Run
from fencepost.services.job_loop import JobLoop
from fencepost.services.processor import Processor
from fencepost.services.processors import Processors
from tests.brokers.post import THUMBS, Post, until


def processors(
    post: Post, function: Callable[..., Any], job_loop: JobLoop | None = None, grace_s: float = 0.0
) -> tuple[Processors, Processor]:
    """As `wiring` makes them."""
    job_loop = job_loop or JobLoop()
    jobs = {THUMBS: Job(JobSpec(THUMBS), CallableExecutor(function))}
    settings = settings_from({}, overrides={"poll_s": 0.05})
    link = post.link()
    one = Processor(THUMBS, jobs, link, settings, "processor-1", job_loop)
    return Processors(link, [one], grace_s, job_loop), one


async def test_a_job_that_blocks_its_loop_does_not_stop_the_heartbeats() -> None:
    post = Post(settings={"heartbeat_every_s": 0.02, "heartbeat_timeout_s": 30.0})
    blocked, unblocked = threading.Event(), threading.Event()

    async def resize() -> str:
        blocked.set()
        unblocked.wait(10)
        return "done"

    def beats() -> int:
        return sum(b'"heartbeat"' in one.body for one in post.broker.published)

    key, _ = await post.one_sent()
    each, _ = processors(post, resize)
    stop = asyncio.Event()
    running = asyncio.create_task(each.run(stop))
    await until(blocked.is_set)
    before = beats()
    assert not unblocked.is_set()
    await until(lambda: beats() >= before + 3)
    unblocked.set()
    await post.replies.run_once()
    await until(lambda: any(b'"succeeded"' in one.body for one in post.broker.published))
    stop.set()
    await running
    while await post.state(key) is RunState.RUNNING:
        await post.replies.run_once()
    assert await post.state(key) is RunState.SUCCEEDED


async def test_a_processor_that_stops_lets_its_work_end_and_reply() -> None:
    post = Post()
    begun, may_end = threading.Event(), threading.Event()

    async def resize() -> str:
        begun.set()
        await asyncio.to_thread(may_end.wait, 10)
        return "done"

    key, _ = await post.one_sent()
    each, _ = processors(post, resize, grace_s=10.0)
    stop = asyncio.Event()
    running = asyncio.create_task(each.run(stop))
    await until(begun.is_set)
    stop.set()
    await asyncio.sleep(0.05)
    assert not running.done()
    may_end.set()
    await asyncio.wait_for(running, 5)
    await post.replies.run_once()
    assert await post.state(key) is RunState.SUCCEEDED


async def test_no_more_messages_are_taken_while_a_job_blocks_its_loop() -> None:
    post = Post()
    blocked, unblocked = threading.Event(), threading.Event()

    async def resize() -> None:
        blocked.set()
        unblocked.wait(10)

    await post.one_sent()
    job_loop = JobLoop()
    one = processors(post, resize, job_loop)[1]
    job_loop.start()
    await one.run_once()
    await until(blocked.is_set)
    await post.enqueue("2")
    await post.deliver()
    await one.run_once()
    assert one.busy == 1
    unblocked.set()
    await one.run_once()
    assert one.busy == 2
    await one.stop(5.0, asyncio.Event())
    await job_loop.stop(5.0)


async def test_work_on_the_loop_of_jobs_is_not_over_before_it_has_cleaned_up() -> None:
    loop, cleaned, begun = JobLoop(), list[int](), threading.Event()
    loop.start()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.02)
            cleaned.append(1)

    future = loop.begin(work())
    await until(begun.is_set)
    future.cancel()
    await asyncio.wait({future}, timeout=10)
    assert (future.cancelled(), cleaned) == (True, [1])
    await loop.stop(5.0)


@pytest.mark.parametrize("error", [RuntimeError("odd"), SystemExit(3), KeyboardInterrupt()], ids=repr)
async def test_an_error_of_one_job_does_not_end_the_loop_of_jobs(error: BaseException) -> None:
    loop = JobLoop()
    loop.start()

    async def work() -> None:
        raise error

    future = loop.begin(work())
    await asyncio.wait({future}, timeout=10)
    assert future.exception() is error
    assert await loop.answers(5.0)
    await loop.stop(5.0)


async def test_the_run_of_a_job_is_told_to_stop_across_loops() -> None:
    post, begun = Post(), threading.Event()
    seen: list[bool] = []

    async def resize(run: Run) -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            seen.append(run.cancelled)

    await post.one_sent()
    each, one = processors(post, resize)
    stop = asyncio.Event()
    running = asyncio.create_task(each.run(stop))
    await until(begun.is_set)
    (work,) = one._works.values()
    work.stop("lost")
    await until(lambda: one.busy == 0)
    assert seen == [True]
    stop.set()
    await running
