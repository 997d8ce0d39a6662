"""Hints by a change stream.

The stream tells of releases only: a renewal is none, and an expiry is no change at all. The driver resumes it
after a short break; where that fails it is opened anew.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from pymongo.asynchronous.change_stream import AsyncChangeStream
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import PyMongoError

from fencepost.clock import Clock
from fencepost.leases.hints import Hints
from fencepost.leases.mongodb.calls import REQUEST_TIMEOUT_S
from fencepost.leases.mongodb.statements import RELEASES

AWAIT_S = 5.0
"""How long the server may keep a question open while there is nothing to tell."""


class MongoHints(Hints):
    """See `leases.hints`."""

    faults = (PyMongoError, TimeoutError)

    def __init__(self, collection: AsyncCollection[dict[str, Any]], clock: Clock) -> None:
        super().__init__(clock)
        self._collection = collection

    async def listen(self) -> None:
        async with asyncio.timeout(REQUEST_TIMEOUT_S):
            stream = await self._collection.watch(list(RELEASES), max_await_time_ms=int(AWAIT_S * 1000))
        try:
            self.opened()
            while stream.alive:
                await self._hear(stream)
        finally:
            with suppress(PyMongoError, TimeoutError):
                async with asyncio.timeout(REQUEST_TIMEOUT_S):
                    await stream.close()

    async def _hear(self, stream: AsyncChangeStream[dict[str, Any]]) -> None:
        """One question to the server, which answers at the latest when its time is up."""
        async with asyncio.timeout(AWAIT_S + REQUEST_TIMEOUT_S):
            if await stream.try_next() is not None:
                self.tell()
