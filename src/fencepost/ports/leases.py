"""Leases on shards.

The epoch rises strictly at every grant: at a change of holder and at a re-grant after expiry, also to the
same node; never at a renewal. The holder's name is made anew at each start of a process. Expiry is judged
by the lease store's clock alone. An exception means that the outcome is unknown: neither held nor lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from fencepost.model.identifiers import Epoch, NodeId, Shard
from fencepost.model.lease import Acquisition, LeaseRecord, Renewal


class LeaseStore(Protocol):
    """Where leases live."""

    async def acquire(
        self, shards: Sequence[Shard], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Acquisition]:
        """Grant each shard that is free or expired, under a strictly larger epoch.

        A holder that asks for what it holds, unexpired, is granted its present epoch again: that is
        how it learns of a grant whose answer was lost. That is not a renewal.
        """
        ...

    async def renew(
        self, held: Mapping[Shard, Epoch], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Renewal]:
        """Extend each lease whose holder and epoch match and which has not expired."""
        ...

    async def release(self, held: Mapping[Shard, Epoch], holder: NodeId) -> None:
        """Free each lease whose holder and epoch match; listeners for `leases` are told. The epoch stays."""
        ...

    async def read(self) -> Sequence[LeaseRecord]:
        """All leases that were ever granted, by shard."""
        ...
