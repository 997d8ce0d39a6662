"""Renewing: look, keep alive, look again.

etcd cannot extend a lease on a condition: a keepalive names a lease and nothing else. So a renewal is three
steps, and the last one judges:

1. Read all keys. A shard whose key is not there, or names another holder or has another epoch, is `Lost`.
2. Keep the lease alive that the key hangs on. An answer without a term says that the lease has run out:
   `Lost`.
3. Read all keys again. A key that is the holder's, of this epoch and on this lease is `Granted`.

**A grant of another holder is never extended.** `acquire` (or step 2) makes a lease for one transaction that
names one holder and one shard, and no other key is ever put on it. Its number is read from a key with the
holder's own name. If that key was deleted and put again by another in between, the new key hangs on another
lease, and what is kept alive is a lease on which nothing hangs.

**A grant of another holder is never confirmed.** The second read shows the key after the keepalive. If it was
deleted in between, by hand or by a release, it is not there, or it is there with a later create revision;
both are `Lost`. A lease that lives on without its key proves nothing. Without step 3, a key that was deleted
and granted to another after step 1 would have been confirmed.

**An expired lease is not renewed.** etcd does not keep one alive that has run out, even where it has not
yet deleted the key. A key that step 3 sees hangs on a lease that lived after it was extended.

**A term is never short.** The lease was extended after the call began. Two cases would break that:

- The lease was granted for a shorter term than is asked for now. Then the key is moved to a new lease in a
  transaction that compares holder and epoch; the create revision stays. It compares the old lease as well, so
  that one of these that arrives late does not move the key back from a lease that lasts longer.
- The keepalive was answered by a leader of etcd that had been deposed and did not know it: a keepalive,
  unlike a read, asks no quorum. Then the lease was not really extended. Every answer carries the term of
  the leader under whom it was given; when the three are not from the same one, the outcome is `Unknown`, and
  the caller asks again.
"""

from __future__ import annotations

from collections.abc import Mapping

from fencepost.leases.etcd.acquiring import whole_seconds
from fencepost.leases.etcd.answers import Answers
from fencepost.leases.etcd.faults import Refused
from fencepost.leases.etcd.keyspace import Entry, Kept, Keyspace, View
from fencepost.model.identifiers import Epoch, Lineage, NodeId, Shard
from fencepost.model.lease import Granted, Lost, Renewal, Unknown

RENEWED_TWICE = Unknown("the lease was renewed by two calls at once")
LEADER_CHANGED = Unknown("etcd changed its leader in the midst of the renewal")


class Renewing:
    """One call of `renew`."""

    def __init__(self, keys: Keyspace, held: Mapping[Shard, Epoch], holder: NodeId, ttl_s: float) -> None:
        self._keys = keys
        self._held = held
        self._holder = holder
        self._ttl_s = whole_seconds(ttl_s)
        self._kept: dict[Shard, Kept] = {}

    async def run(self, answers: Answers[Renewal]) -> None:
        before = await self._keys.look_and_mark()
        await answers.find(self._held, lambda shard: self._extend(shard, before))
        if self._kept:
            after = await self._keys.look_and_mark()
            for shard, kept in self._kept.items():
                answers.given[shard] = self._judge(shard, kept, before.term, after)

    async def _extend(self, shard: Shard, before: View) -> Renewal | None:
        """Steps 1 and 2 for one shard; no answer where the third has to judge."""
        entry = self._ours(shard, before)
        if entry is None:
            return Lost()
        kept = await self._keys.keep_alive(entry.lease)
        if kept.ttl_s <= 0:
            return Lost()
        if kept.ttl_s < self._ttl_s:
            return await self._lengthen(shard, entry, before)
        self._kept[shard] = kept
        return None

    async def _lengthen(self, shard: Shard, entry: Entry, before: View) -> Renewal:
        """Move the key to a lease of the term that is asked for. As in `acquiring`, only a lease that is
        known to be useless is revoked."""
        lease = await self._keys.lease(self._ttl_s)
        try:
            found = await self._keys.move(shard, entry, lease)
        except Refused:
            await self._keys.revoke(lease)
            raise
        moved = found is not None and found.lease == lease
        await self._keys.revoke(entry.lease if moved else lease)
        if moved:
            return Granted(entry.epoch, self._lineage(before))
        return RENEWED_TWICE if self._is_ours(shard, found) else Lost()

    def _judge(self, shard: Shard, kept: Kept, term: int, after: View) -> Renewal:
        """Step 3."""
        entry = self._ours(shard, after)
        if entry is None:
            return Lost()
        if entry.lease != kept.lease:
            return RENEWED_TWICE
        if not term == kept.term == after.term:
            return LEADER_CHANGED
        return Granted(entry.epoch, self._lineage(after))

    def _ours(self, shard: Shard, view: View) -> Entry | None:
        entry = view.entries.get(shard)
        return entry if self._is_ours(shard, entry) else None

    def _is_ours(self, shard: Shard, entry: Entry | None) -> bool:
        return entry is not None and entry.is_of(self._holder) and entry.epoch == self._held[shard]

    def _lineage(self, view: View) -> Lineage:
        return self._keys.lineage(view.cluster, view.mark)
