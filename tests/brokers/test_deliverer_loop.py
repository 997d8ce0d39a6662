"""The loop of a deliverer: when it looks again, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from unittest.mock import patch

from fencepost.core.messages import PROCESSORS
from fencepost.model.claiming import ClaimRequest
from fencepost.model.identifiers import RunKey
from fencepost.model.limits import JobLimit
from fencepost.model.message import Message, Publication
from fencepost.model.run import Claim, RunState, Ticket
from fencepost.model.run_log import LogPage
from fencepost.services.broker_link import BrokerServices
from fencepost.services.taking import HINTS_MAX
from fencepost.services.trail import Station
from tests.brokers.post import NS, PATIENCE_S, THUMBS, Post, until

QUIET_S = 0.2


async def test_a_run_that_becomes_due_does_not_wait_for_the_poll() -> None:
    post = Post(reply="none", settings={"poll_s": 3600.0})
    loop = asyncio.create_task(post.deliverer.run())
    for name in ("first", "second"):
        (key,) = await post.enqueue(name)
        await until(partial(is_sent, post, key))
        await asyncio.sleep(QUIET_S)  # It has looked again, and rests.
    loop.cancel()
    await asyncio.wait({loop})


async def test_a_run_that_another_held_up_does_not_wait_for_the_poll_where_no_hint_comes() -> None:
    post = Post(reply="none", settings={"poll_s": 3600.0}, limit=JobLimit(1))
    keys = await post.enqueue("first", "second")
    publish = post.broker.publish

    async def slow(messages: Sequence[Message]) -> Sequence[Publication]:
        await asyncio.sleep(QUIET_S)  # The deliverer looks again, finds nothing, and rests.
        return await publish(messages)

    post.broker.publish = slow  # type: ignore[method-assign]
    with patch.object(post.memory.signals, "hint"):
        loop = asyncio.create_task(post.deliverer.run())
        for key in keys:
            await until(partial(is_sent, post, key))
        loop.cancel()
        await asyncio.wait({loop})


async def test_what_comes_to_an_idle_deliverer_does_not_wait_for_a_look_at_all_that_waits() -> None:
    post = Post(reply="none", settings={"poll_s": 3600.0})
    await post.deliver()
    (key,) = await post.enqueue("1")
    with patch.object(post.memory.ledger, "outlook", side_effect=AssertionError):
        await post.deliver()
    assert await is_sent(post, key)


async def test_what_comes_to_an_idle_deliverer_keeps_the_limits_of_its_job() -> None:
    post = Post(limit=JobLimit(1))
    await post.deliver()
    keys = await post.enqueue("first", "second")
    for _ in range(2):
        await post.deliver()
    assert [await post.state(one) for one in keys] == [RunState.RUNNING, RunState.READY]


async def test_what_waits_is_looked_at_by_a_deliverer_that_was_full() -> None:
    """What came last would go first, whoever waits for long."""
    post = Post(route={"ahead_max": 1})
    await post.enqueue("first", "second")
    for _ in range(2):
        await post.deliver()  # Now it is full.
    subscription = await post.broker.subscribe(THUMBS, PROCESSORS, 1)
    await subscription.receive(1, PATIENCE_S)
    with patch.object(post.memory.ledger, "outlook", wraps=post.memory.ledger.outlook) as outlook:
        await post.deliver()
    assert outlook.called
    assert len(post.broker.published) == 2


async def test_a_deliverer_that_is_called_for_others_looks_first() -> None:
    post = Post(reply="none")
    with patch.object(post.memory.ledger, "claim_direct", wraps=post.memory.ledger.claim_direct) as claim:
        for _ in range(HINTS_MAX + 3):
            await post.deliver()
        assert claim.call_count == HINTS_MAX
    (key,) = await post.enqueue("1")
    await post.deliver()
    assert await is_sent(post, key)


async def test_how_a_run_travelled_is_written_though_no_caller_waits_for_it() -> None:
    post = Post()
    loop = asyncio.create_task(post.deliverer.run())
    (key,) = await post.enqueue("1")
    await until(partial(has_travelled, post, key))
    loop.cancel()
    await asyncio.wait({loop})


async def test_a_deliverer_that_stops_writes_how_its_runs_travelled() -> None:
    post = Post()
    services = BrokerServices(post.link(), [post.deliverer], post.trail)
    with patch("fencepost.services.trail.TOGETHER_S", 3600.0):
        loop = asyncio.create_task(services.run())
        (key,) = await post.enqueue("1")
        await until(lambda: bool(post.broker.published))
        loop.cancel()
        await asyncio.wait({loop})
    assert await has_travelled(post, key)


async def test_what_is_being_written_when_a_process_stops_is_written() -> None:
    post = Post()
    key, _ = await post.one_sent()
    run = await post.run(key)
    append, begun = post.memory.run_logs.append, asyncio.Event()

    async def slow(pages: Sequence[LogPage]) -> Sequence[bool]:
        if not begun.is_set():
            begun.set()
            await asyncio.Event().wait()
        return await append(pages)

    post.memory.run_logs.append = slow  # type: ignore[method-assign]
    post.trail.note(Station.STARTED, [(Ticket(NS, key, run.attempt, run.fence), "started by vm-1")])
    await asyncio.wait_for(begun.wait(), PATIENCE_S)
    await post.trail.close()
    chunks = await post.memory.run_logs.read(NS, key, limit=10)
    assert [one.chunk.text for one in chunks][1:] == ["started by vm-1"]


async def test_a_loop_that_is_cancelled_does_not_hang() -> None:
    post = Post(reply="none")
    (key,) = await post.enqueue("1")
    loop = asyncio.create_task(post.deliverer.run())
    await until(partial(is_sent, post, key))
    loop.cancel()
    await asyncio.wait({loop})
    assert loop.cancelled()


async def test_a_claim_that_comes_while_the_deliverer_stops_costs_no_attempt() -> None:
    post = Post(reply="none")
    (key,) = await post.enqueue("1")
    claim, asked, may_answer = post.memory.ledger.claim_direct, asyncio.Event(), asyncio.Event()

    async def slow(claim_request: ClaimRequest, limit: int) -> Sequence[Claim]:
        claims = await claim(claim_request, limit)
        asked.set()
        await may_answer.wait()
        return claims

    post.memory.ledger.claim_direct = slow  # type: ignore[method-assign]
    loop = asyncio.create_task(post.deliverer.run())
    await asyncio.wait_for(asked.wait(), PATIENCE_S)
    loop.cancel()
    await asyncio.sleep(0)
    may_answer.set()
    await asyncio.wait({loop})
    run = await post.run(key)
    assert (run.state, run.attempt - run.attempts_before_replay) == (RunState.READY, 0)
    assert loop.cancelled()


async def has_travelled(post: Post, key: RunKey) -> bool:
    return bool(await post.memory.run_logs.read(NS, key, limit=10))


async def is_sent(post: Post, key: RunKey) -> bool:
    return await post.state(key) is RunState.SUCCEEDED
