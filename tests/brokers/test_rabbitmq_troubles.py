"""What RabbitMQ forbids, counts or takes back keeps no message from its consumer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from uuid import uuid4

import aiormq
import pytest
from aiormq.abc import AbstractChannel

from fencepost.errors import BrokerUnavailable
from fencepost.model.message import Confirmed, Message, Publication, Refused
from fencepost.testing.conformance.brokers import confirmed, declared, numbered, received, subscribed
from tests.brokers.on_rabbitmq import RabbitHarness, harness_of, opened
from tests.servers.process import Address
from tests.servers.rabbitmq import RabbitServer

pytestmark = pytest.mark.rabbitmq


@pytest.fixture
def server(rabbitmq_server: Address) -> RabbitServer:
    """One whose users, limits and alarms are ours to choose."""
    if not isinstance(rabbitmq_server, RabbitServer):
        pytest.skip("needs a RabbitMQ of its own: unset FENCEPOST_TEST_RABBITMQ")
    return rabbitmq_server


@pytest.fixture
async def harness(server: RabbitServer) -> AsyncIterator[RabbitHarness]:
    async for one in harness_of(server):
        yield one


@pytest.fixture
async def channel(server: RabbitServer) -> AsyncIterator[AbstractChannel]:
    """What a person does by hand."""
    connection = await aiormq.connect(server.url)
    yield await connection.channel()
    await connection.close()


@pytest.mark.proof
async def test_what_could_not_be_kept_aside_comes_again(
    server: RabbitServer, harness: RabbitHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fencepost.brokers.rabbitmq.publishing.BLOCKED_TIMEOUT_S", 0.2)
    monkeypatch.setattr("fencepost.brokers.rabbitmq.publishing.CONFIRM_TIMEOUT_S", 1.0)
    destination = await declared(harness)
    await confirmed(harness.broker, numbered(destination, 1))
    subscription = await harness.broker.subscribe(destination, "workers", 1)
    await asyncio.to_thread(server.control, "set_vm_memory_high_watermark", "0.00001")
    try:
        for delivered in (1, 2, 3):
            (one,) = await received(subscription, 1)
            assert (one.id, one.delivered) == ("id-0", delivered)
            with pytest.raises(BrokerUnavailable):
                await subscription.reject([one], "not JSON")
    finally:
        await asyncio.to_thread(server.control, "set_vm_memory_high_watermark", "0.4")


@pytest.mark.proof
async def test_a_forbidden_exchange_costs_no_other_message_its_answer_twice(
    server: RabbitServer, harness: RabbitHarness, channel: AbstractChannel
) -> None:
    there, secret = await declared(harness), f"secret.{uuid4().hex}"
    await channel.exchange_declare(secret, exchange_type="topic", durable=True)
    await channel.queue_bind(there, secret, "#")
    await asyncio.to_thread(server.control, "add_user", "reporter", "CHANGE-ME")
    await asyncio.to_thread(
        server.control, "set_permissions", "reporter", "", r"^(amq\.default|orders)", ".*"
    )
    async with AsyncExitStack() as stack:
        broker = await opened(f"amqp://reporter:CHANGE-ME@127.0.0.1:{server.port}/", stack)

        async def publish(turn: int) -> list[Publication]:
            places = enumerate((f"{secret}/a", there, f"{secret}/b"))
            messages = [Message(one, f"{turn}-{at}", b"x") for at, one in places]
            return list(await broker.publish(messages))

        answers = [await publish(turn) for turn in range(3)]
        for first, _, third in answers:
            for one in (first, third):
                assert isinstance(one, Refused)
                assert f"exchange '{secret}'" in one.reason
                assert "grant the user" in one.reason
        assert [second for _, second, _ in answers[1:]] == [Confirmed()] * 2
        await asyncio.to_thread(server.control, "set_permissions", "reporter", "", ".*", ".*")
        assert await publish(3) == [Confirmed()] * 3


async def test_no_count_of_deliveries_ends_a_message(
    server: RabbitServer, harness: RabbitHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only servers that would count are asked not to; older ones take the argument, which shows it here."""
    uncounted = await declared(harness)
    monkeypatch.setattr("fencepost.brokers.rabbitmq.declaring.LIMITS_DELIVERIES", 3)
    counted = await declared(harness)
    queues = (await asyncio.to_thread(server.control, "list_queues", "name", "arguments")).splitlines()
    limited = {line.split()[0] for line in queues if '{"x-delivery-limit",-1}' in line}
    assert {counted, f"{counted}.dead"} <= limited
    assert uncounted not in limited


@pytest.mark.proof
async def test_a_message_may_be_held_for_as_long_as_its_consumer_lives(
    server: RabbitServer, harness: RabbitHarness
) -> None:
    await subscribed(harness, await declared(harness))
    consumers = await asyncio.to_thread(server.control, "list_consumers", "arguments")
    assert "x-consumer-timeout" in consumers
