"""Transactions of jobs on the ledger's replica set.

They have clients of their own: a job may be cancelled in the middle of a call, which the driver's locks may
not survive. The client of such a job is thrown away, and the server is told to end its session. Of a worker
that was killed it hears nothing: it ends a transaction 60 to 90 s after its begin, and until then the run
cannot be taken from its attempt (`transactionLifetimeLimitSeconds`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from pymongo import AsyncMongoClient
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import OperationFailure, PyMongoError

from fencepost.drivers.mongodb.address import Target
from fencepost.drivers.mongodb.calls import begun, in_time
from fencepost.drivers.mongodb.faults import translated
from fencepost.drivers.mongodb.opening import connect, disconnect
from fencepost.errors import RunLost, StoreUnavailable, UsageError
from fencepost.model.run import RunState, Ticket
from fencepost.model.table import Row as TableRow
from fencepost.ports.transactions import BorrowedStore, Parameters, Row
from fencepost.rules.runs import Freed, lock_owned
from fencepost.stores.borrowed.kinds import Dialect, Kind, Lent
from fencepost.stores.borrowed.recognition import is_awaited
from fencepost.stores.borrowed.store import BorrowedMongo, borrow
from fencepost.stores.mongodb.documents import Document
from fencepost.stores.mongodb.rows import (
    MAJORITY,
    REQUEST_TIMEOUT_S,
    SNAPSHOT,
    TRIES_MAX,
    InTheWay,
    MongoRows,
    abort,
    commit,
    pause,
)
from fencepost.stores.mongodb.transaction import is_conflict

T = TypeVar("T")
NO_SQL = (
    "run.transaction() on MongoDB has no SQL: in an async job write tx.database.orders.insert_one(…, "
    "session=tx.session); in a plain one use a session of your own and run.complete_in(session)"
)
TOO_LONG = "the server ended the transaction: broken off, or open past transactionLifetimeLimitSeconds"
NO_SUCH_TRANSACTION = 251
IDLE_MAX = 4
"""How many clients are kept for the next transaction."""


class MongoJobTransaction:
    """See `ports.transactions.Transaction`: what a job writes goes to `database`, with `session`."""

    def __init__(self, session: AsyncClientSession, database: AsyncDatabase[Document]) -> None:
        self.session = self.connection = session
        self.database = database
        self.aborted = asyncio.Event()

    async def execute(self, statement: str, parameters: Parameters = ()) -> int:
        raise UsageError(NO_SQL)

    async def execute_many(self, statement: str, parameters: Sequence[Parameters]) -> None:
        raise UsageError(NO_SQL)

    async def fetch(self, statement: str, parameters: Parameters = ()) -> list[Row]:
        raise UsageError(NO_SQL)

    async def fetch_one(self, statement: str, parameters: Parameters = ()) -> Row | None:
        raise UsageError(NO_SQL)

    async def fetch_value(self, statement: str, parameters: Parameters = ()) -> Any:
        raise UsageError(NO_SQL)

    def abort(self) -> None:
        self.aborted.set()

    def lent(self) -> Lent:
        """For what the ledger is to write in this transaction."""
        return Lent(Dialect.MONGODB, Kind.PYMONGO_ASYNC, self.session)


class MongoTransactions:
    """See `ports.transactions.Transactions`."""

    def __init__(self, rows: MongoRows, target: Target) -> None:
        self._rows = rows
        self._target = target
        self._idle: list[AsyncMongoClient[Document]] = []
        self._leaving: set[asyncio.Task[None]] = set()
        self._is_closed = False

    @asynccontextmanager
    async def begin(
        self, ticket: Ticket, *, complete: bool, idle_max_s: float
    ) -> AsyncIterator[MongoJobTransaction]:
        client = self._idle.pop() if self._idle else connect(self._target)
        session = client.start_session()
        transaction = MongoJobTransaction(session, client.get_database(self._target.database))
        lent, sharded = transaction.lent(), self._rows.is_sharded
        store = BorrowedMongo(lent, self._target.database, is_sharded=sharded)
        watching = asyncio.create_task(self._watch(transaction))
        sound = False
        try:
            run = await self._ask(_take(transaction, store, ticket))
            yield transaction
            await self._ask(_end(session, store, ticket, complete, idle_max_s))
            sound = True
            await self._wake_next(run, ended=complete)
        except Exception:
            sound = await self._roll_back(session)
            raise
        finally:
            watching.cancel()
            # What is still on its way, because the job was cancelled, begins nothing any more.
            transaction.abort()
            await self._let_go(client, session, sound)

    async def borrow(self, connection: object) -> BorrowedStore:
        return await borrow(connection, database=self._target.database)

    def is_awaited(self, connection: object) -> bool:
        return is_awaited(connection)

    async def close(self) -> None:
        self._is_closed = True
        while self._idle:
            self._leave(self._idle.pop())
        while self._leaving:
            await asyncio.wait(self._leaving)

    async def _ask(self, work: Coroutine[Any, Any, T]) -> T:
        """Our own calls in the job's transaction. What the server says of it is the job's to hear."""
        try:
            with translated(self._target):
                return await in_time(work, REQUEST_TIMEOUT_S)
        except StoreUnavailable as error:
            cause = error.__cause__
            if isinstance(cause, OperationFailure) and cause.code == NO_SUCH_TRANSACTION:
                raise RunLost(TOO_LONG) from cause
            raise

    async def _wake_next(self, run: TableRow, *, ended: bool) -> None:
        """In a transaction of its own: a tick that is being judged just now must not cost the job its
        commit. Where it cannot be, the net finds those whose turn it is."""
        freed = Freed()
        if ended:
            freed.note(run, {**run, "state": RunState.SUCCEEDED.value, "finished_at": run["started_at"]})
            freed.ended.clear()  # What follows it was committed with it.
            with suppress(StoreUnavailable):
                await self._rows.write(freed.wake_next)

    async def _roll_back(self, session: AsyncClientSession) -> bool:
        """Whether the client can be used again."""
        try:
            if session.in_transaction:
                await in_time(session.abort_transaction(), REQUEST_TIMEOUT_S)
        except (PyMongoError, TimeoutError):
            return False
        return True

    async def _let_go(
        self, client: AsyncMongoClient[Document], session: AsyncClientSession, sound: bool
    ) -> None:
        if not sound:
            await self._kill(session)
            self._leave(client)
            return
        await in_time(session.end_session(), REQUEST_TIMEOUT_S)
        if self._is_closed or len(self._idle) >= IDLE_MAX:
            self._leave(client)
        else:
            self._idle.append(client)

    def _leave(self, client: AsyncMongoClient[Document]) -> None:
        """Its user does not wait for that; who closes the store does."""
        task = begun(disconnect(client))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _watch(self, transaction: MongoJobTransaction) -> None:
        await transaction.aborted.wait()
        await self._kill(transaction.session)

    async def _kill(self, session: AsyncClientSession) -> None:
        """Have the server end what the session has open, over a client that is sound."""
        named = [{"id": session.session_id["id"]}]
        with suppress(StoreUnavailable):
            await self._rows.ask(self._rows.database.command("killSessions", named))


async def _take(transaction: MongoJobTransaction, store: BorrowedMongo, ticket: Ticket) -> TableRow:
    """Lock the run for its attempt: its row is touched at once, so no other transaction can have it. A
    heartbeat that is in the way has gone soon."""

    session = transaction.session
    await store.catch_up(ticket)
    for number in range(TRIES_MAX):
        if transaction.aborted.is_set():
            break
        await session.start_transaction(read_concern=SNAPSHOT, write_concern=MAJORITY)
        try:
            run = await store.rows.write(lambda tx: lock_owned(tx, ticket))
        except PyMongoError as error:
            await abort(session)
            if not is_conflict(error):
                raise
            await pause(number)
            continue
        if run is None:
            raise RunLost(f"run {ticket.run_key}: it belongs to a later attempt, or has ended")
        return run
    raise StoreUnavailable(f"run {ticket.run_key}: others were in the way all the time")


async def _end(
    session: AsyncClientSession, store: BorrowedMongo, ticket: Ticket, complete: bool, alive_for_s: float
) -> None:
    if complete:
        await store.complete(ticket)
    else:
        await store.ledger.pulse([ticket], alive_for_s)
    try:
        await commit(session)
    except InTheWay as error:
        raise (error.__cause__ or error) from None
