"""What processors say of runs: who may end one, and what is said too late, twice, or without sense."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from fencepost.core.messages import REPLIES, control_topic, reply_destination
from fencepost.errors import BrokerUnavailable, StoreUnavailable
from fencepost.model.claiming import ClaimRequest
from fencepost.model.identifiers import Namespace, NodeId, Queue
from fencepost.model.job import Retry
from fencepost.model.message import Message, Publication, Unconfirmed
from fencepost.model.rescue import SweepTerms
from fencepost.model.run import RunState
from fencepost.services.reaper import Reaper
from fencepost.services.replies import Replies
from fencepost.telemetry.events import listen
from fencepost.telemetry.message_events import RepliesTaken, ReplyFate
from fencepost.telemetry.secrets import remember
from fencepost.testing.broker import MemorySubscription
from tests.brokers.post import NS, PATIENCE_S, START, THUMBS, Post, until


def shown(message: Message) -> dict[str, Any]:
    """What a processor must show of its message."""
    said = message.headers
    return {
        "run_key": said["fencepost-run-key"],
        "attempt": int(said["fencepost-attempt"]),
        "fence": int(said["fencepost-fence"]),
    }


@pytest.fixture
def fates() -> Any:
    """What became of replies, as it is counted."""
    seen: list[ReplyFate] = []

    def note(event: object) -> None:
        if isinstance(event, RepliesTaken):
            seen.extend([event.fate] * event.replies)

    unlisten = listen(note)
    yield seen
    unlisten()


async def test_first_attempts_that_fail_do_not_only_spend_the_budget_for_retries() -> None:
    post = Post(retry=Retry(3, base="1s", cap="1h", budget=0.5))
    keys = await post.enqueue(*map(str, range(30)))
    await post.deliver()
    sent = [shown(one) for one in post.broker.published]
    for one in sent:
        await post.say(json.dumps({**one, "outcome": "failed", "error": "Busy"}).encode())
    await post.replies.run_once()
    # Ten of the reserve, and a half for each of thirty, but for the first, which finds the reserve full.
    waits = [(await post.run(key)).run_at - START for key in keys]
    assert sum(wait.total_seconds() <= 1 for wait in waits) == 24


async def test_a_run_does_not_end_before_its_processor_says_so() -> None:
    post = Post()
    key, message = await post.one_sent()
    await post.reply(**shown(message), outcome="started", processor="vm-1")
    assert await post.state(key) is RunState.RUNNING
    await post.reply(**shown(message), outcome="succeeded", result={"width": 800}, processor="vm-1")
    assert await post.state(key) is RunState.SUCCEEDED
    (attempt,) = await post.memory.ledger.attempts(NS, key)
    assert attempt.output == '{"width":800}'
    chunks = await post.memory.run_logs.read(NS, key, limit=10)
    assert [one.chunk.text for one in chunks] == [
        "published to thumbs, memory has it",
        "started by vm-1",
        "succeeded, says vm-1",
    ]


async def test_an_attempt_and_a_fence_are_not_refused_as_the_texts_that_headers_are() -> None:
    post = Post()
    key, message = await post.one_sent()
    said: dict[str, Any] = {name: str(value) for name, value in shown(message).items()}
    await post.reply(**said, outcome="failed", error="Busy: later", retry_after="60")
    run = await post.run(key)
    assert (run.state, (run.run_at - await post.memory.now()).total_seconds()) == (RunState.READY, 60)


async def test_a_failure_is_not_taken_for_an_end_where_there_are_retries() -> None:
    post = Post()
    key, message = await post.one_sent()
    await post.reply(**shown(message), outcome="failed", error="Busy: later", retry_after=60)
    run = await post.run(key)
    assert (run.state, run.error) == (RunState.READY, "Busy: later")
    assert (run.run_at - await post.memory.now()).total_seconds() == 60


async def test_a_permanent_failure_is_not_tried_again() -> None:
    post = Post()
    key, message = await post.one_sent()
    await post.reply(**shown(message), outcome="failed", error="NoSuchImage", detail="line 7", permanent=True)
    (attempt,) = await post.memory.ledger.attempts(NS, key)
    assert (await post.state(key), attempt.detail) == (RunState.DEAD, "line 7")


@pytest.mark.parametrize("outcome", ["succeeded", "failed", "started", "heartbeat"])
async def test_nothing_changes_by_a_reply_with_an_old_fence(outcome: str, fates: list[ReplyFate]) -> None:
    post = Post()
    key, first = await post.one_sent()
    await post.reply(**shown(first), outcome="failed", error="Busy: later")
    post.clock.advance(2)
    await post.deliver()
    before = await post.run(key)
    await post.reply(**shown(first) | {"attempt": 2}, outcome=outcome, error="late")
    assert await post.run(key) == before
    assert fates[-1] is ReplyFate.LATE


async def test_no_process_ends_by_a_failure_of_an_attempt_that_was_handed_back(
    fates: list[ReplyFate],
) -> None:
    post = Post()
    publish = post.broker.publish

    async def unconfirmed(messages: Sequence[Message]) -> Sequence[Publication]:
        await publish(messages)
        return [Unconfirmed("the connection broke")] * len(messages)

    post.broker.publish = unconfirmed  # type: ignore[method-assign]
    key, first = await post.one_sent()
    post.broker.publish = publish  # type: ignore[method-assign]
    await post.reply(**shown(first), outcome="failed", error="Busy: later")
    run = await post.run(key)
    assert (run.state, run.attempt, run.attempts_before_replay) == (RunState.READY, 1, 1)
    assert fates == [ReplyFate.REPEATED]


async def test_a_loop_that_is_cancelled_in_mid_batch_does_not_go_on_without_a_broker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    post = Post()
    _, message = await post.one_sent()
    await post.say(json.dumps({**shown(message), "outcome": "succeeded"}).encode())
    begun = asyncio.Event()

    async def hang(*_: object) -> None:
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(Replies, "_finish", hang)
    loop = asyncio.create_task(post.replies.run())
    await asyncio.wait_for(begun.wait(), PATIENCE_S)
    post.broker.down = True
    loop.cancel()
    await asyncio.wait({loop}, timeout=PATIENCE_S)
    assert loop.cancelled()


async def test_a_reply_that_comes_twice_does_not_end_a_run_twice(fates: list[ReplyFate]) -> None:
    post = Post()
    key, message = await post.one_sent()
    for _ in range(2):
        await post.reply(**shown(message), outcome="succeeded")
    assert await post.state(key) is RunState.SUCCEEDED
    assert fates == [ReplyFate.ACCEPTED, ReplyFate.REPEATED]


async def test_the_first_of_two_replies_of_one_batch_counts() -> None:
    post = Post()
    key, message = await post.one_sent()
    await post.say(json.dumps({**shown(message), "outcome": "succeeded"}).encode())
    await post.reply(**shown(message), outcome="failed", error="no", permanent=True)
    assert await post.state(key) is RunState.SUCCEEDED


async def test_a_reply_to_no_run_is_let_go(fates: list[ReplyFate]) -> None:
    post = Post()
    await post.reply(run_key="thumbs#nobody", attempt=1, fence=1, outcome="succeeded")
    assert fates == [ReplyFate.UNKNOWN]
    assert await post.broker.backlog(reply_destination(NS), "replies") == 0


DEEP = b"[" * 20_000 + b"]" * 20_000


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not JSON",
        b"[]",
        b"{}",
        b'{"run_key": 7}',
        b'{"run_key":"a","attempt":1,"fence":1,"outcome":"?"}',
        b'{"run_key":"\xff","attempt":1,"fence":1,"outcome":"failed"}',
        b'{"run_key":"a\\u0000","attempt":1,"fence":1,"outcome":"failed"}',
        b'{"run_key":"a","attempt":2147483648,"fence":1,"outcome":"failed"}',
        b'{"run_key":"a","attempt":-1,"fence":1,"outcome":"failed"}',
        b'{"run_key":"a","attempt":1,"fence":9223372036854775808,"outcome":"failed"}',
        b'{"run_key":"a","attempt":1,"fence":1,"outcome":"failed","x":' + DEEP + b"}",
    ],
)
async def test_a_reply_without_sense_does_not_block_the_others(body: bytes, fates: list[ReplyFate]) -> None:
    post = Post()
    key, message = await post.one_sent()
    await post.say(body)
    await post.reply(**shown(message), outcome="succeeded")
    assert await post.state(key) is RunState.SUCCEEDED
    assert sorted(fates) == [ReplyFate.ACCEPTED, ReplyFate.UNREADABLE]
    ((rejected, reason),) = post.broker.rejected
    assert rejected.body == body
    assert reason.startswith("reply: ")


async def test_no_reply_ends_a_run_of_a_worker_of_the_program(fates: list[ReplyFate]) -> None:
    post = Post()
    (key,) = await post.enqueue("1")
    claim_request = ClaimRequest(NodeId("host-1"), (Queue("default"),), (THUMBS,), 30.0)
    (claim,) = await post.memory.ledger.claim_direct(claim_request, 1)
    await post.reply(run_key=key, attempt=claim.attempt, fence=claim.fence, outcome="succeeded")
    assert await post.state(key) is RunState.RUNNING
    assert fates == [ReplyFate.UNKNOWN]


async def test_a_run_of_which_no_more_is_heard_is_not_left_running() -> None:
    post = Post()
    key, message = await post.one_sent()
    await post.reply(**shown(message), outcome="started")
    terms = SweepTerms(15.0, 30.0)
    await post.memory.ledger.expired(10, terms)
    for _ in range(3):
        post.clock.advance(10)
        await post.reply(**shown(message), outcome="heartbeat", progress=0.5)
        assert (await post.memory.ledger.expired(10, terms)).expired == ()
    assert (await post.run(key)).progress == "0.5"
    for _ in range(3):
        post.clock.advance(10)
        assert (await post.memory.ledger.expired(10, terms)).expired == ()
    post.clock.advance(10)
    (found,) = (await post.memory.ledger.expired(10, terms)).expired
    assert found.ticket.run_key == key


async def test_a_run_that_no_processor_starts_does_not_wait_for_ever() -> None:
    post = Post(route={"start_within": "20s"})
    key, first = await post.one_sent()
    reaper = Reaper(post.memory, post.settings)
    await post.hear()
    for advance_s, attempts in ((19, 1), (2, 2)):
        post.clock.advance(advance_s)
        await reaper.run_once()
        post.clock.advance(1 if attempts == 2 else 0)
        await post.deliver()
        assert (await post.run(key)).attempt == attempts
    assert post.broker.published[-1].id == f"{key}/2"
    await post.reply(**shown(first), outcome="succeeded")
    assert await post.state(key) is RunState.RUNNING


async def test_no_heartbeat_keeps_a_run_beyond_its_timeout() -> None:
    from datetime import timedelta

    post = Post(timeout=timedelta(seconds=60), route={"start_within": "30s"})
    key, message = await post.one_sent()
    heard: list[bytes] = []
    await post.broker.listen(control_topic(NS), heard.append)
    assert message.headers["fencepost-timeout"] == "60"
    post.clock.advance(91)
    await post.reply(**shown(message), outcome="heartbeat")
    await until(lambda: bool(heard))
    assert json.loads(heard[0])["why"] == "late"
    run = await post.run(key)
    assert run.alive_until is not None
    assert run.alive_until < await post.memory.now()


async def test_progress_is_not_forgotten_for_a_later_heartbeat_of_the_same_batch() -> None:
    post = Post(progress_deadline=timedelta(seconds=60), route={"start_within": "30s"})
    key, message = await post.one_sent()
    heard: list[bytes] = []
    await post.broker.listen(control_topic(NS), heard.append)
    post.clock.advance(91)
    await post.say(json.dumps({**shown(message), "outcome": "heartbeat", "progress": 0.5}).encode())
    await post.reply(**shown(message), outcome="heartbeat")
    await asyncio.sleep(0)
    assert heard == []
    assert (await post.run(key)).alive_until == START + timedelta(seconds=91 + 30)


async def test_the_ledger_is_not_asked_for_each_heartbeat_of_a_batch() -> None:
    post = Post()
    keys = await post.enqueue(*"12345678")
    await post.deliver()
    sent = [shown(one) for one in post.broker.published]
    for one in sent:
        await post.say(json.dumps({**one, "outcome": "heartbeat"}).encode())
    post.store.calls.clear()
    await post.replies.run_once()
    asked = [name for name, _ in post.store.calls if name.startswith("ledger.")]
    assert sorted(asked) == ["ledger.get_many", "ledger.pulse"]
    alive = {(await post.run(key)).alive_until for key in keys}
    assert alive == {START + timedelta(seconds=30)}


async def test_no_reply_stays_in_hand_where_the_broker_goes_away_between_two_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    post = Post()
    key, message = await post.one_sent()
    await post.say(json.dumps({**shown(message), "outcome": "succeeded"}).encode())
    await post.say(b"?")

    async def reject(self: MemorySubscription, deliveries: object, reason: str) -> None:
        raise BrokerUnavailable("gone")

    monkeypatch.setattr(MemorySubscription, "reject", reject)
    with pytest.raises(BrokerUnavailable):
        await post.replies.run_once()
    assert await post.state(key) is RunState.SUCCEEDED
    assert await post.broker.backlog(reply_destination(NS), REPLIES) == 2


async def test_a_processor_whose_run_was_cancelled_is_told() -> None:
    post = Post()
    key, message = await post.one_sent()
    heard: list[bytes] = []
    await post.broker.listen(control_topic(NS), heard.append)
    await post.memory.ledger.cancel(NS, key, "not needed")
    await post.reply(**shown(message), outcome="heartbeat")
    await until(lambda: bool(heard))
    assert json.loads(heard[0]) == {**shown(message), "why": "cancelled"}
    await post.reply(**shown(message), outcome="failed", error="cancelled")
    assert await post.state(key) is RunState.CANCELLED


def test_replies_go_to_a_name_that_every_broker_takes() -> None:
    names = [reply_destination(Namespace(one)) for one in ("team/a", "team:a", "team-a", "team.a")]
    assert all(re.fullmatch(r"fencepost\.replies\.[A-Za-z0-9_.-]+", one) for one in names)
    assert len(set(names)) == 4


async def test_no_reply_is_lost_while_the_store_is_away() -> None:
    post = Post()
    key, message = await post.one_sent()
    post.store.fail_before("ledger.finish")
    with pytest.raises(StoreUnavailable):
        await post.reply(**shown(message), outcome="succeeded")
    assert await post.state(key) is RunState.RUNNING
    await post.replies.run_once()
    assert await post.state(key) is RunState.SUCCEEDED


async def test_a_reply_is_not_lost_with_the_process_that_sent_the_run() -> None:
    post = Post()
    key, message = await post.one_sent()
    other = post.new_replies()
    await post.reply(other, **shown(message), outcome="succeeded")
    assert await post.state(key) is RunState.SUCCEEDED


async def test_no_secret_of_a_reply_gets_into_the_ledger() -> None:
    remember("hunter2-of-the-shop")
    post = Post()
    key, message = await post.one_sent()
    word = "hunter2-of-the-shop"
    await post.reply(**shown(message), outcome="failed", permanent=True, error=word, result={"token": word})
    (attempt,) = await post.memory.ledger.attempts(NS, key)
    assert attempt.output is not None
    assert "hunter2" not in f"{await post.run(key)} {attempt}"
