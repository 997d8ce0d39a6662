"""The keys and leases of one fleet, and each thing that is done to them.

Reads are linearizable: each goes through etcd's quorum and shows one moment no earlier than when it was
asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from uuid import uuid4

from fencepost.leases.etcd import wire
from fencepost.leases.etcd.faults import Doubtful, Fault
from fencepost.leases.etcd.gateway import Answer, Gateway
from fencepost.leases.etcd.wire import Operation
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Epoch, Lineage, NodeId, Shard

MARK = "mark"
NO_END_S = 86_400.0
"""The remaining time that is shown for a key without a lease: it was put by hand, and stays until deleted."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A shard's key: who put it, under which number, and the lease that it hangs on."""

    holder: NodeId
    epoch: Epoch
    lease: int

    def is_of(self, holder: NodeId) -> bool:
        """Whether this holder put it. A key whose lease was removed by hand has no holder."""
        return self.holder == holder and self.lease != 0


@dataclass(frozen=True, slots=True)
class View:
    """All keys at one moment. `term` counts the leaders that etcd has had."""

    cluster: str
    term: int
    mark: str
    entries: Mapping[Shard, Entry]


@dataclass(frozen=True, slots=True)
class Kept:
    """A lease that was extended, by how much and under which of etcd's leaders."""

    lease: int
    ttl_s: int
    term: int


class Keyspace:
    """Everything of one fleet in one etcd."""

    def __init__(self, gateway: Gateway, name: str) -> None:
        self._gateway = gateway
        self._name = name
        self.prefix = f"{name}/leases/"

    def lineage(self, cluster: str, mark: str) -> Lineage:
        return Lineage(f"etcd:{cluster}:{self._name}:{mark}")

    async def look(self) -> View:
        """What is there."""
        body = {"key": wire.encode(self.prefix), "range_end": wire.encode(wire.prefix_end(self.prefix))}
        answer = await self._gateway.ask("kv/range", body)
        return self._view(answer)

    async def look_and_mark(self) -> View:
        """What is there, with a mark; a client that finds none puts one. Two that do so agree on the
        first."""
        view = await self.look()
        if view.mark:
            return view
        mark = self._key(MARK)
        body = {"compare": [wire.created_at(mark, 0)], "success": [wire.put(mark, uuid4().hex[:12])]}
        await self._gateway.ask("kv/txn", body)
        view = await self.look()
        if not view.mark:
            raise Doubtful(f"the key {mark} is deleted as soon as it is put")
        return view

    async def lease(self, ttl_s: int) -> int:
        """A lease on which nothing hangs yet. Where the answer is lost it runs out, unused."""
        return wire.number(await self._gateway.ask("lease/grant", {"TTL": str(ttl_s)}), "ID")

    async def put_if_absent(self, shard: Shard, holder: NodeId, lease: int, mark: str) -> Entry | None:
        """Put the shard's key unless it is there; in both cases, what is there then. Nothing is put, and
        there may be nothing, where etcd has another mark than it had."""
        key = self._key(shard)
        return await self._put(shard, holder, lease, [wire.created_at(key, 0), self._marked(mark)])

    async def move(self, shard: Shard, entry: Entry, lease: int) -> Entry | None:
        """Move the shard's key to another lease if it is still as it was; in any case, what is there then."""
        unchanged = [
            *self._ours(shard, entry.epoch, entry.holder),
            wire.hanging_on(self._key(shard), entry.lease),
        ]
        return await self._put(shard, entry.holder, lease, unchanged)

    async def delete(self, shard: Shard, epoch: Epoch, holder: NodeId) -> int | None:
        """Delete the shard's key, if it is this holder's of this epoch; the lease that it hung on."""
        deletion = wire.delete(self._key(shard))
        answer = await self._transact(self._ours(shard, epoch, holder), [deletion])
        if not answer.get("succeeded"):
            return None
        (deleted,) = answer["responses"][0]["response_delete_range"]["prev_kvs"]
        return wire.number(deleted, "lease")

    async def keep_alive(self, lease: int) -> Kept:
        """Extend a lease by its own term, which is zero where it has run out."""
        answer = await self._gateway.ask("lease/keepalive", {"ID": str(lease)})
        return Kept(lease, wire.number(answer, "TTL"), wire.number(answer["header"], "raft_term"))

    async def remaining_s(self, entry: Entry) -> float:
        """About how long a key still has. etcd cuts off fractions of a second, so one is given back."""
        if entry.lease == 0:
            return NO_END_S
        answer = await self._gateway.ask("lease/timetolive", {"ID": str(entry.lease)})
        left_s, term_s = wire.number(answer, "TTL"), wire.number(answer, "grantedTTL")
        return 0.0 if left_s < 0 else float(min(left_s + 1, max(left_s, term_s)))

    async def revoke(self, lease: int) -> None:
        """End a lease that is of no use any more. It would run out by itself, so a fault does not matter."""
        with suppress(Fault):
            await self._gateway.ask("lease/revoke", {"ID": str(lease)})

    async def _put(
        self, shard: Shard, holder: NodeId, lease: int, compare: Sequence[Operation]
    ) -> Entry | None:
        key = self._key(shard)
        put = wire.put(key, wire.holder_value(holder), lease)
        answer = await self._transact(compare, [put, wire.read(key)], [wire.read(key)])
        found = answer["responses"][-1]["response_range"].get("kvs", ())
        return next(map(_entry, found), None)

    async def _transact(
        self, compare: Sequence[Operation], success: Sequence[Operation], failure: Sequence[Operation] = ()
    ) -> Answer:
        return await self._gateway.tell(
            "kv/txn", {"compare": [*compare], "success": [*success], "failure": [*failure]}
        )

    def _ours(self, shard: Shard, epoch: Epoch, holder: NodeId) -> list[Operation]:
        key = self._key(shard)
        return [wire.created_at(key, epoch), wire.valued(key, wire.holder_value(holder))]

    def _marked(self, mark: str) -> Operation:
        return wire.valued(self._key(MARK), mark)

    def _key(self, last: Shard | str) -> str:
        return f"{self.prefix}{last}"

    def _view(self, answer: Answer) -> View:
        """Keys that are neither a shard's nor the mark may be of a fleet whose name begins with ours."""
        mark, entries = "", {}
        for found in answer.get("kvs", ()):
            last = wire.decode(found["key"]).removeprefix(self.prefix)
            if last == MARK:
                mark = wire.decode(found["value"])
            elif last.isascii() and last.isdecimal():
                entries[Shard(int(last))] = _entry(found)
        header = answer["header"]
        return View(str(header["cluster_id"]), wire.number(header, "raft_term"), mark, entries)


def _entry(found: dict[str, Any]) -> Entry:
    holder = wire.holder_named(wire.decode(found.get("value", "")))
    return Entry(holder, Epoch(wire.number(found, "create_revision")), wire.number(found, "lease"))
