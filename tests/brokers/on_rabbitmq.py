"""What the tests of the RabbitMQ adapter share."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from functools import cache
from pathlib import Path
from uuid import uuid4

from fencepost.brokers.rabbitmq import RabbitBroker, open_broker
from tests.servers.process import Address
from tests.servers.rabbitmq import RabbitServer

GUIDE = Path(__file__).parents[2] / "docs/guides/brokers/rabbitmq.md"


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


@cache
def grant(server: RabbitServer) -> None:
    """Make the vhost, the user and the rights of the guide, once for a server."""
    for command in re.findall(r"^rabbitmqctl (.+)$", GUIDE.read_text("utf-8"), re.MULTILINE):
        server.control(*shlex.split(command))
