"""What the tests of the NATS adapter share."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from itertools import count

from fencepost.brokers.nats import NatsBroker, open_broker
from tests.servers.nats import NatsServer
from tests.servers.process import Address

GROUP = "workers"
HOLD_MAX = 100
NAMES = count()


class NatsHarness:
    redelivered_within_s = 3.0
    counts_deliveries = True

    def __init__(self, server: Address, stack: AsyncExitStack, broker: NatsBroker) -> None:
        self.server = server
        self.broker = broker
        self._stack = stack

    async def another(self) -> NatsBroker:
        return await opened(self.server.url, self._stack)

    def destination(self) -> str:
        return f"jobs.{next(NAMES)}/new"

    async def stop(self) -> None:
        assert isinstance(self.server, NatsServer)
        await asyncio.to_thread(self.server.kill)

    async def start(self) -> None:
        assert isinstance(self.server, NatsServer)
        await asyncio.to_thread(self.server.start)


async def opened(url: str, stack: AsyncExitStack) -> NatsBroker:
    broker = await open_broker(url)
    stack.push_async_callback(broker.close)
    return broker


async def declared(broker: NatsBroker) -> str:
    destination = f"jobs.{next(NAMES)}"
    await broker.declare([destination])
    return destination
