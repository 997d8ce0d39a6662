"""Leases in a MongoDB server of their own: hints of what was freed come by a stream, and the connection ends
with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pymongo import AsyncMongoClient

from fencepost.clock import Clock
from fencepost.drivers.mongodb.address import Target
from fencepost.drivers.mongodb.leases import LeaseDocuments
from fencepost.drivers.mongodb.opening import disconnect
from fencepost.leases.mongodb.hints import MongoHints


class MongoLeases(LeaseDocuments):
    """See `ports.leases`."""

    def __init__(self, client: AsyncMongoClient[dict[str, Any]], target: Target, clock: Clock) -> None:
        super().__init__(client, target)
        self._hints = MongoHints(self._collection, clock)

    async def watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        return await self._hints.watch(callback)

    async def close(self) -> None:
        await self._hints.close()
        await disconnect(self._client)
