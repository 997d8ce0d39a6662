"""Rows: the few operations of which everything else in a store is made.

A *rule* is a function over a `Transaction`: it finds rows, decides, writes rows. A store that has these
operations has the whole ledger, because every rule is written once (`fencepost.rules`).

*Isolation.* What a transaction wrote is there entirely or not at all, and no other transaction sees it before
it is committed. A transaction sees its own writes. `find` sees what is committed; two `find`s of one
transaction may see different moments where it writes, and see one moment where it only reads.

*Locks.* A row is changed or deleted only after this transaction has locked, taken or written it; `lock` and
`take` return the row as it is under the lock. A lock is held until the transaction ends. A store whose
writers come one after the other has nothing to lock.

*Order.* A transaction that locks several rows locks them by table and then by key, so that no two wait for
each other: schedule, cursors, runs, everything else. `take` does not wait, and may be used in any order.

*Again.* A store may run a rule again from its start, where its transaction could not be committed for a
reason that passes. A rule has no effect but through its transaction.

*Hints* are sent when the transaction is committed, and never before.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from fencepost.model.clocks import StoreTime
from fencepost.model.table import Range, Ranges, Row, Selection, Table
from fencepost.ports.signals import Topic

T = TypeVar("T")


class Transaction(Protocol):
    """An open transaction."""

    async def now(self) -> StoreTime:
        """The store's clock, read now. What is read after a lock is not older than the lock."""
        ...

    async def find(
        self, selection: Selection | Ranges, *, limit: int | None = None, reverse: bool = False
    ) -> list[Row]:
        """Rows in the order of their index; keys that are not there are left out. Of several ranges, those of
        each in turn, and `limit` of each."""
        ...

    async def count(self, ranges: Sequence[Range], *, limit: int | None = None) -> list[int]:
        """How many rows `find` would find in each of these ranges. It calls `find`, unless a store can do
        better."""
        return [len(await self.find(one, limit=limit)) for one in ranges]

    async def lock(self, selection: Selection, *, limit: int | None = None) -> list[Row]:
        """The same, and lock each row in the order of the keys. Waits for rows that are locked."""
        ...

    async def take(
        self, selection: Selection | Ranges, *, limit: int | None = None, reverse: bool = False
    ) -> list[Row]:
        """The same, but without rows that another transaction has locked. Of one range: the first `limit`
        that are free. Of several: those that are free among the first `limit` of each."""
        ...

    async def put_if_absent(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> list[Row]:
        """Write the rows whose keys are not there, and return those, each with its serial number. Waits for
        another transaction that is about to write the same key. Rows that bring their serial numbers, all
        of one call, keep them, and the store counts on from the largest."""
        ...

    async def change(self, table: Table, changes: Iterable[tuple[Row, Mapping[str, Any]]]) -> list[Row]:
        """Give columns of locked rows new values; the rows as they are then."""
        ...

    async def delete(self, table: Table, rows: Iterable[Row]) -> None:
        """Remove locked rows."""
        ...

    async def fences(self, count: int) -> Sequence[int]:
        """Give out `count` numbers of the one sequence that never falls, in order. A number that is not used
        is lost. Asked for none, it returns the last number that was given out."""
        ...

    async def take_turn(self, name: str, *, shared: bool = False) -> None:
        """Wait until no other transaction has this turn; those that share it have it together."""
        ...

    def hint(self, topic: Topic) -> None:
        """Tell listeners, when this is committed, that something of this topic may have changed."""
        ...


Rule: TypeAlias = Callable[[Transaction], Coroutine[Any, Any, T]]


class Rows(Protocol):
    """A store of rows."""

    async def read(self, rule: Rule[T]) -> T:
        """Carry out a rule that writes nothing."""
        ...

    async def write(self, rule: Rule[T]) -> T:
        """Carry out a rule and commit it."""
        ...
