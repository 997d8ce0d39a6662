"""Leases in the store's own database, in the same documents as those of `leases.mongodb`. Hints go the way of
all others of the store: by one stream for each process."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pymongo import AsyncMongoClient

from fencepost.drivers.mongodb.address import Target
from fencepost.drivers.mongodb.leases import LeaseDocuments
from fencepost.model.identifiers import Epoch, NodeId, Shard
from fencepost.model.lease import Release
from fencepost.ports.signals import Topic
from fencepost.stores.mongodb.documents import Document
from fencepost.stores.mongodb.rows import MongoRows
from fencepost.stores.mongodb.signals import MongoSignals


class MongoStoreLeases(LeaseDocuments):
    """See `ports.leases`."""

    def __init__(
        self, client: AsyncMongoClient[Document], target: Target, rows: MongoRows, signals: MongoSignals
    ) -> None:
        super().__init__(client, target)
        self._rows = rows
        self._signals = signals

    async def release(self, held: Mapping[Shard, Epoch], holder: NodeId) -> Mapping[Shard, Release]:
        answers = await super().release(held, holder)
        await self._rows.tell([Topic.LEASES])
        return answers

    async def watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        return await self._signals.listen(Topic.LEASES, callback)

    async def close(self) -> None:
        """The store ends its own connection."""
