"""Announcements: one exchange for all topics, and a queue of its own for each process that listens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from uuid import uuid4

from aiormq.abc import AbstractChannel, DeliveredMessage

from fencepost.brokers.rabbitmq.faults import bounded
from fencepost.brokers.rabbitmq.link import RETRY_PERIOD_S, Link, close_channel
from fencepost.errors import BrokerRefused, BrokerUnavailable

EXCHANGE = "fencepost.announcements"
LISTENER_PREFIX = "fencepost.listener."
WAITING_MAX = 1_000
"""How many announcements wait for a listener that is slow; older ones are dropped."""

Callback = Callable[[bytes], None]


class Announcements:
    """The topic is the routing key. A topic that nothing listens to any more stays bound until the connection
    ends."""

    def __init__(self, sending: Link, receiving: Link) -> None:
        self._sending, self._receiving = sending, receiving
        self._speaking: AbstractChannel | None = None
        self._listening: AbstractChannel | None = None
        self._queue = ""
        self._opening = asyncio.Lock()
        self._callbacks: dict[str, list[Callback]] = {}
        self._bound = set[str]()
        self._keeper: asyncio.Task[None] | None = None

    async def announce(self, topic: str, body: bytes) -> None:
        connection = await self._sending.open()
        async with bounded(self._sending.address):
            if self._speaking is None or self._speaking.is_closed:
                await self._declare(self._sending)
                self._speaking = await connection.channel(publisher_confirms=False)
            await self._speaking.basic_publish(body, exchange=EXCHANGE, routing_key=topic)

    async def listen(self, topic: str, callback: Callback) -> Callable[[], None]:
        callbacks = self._callbacks.setdefault(topic, [])
        callbacks.append(callback)

        def stop() -> None:
            if callback in callbacks:
                callbacks.remove(callback)

        try:
            await self._open()
        except BaseException:
            stop()
            raise
        if self._keeper is None:
            self._keeper = asyncio.create_task(self._keep_open())
        return stop

    async def close(self) -> None:
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.cancel()
            await asyncio.gather(keeper, return_exceptions=True)

    async def _keep_open(self) -> None:
        """Listen again after each loss."""
        while True:
            if self._listening is not None:
                await asyncio.wait({self._listening.closing})
            try:
                await self._open()
            except (BrokerUnavailable, BrokerRefused):
                await asyncio.sleep(RETRY_PERIOD_S)

    async def _open(self) -> None:
        """See that every topic is bound to our queue."""
        async with self._opening:
            connection = await self._receiving.open()
            async with bounded(self._receiving.address):
                channel = self._listening
                if channel is None or channel.is_closed:
                    await self._declare(self._receiving)
                    channel = await connection.channel(publisher_confirms=False)
                    try:
                        await self._consume(channel)
                    except BaseException:
                        await close_channel(channel)
                        raise
                    self._listening, self._bound = channel, set()
                for topic in self._callbacks.keys() - self._bound:
                    await channel.queue_bind(self._queue, EXCHANGE, topic)
                    self._bound.add(topic)

    async def _consume(self, channel: AbstractChannel) -> None:
        self._queue = f"{LISTENER_PREFIX}{uuid4().hex}"
        await channel.queue_declare(
            self._queue, exclusive=True, auto_delete=True, arguments={"x-max-length": WAITING_MAX}
        )
        await channel.basic_consume(self._queue, self._tell, no_ack=True)

    async def _tell(self, message: DeliveredMessage) -> None:
        loop = asyncio.get_running_loop()
        for one in tuple(self._callbacks.get(message.routing_key or "", ())):
            loop.call_soon(partial(one, message.body))

    async def _declare(self, link: Link) -> None:
        """Make the exchange; where that is not allowed it has to be there."""
        with suppress(BrokerRefused):
            async with link.channel() as channel:
                await channel.exchange_declare(EXCHANGE, exchange_type="direct", durable=True)
