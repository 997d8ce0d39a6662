"""The store in memory: the rules over rows in dictionaries."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.clock import Clock
from fencepost.model.caveat import Caveat
from fencepost.model.tables import META
from fencepost.ports.transactions import NoTransactions
from fencepost.rules.leases import LeaseRules
from fencepost.rules.store import RuleStore
from fencepost.stores.memory.rows import MemoryRows

INCARNATION = "1-memory"
REFUSAL = (
    "the store in memory has no tables of yours; use a file: sqlite:///test.db, "
    'or in a test Bench(app, store="sqlite")'
)


class MemoryStore(RuleStore):
    """One process, one event loop; each call is a transaction because nothing in it waits."""

    caveats: Sequence[Caveat] = ()

    def __init__(self, clock: Clock, shards: int = 8, rows: MemoryRows | None = None) -> None:
        self.memory = MemoryRows(clock) if rows is None else rows
        self.signals = self.memory.signals
        super().__init__(self.memory, lambda: "memory")
        self.leases = LeaseRules(self.memory, self.signals)
        self.transactions = NoTransactions(REFUSAL)
        meta = self.memory.kept(META)
        for name, value in (("shards", str(shards)), ("incarnation", INCARNATION)):
            if (name,) not in meta.rows:
                meta.set((name,), {"name": name, "value": value})

    async def close(self) -> None:
        """There is nothing to give back."""
        return
