"""Announcements by publish and subscribe, on one connection of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import redis
from redis.asyncio import Connection

from fencepost.brokers.redis.pool import CONNECT_TIMEOUT_S, FAULTS, RECONNECT_S, Pool
from fencepost.errors import BrokerUnavailable, FencepostError

BEAT_S = 5.0
"""A line that is silent for so long is tried; one that is silent for as long again is dead."""


class Listener:
    """Hears of announcements, and subscribes again after a loss."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._callbacks: dict[bytes, list[Callable[[bytes], None]]] = {}
        self._heard: set[bytes] = set()
        """The channels that the server has confirmed."""
        self._changed = asyncio.Condition()
        self._connection: Connection | None = None
        self._task: asyncio.Task[None] | None = None
        self._fault: FencepostError | None = None

    async def listen(self, channel: bytes, callback: Callable[[bytes], None]) -> Callable[[], None]:
        callbacks = self._callbacks.setdefault(channel, [])
        callbacks.append(callback)
        try:
            await self._subscribe(channel)
        except BaseException:
            callbacks.remove(callback)
            raise

        def stop() -> None:
            if callback in callbacks:
                callbacks.remove(callback)

        return stop

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _subscribe(self, channel: bytes) -> None:
        self._fault = None
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        elif self._connection is not None and channel not in self._heard:
            with suppress(*FAULTS):
                await self._connection.send_command("SUBSCRIBE", channel)
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S), self._changed:
                await self._changed.wait_for(lambda: channel in self._heard or self._fault is not None)
        except TimeoutError:
            raise BrokerUnavailable("Redis did not answer to SUBSCRIBE") from None
        if channel not in self._heard and self._fault is not None:
            raise self._fault

    async def _run(self) -> None:
        while True:
            try:
                async with self._pool.connection() as connection:
                    self._connection = connection
                    await self._hear(connection)
            except (redis.RedisError, *FAULTS) as error:
                await self._lost(self._pool.translated(error))
            except FencepostError as error:
                await self._lost(error)
            finally:
                self._connection = None
            await asyncio.sleep(RECONNECT_S)

    async def _hear(self, connection: Connection) -> None:
        if self._callbacks:
            await connection.send_command("SUBSCRIBE", *self._callbacks)
        is_tried = False
        while True:
            message = await connection.read_response(disable_decoding=True, timeout=BEAT_S)
            if message is not None:
                is_tried = False
                await self._take(message)
            elif is_tried:
                raise TimeoutError
            else:
                is_tried = True
                await connection.send_command("PING")

    async def _take(self, message: Any) -> None:
        kind, channel, body = message[0], message[1], message[-1]
        if kind == b"subscribe":
            async with self._changed:
                self._heard.add(channel)
                self._changed.notify_all()
        elif kind == b"message":
            for one in list(self._callbacks.get(channel, ())):
                one(body)

    async def _lost(self, fault: FencepostError) -> None:
        async with self._changed:
            self._heard.clear()
            self._fault = fault
            self._changed.notify_all()
