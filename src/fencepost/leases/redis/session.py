"""Running scripts, each once and within a limit of time.

A connection belongs to one call at a time. It is kept for the next one only if the call came to its end;
after a fault or a cancellation an answer may still be on its way, and the next caller would take it for
its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import redis
from redis.asyncio import Connection

from fencepost.leases.redis.connection import Master, discard, is_sound
from fencepost.leases.redis.scripts import Script

REQUEST_TIMEOUT_S = 2.5
"""For a call from end to end: finding the master, connecting, and the answer."""

CONNECTIONS_MAX = 4


class Session:
    """A few connections to the master."""

    def __init__(self, master: Master) -> None:
        self._master = master
        self._idle: list[Connection] = []
        self._places = asyncio.Semaphore(CONNECTIONS_MAX)
        self._is_closed = False

    async def run(self, script: Script, keys: Sequence[str], arguments: Sequence[str | int]) -> Any:
        """What the script answers. Raises what the driver raises."""
        async with self._turn() as connection:
            return await _evaluate(connection, script, [len(keys), *keys, *arguments])

    async def run_both_ways(self, script: Script, keys: Sequence[str], arguments: Sequence[str | int]) -> Any:
        """As `run`, and by its text too, which a server needs that has forgotten the script."""
        async with self._turn() as connection:
            call = [len(keys), *keys, *arguments]
            await _call(connection, "EVAL", script.text, *call)
            return await _call(connection, "EVALSHA", script.digest, *call)

    async def close(self) -> None:
        """Close what is idle; a call under way closes its own."""
        self._is_closed = True
        await self._discard_idle()

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[Connection]:
        """A connection, for a limited time."""
        if self._is_closed:
            raise redis.ConnectionError("these leases were closed")
        async with asyncio.timeout(REQUEST_TIMEOUT_S), self._places, self._borrowed() as connection:
            yield connection

    @asynccontextmanager
    async def _borrowed(self) -> AsyncIterator[Connection]:
        connection = await self._connect()
        try:
            yield connection
        except BaseException:
            await discard(connection)
            await self._discard_idle()
            raise
        self._idle.append(connection)
        if self._is_closed:
            await self._discard_idle()

    async def _connect(self) -> Connection:
        while self._idle:
            connection = self._idle.pop()
            if await is_sound(connection):
                return connection
            await discard(connection)
        return await self._master.connect()

    async def _discard_idle(self) -> None:
        """They lead where the one led that failed."""
        while self._idle:
            await discard(self._idle.pop())


async def _evaluate(connection: Connection, script: Script, arguments: Sequence[str | int]) -> Any:
    """By its digest; a server that does not know it yet has done nothing, and is given the text."""
    try:
        return await _call(connection, "EVALSHA", script.digest, *arguments)
    except redis.exceptions.NoScriptError:
        return await _call(connection, "EVAL", script.text, *arguments)


async def _call(connection: Connection, *command: str | int) -> Any:
    await connection.send_command(*command)
    return await connection.read_response()
