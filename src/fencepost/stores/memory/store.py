"""The store in memory: the rules over rows in dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fencepost.clock import Clock
from fencepost.model.caveat import Caveat
from fencepost.model.tables import META
from fencepost.ports.signals import Topic
from fencepost.rules.leases import LeaseRules
from fencepost.rules.store import RuleStore
from fencepost.stores.memory.rows import MemoryRows
from fencepost.stores.memory.transactions import MemoryTransactions

INCARNATION = "1-memory"


class MemoryLeases(LeaseRules):
    """Leases, watched by the hints of the same event loop."""

    def __init__(self, rows: MemoryRows) -> None:
        super().__init__(rows)
        self._signals = rows.signals

    async def watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        """See `ports.leases`."""
        return await self._signals.listen(Topic.LEASES, callback)

    async def close(self) -> None:
        """There is nothing to give back."""
        return


class MemoryStore(RuleStore):
    """One process, one event loop; each call is a transaction because nothing in it waits."""

    caveats: Sequence[Caveat] = ()

    def __init__(self, clock: Clock, shards: int = 8, rows: MemoryRows | None = None) -> None:
        self.memory = MemoryRows(clock) if rows is None else rows
        self.signals = self.memory.signals
        super().__init__(self.memory, lambda: "memory")
        self.leases = MemoryLeases(self.memory)
        self.transactions = MemoryTransactions()
        meta = self.memory.kept(META)
        for name, value in (("shards", str(shards)), ("incarnation", INCARNATION)):
            if (name,) not in meta.rows:
                meta.set((name,), {"name": name, "value": value})

    async def close(self) -> None:
        """There is nothing to give back."""
        return
