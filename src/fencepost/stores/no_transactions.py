"""For a store that has no transactions for others to write in."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from fencepost.errors import UsageError
from fencepost.model.run import Ticket
from fencepost.ports.transactions import BorrowedStore, Transaction


class NoTransactions:
    """See `ports.transactions`: each verb is refused with one line that says what to do instead."""

    def __init__(self, refusal: str) -> None:
        self._refusal = refusal

    def begin(
        self, ticket: Ticket, *, complete: bool, idle_max_s: float
    ) -> AbstractAsyncContextManager[Transaction]:
        raise UsageError(self._refusal)

    async def borrow(self, connection: object) -> BorrowedStore:
        raise UsageError(self._refusal)

    def is_awaited(self, connection: object) -> bool:
        raise UsageError(self._refusal)
