"""One attempt's access to the ledger: transactions, completion in the job's own transaction, recorded steps.

The point here is what decides that the attempt succeeded. As long as the job has not handed the success
marker to a transaction, its return does. After that only the commit does. Only the ledger knows whether the
commit happened: the job may have rolled back, or lost the answer. So such an attempt is never reported as
succeeded. It is reported as failed, and where the commit did happen the ledger calls that a repeated report
and changes nothing.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from enum import Enum, auto
from types import TracebackType
from typing import Any, TypeVar

from fencepost.errors import StepRefused, StoreUnavailable, UsageError
from fencepost.model.driving import Finished, finish_now
from fencepost.model.quoting import quoted
from fencepost.model.results import result_text
from fencepost.model.run import Ticket
from fencepost.ports.store import Store
from fencepost.ports.transactions import IN_BLOCK, JobTransaction, Parameters, Row
from fencepost.services.steps import Steps
from fencepost.telemetry.secrets import mask_any

T = TypeVar("T")


class Settlement(Enum):
    """Where the success marker of an attempt is."""

    OPEN = auto()
    """Nowhere yet: the attempt succeeds when its function returns."""
    HANDED_OVER = auto()
    """In a transaction of which this process does not know whether it was committed."""
    COMMITTED = auto()


class LedgerRunContext:
    """See `ports.run_context`. Belongs to the event loop in which it was made."""

    __slots__ = (
        *("_idle_max_s", "_loop", "_on_commit", "_recorded", "_store", "_thread", "_ticket"),
        *("open", "settlement"),
    )

    def __init__(
        self,
        store: Store,
        ticket: Ticket,
        idle_max_s: float,
        on_commit: Callable[[Ticket], object] | None = None,
    ) -> None:
        self.settlement = Settlement.OPEN
        self._store = store
        self._ticket = ticket
        self._idle_max_s = idle_max_s
        self._on_commit = on_commit
        self._recorded: Steps | None = None
        self.open: list[LedgerTransaction] = []
        """The transactions of this run that have not ended."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    def transaction(self, *, complete: bool) -> LedgerTransaction:
        if self.open or self.settlement is Settlement.HANDED_OVER:
            raise UsageError(
                "run.transaction(): a transaction of this run is open already, or has its success marker; "
                "write in that one"
            )
        opened = self._store.transactions.begin(self._ticket, complete=complete, idle_max_s=self._idle_max_s)
        return LedgerTransaction(self, opened, complete)

    @property
    def ticket(self) -> Ticket:
        """What every report of the attempt must show."""
        return self._ticket

    @property
    def is_in_doubt(self) -> bool:
        """Whether a transaction may have the run's row locked, or the marker in it."""
        return self.settlement is Settlement.HANDED_OVER or bool(self.open)

    def abandon(self) -> None:
        """The attempt is over: abort what it left open, so that no other transaction waits for it."""
        for one in self.open:
            one.abort()

    async def stay_alive(self) -> None:
        """Heartbeats left the run out while its row was locked: make up for them."""
        with suppress(StoreUnavailable):
            await self._store.ledger.pulse([self._ticket], self._idle_max_s)

    def complete_in(self, connection: object, result: object) -> Any:
        work = self._complete(connection, mask_any(result_text(result)))
        if self._store.transactions.is_awaited(connection):
            return work
        return Finished(finish_now(work))

    def once(self, name: str, step: Callable[[], Any]) -> Any:
        self._check_unlocked(f"step {quoted(name)}", "step")
        if self.is_here:
            return self._steps.once(name, step)
        return self._steps.once_from_thread(name, step, self._loop)

    def fingerprint(self, effect: str) -> Any:
        self._check_unlocked("run.fingerprint", "fingerprint")
        return self.served(self._steps.fingerprint(effect))

    def _check_unlocked(self, where: str, what: str) -> None:
        if self.open:
            raise StepRefused(
                f"{where}: its record would wait for run.transaction() to end, and that for the {what}; do "
                "it before the transaction, or write in it"
            )

    @property
    def _steps(self) -> Steps:
        """Made at the first step: most attempts have none."""
        if self._recorded is None:
            self._recorded = Steps(self._store, self._ticket)
        return self._recorded

    @property
    def is_here(self) -> bool:
        """Whether the caller is in the worker's own thread."""
        return threading.get_ident() == self._thread

    def served(self, work: Coroutine[Any, Any, T]) -> Any:
        """In the worker's loop, the work to be awaited; in a job's thread, its result."""
        if self.is_here:
            return work
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def committed(self) -> None:
        """The marker is durable."""
        self.settlement = Settlement.COMMITTED
        if self._on_commit is not None:
            self._on_commit(self._ticket)

    async def _complete(self, connection: object, output: str | None) -> None:
        borrowed = await self._store.transactions.borrow(connection)
        self.settlement = Settlement.HANDED_OVER
        await borrowed.complete(self._ticket, output, idle_max_s=self._idle_max_s)


