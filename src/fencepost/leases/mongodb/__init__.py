"""Leases in MongoDB: one document a shard, changed only by single operations of the primary.

**Who is authoritative.** The primary of a replica set, and it only counts what a majority has in its
journals. Every call writes with `w: majority, j: true`, also when it changes nothing: the server then still
waits until everything that the operation has seen is safe with a majority. So no answer rests on a write
that a failover can take back. A primary that was cut off from the others can repeat what a majority knew
before, and neither grants nor renews. What the URL says of concerns and preferences never weakens that; a
server without a replica set is refused.

**How the epoch comes about.** The document holds `holder`, `epoch`, `expires_at` and `lineage`. To acquire is
one `findOneAndUpdate` with a pipeline: where the lease is free or has expired, the holder is set and the
epoch rises by one; otherwise nothing is changed, and the document says who has it. A release clears holder
and expiry and leaves the epoch, and no document is ever deleted (never put a TTL index on the collection), so
the number only rises. Before it asks, a node reads all documents of the shards that it wants, and leaves
those alone that another holds. All renewals of a node are one request of single updates, each with a mark of
that request; reading the documents afterwards tells which of them were renewed. The lineage is thrown by dice
when the document is first written: a collection that was dropped is another lineage. A restored backup is
not, and there the numbers fall; the ledger refuses them until that is repaired.

**Expiry** is judged by the primary's clock inside the operation, by `$$NOW`. That is read once, when the
operation begins, and not again when it had to wait for the document or was tried again after a conflict: it
may be old, and never in the future. Each use is safe with an old one:

- A lease is taken where `expires_at <= $$NOW`. What had expired then has expired now; an old time takes too
  little.
- `expires_at = $$NOW + ttl`. The operation began after the request was sent, and the holder counts from
  there. (The server's clock is cut to milliseconds, so one millisecond is added.)
- A lease is renewed where `expires_at > $$NOW`. An old time may revive what expired during the wait; but
  holder and epoch are compared with the document as it is, so no other node had it in between.
- A renewal that waited may be overtaken by a later one. It must not cut what the later one was promised: the
  new expiry is the larger of the two.
- A lease is from the future where it lasts longer than `ttl_ms`, the term of its last grant or renewal, by
  more than a request can take: an old time must not make it look so. Then the clock was set back. The lease
  is free for any node that asks, and a renewal of its holder repairs it.

After a failover another clock judges. Members whose clocks differ make one expiry early or late by as much:
a change of leader that was not needed, or one that waits. The ledger's fence is what keeps ticks single.

**What happens on failure.** A request that was not answered, or answered with a write concern error, may have
been carried out: `Unknown`. The driver's own second try stays switched on, because the server knows the
operation by its number and tells the first outcome instead of doing it twice: a release whose answer was lost
still answers `Released`. A request that is given up closes its connection, and its time limit went with it to
the server.
"""

from __future__ import annotations

from fencepost.errors import MissingExtra

try:
    from fencepost.leases.mongodb.leases import MongoLeases
    from fencepost.leases.mongodb.opening import open_leases
except ModuleNotFoundError as error:
    if error.name not in {"pymongo", "bson"}:
        raise
    raise MissingExtra("leases in MongoDB need a driver; run: pip install 'fencepost[mongodb]'") from error

__all__ = ["MongoLeases", "open_leases"]
