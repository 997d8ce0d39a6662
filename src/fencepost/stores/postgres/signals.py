"""Hints by LISTEN and NOTIFY, on one connection of their own that comes back by itself.

What was sent while the connection was away is lost. So every listener is called once after each
reconnection, and nothing more is promised: the pollers are the net.

The same session vouches for the process: it holds a lock under a key of the process's own, and a process that
sees the lock gone knows that the session has ended (see `leases` and `nodes`). Behind a pooler there is no
session to keep: nothing is heard there, and no process vouched for.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import asyncpg

from fencepost.clock import Clock
from fencepost.errors import FencepostError
from fencepost.ports.signals import Topic
from fencepost.stores.postgres.address import Address
from fencepost.stores.postgres.connection import CLOSE_TIMEOUT_S, Connection, connect
from fencepost.stores.postgres.faults import DENIED, UNKNOWN, translated
from fencepost.stores.queries import load_queries

QUERIES = load_queries(__package__, "signals.sql")
CHANNELS = {f"fencepost_{topic}": topic for topic in Topic}
BACKOFF_FIRST_S = 0.1
BACKOFF_MAX_S = 5.0

Callback = Callable[[], None]


class PostgresSignals:
    """See `ports.signals`."""

    def __init__(self, address: Address, clock: Clock) -> None:
        self._address = address
        self._clock = clock
        self._callbacks: dict[Topic, list[Callback]] = {topic: [] for topic in Topic}
        self._connection: Connection | None = None
        self._vouching: Connection | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._opening = asyncio.Lock()
        self._own_key = secrets.randbits(62)

    @property
    def session_key(self) -> int | None:
        """By which others see that this process is connected; None while it is not, and behind a pooler."""
        session = self._vouching
        return None if session is None or session.is_closed() else self._own_key

    @property
    def are_connected(self) -> bool:
        return self.session_key is not None

    async def listen(self, topic: Topic, callback: Callback) -> Callable[[], None]:
        async with self._opening:
            if self._keeper is None and not self._address.pooled:
                lost = await self._connect()
                self._keeper = asyncio.create_task(self._keep(lost), name="fencepost-listener")
        self._callbacks[topic].append(callback)

        def stop() -> None:
            with suppress(ValueError):
                self._callbacks[topic].remove(callback)

        return stop

    async def close(self) -> None:
        """End the connection and forget the listeners."""
        for callbacks in self._callbacks.values():
            callbacks.clear()
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
        await self._disconnect()

    async def _keep(self, lost: asyncio.Event) -> None:
        """Wait until the connection is lost, make another, tell all listeners, and so on."""
        while True:
            await lost.wait()
            await self._disconnect()
            lost = await self._reconnect()
            for topic in Topic:
                self._call(topic)

    async def _reconnect(self) -> asyncio.Event:
        pause_s = BACKOFF_FIRST_S
        while True:
            try:
                return await self._connect()
            except FencepostError:
                await self._disconnect()
                await self._clock.sleep(pause_s)
                pause_s = min(2 * pause_s, BACKOFF_MAX_S)

    async def _connect(self) -> asyncio.Event:
        lost = asyncio.Event()
        with translated():
            self._connection = connection = await connect(self._address)
            connection.add_termination_listener(lambda _: lost.set())
            for channel in CHANNELS:
                await connection.add_listener(channel, self._heard)
            await connection.fetch(QUERIES["vouch"], self._own_key)
            self._vouching = connection
        return lost

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None or connection.is_closed():
            return
        try:
            await connection.close(timeout=CLOSE_TIMEOUT_S)
        except (*UNKNOWN, *DENIED, asyncpg.InterfaceError):
            connection.terminate()

    def _heard(self, connection: Any, pid: int, channel: str, payload: object) -> None:
        self._call(CHANNELS[channel])

    def _call(self, topic: Topic) -> None:
        for callback in tuple(self._callbacks[topic]):
            callback()
