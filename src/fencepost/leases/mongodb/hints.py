"""Hints by a change stream.

The stream tells of releases only: a renewal is none, and an expiry is no change at all. The driver resumes it
after a short break; where that fails it is opened anew.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from pymongo.asynchronous.change_stream import AsyncChangeStream
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import PyMongoError

from fencepost.clock import Clock
from fencepost.drivers.mongodb.calls import REQUEST_TIMEOUT_S, in_time
from fencepost.drivers.mongodb.lease_statements import RELEASES
from fencepost.leases.hints import Hints

AWAIT_S = 5.0
"""How long the server may keep a question open while there is nothing to tell."""


class MongoHints(Hints):
    """See `leases.hints`."""

    faults = (PyMongoError, TimeoutError)

    def __init__(self, collection: AsyncCollection[dict[str, Any]], clock: Clock) -> None:
        super().__init__(clock)
        self._collection = collection

    async def listen(self) -> None:
        watching = self._collection.watch(list(RELEASES), max_await_time_ms=int(AWAIT_S * 1000))
        stream = await in_time(watching, REQUEST_TIMEOUT_S)
        try:
            self.opened()
            while stream.alive:
                await self._hear(stream)
        finally:
            with suppress(PyMongoError, TimeoutError):
                await in_time(stream.close(), REQUEST_TIMEOUT_S)

    async def _hear(self, stream: AsyncChangeStream[dict[str, Any]]) -> None:
        """One question to the server, which answers at the latest when its time is up."""
        if await in_time(stream.try_next(), AWAIT_S + REQUEST_TIMEOUT_S) is not None:
            self.tell()
