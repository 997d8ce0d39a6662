"""What RabbitMQ forbids, counts or takes back keeps no message from its consumer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from fencepost.errors import BrokerUnavailable
from fencepost.testing.conformance.brokers import confirmed, declared, numbered, received
from tests.brokers.on_rabbitmq import RabbitHarness, harness_of
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
