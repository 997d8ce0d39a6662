"""The store in memory: the rules over rows in dictionaries."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

from fencepost.clock import Clock
from fencepost.errors import UsageError
from fencepost.model.caveat import Caveat
from fencepost.model.run import Ticket
from fencepost.model.tables import META
from fencepost.ports.transactions import BorrowedStore, Transaction
from fencepost.rules.leases import LeaseRules
from fencepost.rules.store import RuleStore
from fencepost.stores.memory.rows import MemoryRows

INCARNATION = "1-memory"
REFUSAL = (
    "the store in memory has no tables of yours; use a file: sqlite:///test.db, "
    'or in a test Bench(app, store="sqlite")'
)


class MemoryTransactions:
    """There are none, because there are no tables for others to write to."""

    def begin(
        self, ticket: Ticket, *, complete: bool, idle_max_s: float
    ) -> AbstractAsyncContextManager[Transaction]:
        raise UsageError(REFUSAL)

    async def borrow(self, connection: object) -> BorrowedStore:
        raise UsageError(REFUSAL)

    def is_awaited(self, connection: object) -> bool:
        raise UsageError(REFUSAL)


class MemoryStore(RuleStore):
    """One process, one event loop; each call is a transaction because nothing in it waits."""

    caveats: Sequence[Caveat] = ()

    def __init__(self, clock: Clock, shards: int = 8, rows: MemoryRows | None = None) -> None:
        self.memory = MemoryRows(clock) if rows is None else rows
        self.signals = self.memory.signals
        super().__init__(self.memory, lambda: "memory")
        self.leases = LeaseRules(self.memory, self.signals)
        self.transactions = MemoryTransactions()
        meta = self.memory.kept(META)
        for name, value in (("shards", str(shards)), ("incarnation", INCARNATION)):
            if (name,) not in meta.rows:
                meta.set((name,), {"name": name, "value": value})

    async def close(self) -> None:
        """There is nothing to give back."""
        return
