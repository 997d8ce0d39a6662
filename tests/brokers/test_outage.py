"""A broker that is away takes no run from a processor that lives."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fencepost.model.identifiers import RunKey
from fencepost.model.run import RunState
from fencepost.services.broker_link import BrokerLink
from fencepost.services.reaper import Reaper
from fencepost.services.replies import Replies
from fencepost.testing.broker import MemoryBroker
from tests.brokers.post import NS, Post

TIMEOUT_S = 30.0
OUTAGE_S = 10 * TIMEOUT_S
SWEEP_S = 5.0


class Fleet:
    """A run that a processor has begun, and a reaper."""

    def __init__(self, post: Post) -> None:
        self.post = post
        self.reaper = Reaper(post.memory, post.settings)

    async def begin(self) -> tuple[RunKey, dict[str, Any]]:
        """The run, and what each reply of its processor says."""
        key, message = await self.post.one_sent()
        said: dict[str, Any] = {
            "run_key": key,
            "attempt": 1,
            "fence": int(message.headers["fencepost-fence"]),
        }
        await self.post.reply(**said, outcome="started")
        return key, said

    async def sweep(self, for_s: float) -> None:
        for _ in range(int(for_s / SWEEP_S)):
            self.post.clock.advance(SWEEP_S)
            await self.reaper.run_once()


def fleet(*, at_most_once: bool = False) -> Fleet:
    return Fleet(Post(settings={"heartbeat_timeout_s": TIMEOUT_S}, at_most_once=at_most_once))


@pytest.mark.parametrize("at_most_once", [False, True])
async def test_no_attempt_is_spent_while_no_worker_reaches_the_broker(at_most_once: bool) -> None:
    found = fleet(at_most_once=at_most_once)
    key, said = await found.begin()
    await found.post.hear(0.0)
    await found.sweep(OUTAGE_S)
    await found.post.hear(0.1)
    await found.sweep(TIMEOUT_S - SWEEP_S)
    await found.post.reply(**said, outcome="succeeded", result="done")
    run = await found.post.run(key)
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 1)


async def test_no_attempt_is_spent_while_no_worker_takes_replies() -> None:
    """All of them have been replaced, and their successors have just begun."""
    found = fleet()
    key, _ = await found.begin()
    await found.sweep(OUTAGE_S)
    assert await found.post.state(key) is RunState.RUNNING


async def test_a_dead_processor_keeps_no_run_where_another_worker_reaches_the_broker() -> None:
    found = fleet()
    key, _ = await found.begin()
    await found.post.hear(TIMEOUT_S)
    await found.sweep(2 * TIMEOUT_S)
    assert await found.post.state(key) is RunState.READY


async def test_a_run_that_is_to_be_cancelled_does_not_wait_for_the_broker() -> None:
    found = fleet()
    key, _ = await found.begin()
    await found.post.memory.ledger.cancel(NS, key, "no more")
    await found.sweep(2 * TIMEOUT_S)
    assert await found.post.state(key) is RunState.CANCELLED


async def test_who_takes_no_replies_hears_no_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    async def opened() -> MemoryBroker:
        return MemoryBroker()

    post = Post()
    deaf, hearing = BrokerLink(opened, []), BrokerLink(opened, [])
    Replies(post.store, hearing, post.settings, lambda: 0.5, post.trail)
    for one in (deaf, hearing):
        await one.ready()
    loop = asyncio.get_running_loop()
    now_s = loop.time()
    monkeypatch.setattr(loop, "time", lambda: now_s + TIMEOUT_S)
    reports = [one.report() for one in (deaf, hearing)]
    assert [report is not None and report.heard_s >= TIMEOUT_S for report in reports] == [False, True]
    hearing.forget()
    missed = hearing.report()
    assert missed is not None
    assert missed.heard_s == 0
