"""Releasing: the key is deleted in one transaction that compares holder and epoch, and then its lease is
revoked.

The revocation only tidies up. The lease that it ends is the one that the deleted key hung on; the next grant,
also to the same holder, hangs on another, so a late revocation ends no other grant. The other way round it
would not be safe: revoking a lease deletes every key that hangs on it and compares nothing.

Where the transaction's answer is lost, asking again says `Lost`, because the key of that epoch is not there.
That answer is the same as for a lease that had run out, which does no harm.
"""

from __future__ import annotations

from collections.abc import Mapping

from fencepost.leases.etcd.answers import Answers
from fencepost.leases.etcd.keyspace import Keyspace
from fencepost.model.identifiers import Epoch, NodeId, Shard
from fencepost.model.lease import Lost, Release, Released


class Releasing:
    """One call of `release`."""

    def __init__(self, keys: Keyspace, held: Mapping[Shard, Epoch], holder: NodeId) -> None:
        self._keys = keys
        self._held = held
        self._holder = holder
        self._empty: dict[Shard, int] = {}

    async def run(self, answers: Answers[Release]) -> None:
        await answers.find(self._held, self._delete)
        await Answers[None]().find(self._empty, lambda shard: self._keys.revoke(self._empty[shard]))

    async def _delete(self, shard: Shard) -> Release:
        lease = await self._keys.delete(shard, self._held[shard], self._holder)
        if lease is None:
            return Lost()
        self._empty[shard] = lease
        return Released()
