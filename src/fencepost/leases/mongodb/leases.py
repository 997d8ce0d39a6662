"""Leases in a MongoDB server of their own: hints of what was freed come by a stream, and the connection ends
with them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pymongo
from pymongo import AsyncMongoClient

from fencepost.clock import Clock
from fencepost.drivers.mongodb.address import Target
from fencepost.drivers.mongodb.calls import DRIVER_TIMEOUT_S, in_time
from fencepost.drivers.mongodb.leases import LeaseDocuments
from fencepost.leases.mongodb.hints import MongoHints

CLOSE_TIMEOUT_S = 1.0
"""The driver takes leave of its server, which may be away."""


class MongoLeases(LeaseDocuments):
    """See `ports.leases`."""

    def __init__(self, client: AsyncMongoClient[dict[str, Any]], target: Target, clock: Clock) -> None:
        super().__init__(client, target)
        self._hints = MongoHints(self._collection, clock)

    async def watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        return await self._hints.watch(callback)

    async def close(self) -> None:
        await self._hints.close()
        with suppress(TimeoutError), pymongo.timeout(CLOSE_TIMEOUT_S):
            await in_time(self._client.close(), CLOSE_TIMEOUT_S + DRIVER_TIMEOUT_S)
