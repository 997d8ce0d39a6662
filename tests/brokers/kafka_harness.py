"""Kafka under the contracts of brokers."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from uuid import uuid4

from fencepost.brokers.kafka import KafkaBroker, open_broker
from tests.servers.kafka import KafkaServer


class KafkaHarness:
    """See `RestartableHarness`; `server` is there where the test may stop it."""

    redelivered_within_s = 15.0
    counts_deliveries = False

    def __init__(self, url: str, broker: KafkaBroker, stack: AsyncExitStack) -> None:
        self.url = url
        self.broker = broker
        self.server: KafkaServer | None = None
        self._stack = stack

    @classmethod
    async def opened(cls, url: str, stack: AsyncExitStack) -> KafkaHarness:
        broker = await open_broker(f"{url}?partitions=3")
        stack.push_async_callback(broker.close)
        return cls(url, broker, stack)

    async def another(self) -> KafkaBroker:
        broker = await open_broker(self.url)
        self._stack.push_async_callback(broker.close)
        return broker

    def destination(self) -> str:
        return f"test-{uuid4().hex[:12]}"

    async def stop(self) -> None:
        assert self.server is not None
        self.server.kill()

    async def start(self) -> None:
        assert self.server is not None
        await asyncio.to_thread(self.server.start)
