"""A lease store of its own, apart from the ledger, with a bad memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from fencepost.clock import Clock
from fencepost.model.identifiers import Epoch, Lineage, NodeId, Shard
from fencepost.model.lease import Acquisition, Granted, LeaseRecord, Release, Renewal
from fencepost.model.tables import LEASES
from fencepost.stores.memory import MemoryStore
from fencepost.stores.memory.rows import MemoryRows
from tests.rows import copy_of, restore


class ForgetfulLeases:
    """Leases elsewhere than in the ledger's store. It can be restored from a copy, and made anew."""

    def __init__(self, clock: Clock) -> None:
        self._store = MemoryStore(clock)
        self._copy = copy_of(self._store.memory)
        self._lives = 0

    @property
    def rows(self) -> MemoryRows:
        return self._store.memory

    async def acquire(
        self, shards: Sequence[Shard], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Acquisition]:
        return self._named(await self._store.leases.acquire(shards, holder, ttl_s))

    async def renew(
        self, held: Mapping[Shard, Epoch], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Renewal]:
        return self._named(await self._store.leases.renew(held, holder, ttl_s))

    async def release(self, held: Mapping[Shard, Epoch], holder: NodeId) -> Mapping[Shard, Release]:
        return await self._store.leases.release(held, holder)

    async def read(self) -> Sequence[LeaseRecord]:
        return await self._store.leases.read()

    def back_up(self) -> None:
        """Keep a copy of how things are."""
        self._copy = copy_of(self._store.memory)

    def restore(self) -> None:
        """Be as the last copy was, under the same name: epochs fall."""
        restore(self._store.memory, self._copy)

    def fail_over(self) -> None:
        """Be as the last copy was, and know that something may be missing."""
        self.restore()
        self._lives += 1

    def _named(self, answers: Mapping[Shard, Any]) -> Mapping[Shard, Any]:
        lineage = Lineage(f"elsewhere:{self._lives}")
        return {
            shard: Granted(answer.epoch, lineage) if isinstance(answer, Granted) else answer
            for shard, answer in answers.items()
        }


def held_by(rows: MemoryRows, node: str, now: datetime) -> dict[Shard, bool]:
    """For each shard, whether the lease store calls that node the holder of a lease that runs."""
    return {one["shard"]: one["holder"] == node and one["expires_at"] > now for one in rows.all(LEASES)}
