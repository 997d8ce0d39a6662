"""Leases on shards: which node should plan which shard, and until when.

A lease is a time-bounded grant of one shard to one holder. A lease store promises little, and must keep it:

- **One holder at a time**, by the lease store's own verdict of what has expired. A holder's name is made
  anew at each start of a process, so two processes never share one.
- **A strictly larger epoch at every grant**: at a change of holder and at a grant after expiry, also to the
  same holder; never at a renewal. Where the store can lose its memory and knows it, the grant has another
  lineage.
- **Expiry is judged in one place.** Either the store's clock, read inside the store's own operation, or "has
  the record changed?", timed by this process's monotonic clock. No timestamp of one node is compared with
  another's.
- **Expiry is never early.** A lease lasts at least `ttl_s` from the moment at which the request was sent. It
  may last longer; then a takeover takes longer. Only where the store sees that its holder is gone may it be
  free before its time.
- **No lease is from the future.** An expiry further ahead than the term of its last grant or renewal cannot
  be: the store's clock was set back. Such a lease has expired for all nodes but its holder, whose renewal
  brings it back to one term from now. A store keeps the term beside the expiry for that, because nodes may
  have different ones. A store whose clock cannot be set needs no such rule.

It need not promise more, because leadership is only an optimisation: the ledger decides whose plans count
(`ports.epochs`), and a node stops trusting a lease by its own clock before it can have expired
(`core.election`).

**Answers.** Each call is about several shards, and each shard has its own answer; one may fail while another
succeeds. `Unknown` says that the operation may have happened, may still happen, or not. A call that knows
nothing of any shard may raise `StoreUnavailable` instead, which means the same for all of them. A caller
without an answer asks again: every operation can be repeated. A call must return: bound every wait by less
than the shortest lease.

A call may be cancelled at any moment. Nothing of it may reach the next caller: close a connection that is in
the middle of a protocol exchange.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from fencepost.model.identifiers import Epoch, NodeId, Shard
from fencepost.model.lease import Acquisition, LeaseRecord, Release, Renewal


class LeaseStore(Protocol):
    """Where leases live."""

    @property
    def caveats(self) -> Sequence[str]:
        """What this store cannot promise, in sentences for people; a node logs them at its start."""
        ...

    async def acquire(
        self, shards: Sequence[Shard], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Acquisition]:
        """Grant each shard that is free or expired, under a strictly larger epoch.

        A holder that asks for a lease that it holds, unexpired, is granted its present epoch again: so it
        learns of a grant whose answer was lost. That is not a renewal.
        """
        ...

    async def renew(
        self, held: Mapping[Shard, Epoch], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Renewal]:
        """Extend each lease whose holder and epoch match and which has not expired; `Lost` for the others."""
        ...

    async def release(self, held: Mapping[Shard, Epoch], holder: NodeId) -> Mapping[Shard, Release]:
        """Free each lease whose holder and epoch match, and hint at it; `Lost` for the others.

        The next grant still has a larger epoch.
        """
        ...

    async def read(self) -> Sequence[LeaseRecord]:
        """The leases that are held, by shard; one that is free or expired may be left out or come without a
        holder. For people: nothing is decided by it. Raises `StoreUnavailable`."""
        ...

    async def watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back on this loop when a lease may have become free, until the returned function is called.

        A hint: it may be lost, late, repeated or wrong. A store that can give none never calls.
        """
        ...

    async def close(self) -> None:
        """Release what was opened. Closing twice is fine. Leases that are held run out by themselves."""
        ...
