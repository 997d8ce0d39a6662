"""What a processor does with an order that is delivered again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from fencepost.core.messages import Outcome, ReplyForm
from fencepost.model.identifiers import Fence, RunKey
from fencepost.model.message import Message, Publication, Refused
from fencepost.model.run import RunState
from fencepost.services.processor import Processor
from fencepost.services.work import Endings
from fencepost.testing.broker import MemorySubscription
from tests.brokers.post import NS, THUMBS, Post, until


async def nothing_is_left(post: Post) -> bool:
    subscription = await post.broker.subscribe(THUMBS, "processors", 1)
    found = await subscription.receive(1, 0.01)
    await subscription.close()
    return not found


async def lose_connection(processor: Processor) -> None:
    """What was received is the broker's again."""
    subscription = processor._subscription
    assert isinstance(subscription, MemorySubscription)
    held = list(subscription._held.values())
    subscription._held.clear()
    await subscription._waiting.put(held)


async def test_an_order_that_is_delivered_again_while_it_runs_is_not_begun_beside_itself() -> None:
    post, begun, going_on = Post(), list[int](), asyncio.Event()

    async def resize() -> str:
        begun.append(1)
        await going_on.wait()
        return "done"

    key, message = await post.one_sent()
    processor = post.processor(resize)
    await processor.run_once()
    await until(lambda: begun == [1])
    await post.broker.publish([replace(message, id="again")])
    await processor.run_once()
    assert processor.busy == 1
    await asyncio.sleep(0.02)
    assert begun == [1]
    going_on.set()
    await until(lambda: processor.busy == 0)
    await post.replies.run_once()
    assert await post.state(key) is RunState.SUCCEEDED
    await processor.stop(0.0, asyncio.Event())
    assert await nothing_is_left(post)


async def test_an_order_whose_delivery_was_lost_is_acknowledged_by_the_newer_one() -> None:
    post, begun, going_on = Post(), list[int](), asyncio.Event()

    async def resize() -> None:
        begun.append(1)
        await going_on.wait()

    await post.one_sent()
    processor = post.processor(resize)
    await processor.run_once()
    await until(lambda: begun == [1])
    await lose_connection(processor)
    await processor.run_once()
    going_on.set()
    await until(lambda: processor.busy == 0)
    assert begun == [1]
    await processor.stop(0.0, asyncio.Event())
    assert await nothing_is_left(post)


async def test_what_must_not_begin_twice_does_not_where_it_is_delivered_again() -> None:
    post, begun, going_on = Post(at_most_once=True), list[int](), asyncio.Event()

    async def resize() -> None:
        begun.append(1)
        await going_on.wait()

    _, message = await post.one_sent()
    processor = post.processor(resize)
    for identity in ("again", "and again"):
        await post.broker.publish([replace(message, id=identity)])
        await processor.run_once()
    going_on.set()
    await until(lambda: processor.busy == 0)
    await post.broker.publish([replace(message, id="at last")])
    await processor.run_once()
    await until(lambda: processor.busy == 0)
    assert begun == [1]
    await processor.stop(0.0, asyncio.Event())
    assert await nothing_is_left(post)


async def test_an_order_that_is_delivered_again_after_its_end_is_not_done_again() -> None:
    post, begun = Post(), list[int]()

    key, message = await post.one_sent()
    processor = post.processor(lambda: begun.append(1))
    await processor.run_once()
    await until(lambda: processor.busy == 0)
    replies = [one for one in post.broker.published if b'"succeeded"' in one.body]
    await post.broker.publish([replace(message, id="again")])
    await processor.run_once()
    await until(lambda: processor.busy == 0)
    again = [one for one in post.broker.published if b'"succeeded"' in one.body]
    assert begun == [1]
    assert (len(replies), len(again)) == (1, 2)
    await post.replies.run_once()
    assert await post.state(key) is RunState.SUCCEEDED
    await processor.stop(0.0, asyncio.Event())
    assert await nothing_is_left(post)


async def test_an_order_is_not_acknowledged_nor_done_again_where_the_broker_took_no_reply(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    post, begun, refusals = Post(), list[int](), list[int]()
    publish = post.broker.publish
    monkeypatch.setattr("fencepost.services.processor.REPLY_AGAIN_S", 0.01)

    async def refusing(messages: Sequence[Message]) -> Sequence[Publication]:
        refusals.append(1)
        return [Refused("the queue of replies is full")] * len(messages)

    key, _ = await post.one_sent()
    processor = post.processor(lambda: begun.append(1), heartbeat_every_s=0.01, heartbeat_timeout_s=0.04)
    for answer in (refusing, refusing, publish):
        post.broker.publish = answer  # type: ignore[method-assign]
        refusals.clear()
        await processor.run_once()
        await until(lambda: processor.busy == 0)
        assert await post.broker.backlog(THUMBS, "processors") == bool(refusals)
    await post.replies.run_once()
    assert (begun, await post.state(key)) == ([1], RunState.SUCCEEDED)


def test_the_endings_that_are_kept_do_not_grow_without_end() -> None:
    def form(key: str, result: str) -> ReplyForm:
        return ReplyForm(run_key=key, attempt=1, fence=1, outcome=Outcome.SUCCEEDED, result=result)

    endings = Endings(ended_max=10, bytes_max=2_000)
    for number in range(100):
        endings.add((NS, RunKey(str(number)), 1, Fence(1)), form(str(number), ""))
    assert len(endings) == 10
    assert (NS, RunKey("99"), 1, Fence(1)) in endings
    endings.add((NS, RunKey("large"), 1, Fence(1)), form("large", "x" * 1_900))
    assert len(endings) == 1
    endings.add((NS, RunKey("too large"), 1, Fence(1)), form("too large", "x" * 3_000))
    assert len(endings) == 0
