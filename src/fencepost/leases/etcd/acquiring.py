"""Acquiring: a key that is not there is put, in one transaction, on a lease that was made for it.

First all keys are read at once. A shard that is held needs no write: a fleet of followers that ask every few
seconds costs etcd's log nothing. For a shard that is free a lease is granted, and a transaction puts the key
on it if there still is none. The transaction decides; the reading before it decides nothing.

**A term is never short.** The lease is granted after the call began, so it runs out no earlier than the
call's beginning plus its term, which is rounded up to whole seconds.

**A doubtful transaction does no harm.** Its answer is lost; it may have been carried out, may be on its way
still, or be lost itself. A caller that asks again

- finds the key under its own name, which is the grant, with its epoch; or
- finds no key, and sends another transaction. Of the two, one puts the key and the other finds it there:
  both name the same holder, so the answer is right whichever it was.

A transaction that arrives when its caller has given up can put the key only while its lease lives. No node
keeps that lease alive unless the holder has learnt of the grant; after that etcd refuses the transaction,
because there is no such lease. So it costs at most one term of a shard without a leader. That is also why the
lease of a doubtful transaction is not revoked: the revocation might be late, too, and end a grant that the
holder has learnt of meanwhile. The lease of a transaction that is known to have put nothing can never hold a
key, and is revoked at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from fencepost.leases.etcd.answers import Answers
from fencepost.leases.etcd.faults import Doubtful, Refused
from fencepost.leases.etcd.keyspace import Entry, Keyspace, View
from fencepost.model.identifiers import NodeId, Shard
from fencepost.model.lease import Acquisition, Granted, HeldBy


class Acquiring:
    """One call of `acquire`."""

    def __init__(self, keys: Keyspace, shards: Sequence[Shard], holder: NodeId, ttl_s: float) -> None:
        self._keys = keys
        self._shards = dict.fromkeys(shards)
        self._holder = holder
        self._ttl_s = whole_seconds(ttl_s)

    async def run(self, answers: Answers[Acquisition]) -> None:
        view = await self._keys.look_and_mark()
        await answers.find(self._shards, lambda shard: self._acquire(shard, view))

    async def _acquire(self, shard: Shard, view: View) -> Acquisition:
        entry = view.entries.get(shard) or await self._put(shard, view)
        if entry.is_of(self._holder):
            return Granted(entry.epoch, self._keys.lineage(view.cluster, view.mark))
        return HeldBy(entry.holder, entry.epoch, await self._keys.remaining_s(entry))

    async def _put(self, shard: Shard, view: View) -> Entry:
        """The key that is there after we have tried to put ours."""
        lease = await self._keys.lease(self._ttl_s)
        try:
            entry = await self._keys.put_if_absent(shard, self._holder, lease, view.mark)
        except Refused:
            await self._keys.revoke(lease)
            raise
        if entry is None or entry.lease != lease:
            await self._keys.revoke(lease)
        if entry is None:
            raise Doubtful("etcd was made anew, or its mark was changed, in the midst of the call")
        return entry


def whole_seconds(ttl_s: float) -> int:
    """The term in etcd's unit, never shorter."""
    return max(1, math.ceil(ttl_s))
