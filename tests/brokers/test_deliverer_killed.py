"""A deliverer that is killed at any moment loses no run, and ends none twice."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from fencepost.model.message import Message, Publication
from fencepost.model.run import RunState
from fencepost.services.reaper import Reaper
from tests.brokers.post import NS, PATIENCE_S, Post

LOOK_S = 5.0


async def test_no_run_is_lost_with_a_deliverer_that_is_killed_between_publish_and_confirm() -> None:
    """The broker has the message; who sent it has never heard so, and does nothing any more."""
    post = Post(reply="none")
    publish, kept = post.broker.publish, asyncio.Event()

    async def silent(messages: Sequence[Message]) -> Sequence[Publication]:
        await publish(messages)
        kept.set()
        await asyncio.Event().wait()
        raise AssertionError("nothing is answered")

    post.broker.publish = silent  # type: ignore[method-assign]
    (key,) = await post.enqueue("1")
    await post.deliverer.run_once()
    await asyncio.wait_for(kept.wait(), PATIENCE_S)
    assert await post.state(key) is RunState.RUNNING
    post.broker.publish = publish  # type: ignore[method-assign]
    await sent_by_another(post)
    run = await post.run(key)
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 2)
    assert [one.id for one in post.broker.published] == [key, key]


async def test_no_run_ends_twice_by_a_deliverer_that_is_killed_between_confirm_and_ledger() -> None:
    """The broker has confirmed, and the ledger has not been told. The message is sent once more, under the
    same id and a larger fence; what the first deliverer would have said is refused."""
    post = Post(reply="none")
    (key,) = await post.enqueue("1")
    post.store.fail_before("ledger.finish")
    await post.deliver()
    assert (await post.state(key), len(post.broker.published)) == (RunState.RUNNING, 1)
    await sent_by_another(post)
    run = await post.run(key)
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 2)
    first, second = post.broker.published
    assert first.id == second.id == key
    assert int(first.headers["fencepost-fence"]) < int(second.headers["fencepost-fence"]) == run.fence
    await post.deliverer.run_once()  # It was only stalled after all, and reports what it has.
    assert await post.run(key) == run
    lost, ended = await post.memory.ledger.attempts(NS, key)
    assert (str(lost.outcome), str(ended.outcome)) == ("lost", "succeeded")


async def test_no_processor_is_overruled_where_its_deliverer_was_killed_before_the_ledger() -> None:
    """Where a result is expected, its reply ends the run, whoever had sent it."""
    post = Post()
    (key,) = await post.enqueue("1")
    post.store.fail_before("ledger.pulse")
    await post.deliver()
    (message,) = post.broker.published
    fence = int(message.headers["fencepost-fence"])
    other = post.new_replies()
    await post.reply(other, run_key=key, attempt=1, fence=fence, outcome="succeeded")
    run = await post.run(key)
    assert (run.state, run.attempt, run.fence) == (RunState.SUCCEEDED, 1, fence)


async def sent_by_another(post: Post) -> None:
    """The run is found to be silent, is rescued, and another process sends it."""
    reaper = Reaper(post.memory, post.settings)
    until_s = post.settings.heartbeat_timeout_s + LOOK_S
    for _ in range(int(until_s / LOOK_S) + 1):
        await reaper.run_once()
        post.clock.advance(LOOK_S)
    post.clock.advance(2)
    await post.deliver(post.new_deliverer("node-2"))
