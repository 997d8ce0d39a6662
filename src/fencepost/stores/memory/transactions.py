"""Transactions in memory: there are none, because there are no tables for others to write to."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from fencepost.errors import UsageError
from fencepost.model.run import Ticket
from fencepost.ports.transactions import BorrowedStore, Transaction

REFUSAL = (
    "the store in memory has no tables of yours; use a file: sqlite:///test.db, "
    'or in a test Bench(app, store="sqlite")'
)


class MemoryTransactions:
    """See `ports.transactions.Transactions`."""

    def begin(
        self, ticket: Ticket, *, complete: bool, idle_max_s: float
    ) -> AbstractAsyncContextManager[Transaction]:
        raise UsageError(REFUSAL)

    async def borrow(self, connection: object) -> BorrowedStore:
        raise UsageError(REFUSAL)

    def is_awaited(self, connection: object) -> bool:
        raise UsageError(REFUSAL)
