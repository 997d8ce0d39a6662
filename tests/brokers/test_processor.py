"""A process without a store does what messages ask for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fencepost.core.messages import PREFIX, PROCESSORS, StopForm, control_topic, read_stop, stop_body
from fencepost.errors import BrokerRefused, BrokerUnavailable, PermanentFailure
from fencepost.model.identifiers import RunKey
from fencepost.model.message import Delivery, Message, Publication
from fencepost.model.run import RunState
from fencepost.ports.run import Run
from fencepost.services.processor import Processor
from fencepost.testing.broker import MemorySubscription
from tests.brokers.post import NS, THUMBS, Post, until


@asynccontextmanager
async def running(post: Post, function: Callable[..., Any], **settings: Any) -> AsyncIterator[Processor]:
    """A processor, and the loop that takes its replies."""
    processor = post.processor(function, **settings)
    loops = [asyncio.create_task(one.run()) for one in (processor, post.replies)]
    try:
        yield processor
    finally:
        await processor.stop(0.0, asyncio.Event())
        for one in loops:
            one.cancel()
        await asyncio.gather(*loops, return_exceptions=True)


async def ended(post: Post, key: Any) -> RunState:
    async def over() -> bool:
        return await post.state(key) not in (RunState.RUNNING, RunState.PLANNED)

    await until(over)
    return await post.state(key)


async def test_the_result_of_a_function_is_not_lost_on_its_way() -> None:
    post = Post()

    def resize(run: Run, image: int) -> dict[str, Any]:
        return {"image": image, "attempt": run.attempt, "fence": run.fence, "key": run.key}

    key, message = await post.one_sent(image=7)
    async with running(post, resize):
        assert await ended(post, key) is RunState.SUCCEEDED
    (attempt,) = await post.memory.ledger.attempts(NS, key)
    fence = message.headers["fencepost-fence"]
    assert attempt.output == f'{{"image":7,"attempt":1,"fence":{fence},"key":"thumbs#1"}}'
    await until(lambda: nothing_waits(post))


async def nothing_waits(post: Post) -> bool:
    return await post.broker.backlog(THUMBS, "processors") == 0


async def test_bytes_reach_a_function_as_they_were_sent() -> None:
    post = Post(route={"body": "data"})
    key, _ = await post.one_sent(data="AAH/")
    seen: list[bytes] = []

    def thumbs(data: bytes) -> int:
        seen.append(data)
        return len(data)

    processor = post.processor(thumbs)
    await processor.run_once()
    await until(lambda: not processor.busy)
    await post.replies.run_once()
    assert (await post.state(key), seen) == (RunState.SUCCEEDED, [b"\x00\x01\xff"])


async def test_an_error_is_not_told_without_its_kind_and_traceback() -> None:
    post = Post()

    async def resize() -> None:
        raise PermanentFailure("no such image")

    key, _ = await post.one_sent()
    async with running(post, resize):
        assert await ended(post, key) is RunState.DEAD
    (attempt,) = await post.memory.ledger.attempts(NS, key)
    assert attempt.error == "PermanentFailure: no such image"
    assert "in resize" in str(attempt.detail)


async def test_work_that_is_told_to_stop_before_it_begins_does_not_begin() -> None:
    post, begun = Post(), list[int]()

    async def resize() -> None:
        begun.append(1)

    await post.one_sent()
    processor = post.processor(resize)
    await processor.run_once()
    (work,) = processor._works.values()
    work.stop("lost")
    await until(lambda: processor.busy == 0)
    assert begun == []


async def test_a_job_that_is_not_here_does_not_hang() -> None:
    post = Post()
    key, _ = await post.one_sent()
    processor = post.processor(lambda: None)
    processor._jobs = {}
    await processor.run_once()
    await until(lambda: processor.busy == 0)
    await post.replies.run_once()
    run = await post.run(key)
    assert run.error == "UnknownJob: this processor has no job thumbs; it has none"


async def test_work_that_takes_too_long_is_not_waited_for() -> None:
    from datetime import timedelta

    post = Post(timeout=timedelta(seconds=0.1))

    async def resize() -> None:
        await asyncio.sleep(60)

    key, _ = await post.one_sent()
    async with running(post, resize):
        assert await ended(post, key) is RunState.READY
    assert (await post.run(key)).error == "TimedOut: longer than 0.1s"


NAMED = {"fencepost-run-key": "a#1", "fencepost-job": "thumbs"}
WHOLE = {
    **NAMED,
    "fencepost-attempt": "1",
    "fencepost-fence": "1",
    "fencepost-fire-time": "2026-03-01T12:00:00Z",
}


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({}, b"{}"),
        ({**NAMED, "fencepost-attempt": "x"}, b"{}"),
        ({**WHOLE, "fencepost-reply-to": "re plies.>"}, b"{}"),
        ({**WHOLE, "fencepost-namespace": "a *"}, b"{}"),
        ({**WHOLE, "fencepost-heartbeat-every": "-1"}, b"{}"),
        ({**WHOLE, "fencepost-timeout": "nan"}, b"{}"),
        (WHOLE, b'{"image": ' + b"[" * 20_000 + b"]" * 20_000 + b"}"),
    ],
    ids=["nothing", "no number", "no destination", "no namespace", "no pause", "no time", "too deep"],
)
async def test_a_message_that_is_no_order_does_not_come_again(headers: dict[str, str], body: bytes) -> None:
    post = Post()
    await post.broker.declare([THUMBS])
    await post.broker.publish([Message(THUMBS, "odd", body, headers)])
    processor = post.processor(lambda: None)
    await processor.run_once()
    ((message, reason),) = post.broker.rejected
    assert message.id == "odd"
    assert reason.startswith("message odd: ")


async def test_a_message_that_ends_its_processors_does_not_do_so_for_ever() -> None:
    post = Post()
    await post.one_sent()
    subscription = await post.broker.subscribe(THUMBS, "processors", 1)
    for _ in range(5):
        await subscription.give_back(await subscription.receive(1, 1.0))
    await subscription.close()
    await post.processor(lambda: None).run_once()
    ((_, reason),) = post.broker.rejected
    assert reason.endswith("delivered 6 times")


async def test_what_is_not_done_when_a_processor_stops_is_left_to_another() -> None:
    post = Post()
    begun = asyncio.Event()

    async def resize() -> str:
        if not begun.is_set():
            begun.set()
            await asyncio.sleep(60)
        return "done"

    key, _ = await post.one_sent()
    async with running(post, resize):
        await begun.wait()
    assert await post.state(key) is RunState.RUNNING
    post.replies = post.new_replies()
    async with running(post, resize):
        assert await ended(post, key) is RunState.SUCCEEDED
    assert (await post.run(key)).attempt == 1


async def test_a_processor_does_not_beat_less_often_than_its_message_asks_for() -> None:
    post = Post(settings={"heartbeat_every_s": 0.01, "heartbeat_timeout_s": 30.0})
    heard = asyncio.Event()

    async def resize() -> None:
        await heard.wait()

    def beats() -> int:
        return sum(b'"heartbeat"' in one.body for one in post.broker.published)

    key, message = await post.one_sent()
    assert message.headers["fencepost-heartbeat-every"] == "0.01"
    async with running(post, resize):
        await until(lambda: beats() >= 3)
        heard.set()
        assert await ended(post, key) is RunState.SUCCEEDED


async def test_work_that_is_another_attempts_by_now_is_not_gone_on_with() -> None:
    post = Post()
    begun, stopped = asyncio.Event(), asyncio.Event()

    async def resize() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()

    _, message = await post.one_sent()
    fence = int(message.headers["fencepost-fence"])
    async with running(post, resize):
        await begun.wait()
        form = StopForm(run_key="thumbs#1", attempt=1, fence=fence + 1, why="lost")
        await post.broker.announce(control_topic(NS), stop_body(form))
        await asyncio.sleep(0.05)
        assert not stopped.is_set()
        form.fence = fence
        await post.broker.announce(control_topic(NS), stop_body(form))
        await asyncio.wait_for(stopped.wait(), 10)


async def test_a_run_that_is_cancelled_stops_its_work_and_ends_as_cancelled() -> None:
    post = Post(settings={"heartbeat_every_s": 0.02, "heartbeat_timeout_s": 30.0})
    begun = asyncio.Event()

    async def resize() -> None:
        begun.set()
        await asyncio.sleep(60)

    key, _ = await post.one_sent()
    async with running(post, resize):
        await begun.wait()
        assert await post.memory.ledger.cancel(NS, RunKey(key), "enough")
        assert await ended(post, key) is RunState.CANCELLED


async def test_what_must_not_begin_twice_is_acknowledged_before_it_begins() -> None:
    post = Post(at_most_once=True)
    begun = asyncio.Event()

    async def resize() -> None:
        begun.set()
        await asyncio.sleep(60)

    await post.one_sent()
    async with running(post, resize):
        await begun.wait()
    assert await (await post.broker.subscribe(THUMBS, "processors", 1)).receive(1, 0.1) == []


async def test_no_order_is_acknowledged_before_the_broker_has_its_reply(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    post = Post()
    order: list[str] = []
    publish, acknowledge = post.broker.publish, MemorySubscription.acknowledge

    async def published(messages: Sequence[Message]) -> Sequence[Publication]:
        answers = await publish(messages)
        order.extend("replied" for one in messages if b'"succeeded"' in one.body)
        return answers

    async def acknowledged(self: MemorySubscription, deliveries: Sequence[Delivery]) -> None:
        order.extend("acknowledged" for one in deliveries if PREFIX + "run-key" in one.headers)
        await acknowledge(self, deliveries)

    post.broker.publish = published  # type: ignore[method-assign]
    monkeypatch.setattr(MemorySubscription, "acknowledge", acknowledged)
    key, _ = await post.one_sent()
    async with running(post, lambda: "done"):
        assert await ended(post, key) is RunState.SUCCEEDED
        await until(lambda: len(order) == 2)
    assert order == ["replied", "acknowledged"]


async def test_what_was_received_when_the_broker_went_away_is_not_kept_from_others() -> None:
    post = Post()
    listen = post.broker.listen

    async def unheard(topic: str, callback: Any) -> Any:
        post.broker.listen = listen  # type: ignore[method-assign]
        raise BrokerUnavailable("gone")

    post.broker.listen = unheard  # type: ignore[method-assign]
    await post.enqueue("1", "2")
    await post.deliver()
    processor = post.processor(lambda: None)
    with pytest.raises(BrokerUnavailable):
        await processor.run_once()
    assert await post.broker.backlog(THUMBS, PROCESSORS) == 2


async def test_a_processor_does_not_end_by_a_broker_that_refuses_it() -> None:
    post = Post()
    publish = post.broker.publish
    refusals: list[int] = []

    async def refusing(messages: Sequence[Message]) -> Sequence[Publication]:
        if b'"succeeded"' in messages[0].body and not refusals:
            refusals.append(1)
            raise BrokerRefused("no access any more")
        return await publish(messages)

    post.broker.publish = refusing  # type: ignore[method-assign]
    key, _ = await post.one_sent()
    async with running(post, lambda: "done"):
        assert await ended(post, key) is RunState.SUCCEEDED
    assert refusals == [1]


@pytest.mark.parametrize(
    "body",
    [b"", b'{"run_key":"\xff"}', b'{"x":' + b"[" * 20_000 + b"]" * 20_000 + b"}"],
    ids=["nothing", "no text", "too deep"],
)
def test_an_announcement_without_sense_is_passed_over(body: bytes) -> None:
    assert read_stop(body) is None


async def test_no_more_is_begun_at_once_than_the_processor_may_do() -> None:
    post = Post()
    most, now, lock = 0, 0, threading.Lock()

    def resize() -> None:
        nonlocal most, now
        with lock:
            now += 1
            most = max(most, now)
        threading.Event().wait(0.02)
        with lock:
            now -= 1

    keys = await post.enqueue(*(str(number) for number in range(12)))
    await post.deliver()
    async with running(post, resize, concurrency=3):
        for key in keys:
            assert await ended(post, key) is RunState.SUCCEEDED
    assert most == 3


async def test_where_no_reply_is_expected_a_failure_is_not_acknowledged() -> None:
    post = Post(reply="none")
    tries: list[int] = []

    async def resize() -> None:
        tries.append(1)
        if len(tries) < 3:
            raise ConnectionError("busy")

    await post.one_sent()
    async with running(post, resize):
        await until(lambda: len(tries) == 3)
        await until(lambda: nothing_waits(post))
    assert len(tries) == 3


async def test_a_reply_is_not_lost_while_the_broker_is_away() -> None:
    post = Post()

    async def resize() -> str:
        post.broker.down = True
        return "done"

    key, _ = await post.one_sent()
    async with running(post, resize) as processor:
        await until(lambda: post.broker.down)
        await asyncio.sleep(0.05)
        assert processor.busy == 1
        post.broker.down = False
        assert await ended(post, key) is RunState.SUCCEEDED
