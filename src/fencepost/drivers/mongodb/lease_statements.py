"""What is said to the server about leases. Each operation is about one document; why each is safe is told in
`leases.mongodb`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from bson import Int64, ObjectId

from fencepost.drivers.mongodb.calls import REQUEST_TIMEOUT_S
from fencepost.model.clocks import STEP_MIN_S
from fencepost.model.identifiers import Epoch, NodeId, Shard

Document: TypeAlias = Mapping[str, Any]

NOW = "$$NOW"
LEFT_MS: Document = {"$subtract": ["$expires_at", NOW]}

STEP_MS = Int64(math.ceil((REQUEST_TIMEOUT_S + STEP_MIN_S) * 1000))
"""`$$NOW` may be as old as a request: an expiry that is ahead by less was written by a later one."""

AHEAD_MS: Document = {"$ifNull": [{"$subtract": [LEFT_MS, "$ttl_ms"]}, Int64(0)]}
IS_AHEAD: Document = {"$gt": [AHEAD_MS, STEP_MS]}
"""Whether a lease lasts longer than its term: the clock was set back. Not where no term is known."""

IS_VALID: Document = {"$gt": ["$expires_at", NOW]}

SHOWN: Document = {
    "holder": 1,
    "epoch": 1,
    "lineage": 1,
    "set_back_ms": 1,
    "renewal": 1,
    "left_ms": LEFT_MS,
    "from_future": IS_AHEAD,
}
"""What is told of a document; how long it has left is the server's own reckoning."""

RELEASE: Document = {"$set": {"holder": None, "expires_at": None}}

RELEASES: Sequence[Document] = (
    {"$match": {"operationType": "update", "updateDescription.updatedFields.holder": {"$type": "null"}}},
)
"""The changes that free a lease. A renewal changes no holder, and a grant changes it to a name."""


def lease_of(shard: Shard) -> Document:
    """The document of a shard, whatever is in it."""
    return {"_id": shard}


def leases_of(shards: Iterable[Shard]) -> Document:
    """The documents of some shards."""
    return {"_id": {"$in": list(shards)}}


def own_lease(shard: Shard, holder: NodeId, epoch: Epoch) -> Document:
    """The document of a shard, if this holder has it under this epoch."""
    return {"_id": shard, "holder": holder, "epoch": epoch}


def own_valid_lease(shard: Shard, holder: NodeId, epoch: Epoch) -> Document:
    """The same, if it has not expired."""
    return {**own_lease(shard, holder, epoch), "$expr": IS_VALID}


def own_steady_lease(shard: Shard, holder: NodeId, epoch: Epoch) -> Document:
    """The same, if it is not from the future either."""
    return {**own_lease(shard, holder, epoch), "$expr": {"$and": [IS_VALID, {"$not": [IS_AHEAD]}]}}


def grant(holder: NodeId, ttl_s: float, lineage: str) -> Sequence[Document]:
    """Give a lease that is free or expired to the holder; leave any other as it is.

    An empty expiry, of a lease that is free or was never there, comes before every time. All fields of one
    `$set` see the document as it was. A name that begins with a dollar must not be read as a field.
    """
    is_free = {"$or": [{"$lte": [{"$ifNull": ["$expires_at", None]}, NOW]}, IS_AHEAD]}
    risen = {"$add": [{"$ifNull": ["$epoch", Int64(0)]}, Int64(1)]}
    return [
        {
            "$set": {
                "holder": {"$cond": [is_free, {"$literal": holder}, "$holder"]},
                "epoch": {"$cond": [is_free, risen, "$epoch"]},
                "expires_at": {"$cond": [is_free, _after(ttl_s), "$expires_at"]},
                "ttl_ms": {"$cond": [is_free, _ms(ttl_s), "$ttl_ms"]},
                "set_back_ms": {"$cond": [is_free, _SET_BACK, "$set_back_ms"]},
                "lineage": {"$ifNull": ["$lineage", {"$literal": lineage}]},
            }
        }
    ]


def extension(ttl_s: float, renewal: ObjectId) -> Sequence[Document]:
    """Let a lease last that long from now, and never less than was promised already, unless it is from the
    future. The document says which renewal was the last."""
    promised = {"$cond": [IS_AHEAD, None, "$expires_at"]}
    return [
        {
            "$set": {
                "expires_at": {"$max": [promised, _after(ttl_s)]},
                "ttl_ms": {"$max": ["$ttl_ms", _ms(ttl_s)]},
                "set_back_ms": _SET_BACK,
                "renewal": renewal,
            }
        }
    ]


_SET_BACK: Document = {"$cond": [IS_AHEAD, AHEAD_MS, Int64(0)]}


def _after(ttl_s: float) -> Document:
    """So long from now."""
    return {"$add": [NOW, _ms(ttl_s)]}


def _ms(ttl_s: float) -> Int64:
    """Rounded up, and one more for the part of a millisecond that the server's clock dropped."""
    return Int64(math.ceil(ttl_s * 1000) + 1)
