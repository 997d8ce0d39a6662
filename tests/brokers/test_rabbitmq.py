"""RabbitMQ keeps what the port of brokers promises, on a real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from uuid import uuid4

import pytest

from fencepost.brokers.rabbitmq import RabbitBroker, open_broker
from fencepost.testing.conformance.brokers import BrokerConformance, RestartContract
from tests.servers.process import Address
from tests.servers.rabbitmq import RabbitServer

pytestmark = pytest.mark.rabbitmq


class RabbitHarness:
    redelivered_within_s = 5.0
    counts_deliveries = True

    def __init__(self, broker: RabbitBroker, server: Address, stack: AsyncExitStack) -> None:
        self.broker = broker
        self._server = server
        self._stack = stack

    async def another(self) -> RabbitBroker:
        return await opened(self._server.url, self._stack)

    def destination(self) -> str:
        return f"orders.{uuid4().hex}"

    async def stop(self) -> None:
        assert isinstance(self._server, RabbitServer)
        await asyncio.to_thread(self._server.settle)
        self._server.kill()

    async def start(self) -> None:
        assert isinstance(self._server, RabbitServer)
        await asyncio.to_thread(self._server.start)


async def opened(url: str, stack: AsyncExitStack) -> RabbitBroker:
    broker = await open_broker(url)
    stack.push_async_callback(broker.close)
    return broker


async def harness_of(server: Address) -> AsyncIterator[RabbitHarness]:
    async with AsyncExitStack() as stack:
        yield RabbitHarness(await opened(server.url, stack), server, stack)


class TestRabbitBroker(BrokerConformance):
    @pytest.fixture
    async def harness(self, rabbitmq_server: Address) -> AsyncIterator[RabbitHarness]:
        async for one in harness_of(rabbitmq_server):
            yield one


class TestRabbitBrokerRestarted(RestartContract):
    @pytest.fixture
    async def harness(self, rabbitmq_node: RabbitServer) -> AsyncIterator[RabbitHarness]:
        if not rabbitmq_node.is_running:
            rabbitmq_node.start()
        async for one in harness_of(rabbitmq_node):
            yield one
