"""One connection: opened when a call needs it, and again after a loss, at most once a second."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from aiormq.abc import AbstractChannel
from aiormq.connection import Connection, TCPTransportFactory, TLSTransportFactory, TransportFactory
from aiormq.exceptions import AMQPConnectionError
from yarl import URL

from fencepost.brokers.rabbitmq.address import RabbitAddress
from fencepost.brokers.rabbitmq.faults import FAULTS, bounded
from fencepost.errors import BrokerRefused, BrokerUnavailable
from fencepost.model.quoting import quoted

CONNECT_TIMEOUT_S = 5.0
RETRY_PERIOD_S = 1.0
CLOSE_TIMEOUT_S = 2.0


class Transport(TransportFactory):
    """The driver's own transport, which can be ended at once."""

    def __init__(self, is_secure: bool) -> None:
        self._factory = TLSTransportFactory() if is_secure else TCPTransportFactory()
        self._writer: asyncio.StreamWriter | None = None

    async def create(self, url: URL, **options: Any) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, self._writer = await self._factory.create(url, **options)
        return reader, self._writer

    def abort(self) -> None:
        if self._writer is not None:
            self._writer.transport.abort()


class Link:
    """See the module."""

    def __init__(self, address: RabbitAddress) -> None:
        self.address = address
        self._connection: Connection | None = None
        self._transport = Transport(address.is_secure)
        self._opening = asyncio.Lock()
        self._tried_at: float | None = None
        self._fault: BrokerRefused | BrokerUnavailable | None = None
        self._is_closed = False

    async def open(self) -> Connection:
        """The connection. Raises `BrokerUnavailable` and `BrokerRefused`."""
        if self._connection is None or not self._connection.is_opened:
            async with self._opening:
                if self._connection is None or not self._connection.is_opened:
                    await self._wait_for_turn()
                    self._connection = await self._connect()
        return self._connection

    @asynccontextmanager
    async def channel(self) -> AsyncIterator[AbstractChannel]:
        """A channel for a few questions. The broker ends it with the first one that it refuses."""
        connection = await self.open()
        async with bounded(self.address):
            channel = await connection.channel(publisher_confirms=False)
            try:
                yield channel
            finally:
                await close_channel(channel)

    def drop(self) -> None:
        """End the connection at once; calls that wait for an answer there get none."""
        self._transport.abort()
        self._connection = None

    async def close(self) -> None:
        self._is_closed = True
        async with self._opening:
            connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(*FAULTS):
                await connection.close(AMQPConnectionError("this client was closed"), timeout=CLOSE_TIMEOUT_S)
        self._transport.abort()

    async def _wait_for_turn(self) -> None:
        if self._is_closed:
            raise BrokerUnavailable(f"broker {quoted(self.address.shown)}: this client was closed")
        if self._tried_at is None:
            return
        wait_s = self._tried_at + RETRY_PERIOD_S - asyncio.get_running_loop().time()
        if wait_s > 0 and self._fault is not None:
            raise type(self._fault)(str(self._fault))
        await asyncio.sleep(max(wait_s, 0.0))

    async def _connect(self) -> Connection:
        """A TLS connection that does not answer is slow to end, so its transport is aborted first."""
        self._transport = Transport(self.address.is_secure)
        connection = Connection(self.address.url, transport_factory=self._transport)
        loop = asyncio.get_running_loop()
        abort = loop.call_later(CONNECT_TIMEOUT_S, self._transport.abort)
        self._fault = None
        try:
            async with bounded(self.address, CONNECT_TIMEOUT_S):
                await connection.connect()
        except (BrokerRefused, BrokerUnavailable) as fault:
            self._fault = fault
            raise
        except BaseException:
            self._transport.abort()
            raise
        finally:
            abort.cancel()
            self._tried_at = loop.time()
        return connection


async def close_channel(channel: AbstractChannel) -> None:
    """Close it in order, where its connection lives."""
    if not channel.is_closed:
        with suppress(*FAULTS):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await channel.close()
