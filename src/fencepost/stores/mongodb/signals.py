"""Hints by a change stream. A transaction leaves a document for each topic, and all listeners hear of it when
it is committed. There is one stream for each process. The driver resumes it after a short break; where its
place is lost the next stream begins now, and every listener is told to look."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from pymongo.asynchronous.change_stream import AsyncChangeStream
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import PyMongoError

from fencepost.drivers.mongodb.calls import REQUEST_TIMEOUT_S, in_time
from fencepost.ports.signals import Topic

INSERTS: list[Mapping[str, Any]] = [
    {"$match": {"operationType": "insert"}},
    {"$project": {"fullDocument.topic": 1}},
]
AWAIT_S = 10.0
"""How long the server may keep a question open while there is nothing to tell."""
REST_S = 0.5


class MongoSignals:
    """See `ports.signals`."""

    def __init__(self, collection: AsyncCollection[dict[str, Any]]) -> None:
        self._collection = collection
        self._callbacks: dict[Topic, list[Callable[[], None]]] = {topic: [] for topic in Topic}
        self._listening: asyncio.Task[None] | None = None
        self.are_connected = False
        self._opened = asyncio.Event()

    async def listen(self, topic: Topic, callback: Callable[[], None]) -> Callable[[], None]:
        self._callbacks[topic].append(callback)
        if self._listening is None:
            self._listening = asyncio.create_task(self._listen())
        with suppress(TimeoutError):
            async with asyncio.timeout(REQUEST_TIMEOUT_S):
                await self._opened.wait()
        return lambda: self._callbacks[topic].remove(callback)

    async def close(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            with suppress(asyncio.CancelledError):
                await self._listening

    async def _listen(self) -> None:
        while True:
            with suppress(PyMongoError, TimeoutError):
                await self._follow()
            await asyncio.sleep(REST_S)

    async def _follow(self) -> None:
        watching = self._collection.watch(INSERTS, max_await_time_ms=int(AWAIT_S * 1000))
        stream = await in_time(watching, REQUEST_TIMEOUT_S)
        try:
            if self._opened.is_set():
                self._tell(Topic)
            self._opened.set()
            self.are_connected = True
            while stream.alive:
                await self._hear(stream)
        finally:
            self.are_connected = False
            with suppress(PyMongoError, TimeoutError):
                await in_time(stream.close(), REQUEST_TIMEOUT_S)

    async def _hear(self, stream: AsyncChangeStream[dict[str, Any]]) -> None:
        """One question to the server, which answers at the latest when its time is up."""
        change = await in_time(stream.try_next(), AWAIT_S + REQUEST_TIMEOUT_S)
        if change is not None:
            self._tell([Topic(change["fullDocument"]["topic"])])

    def _tell(self, topics: Iterable[Topic]) -> None:
        for topic in topics:
            for callback in list(self._callbacks[topic]):
                callback()
