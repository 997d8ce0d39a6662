"""What happens to the fleet: a lease store with a bad memory, nodes in maintenance, shards cut anew."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from fencepost.clock import Clock
from fencepost.model.identifiers import DEFAULT_NAMESPACE as NS
from fencepost.model.identifiers import Epoch, Lineage, NodeId, Shard
from fencepost.model.lease import Acquisition, Granted, LeaseRecord, Release, Renewal
from fencepost.stores.memory import MemoryStore
from tests.simulation.operator import OPERATOR

SHARDS_MAX = 12


class ForgetfulLeases:
    """Leases elsewhere than in the ledger's store. It can be restored from a copy, and made anew."""

    def __init__(self, clock: Clock) -> None:
        self._store = MemoryStore(clock)
        self._copy = deepcopy(self._store.tables.leases)
        self._lives = 0

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
        self._copy = deepcopy(self._store.tables.leases)

    def restore(self) -> None:
        """Be as the last copy was, under the same name: epochs fall."""
        self._store.tables.leases = deepcopy(self._copy)

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


class FleetTrouble:
    """Acts on the fleet as a whole."""

    def __init__(self, store: MemoryStore, leases: ForgetfulLeases | None, dice: random.Random) -> None:
        self._store = store
        self._leases = leases
        self.leases: Any = leases or store.leases
        """Where the nodes of this fleet keep their leases."""
        self._dice = dice
        self.cuts = self.drains = self.falls = 0

    @property
    def counted(self) -> tuple[int, int, int]:
        """New cuts, drains and losses of memory."""
        return self.cuts, self.drains, self.falls

    async def act(self) -> None:
        """One thing that people, or their machines, do to a fleet."""
        match self._dice.randrange(5):
            case 0:
                self.cuts += 1
                await self._store.epochs.reshard(self._dice.randint(1, SHARDS_MAX), NS, OPERATOR)
            case 1:
                await self._drain_one()
            case 2:
                await self.let_go()
            case manner:
                self._forget(restored=manner == 3)

    async def let_go(self) -> None:
        """Nobody is under maintenance any more."""
        for one in await self._store.roster.live():
            await self._store.roster.drain(one.node.node_id, False, NS, OPERATOR)

    async def _drain_one(self) -> None:
        live = [one for one in await self._store.roster.live() if not one.draining]
        if len(live) > 2:
            self.drains += 1
            await self._store.roster.drain(self._dice.choice(live).node.node_id, True, NS, OPERATOR)

    def _forget(self, *, restored: bool) -> None:
        if self._leases is None:
            return
        if self._dice.random() < 0.3:
            self._leases.back_up()
            return
        self.falls += 1
        if restored:
            self._leases.restore()
        else:
            self._leases.fail_over()
