"""The adapter of Redis keeps what the port promises, on a real server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack, suppress
from itertools import count

import pytest

from fencepost.brokers.redis import RedisBroker, open_broker
from fencepost.errors import BrokerRefused, BrokerUnavailable, FencepostError
from fencepost.model.message import Confirmed, Message, Refused, Unconfirmed
from fencepost.testing.conformance.brokers import (
    BrokerConformance,
    RestartContract,
    confirmed,
    numbered,
    received,
)
from tests.servers.fixtures import started
from tests.servers.redis import RedisServer

pytestmark = pytest.mark.redis

PASSWORD = "s3cret"
GROUP = "workers"
HOLD_MAX = 100
NAMES = count()


class RedisHarness:
    redelivered_within_s = 3.0
    counts_deliveries = True

    def __init__(self, server: RedisServer, stack: AsyncExitStack, broker: RedisBroker) -> None:
        self.server = server
        self.broker = broker
        self._stack = stack

    async def another(self) -> RedisBroker:
        return await opened(self.server.url, self._stack)

    def destination(self) -> str:
        return f"jobs.{next(NAMES)}/new"

    async def stop(self) -> None:
        await asyncio.to_thread(self.server.kill)

    async def start(self) -> None:
        await asyncio.to_thread(self.server.start)


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with started(lambda: RedisServer(durable=True)) as server:
        yield server


@pytest.fixture(scope="module")
def guarded() -> Iterator[RedisServer]:
    with started(lambda: RedisServer(password=PASSWORD)) as server:
        yield server


@pytest.fixture
async def broker(server: RedisServer, stack: AsyncExitStack) -> RedisBroker:
    return await opened(server.url, stack)


class TestRedisBroker(BrokerConformance):
    @pytest.fixture
    async def harness(self, server: RedisServer, stack: AsyncExitStack) -> RedisHarness:
        return RedisHarness(server, stack, await opened(server.url, stack))


class TestRedisBrokerRestarted(RestartContract):
    @pytest.fixture
    async def harness(self, server: RedisServer, stack: AsyncExitStack) -> RedisHarness:
        url = f"{server.url}?redeliver_after=2"
        return RedisHarness(server, stack, await opened(url, stack))


async def opened(url: str, stack: AsyncExitStack) -> RedisBroker:
    broker = await open_broker(url)
    stack.push_async_callback(broker.close)
    return broker


async def declared(broker: RedisBroker) -> str:
    destination = f"jobs.{next(NAMES)}"
    await broker.declare([destination])
    return destination


async def refused(url: str, kind: type[FencepostError], stack: AsyncExitStack) -> str:
    """What is said when nothing comes of the connection."""
    with pytest.raises(kind) as caught:
        await (await opened(url, stack)).connect()
    text = str(caught.value)
    assert PASSWORD not in text
    assert "\n" not in text
    return text


async def test_a_replica_is_refused(server: RedisServer, stack: AsyncExitStack) -> None:
    with started(lambda: RedisServer(replica_of=server)) as replica:
        assert "is a replica; name the master" in await refused(replica.url, BrokerRefused, stack)


async def test_a_key_that_is_no_stream_is_refused(server: RedisServer, broker: RedisBroker) -> None:
    server.call("SET", "taken", "theirs")
    with pytest.raises(BrokerRefused, match="this key is no stream"):
        await broker.declare(["taken"])
    (answer,) = await broker.publish([Message("taken", "1", b"")])
    assert isinstance(answer, Refused)
    assert answer.permanent


async def test_a_full_stream_refuses_instead_of_losing(server: RedisServer, stack: AsyncExitStack) -> None:
    broker = await opened(f"{server.url}?length_max=3", stack)
    destination = await declared(broker)
    await confirmed(broker, numbered(destination, 2))
    first, second = await broker.publish(numbered(destination, 2))
    assert first == Confirmed()
    assert isinstance(second, Refused)
    assert "is full" in second.reason
    subscription = await broker.subscribe(destination, GROUP, HOLD_MAX)
    await subscription.acknowledge(await received(subscription, 3))
    await confirmed(broker, numbered(destination, 3))


async def test_what_is_done_does_not_pile_up(server: RedisServer, broker: RedisBroker) -> None:
    destination = await declared(broker)
    await confirmed(broker, numbered(destination, 5))
    subscription = await broker.subscribe(destination, GROUP, HOLD_MAX)
    await subscription.acknowledge(await received(subscription, 5))
    assert server.call("XLEN", destination) == 0


async def test_what_is_rejected_is_kept_aside_with_its_reason(broker: RedisBroker) -> None:
    destination = await declared(broker)
    await broker.publish([Message(destination, "7", b"{", {"a": "b", "body": "c"})])
    subscription = await broker.subscribe(destination, GROUP, HOLD_MAX)
    await subscription.reject(await received(subscription, 1), "not JSON:\n{")
    (letter,) = await received(await broker.subscribe(f"{destination}.dead", GROUP, HOLD_MAX), 1)
    assert (letter.id, letter.body) == ("7", b"{")
    assert letter.headers == {"a": "b", "body": "c", "fencepost-reason": "not JSON: {"}
    assert await broker.backlog(destination, GROUP) == 0


async def test_poison_does_not_fill_the_server(server: RedisServer, stack: AsyncExitStack) -> None:
    broker = await opened(f"{server.url}?length_max=3", stack)
    destination = await declared(broker)
    subscription = await broker.subscribe(destination, GROUP, HOLD_MAX)
    for _ in range(2):
        await confirmed(broker, numbered(destination, 3))
        await subscription.reject(await received(subscription, 3), "not JSON")
    assert server.call("XLEN", f"{destination}.dead") == 3


async def test_what_a_killed_consumer_had_goes_to_another(server: RedisServer, stack: AsyncExitStack) -> None:
    url = f"{server.url}?redeliver_after=1"
    first, second = await opened(url, stack), await opened(url, stack)
    destination = await declared(first)
    await confirmed(first, numbered(destination, 2))
    await received(await first.subscribe(destination, GROUP, HOLD_MAX), 2)
    for one in first._subscriptions:
        assert one._keeper is not None
        one._keeper.cancel()
    other = await second.subscribe(destination, GROUP, HOLD_MAX)
    assert [one.delivered for one in await received(other, 2)] == [2, 2]


async def test_what_takes_long_is_not_delivered_to_another(
    server: RedisServer, stack: AsyncExitStack
) -> None:
    url = f"{server.url}?redeliver_after=1"
    first, second = await opened(url, stack), await opened(url, stack)
    destination = await declared(first)
    await confirmed(first, numbered(destination, 2))
    held = await received(await first.subscribe(destination, GROUP, HOLD_MAX), 2)
    assert len(held) == 2
    assert await (await second.subscribe(destination, GROUP, HOLD_MAX)).receive(1, 2.5) == []


async def test_what_came_for_a_caller_that_has_gone_is_not_lost(broker: RedisBroker) -> None:
    destination = await declared(broker)
    subscription = await broker.subscribe(destination, GROUP, HOLD_MAX)
    for turn in range(20):
        await confirmed(broker, [Message(destination, str(turn), b"")])
        receiving = asyncio.create_task(subscription.receive(10, 20.0))
        for _ in range(turn):
            await asyncio.sleep(0)
        receiving.cancel()
        with suppress(asyncio.CancelledError):
            await subscription.acknowledge(await receiving)
            continue
        await subscription.acknowledge(await received(subscription, 1))
    assert await broker.backlog(destination, GROUP) == 0


async def test_a_call_that_was_cancelled_leaves_nothing_to_the_next(broker: RedisBroker) -> None:
    destination = await declared(broker)
    for turn in range(20):
        publishing = asyncio.create_task(broker.publish(numbered(destination, 50)))
        for _ in range(turn):
            await asyncio.sleep(0)
        publishing.cancel()
        with suppress(asyncio.CancelledError):
            await publishing
        refusal, answer = await broker.publish([Message("nobody", "x", b""), Message(destination, "y", b"")])
        assert isinstance(refusal, Refused)
        assert answer == Confirmed()


async def test_a_loss_in_the_midst_of_a_batch_is_not_taken_for_a_refusal(stack: AsyncExitStack) -> None:
    with started(RedisServer) as own:
        broker = await opened(own.url, stack)
        destination = await declared(broker)
        own.pause()
        publishing = asyncio.create_task(broker.publish(numbered(destination, 10)))
        await asyncio.sleep(0.2)
        own.kill()
        assert all(isinstance(one, Unconfirmed) for one in await publishing)


async def test_a_master_that_becomes_a_replica_is_away_and_costs_no_message_its_answer(
    server: RedisServer, stack: AsyncExitStack
) -> None:
    with started(RedisServer) as own:
        broker = await opened(own.url, stack)
        destination = await declared(broker)
        own.call("REPLICAOF", "127.0.0.1", str(server.port))
        with pytest.raises(BrokerUnavailable, match="takes no messages now"):
            await broker.publish(numbered(destination, 3))
        with pytest.raises(BrokerRefused, match="is a replica; name the master"):
            await broker.publish(numbered(destination, 3))


async def test_a_server_without_memory_is_away_until_it_has_some(stack: AsyncExitStack) -> None:
    with started(RedisServer) as own:
        broker = await opened(own.url, stack)
        destination = await declared(broker)
        own.call("CONFIG SET", "maxmemory", "1")
        with pytest.raises(BrokerUnavailable, match="takes no messages now"):
            await broker.publish(numbered(destination, 3))
        own.call("CONFIG SET", "maxmemory", "0")
        await confirmed(broker, numbered(destination, 3))


async def test_what_no_replica_has_is_not_confirmed(
    server: RedisServer, stack: AsyncExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fencepost.brokers.redis.broker.WAIT_TIMEOUT_MS", 100)
    broker = await opened(f"{server.url}?replicas=1", stack)
    (answer,) = await broker.publish(numbered(await declared(broker), 1))
    assert isinstance(answer, Unconfirmed)
    assert "0 of 1 replicas" in answer.reason


async def test_what_a_server_may_lose_is_said(guarded: RedisServer, stack: AsyncExitStack) -> None:
    guarded.call("CONFIG SET", "maxmemory", "500mb")
    guarded.call("CONFIG SET", "maxmemory-policy", "allkeys-lru")
    broker = await opened(guarded.url, stack)
    await broker.connect()
    said = " ".join(broker.caveats)
    for word in ("appendonly yes", "noeviction", "allkeys-lru", "replicas=1"):
        assert word in said


async def test_a_durable_server_is_not_complained_of(broker: RedisBroker) -> None:
    await broker.connect()
    assert not any("appendfsync" in one or "noeviction" in one for one in broker.caveats)
