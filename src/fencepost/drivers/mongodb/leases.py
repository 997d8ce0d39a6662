"""The operations on leases, as the lease store and the whole store have them; see `leases.mongodb` for why
they are safe."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pymongo
from bson import ObjectId
from pymongo import AsyncMongoClient, ReadPreference, ReturnDocument, UpdateOne, WriteConcern
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import DuplicateKeyError
from pymongo.read_concern import ReadConcern

from fencepost.drivers.mongodb import lease_statements as statements
from fencepost.drivers.mongodb.address import Target
from fencepost.drivers.mongodb.calls import DRIVER_TIMEOUT_S, REQUEST_TIMEOUT_S, ask_all, ask_each, in_time
from fencepost.drivers.mongodb.faults import translated
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
READ_MAX = 100_000
NO_SHARD = Shard(-1)

CLOCKS = (
    "MongoDB's members judge expiry each by its own clock: after a failover a lease may end early or late by "
    "the difference, or, where that is more than a few seconds, change its holder. That costs a change of "
    "leader and never a tick; keep the clocks together with NTP."
)


class LeaseDocuments:
    """The part of `ports.leases` that asks the server."""

    caveats: Sequence[str] = (CLOCKS,)

    def __init__(self, client: AsyncMongoClient[dict[str, Any]], target: Target) -> None:
        self._client = client
        self._target = target
        self._last: dict[Shard, Granted] = {}
        self._collection: AsyncCollection[dict[str, Any]] = client[target.database].get_collection(
            target.collection,
            write_concern=WriteConcern(w="majority", j=True),
            read_concern=ReadConcern("majority"),
            read_preference=ReadPreference.PRIMARY,
        )

    async def acquire(
        self, shards: Sequence[Shard], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Acquisition]:
        """What others hold is seen by one look, and not asked for."""
        time = asyncio.get_running_loop().time
        end = time() + REQUEST_TIMEOUT_S
        held = await ask_all(shards, self._held_by_others(shards, holder))
        wanted = [shard for shard in shards if shard not in held]
        answers = await ask_each(wanted, lambda one: self._acquire(one, holder, ttl_s), end - time())
        return {**held, **answers}

    async def renew(
        self, held: Mapping[Shard, Epoch], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Renewal]:
        return await ask_all(held, self._renew(held, holder, ttl_s)) if held else {}

    async def release(self, held: Mapping[Shard, Epoch], holder: NodeId) -> Mapping[Shard, Release]:
        return await ask_each(held, lambda shard: self._release(shard, held[shard], holder))

    async def read(self) -> Sequence[LeaseRecord]:
        with translated(self._target), pymongo.timeout(DRIVER_TIMEOUT_S):
            return [_record(one) for one in await in_time(self._find({}), REQUEST_TIMEOUT_S)]

    async def probe(self) -> None:
        """Do everything of a renewal but the renewal: there must be a primary with a majority behind it, and
        the user must be allowed to write. Raises what the driver raises."""
        await self._renew({NO_SHARD: Epoch(0)}, NodeId(""), 0)

    async def _find(self, which: Any) -> list[dict[str, Any]]:
        found = self._collection.find(which, statements.SHOWN, sort=[("_id", 1)], limit=READ_MAX)
        return await found.to_list()

    async def _held_by_others(self, shards: Sequence[Shard], holder: NodeId) -> Mapping[Shard, Acquisition]:
        known = await self._find(statements.leases_of(shards))
        return {Shard(one["_id"]): _held_by(one) for one in known if _is_of_another(one, holder)}

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
            return self._granted(document) if document["holder"] == holder else _held_by(document)
        return Unknown("others were writing the same lease")

    async def _renew(
        self, held: Mapping[Shard, Epoch], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Renewal]:
        """Each by itself, in one request. Where that was not all, the documents tell what became of them."""
        longer = statements.extension(ttl_s, renewal := ObjectId())
        mine = [(shard, holder, epoch) for shard, epoch in held.items()]
        steady = [UpdateOne(statements.own_steady_lease(*one), longer) for one in mine]
        done = await self._collection.bulk_write(steady, ordered=False)
        last = {shard: replace(one, set_back_s=0.0) for shard, one in self._last.items() if shard in held}
        if done.matched_count == len(held) and {one: last[one].epoch for one in last} == held:
            return last
        valid = [UpdateOne(statements.own_valid_lease(*one), longer) for one in mine]
        await self._collection.bulk_write(valid, ordered=False)
        found = {one["_id"]: one for one in await self._find(statements.leases_of(held))}
        wanted = {shard: (renewal, holder, epoch) for shard, epoch in held.items()}
        renewed = {shard for shard, one in found.items() if _renewal(one) == wanted[shard]}
        return {shard: self._granted(found[shard]) if shard in renewed else Lost() for shard in held}

    def _granted(self, document: Mapping[str, Any]) -> Granted:
        lineage, set_back_s = Lineage(f"mongodb:{document['lineage']}"), document.get("set_back_ms", 0) / 1000
        granted = Granted(Epoch(int(document["epoch"])), lineage, set_back_s)
        self._last[Shard(document["_id"])] = granted
        return granted

    async def _release(self, shard: Shard, epoch: Epoch, holder: NodeId) -> Release:
        mine = statements.own_lease(shard, holder, epoch)
        return Lost() if await self._update(mine, statements.RELEASE) is None else Released()

    async def _update(self, which: Any, change: Any, *, upsert: bool = False) -> dict[str, Any] | None:
        """Change the document and read it, as one operation."""
        return await self._collection.find_one_and_update(
            which, change, statements.SHOWN, upsert=upsert, return_document=ReturnDocument.AFTER
        )


def _is_of_another(document: Mapping[str, Any], holder: NodeId) -> bool:
    """Whether another has this lease, by the server's clock."""
    is_held = document["holder"] is not None and _left_s(document) > 0 and not document["from_future"]
    return is_held and document["holder"] != holder


def _renewal(document: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Who has the lease, and which renewal was its last: a grant to another leaves that as it was."""
    return document.get("renewal"), document["holder"], document["epoch"]


def _held_by(document: Mapping[str, Any]) -> HeldBy:
    return HeldBy(NodeId(document["holder"]), Epoch(int(document["epoch"])), _left_s(document))


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
