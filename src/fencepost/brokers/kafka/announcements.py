"""Announcements: one topic for all of them, read from its end by a consumer that belongs to no group."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from aiokafka import TopicPartition

from fencepost.brokers.kafka.connection import RECONNECT_S, Connection
from fencepost.brokers.kafka.faults import FAULTS
from fencepost.brokers.kafka.topics import ANNOUNCEMENTS, Topics
from fencepost.errors import BrokerRefused, BrokerUnavailable

SUBJECT = "fencepost-announcement"
"""The header that says what an announcement is about."""
POLL_S = 1.0


class Announcements:
    """Calls back with what is announced from now on."""

    def __init__(self, connection: Connection, topics: Topics) -> None:
        self._connection = connection
        self._topics = topics
        self._callbacks: defaultdict[str, list[Callable[[bytes], None]]] = defaultdict(list)
        self._consumer: Any = None
        self._task: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()

    async def listen(self, topic: str, callback: Callable[[bytes], None]) -> Callable[[], None]:
        async with self._turn:
            if self._task is None:
                await self._open()
                self._task = asyncio.get_running_loop().create_task(self._run())
        self._callbacks[topic].append(callback)

        def stop() -> None:
            if callback in self._callbacks[topic]:
                self._callbacks[topic].remove(callback)

        return stop

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        self._leave()

    async def _open(self) -> None:
        await self._topics.declare_announcements()
        places = [TopicPartition(ANNOUNCEMENTS, one) for one in await self._topics.partitions(ANNOUNCEMENTS)]
        ends = await self._connection.inspect(lambda consumer: consumer.end_offsets(places))
        consumer = self._connection.consumer(auto_offset_reset="latest")
        await self._connection.start(consumer)
        consumer.assign(places)
        for place, end in ends.items():
            consumer.seek(place, end)
        self._consumer = consumer

    async def _run(self) -> None:
        while True:
            try:
                if self._consumer is None:
                    await self._open()
                found = await self._consumer.getmany(timeout_ms=round(POLL_S * 1000))
            except (*FAULTS, BrokerUnavailable, BrokerRefused):
                self._leave()
                await asyncio.sleep(RECONNECT_S)
                continue
            for records in found.values():
                for record in records:
                    self._tell(dict(record.headers).get(SUBJECT, b"").decode(errors="replace"), record.value)

    def _tell(self, topic: str, body: bytes | None) -> None:
        for one in list(self._callbacks.get(topic, ())):
            one(body or b"")

    def _leave(self) -> None:
        if self._consumer is not None:
            self._connection.end(self._consumer)
            self._consumer = None
