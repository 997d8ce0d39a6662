"""The operations on leases; see the package for why they are safe."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pymongo
from pymongo import AsyncMongoClient, ReadPreference, ReturnDocument, WriteConcern
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import DuplicateKeyError
from pymongo.read_concern import ReadConcern

from fencepost.clock import Clock
from fencepost.drivers.mongodb.address import Target
from fencepost.drivers.mongodb.calls import DRIVER_TIMEOUT_S, REQUEST_TIMEOUT_S, ask_each, in_time
from fencepost.drivers.mongodb.faults import translated
from fencepost.leases.mongodb import statements
from fencepost.leases.mongodb.hints import MongoHints
from fencepost.model.identifiers import Epoch, Lineage, NodeId, Shard
from fencepost.model.lease import (
    Acquisition,
    Granted,
    HeldBy,
    LeaseRecord,
    Lost,
    Release,
    Released,
    Renewal,
    Unknown,
)

INSERT_TRIES = 3
CLOSE_TIMEOUT_S = 1.0
"""The driver takes leave of its server, which may be away."""

READ_MAX = 100_000
NO_SHARD = Shard(-1)

CLOCKS = (
    "MongoDB's members judge expiry each by its own clock: after a failover a lease may end early or late by "
    "the difference, or, where that is more than a few seconds, change its holder. That costs a change of "
    "leader and never a tick; keep the clocks together with NTP."
)


class MongoLeases:
    """See `ports.leases`."""

    caveats: Sequence[str] = (CLOCKS,)

    def __init__(self, client: AsyncMongoClient[dict[str, Any]], target: Target, clock: Clock) -> None:
        self._client = client
        self._target = target
        self._collection: AsyncCollection[dict[str, Any]] = client[target.database].get_collection(
            target.collection,
            write_concern=WriteConcern(w="majority", j=True),
            read_concern=ReadConcern("majority"),
            read_preference=ReadPreference.PRIMARY,
        )
        self._hints = MongoHints(self._collection, clock)

    async def acquire(
        self, shards: Sequence[Shard], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Acquisition]:
        return await ask_each(shards, lambda shard: self._acquire(shard, holder, ttl_s))

    async def renew(
        self, held: Mapping[Shard, Epoch], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Renewal]:
        return await ask_each(held, lambda shard: self._renew(shard, held[shard], holder, ttl_s))

    async def release(self, held: Mapping[Shard, Epoch], holder: NodeId) -> Mapping[Shard, Release]:
        return await ask_each(held, lambda shard: self._release(shard, held[shard], holder))

    async def read(self) -> Sequence[LeaseRecord]:
        with translated(self._target), pymongo.timeout(DRIVER_TIMEOUT_S):
            return await in_time(self._read(), REQUEST_TIMEOUT_S)

    async def watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        return await self._hints.watch(callback)

    async def close(self) -> None:
        await self._hints.close()
        with suppress(TimeoutError), pymongo.timeout(CLOSE_TIMEOUT_S):
            await in_time(self._client.close(), CLOSE_TIMEOUT_S + DRIVER_TIMEOUT_S)

    async def _read(self) -> Sequence[LeaseRecord]:
        found = self._collection.find({}, statements.SHOWN, sort=[("_id", 1)], limit=READ_MAX)
        return [_record(document) async for document in found]

    async def probe(self) -> None:
        """Do everything of a renewal but the renewal: there must be a primary with a majority behind it, and
        the user must be allowed to write. Raises what the driver raises."""
        await self._update(
            statements.own_valid_lease(NO_SHARD, NodeId(""), Epoch(0)), statements.extension(0)
        )

    async def _acquire(self, shard: Shard, holder: NodeId, ttl_s: float) -> Acquisition:
        """Two who ask at once for a lease that was never there may both insert it; who comes second asks
        again, and finds it."""
        for _ in range(INSERT_TRIES):
            try:
                document = await self._update(
                    statements.lease_of(shard),
                    statements.grant(holder, ttl_s, lineage=uuid.uuid4().hex),
                    upsert=True,
                )
            except DuplicateKeyError:
                continue
            assert document is not None
            return _acquisition(document, holder)
        return Unknown("others were writing the same lease")

    async def _renew(self, shard: Shard, epoch: Epoch, holder: NodeId, ttl_s: float) -> Renewal:
        mine = statements.own_valid_lease(shard, holder, epoch)
        document = await self._update(mine, statements.extension(ttl_s))
        return Lost() if document is None else _granted(document)

    async def _release(self, shard: Shard, epoch: Epoch, holder: NodeId) -> Release:
        mine = statements.own_lease(shard, holder, epoch)
        return Lost() if await self._update(mine, statements.RELEASE) is None else Released()

    async def _update(self, which: Any, change: Any, *, upsert: bool = False) -> dict[str, Any] | None:
        """Change the document and read it, as one operation."""
        return await self._collection.find_one_and_update(
            which, change, statements.SHOWN, upsert=upsert, return_document=ReturnDocument.AFTER
        )


def _acquisition(document: Mapping[str, Any], holder: NodeId) -> Acquisition:
    if document["holder"] == holder:
        return _granted(document)
    return HeldBy(NodeId(document["holder"]), Epoch(int(document["epoch"])), _left_s(document))


def _granted(document: Mapping[str, Any]) -> Granted:
    lineage, set_back_s = Lineage(f"mongodb:{document['lineage']}"), document.get("set_back_ms", 0) / 1000
    return Granted(Epoch(int(document["epoch"])), lineage, set_back_s)


def _record(document: Mapping[str, Any]) -> LeaseRecord:
    return LeaseRecord(
        shard=Shard(int(document["_id"])),
        holder=document["holder"],
        epoch=Epoch(int(document["epoch"])),
        expires_in_s=_left_s(document),
        from_future=document["from_future"],
    )


def _left_s(document: Mapping[str, Any]) -> float:
    """How long the lease has left; one that was released has no expiry."""
    left_ms = document.get("left_ms")
    return 0.0 if left_ms is None else float(left_ms) / 1000
