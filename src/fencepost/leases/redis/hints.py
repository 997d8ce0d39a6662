"""Hints by publish and subscribe, on one connection of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from redis.asyncio import Connection

from fencepost.clock import Clock
from fencepost.leases.hints import Hints
from fencepost.leases.redis.connection import Master, discard
from fencepost.leases.redis.faults import UNKNOWN

CONNECT_TIMEOUT_S = 2.5
BEAT_S = 5.0
"""A line that is silent for so long is tried; one that is silent for as long again is dead."""


class RedisHints(Hints):
    """Hears of releases."""

    faults = UNKNOWN

    def __init__(self, master: Master, channel: str, clock: Clock) -> None:
        super().__init__(clock)
        self._master = master
        self._channel = channel

    async def listen(self) -> None:
        async with self._subscribed() as connection:
            self.opened()
            await self._hear(connection)

    @asynccontextmanager
    async def _subscribed(self) -> AsyncIterator[Connection]:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            connection = await self._master.connect()
            try:
                await connection.send_command("SUBSCRIBE", self._channel)
                await connection.read_response()
            except BaseException:
                await discard(connection)
                raise
        try:
            yield connection
        finally:
            await discard(connection)

    async def _hear(self, connection: Connection) -> None:
        is_tried = False
        while True:
            message = await connection.read_response(timeout=BEAT_S)
            if message is not None:
                is_tried = False
                if message[0] == "message":
                    self.tell()
            elif is_tried:
                raise TimeoutError
            else:
                is_tried = True
                await connection.send_command("PING")