class LedgerTransaction:
    """See `ports.transactions.RunTransaction`."""

    def __init__(
        self,
        run_context: LedgerRunContext,
        opened: AbstractAsyncContextManager[JobTransaction],
        complete: bool,
    ) -> None:
        self._run_context = run_context
        self._opened = opened
        self._complete = complete
        self._inner: JobTransaction | None = None
        self._outer: JobTransaction | None = None

    async def __aenter__(self) -> JobTransaction:
        self._run_context.open.append(self)
        try:
            self._inner = await self._opened.__aenter__()
        except BaseException:
            self._run_context.open.remove(self)
            raise
        self._outer = IN_BLOCK.get()
        IN_BLOCK.set(self._inner)
        return self._inner

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        before, settles = self._run_context.settlement, self._complete and error is None
        if settles:
            self._run_context.settlement = Settlement.HANDED_OVER
        try:
            await self._ended(kind, error, trace)
        except (StoreUnavailable, asyncio.CancelledError):
            raise
        except BaseException:
            # The database has refused: nothing was written, and the job may go on without it.
            self._run_context.settlement = before
            raise
        if settles:
            self._run_context.committed()
        elif error is not None:
            await self._run_context.stay_alive()

    async def _ended(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._opened.__aexit__(kind, error, trace)
        finally:
            self._run_context.open.remove(self)
            IN_BLOCK.set(self._outer)

    def abort(self) -> None:
        """Abort the transaction; nothing of it is kept."""
        if self._inner is not None:
            self._inner.abort()

    def __enter__(self) -> ServedTransaction:
        if self._run_context.is_here:
            raise UsageError("run.transaction() in an async function: write async with run.transaction()")
        opened = self._run_context.served(self.__aenter__())
        IN_BLOCK.set(opened)
        return ServedTransaction(self._run_context, opened)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        IN_BLOCK.set(self._outer)
        self._run_context.served(self.__aexit__(kind, error, trace))


class ServedTransaction:
    """See `ports.transactions.BlockingTransaction`: each call is carried to the worker's loop."""

    def __init__(self, run_context: LedgerRunContext, inner: JobTransaction) -> None:
        self._run_context = run_context
        self.inner = inner

    @property
    def connection(self) -> Any:
        return self.inner.connection

    def serve(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of work that must run in the worker's loop."""
        result: T = self._run_context.served(work)
        return result

    def execute(self, statement: str, parameters: Parameters = ()) -> int:
        return self.serve(self.inner.execute(statement, parameters))

    def execute_many(self, statement: str, parameters: Sequence[Parameters]) -> None:
        self.serve(self.inner.execute_many(statement, parameters))

    def fetch(self, statement: str, parameters: Parameters = ()) -> list[Row]:
        return self.serve(self.inner.fetch(statement, parameters))

    def fetch_one(self, statement: str, parameters: Parameters = ()) -> Row | None:
        return self.serve(self.inner.fetch_one(statement, parameters))

    def fetch_value(self, statement: str, parameters: Parameters = ()) -> Any:
        return self.serve(self.inner.fetch_value(statement, parameters))
