"""Transactions of jobs on the ledger's database, over connections that the ledger itself does not use.

A job may keep its transaction open for as long as it works in it. The ledger's own connections must never
wait for that, nor should a job's statements be planned by the rules that suit the ledger's: so these come
from a pool of their own, with the server's own settings, made when the first job asks.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import asyncpg

from fencepost.errors import RunLost, UsageError
from fencepost.model.run import Ticket
from fencepost.ports.transactions import BorrowedStore, Parameters, Row
from fencepost.stores.borrowed.kinds import Dialect, Kind, Lent
from fencepost.stores.borrowed.recognition import is_awaited
from fencepost.stores.borrowed.store import BorrowedPostgres, borrow
from fencepost.stores.placeholders import bound
from fencepost.stores.postgres.address import Address
from fencepost.stores.postgres.connection import CLOSE_TIMEOUT_S, Session, check_confirmed, open_guest_pool
from fencepost.stores.postgres.faults import UNKNOWN, translated
from fencepost.stores.queries import load_queries

QUERIES = load_queries(__package__, "transactions.sql")
ENDED_INSIDE = (
    "run.transaction(): it was ended inside the block; leave COMMIT and ROLLBACK to the block, "
    "and raise to roll back"
)


class PostgresTransaction:
    """See `ports.transactions.Transaction`; the connection is asyncpg's."""

    def __init__(self, session: Session, name: str) -> None:
        self._session = session
        self._name = name

    @property
    def connection(self) -> Session:
        """Refused once the job has ended the transaction by a statement of its own."""
        if not self._session.is_in_transaction():
            raise UsageError(ENDED_INSIDE)
        return self._session

    async def check(self) -> None:
        """Raise where this is not the transaction that was begun."""
        if not await self.connection.fetchval(QUERIES["is_same"], self._name):
            raise UsageError(ENDED_INSIDE)

    def abort(self) -> None:
        self._session.terminate()

    async def execute(self, statement: str, parameters: Parameters = ()) -> int:
        text, values = bound(statement, parameters, _mark)
        return _touched(await self.connection.execute(text, *values))

    async def execute_many(self, statement: str, parameters: Sequence[Parameters]) -> None:
        every = [bound(statement, one, _mark) for one in parameters]
        if every:
            await self.connection.executemany(every[0][0], [values for _, values in every])

    async def fetch(self, statement: str, parameters: Parameters = ()) -> list[Row]:
        text, values = bound(statement, parameters, _mark)
        return [dict(row) for row in await self.connection.fetch(text, *values)]

    async def fetch_one(self, statement: str, parameters: Parameters = ()) -> Row | None:
        text, values = bound(statement, parameters, _mark)
        row = await self.connection.fetchrow(text, *values)
        return None if row is None else dict(row)

    async def fetch_value(self, statement: str, parameters: Parameters = ()) -> Any:
        text, values = bound(statement, parameters, _mark)
        return await self.connection.fetchval(text, *values)

    def lent(self) -> Lent:
        """For what the ledger is to write in this transaction."""
        return Lent(Dialect.POSTGRES, Kind.ASYNCPG, self.connection)


class PostgresTransactions:
    """See `ports.transactions.Transactions`."""

    def __init__(self, address: Address, open_max: int) -> None:
        self._address = address
        self._open_max = open_max
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None
        self._opening = asyncio.Lock()

    @asynccontextmanager
    async def begin(
        self, ticket: Ticket, *, complete: bool, idle_max_s: float
    ) -> AsyncIterator[PostgresTransaction]:
        with translated():
            pool = await self._opened()
            # As long as it takes: what bounds the wait is the timeout of the job.
            session = await pool.acquire()
        try:
            async with _transaction(session):
                transaction = PostgresTransaction(session, await _take(session, ticket, idle_max_s))
                yield transaction
                with translated():
                    await _end(transaction, ticket, complete, idle_max_s)
            check_confirmed(session)
        finally:
            with suppress(*UNKNOWN, asyncpg.InterfaceError):
                await asyncio.shield(pool.release(session))

    async def borrow(self, connection: object) -> BorrowedStore:
        return await borrow(connection)

    def is_awaited(self, connection: object) -> bool:
        return is_awaited(connection)

    async def close(self) -> None:
        if self._pool is None:
            return
        try:
            await asyncio.wait_for(self._pool.close(), CLOSE_TIMEOUT_S)
        except (*UNKNOWN, asyncpg.InterfaceError):
            self._pool.terminate()

    async def _opened(self) -> asyncpg.Pool[asyncpg.Record]:
        async with self._opening:
            if self._pool is None:
                self._pool = await open_guest_pool(self._address, self._open_max)
            return self._pool


@asynccontextmanager
async def _transaction(session: Session) -> AsyncIterator[None]:
    """The job's own errors stay as they are; a begin or a commit without an answer is ours to name."""
    transaction = session.transaction()
    with translated():
        await transaction.start()
    try:
        yield
    except BaseException:
        # Where the connection is gone the server rolls back by itself.
        with suppress(*UNKNOWN, asyncpg.InterfaceError, asyncpg.PostgresError):
            await transaction.rollback()
        raise
    with translated():
        await transaction.commit()


async def _take(session: Session, ticket: Ticket, idle_max_s: float) -> str:
    """Lock the run for its attempt; the name of the transaction."""
    with translated():
        await session.fetch(QUERIES["bound"], f"{round(idle_max_s * 1000)}ms")
        key = ticket.namespace, ticket.run_key, ticket.attempt, ticket.fence
        name = await session.fetchval(QUERIES["lock_run"], *key)
    if name is None:
        raise RunLost(f"run {ticket.run_key}: it belongs to a later attempt, or has ended")
    return str(name)


async def _end(transaction: PostgresTransaction, ticket: Ticket, complete: bool, alive_for_s: float) -> None:
    await transaction.check()
    if complete:
        await BorrowedPostgres(transaction.lent()).complete(ticket)
    else:
        key = ticket.namespace, ticket.run_key
        await transaction.connection.fetch(QUERIES["stay_alive"], *key, alive_for_s)


def _mark(number: int) -> str:
    return f"${number}"


def _touched(status: str) -> int:
    """The server says "INSERT 0 3" or "UPDATE 3"; what counts no rows says no number."""
    last = status.rpartition(" ")[2]
    return int(last) if last.isdecimal() else 0
