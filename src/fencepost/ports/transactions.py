"""Effects that happen together with the ledger's own writes: transactions on the ledger's database.

There are two ways to have them.

*The ledger's transaction* (`begin`): the store opens one for a job's own tables. First it locks the run's row
and compares the ticket: an attempt that has lost its run gets `RunLost` before it does anything. While the
row is locked no rescue can take the run away, whatever its heartbeat says. The lock is bounded by the time
for which the transaction may stay idle; after that the database ends it. With `complete`, the success marker
is the transaction's last write. So the job's writes and the marker are there together or not at all.

*The caller's own transaction* (`borrow`): the same store over a connection that the caller opened and
commits. Calls to the borrowed store happen in the caller's transaction, are seen when the caller commits, and
leave nothing when the caller rolls back; wake-ups travel with the commit. A connection that commits each
statement by itself is refused, because nothing would hold its writes together; so is one of an unknown
driver. Calls over a driver that blocks never suspend, so they can be driven without an event loop
(`model.driving.finish_now`).

When a commit's answer is lost, it is unknown whether the commit happened, and that does no harm: the attempt
reports as failed, and a report for an attempt that has reported already changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from contextvars import ContextVar
from typing import Any, Protocol, TypeAlias

from fencepost.errors import UsageError
from fencepost.model.clocks import StoreTime
from fencepost.model.run import Ticket
from fencepost.ports.audit_log import AuditLog
from fencepost.ports.calendars import Calendars
from fencepost.ports.jobs import Jobs
from fencepost.ports.ledger import Ledger
from fencepost.ports.schedules import Schedules

Parameters: TypeAlias = Sequence[Any] | Mapping[str, Any]
Row: TypeAlias = Mapping[str, Any]


class JobTransaction(Protocol):
    """An open transaction. `%s` or `%(name)s` stand for parameters on every store; without parameters the
    text is taken as it is, with them a `%` of its own is written `%%`."""

    @property
    def connection(self) -> Any:
        """The driver's own connection, for calls that are not here. The caller must not commit or roll
        back."""
        ...

    async def execute(self, statement: str, parameters: Parameters = ()) -> int:
        """Run one statement; how many rows it touched."""
        ...

    async def execute_many(self, statement: str, parameters: Sequence[Parameters]) -> None:
        """Run one statement for each set of parameters."""
        ...

    async def fetch(self, statement: str, parameters: Parameters = ()) -> list[Row]:
        """All rows of one statement, by the names of their columns."""
        ...

    async def fetch_one(self, statement: str, parameters: Parameters = ()) -> Row | None:
        """The first row."""
        ...

    async def fetch_value(self, statement: str, parameters: Parameters = ()) -> Any:
        """The first column of the first row."""
        ...

    def abort(self) -> None:
        """Break the transaction off; nothing of it is kept. Called by the worker."""
        ...


class BlockingTransaction(Protocol):
    """The same for a plain function in a thread."""

    @property
    def connection(self) -> Any: ...

    def execute(self, statement: str, parameters: Parameters = ()) -> int: ...

    def execute_many(self, statement: str, parameters: Sequence[Parameters]) -> None: ...

    def fetch(self, statement: str, parameters: Parameters = ()) -> list[Row]: ...

    def fetch_one(self, statement: str, parameters: Parameters = ()) -> Row | None: ...

    def fetch_value(self, statement: str, parameters: Parameters = ()) -> Any: ...


class RunTransaction(
    AbstractAsyncContextManager[JobTransaction, None],
    AbstractContextManager[BlockingTransaction, None],
    Protocol,
):
    """`async with` in an async job, `with` in a plain one."""


IN_BLOCK: ContextVar[JobTransaction | None] = ContextVar("in_block", default=None)
"""The transaction in whose block the caller is. A store with one writer refuses other writes from there: they
would wait for the block, and the block for them."""


class BorrowedStore(Protocol):
    """The parts of a store that can be used in the caller's own transaction."""

    @property
    def jobs(self) -> Jobs: ...

    @property
    def schedules(self) -> Schedules: ...

    @property
    def calendars(self) -> Calendars: ...

    @property
    def ledger(self) -> Ledger: ...

    @property
    def audit_log(self) -> AuditLog: ...

    async def now(self) -> StoreTime:
        """The store's clock."""
        ...

    async def complete(
        self, ticket: Ticket, output: str | None = None, *, idle_max_s: float | None = None
    ) -> None:
        """Write the success marker of an attempt; `RunLost` where the attempt no longer owns the run. Where
        the database can, it then keeps the caller's transaction from committing. It ends a transaction that
        stays idle for too long with the run's row locked."""
        ...


class Transactions(Protocol):
    """The store's transactions for jobs and callers."""

    def begin(
        self, ticket: Ticket, *, complete: bool, idle_max_s: float
    ) -> AbstractAsyncContextManager[JobTransaction]:
        """A transaction under the run's lock; `RunLost` at the start where the ticket is no longer good.

        With `complete` the run is `succeeded` when the block ends well. Without, the run goes on: such a
        transaction is one of several, each fenced."""
        ...

    async def borrow(self, connection: object) -> BorrowedStore:
        """The store over the caller's own connection; `UnfitConnection` where it cannot carry writes."""
        ...

    def is_awaited(self, connection: object) -> bool:
        """Whether calls over this connection have to be awaited."""
        ...


class NoTransactions:
    """For a store without tables of others: each call is refused with one line that says what to do
    instead."""

    def __init__(self, refusal: str) -> None:
        self._refusal = refusal

    def begin(
        self, ticket: Ticket, *, complete: bool, idle_max_s: float
    ) -> AbstractAsyncContextManager[JobTransaction]:
        raise UsageError(self._refusal)

    async def borrow(self, connection: object) -> BorrowedStore:
        raise UsageError(self._refusal)

    def is_awaited(self, connection: object) -> bool:
        raise UsageError(self._refusal)
