"""Runs are sent by the broker: what is confirmed, refused, and left without an answer."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, patch

import pytest

from fencepost import Fencepost
from fencepost.errors import BrokerRefused, BrokerUnavailable, StoreUnavailable
from fencepost.model.message import Confirmed, Message, Publication, Refused, Unconfirmed
from fencepost.model.run import RunState
from fencepost.services.deliverer import BATCH_MAX, SENDING_MAX
from fencepost.testing.broker import MemoryBroker
from tests.brokers.post import PATIENCE_S, START, THUMBS, Post, until

QUIET_S = 0.2
ROUNDS = 100
NOT_THERE = "MessageRefused: thumbs: destination thumbs is not there; create it: declare(['thumbs'])"
"""Of the loop: whatever does not wait for the broker is over by then."""


async def test_a_run_has_not_succeeded_before_its_message_is_confirmed() -> None:
    post = Post(reply="none")
    key, message = await post.one_sent(image=7)
    run = await post.run(key)
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 1)
    assert (message.destination, message.id, json.loads(message.body)) == ("thumbs", "thumbs#1", {"image": 7})
    assert message.headers["fencepost-run-key"] == key
    assert message.headers["fencepost-fence"] == str(run.fence)
    assert "fencepost-reply-to" not in message.headers


async def test_no_run_has_succeeded_while_its_confirm_is_awaited() -> None:
    post = Post(reply="none")
    asked, confirmed = asyncio.Event(), asyncio.Event()
    publish = post.broker.publish

    async def slow(messages: Sequence[Message]) -> Sequence[Publication]:
        asked.set()
        await confirmed.wait()
        return await publish(messages)

    post.broker.publish = slow  # type: ignore[method-assign]
    (key,) = await post.enqueue("1")
    await post.deliverer.run_once()
    await asyncio.wait_for(asked.wait(), PATIENCE_S)
    for _ in range(ROUNDS):
        await asyncio.sleep(0)
    assert await post.state(key) is RunState.RUNNING
    confirmed.set()
    await post.sent(post.deliverer)
    assert await post.state(key) is RunState.SUCCEEDED


async def test_a_run_with_a_result_does_not_end_with_its_confirm() -> None:
    post = Post(route={"start_within": "5m"})
    key, message = await post.one_sent()
    run = await post.run(key)
    assert run.state is RunState.RUNNING
    assert run.alive_until == START + timedelta(minutes=5)
    assert (message.id, message.headers["fencepost-reply-to"]) == ("thumbs#1/1", "fencepost.replies.default")


@pytest.mark.parametrize(
    ("job", "deadline"),
    [
        ({"timeout": timedelta(minutes=2)}, "2026-03-01T12:07:00Z"),
        ({"progress_deadline": timedelta(seconds=90)}, "2026-03-01T12:06:30Z"),
        (
            {"timeout": timedelta(minutes=2), "progress_deadline": timedelta(seconds=90)},
            "2026-03-01T12:06:30Z",
        ),
        ({}, None),
    ],
)
async def test_a_message_does_not_hide_from_when_on_heartbeats_are_refused(
    job: dict[str, Any], deadline: str | None
) -> None:
    """It is sent at 12:00 and may wait for a processor for 5 minutes."""
    post = Post(route={"start_within": "5m"}, **job)
    _, message = await post.one_sent()
    assert message.headers.get("fencepost-deadline") == deadline
    silent = Post(reply="none", **job)
    _, message = await silent.one_sent()
    assert "fencepost-deadline" not in message.headers


async def test_nothing_is_claimed_while_the_broker_is_away() -> None:
    post = Post(reply="none")
    (key,) = await post.enqueue("1")
    post.broker.down = True
    with pytest.raises(BrokerUnavailable):
        await post.deliverer.run_once()
    run = await post.run(key)
    assert (run.state, run.attempt) == (RunState.READY, 0)
    post.broker.down = False
    await post.deliver()
    assert await post.state(key) is RunState.SUCCEEDED


class Answering(Post):
    """A broker that answers each batch with what was laid ready, or fails so."""

    def __init__(
        self, *answers: Publication | BrokerUnavailable | BrokerRefused, reply: str = "none", **spec: Any
    ) -> None:
        super().__init__(reply=reply, **spec)
        self._answers = list(answers)
        self._publish = self.broker.publish
        self.broker.publish = self.publish  # type: ignore[method-assign]
        self.seen: list[Message] = []

    async def publish(self, messages: Sequence[Message]) -> Sequence[Publication]:
        self.seen += messages
        answer = self._answers.pop(0) if self._answers else Confirmed()
        if isinstance(answer, BrokerUnavailable | BrokerRefused):
            raise answer
        return [answer for _ in messages]


@pytest.mark.parametrize(
    "answer", [Unconfirmed("gone"), BrokerUnavailable("gone"), BrokerRefused("no access any more")]
)
async def test_no_attempt_is_spent_where_the_broker_did_not_answer(
    answer: Publication | BrokerUnavailable | BrokerRefused,
) -> None:
    post = Answering(answer)
    (key,) = await post.enqueue("1")
    await post.deliver()
    run = await post.run(key)
    assert (run.state, run.attempt - run.attempts_before_replay) == (RunState.READY, 0)
    await post.deliver()
    assert await post.state(key) is RunState.SUCCEEDED
    assert [one.id for one in post.seen] == [key, key]


@pytest.mark.parametrize("answer", [Unconfirmed("gone"), BrokerUnavailable("gone")])
async def test_a_run_is_not_sent_without_a_pause_where_the_broker_never_answers(
    answer: Publication | BrokerUnavailable,
) -> None:
    post = Answering(*[answer] * ROUNDS)
    await post.enqueue("1")
    loop = asyncio.create_task(post.deliverer.run())
    await until(lambda: len(post.seen) > 0)
    await asyncio.sleep(QUIET_S)
    loop.cancel()
    await asyncio.wait({loop})
    assert len(post.seen) <= 3


async def test_a_run_that_must_not_begin_twice_is_not_sent_twice() -> None:
    post = Answering(Unconfirmed("gone"), at_most_once=True)
    (key,) = await post.enqueue("1")
    await post.deliver()
    run = await post.run(key)
    assert (run.state, str(run.reason)[:5]) == (RunState.DEAD, "lost:")


async def test_a_run_that_must_not_begin_twice_is_not_lost_where_nothing_was_sent() -> None:
    post = Answering(BrokerUnavailable("gone"), at_most_once=True)
    (key,) = await post.enqueue("1")
    await post.deliver()
    assert await post.state(key) is RunState.READY


async def test_what_the_broker_refuses_is_not_taken_for_sent() -> None:
    post = Answering(Refused("no queue thumbs"))
    (key,) = await post.enqueue("1")
    await post.deliver()
    run = await post.run(key)
    assert (run.state, run.attempt) == (RunState.READY, 1)
    assert run.error == "MessageRefused: thumbs: no queue thumbs"


async def test_a_destination_that_was_deleted_is_there_again_for_the_next_attempt() -> None:
    post = Post(reply="none")
    await post.one_sent()
    post.broker.delete(THUMBS)
    (key,) = await post.enqueue("2")
    await post.deliver()
    assert (await post.run(key)).error == NOT_THERE
    post.clock.advance(2)
    await post.deliver()
    assert await post.state(key) is RunState.SUCCEEDED


async def test_a_destination_that_cannot_be_created_again_concerns_no_other() -> None:
    post = Post(reply="none")
    await post.one_sent()
    post.broker.delete(THUMBS)
    with patch.object(post.broker, "declare", side_effect=BrokerRefused("not allowed")):
        for name in ("2", "3"):
            (key,) = await post.enqueue(name)
            await post.deliver()
            assert (await post.run(key)).error == NOT_THERE
    report = post.deliverer.link.report()
    assert report is not None
    assert report.away_s == 0.0


async def test_what_the_broker_will_always_refuse_is_not_tried_again() -> None:
    post = Answering(Refused("the body has 9 bytes, the broker takes 8", permanent=True))
    (key,) = await post.enqueue("1")
    await post.deliver()
    assert await post.state(key) is RunState.DEAD


async def test_no_more_is_sent_than_may_wait_for_processors() -> None:
    post = Post(route={"ahead_max": 3})
    keys = await post.enqueue(*"12345")
    await post.deliver()
    await post.deliver()
    states = [await post.state(key) for key in keys]
    assert (states.count(RunState.RUNNING), states.count(RunState.READY)) == (3, 2)


async def test_a_confirm_is_not_forgotten_while_the_store_is_away() -> None:
    post = Post(reply="none")
    (key,) = await post.enqueue("1")
    post.store.fail_before("ledger.finish")
    await post.deliver()
    assert await post.state(key) is RunState.RUNNING
    await post.deliverer.run_once()
    assert await post.state(key) is RunState.SUCCEEDED
    assert len(post.broker.published) == 1


async def test_no_byte_of_a_body_is_taken_for_text() -> None:
    post = Post(reply="none", route={"body": "data"})
    body = bytes(range(256))
    _, message = await post.one_sent(data=b64encode(body).decode())
    assert message.body == body
    assert message.headers["fencepost-body"] == "data"


async def test_what_cannot_be_a_body_of_bytes_costs_no_other_run_its_message() -> None:
    """A run that was written while the job still sent JSON."""
    post = Post(reply="none", route={"body": "data"})
    (bad,) = await post.enqueue("1", data="no Base64!")
    (good,) = await post.enqueue("2", data="AAH/")
    await post.deliver()
    run = await post.run(bad)
    assert run.state is RunState.DEAD
    assert "data: expected Base64, the bytes to send" in str(run.error)
    assert await post.state(good) is RunState.SUCCEEDED
    assert [one.body for one in post.broker.published] == [b"\x00\x01\xff"]


async def test_no_more_confirms_are_in_flight_than_their_bound() -> None:
    post = Post(reply="none")
    asked: list[int] = []

    async def silent(messages: Sequence[Message]) -> Sequence[Publication]:
        asked.append(len(messages))
        await asyncio.Event().wait()
        raise AssertionError("nothing is answered")

    post.broker.publish = silent  # type: ignore[method-assign]
    keys = await post.enqueue(*map(str, range((SENDING_MAX + 1) * BATCH_MAX)))
    loop = asyncio.create_task(post.deliverer.run())
    await until(lambda: len(asked) == SENDING_MAX)
    for _ in range(ROUNDS):
        await asyncio.sleep(0)
    loop.cancel()
    assert asked == [BATCH_MAX] * SENDING_MAX
    states = [await post.state(key) for key in keys]
    assert states.count(RunState.READY) == BATCH_MAX
    for one in post.deliverer.sending:
        one.cancel()
    await asyncio.wait({loop})


async def test_a_run_that_was_sent_waits_for_its_processor_although_the_store_was_away() -> None:
    post = Post(route={"start_within": "5m"})
    (key,) = await post.enqueue("1")
    post.store.fail_before("ledger.pulse")
    await post.deliver()
    post.clock.advance(10)
    await post.deliver()
    assert (await post.run(key)).alive_until == START + timedelta(seconds=10, minutes=5)
    assert len(post.broker.published) == 1


@pytest.mark.parametrize("at_most_once", [False, True])
async def test_a_claim_whose_answer_was_lost_costs_no_attempt(at_most_once: bool) -> None:
    post = Post(at_most_once=at_most_once)
    sent, _ = await post.one_sent()
    (key,) = await post.enqueue("2")
    post.store.fail_after("ledger.claim_direct")
    with pytest.raises(StoreUnavailable):
        await post.deliverer.run_once()
    assert await post.state(key) is RunState.RUNNING
    await post.deliver()
    run = await post.run(key)
    assert (run.state, run.attempt - run.attempts_before_replay) == (RunState.RUNNING, 1)
    assert [one.headers["fencepost-run-key"] for one in post.broker.published] == [sent, key]


async def test_a_retry_is_a_message_of_its_own_where_a_result_is_expected() -> None:
    post = Post()
    key, first = await post.one_sent()
    fence = int(first.headers["fencepost-fence"])
    await post.reply(run_key=key, attempt=1, fence=fence, outcome="failed", error="Busy: later")
    post.clock.advance(2)
    await post.deliver()
    second = next(one for one in reversed(post.broker.published) if one.destination == "thumbs")
    assert (second.id, second.headers["fencepost-attempt"]) == ("thumbs#1/2", "2")
    assert int(second.headers["fencepost-fence"]) > fence


async def test_a_broker_that_does_not_answer_a_deliverer_that_stops_costs_no_attempt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fencepost.services.deliverer.FAREWELL_S", 0.05)
    post = Post(reply="none")
    (key,) = await post.enqueue("1")
    asked = asyncio.Event()

    async def silent(messages: Sequence[Message]) -> Sequence[Publication]:
        asked.set()
        return await asyncio.Future()

    post.broker.publish = silent  # type: ignore[method-assign]
    loop = asyncio.create_task(post.deliverer.run())
    await asyncio.wait_for(asked.wait(), PATIENCE_S)
    loop.cancel()
    await asyncio.wait({loop})
    run = await post.run(key)
    assert (run.state, run.attempt - run.attempts_before_replay) == (RunState.READY, 0)


async def test_a_text_that_is_not_unicode_ends_no_deliverer() -> None:
    post = Post(reply="none")
    _, message = await post.one_sent(name="\ud800")
    await post.deliverer.run_once()
    assert json.loads(message.body) == {"name": "\ud800"}


async def test_a_node_that_drains_sends_no_more(tmp_path: Path) -> None:
    app = Fencepost(f"sqlite:///{tmp_path}/fencepost.db")
    app.configure(broker="memory://", poll_s=0.05)
    app.message_job("thumbs")
    broker = MemoryBroker()
    with patch("fencepost.assembly.open_broker", AsyncMock(return_value=broker)):
        node = await app.node(plans=False)
        node.membership.on_drain(True)
        stop = asyncio.Event()
        running = asyncio.create_task(node.run(stop))
        await app.enqueue("thumbs")
        await asyncio.sleep(QUIET_S)
        assert not broker.published
        node.membership.on_drain(False)
        await until(lambda: len(broker.published) == 1)
        stop.set()
        await running
    await app.close()
