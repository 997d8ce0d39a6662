"""The adapter of NATS keeps what the port promises, on a real server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack, suppress
from typing import Any

import nats
import pytest

from fencepost.brokers.nats import NatsBroker
from fencepost.brokers.nats.streams import derived
from fencepost.errors import BrokerRefused, BrokerUnavailable
from fencepost.model.message import Confirmed, Message, Refused, Unconfirmed
from fencepost.testing.conformance.brokers import (
    BrokerConformance,
    RestartContract,
    confirmed,
    numbered,
    received,
    until,
)
from tests.brokers.on_nats import GROUP, HOLD_MAX, NAMES, NatsHarness, declared, opened
from tests.servers.fixtures import started
from tests.servers.nats import NatsServer

pytestmark = pytest.mark.nats


@pytest.fixture(scope="module")
def own_server() -> Iterator[NatsServer]:
    with started(NatsServer) as server:
        yield server


@pytest.fixture
async def broker(own_server: NatsServer, stack: AsyncExitStack) -> NatsBroker:
    return await opened(own_server.url, stack)


class TestNatsBroker(BrokerConformance):
    @pytest.fixture
    async def harness(self, own_server: NatsServer, stack: AsyncExitStack) -> NatsHarness:
        return NatsHarness(own_server, stack, await opened(own_server.url, stack))


class TestNatsBrokerRestarted(RestartContract):
    @pytest.fixture
    async def harness(self, own_server: NatsServer, stack: AsyncExitStack) -> NatsHarness:
        url = f"{own_server.url}?redeliver_after=2"
        return NatsHarness(own_server, stack, await opened(url, stack))


@pytest.mark.parametrize("destination", ["a..b", "a."])
async def test_a_destination_that_is_no_subject_is_refused(broker: NatsBroker, destination: str) -> None:
    with pytest.raises(BrokerRefused, match="a part between dots is empty"):
        await broker.declare([destination])
    (answer,) = await broker.publish([Message(destination, "1", b"")])
    assert isinstance(answer, Refused)
    assert answer.permanent


async def test_a_message_that_is_published_again_is_not_doubled(broker: NatsBroker) -> None:
    destination = await declared(broker)
    await confirmed(broker, numbered(destination, 2))
    await confirmed(broker, numbered(destination, 2))
    assert await broker.backlog(destination, GROUP) == 2


async def test_a_full_stream_refuses_instead_of_losing(own_server: NatsServer, broker: NatsBroker) -> None:
    client = await nats.connect(own_server.url)
    with_limit: dict[str, Any] = {"retention": "workqueue", "discard": "new", "max_msgs": 1}
    await client.jetstream().add_stream(name="small", subjects=["small.>"], **with_limit)
    await client.close()
    await broker.declare(["small.a"])
    first, second = await broker.publish([Message("small.a", "1", b""), Message("small.a", "2", b"")])
    assert first == Confirmed()
    assert isinstance(second, Refused)
    assert "maximum messages" in second.reason


@pytest.mark.parametrize("what", [{"storage": "memory"}, {"retention": "interest"}])
async def test_a_stream_that_would_lose_messages_is_refused(
    own_server: NatsServer, broker: NatsBroker, what: dict[str, Any]
) -> None:
    name = f"theirs-{next(NAMES)}"
    client = await nats.connect(own_server.url)
    await client.jetstream().add_stream(name=name, subjects=[name], **what)
    await client.close()
    with pytest.raises(BrokerRefused, match="would lose messages"):
        await broker.declare([name])


async def test_what_is_rejected_is_kept_aside_with_its_reason(broker: NatsBroker) -> None:
    destination = await declared(broker)
    await broker.publish([Message(destination, "7", b"{", {"a": "b"})])
    subscription = await broker.subscribe(destination, GROUP, HOLD_MAX)
    await subscription.reject(await received(subscription, 1), "not JSON:\n{")
    dead = await broker.subscribe(f"{destination}.dead", GROUP, HOLD_MAX)
    (letter,) = await received(dead, 1)
    assert (letter.id, letter.body) == ("7", b"{")
    assert letter.headers == {"a": "b", "fencepost-reason": "not JSON: {"}
    assert await broker.backlog(destination, GROUP) == 0


async def test_a_dead_letter_in_the_stream_of_its_destination_is_no_repetition(
    own_server: NatsServer, broker: NatsBroker
) -> None:
    name = f"all-{next(NAMES)}"
    client = await nats.connect(own_server.url)
    await client.jetstream().add_stream(name=name, subjects=[f"{name}.>"])
    await client.close()
    destination = f"{name}.new"
    await broker.declare([destination])
    await broker.publish([Message(destination, "7", b"{")])
    subscription = await broker.subscribe(destination, GROUP, HOLD_MAX)
    await subscription.reject(await received(subscription, 1), "not JSON")
    (letter,) = await received(await broker.subscribe(f"{destination}.dead", GROUP, HOLD_MAX), 1)
    assert letter.body == b"{"


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"x" * 1_048_576, None),
        (b"{", {"Nats-Expected-Stream": "{stream}"}),
        (b"{", {"Nats-Msg-Id": "", "a": "b"}),
    ],
)
async def test_no_message_of_others_is_too_odd_to_be_rejected(
    own_server: NatsServer, broker: NatsBroker, body: bytes, headers: dict[str, str] | None
) -> None:
    destination = await declared(broker)
    stream = derived(destination)
    client = await nats.connect(own_server.url)
    named = headers and {name: value.format(stream=stream) for name, value in headers.items()}
    await client.jetstream().publish(destination, body, headers=named)
    await client.close()
    subscription = await broker.subscribe(destination, GROUP, HOLD_MAX)
    await subscription.reject(await received(subscription, 1), "not JSON")
    (letter,) = await received(await broker.subscribe(f"{destination}.dead", GROUP, HOLD_MAX), 1)
    assert letter.body == body
    assert await broker.backlog(destination, GROUP) == 0


async def test_what_a_killed_consumer_had_goes_to_another(
    own_server: NatsServer, broker: NatsBroker, stack: AsyncExitStack
) -> None:
    destination = await declared(broker)
    await confirmed(broker, numbered(destination, 2))
    url = f"{own_server.url}?redeliver_after=1"
    first = await opened(url, stack)
    await received(await first.subscribe(destination, GROUP, HOLD_MAX), 2)
    session = await first._link.session()
    for one in first._subscriptions:
        assert one._keeper is not None
        one._keeper.cancel()
    await session.close()
    other = await (await opened(url, stack)).subscribe(destination, GROUP, HOLD_MAX)
    assert [one.delivered for one in await received(other, 2)] == [2, 2]


async def test_what_takes_long_is_not_delivered_to_another(
    own_server: NatsServer, stack: AsyncExitStack
) -> None:
    url = f"{own_server.url}?redeliver_after=0.6"
    first, second = await opened(url, stack), await opened(url, stack)
    destination = await declared(first)
    await confirmed(first, numbered(destination, 2))
    held = await received(await first.subscribe(destination, GROUP, HOLD_MAX), 2)
    assert len(held) == 2
    assert await (await second.subscribe(destination, GROUP, HOLD_MAX)).receive(1, 2.0) == []


async def test_what_came_for_a_caller_that_has_gone_is_not_lost(broker: NatsBroker) -> None:
    destination = await declared(broker)
    subscription = await broker.subscribe(destination, GROUP, HOLD_MAX)
    waiting = asyncio.create_task(subscription.receive(10, 20.0))
    await asyncio.sleep(0.1)
    waiting.cancel()
    with suppress(asyncio.CancelledError):
        await waiting
    await confirmed(broker, numbered(destination, 5))
    assert len(await received(subscription, 5)) == 5


async def test_a_call_that_was_cancelled_leaves_nothing_to_the_next(broker: NatsBroker) -> None:
    destination = await declared(broker)
    for turn in range(20):
        messages = [Message(destination, f"{turn}-{number}", b"x" * 100) for number in range(50)]
        publishing = asyncio.create_task(broker.publish(messages))
        for _ in range(turn):
            await asyncio.sleep(0)
        publishing.cancel()
        with suppress(asyncio.CancelledError):
            await publishing
        refusal, answer = await broker.publish(
            [Message("nobody.there", "x", b""), Message(destination, f"{turn}-last", b"")]
        )
        assert isinstance(refusal, Refused)
        assert answer == Confirmed()


async def test_a_loss_in_the_midst_of_a_batch_is_not_taken_for_a_refusal(stack: AsyncExitStack) -> None:
    with started(NatsServer) as server:
        broker = await opened(server.url, stack)
        destination = await declared(broker)
        server.pause()
        publishing = asyncio.create_task(broker.publish(numbered(destination, 10)))
        await asyncio.sleep(0.2)
        server.kill()
        assert all(isinstance(one, Unconfirmed) for one in await publishing)


async def test_a_consumer_that_was_deleted_leaves_nothing_behind(
    own_server: NatsServer, broker: NatsBroker
) -> None:
    destination = await declared(broker)
    subscription = await broker.subscribe(destination, GROUP, HOLD_MAX)
    client = (await broker._link.session()).client
    before = len(client._subs)
    by_hand = await nats.connect(own_server.url)
    for _ in range(3):
        await by_hand.jetstream().delete_consumer(derived(destination), derived(destination))
        with pytest.raises(BrokerUnavailable, match="the consumer is not there"):
            await subscription.receive(1, 5.0)
        assert await subscription.receive(1, 0.1) == []
    await by_hand.close()
    assert len(client._subs) == before


async def test_the_caveats_name_the_flush_to_disk(broker: NatsBroker) -> None:
    assert any("sync_interval" in one for one in broker.caveats)


async def test_the_backlog_counts_what_no_consumer_has_been_given(broker: NatsBroker) -> None:
    destination = await declared(broker)
    await confirmed(broker, numbered(destination, 5))
    subscription = await broker.subscribe(destination, GROUP, 2)
    await received(subscription, 2)

    async def three_are_left() -> bool:
        return await broker.backlog(destination, GROUP) == 3

    await until(three_are_left)


def test_names_of_streams_are_not_shared_by_destinations() -> None:
    assert len({derived(one) for one in ("a.b", "a/b", "a-b", "a_b")}) == 4
