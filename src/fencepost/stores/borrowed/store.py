"""The parts of a store over a connection that was lent."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from fencepost.clock import Clock, SystemClock
from fencepost.errors import RunLost, UnfitConnection
from fencepost.model.run import Outcome, Receipt, RunState, Ticket
from fencepost.ports.rows import Transaction
from fencepost.rules.checks import Checked
from fencepost.rules.reports import finish
from fencepost.rules.runs import Freed
from fencepost.rules.store import RuleStore
from fencepost.stores.borrowed.kinds import Dialect, Kind, Lent
from fencepost.stores.borrowed.recognition import recognise


class Borrowed(RuleStore):
    """See `ports.transactions.BorrowedStore`."""

    leases: None = None

    async def complete(
        self, ticket: Ticket, output: str | None = None, *, idle_max_s: float | None = None
    ) -> None:
        """Write the success marker of an attempt; `RunLost` where the run is not its own any more."""
        if idle_max_s is not None:
            await self.bound(idle_max_s)
        (receipt,) = await self.ledger.finish([Outcome(ticket, RunState.SUCCEEDED, output=output)])
        if receipt is not Receipt.ACCEPTED:
            await self.refuse()
            raise RunLost(f"run {ticket.run_key}: it belongs to a later attempt, or has ended; roll back")

    async def bound(self, idle_max_s: float) -> None:
        """Have the caller's transaction ended where it stays idle for so long, where the database can."""

    async def refuse(self) -> None:
        """Keep the caller from committing, where the database can."""


class BorrowedPostgres(Borrowed):
    """Over a connection to PostgreSQL."""

    def __init__(self, lent: Lent) -> None:
        from fencepost.stores.borrowed.postgres import BorrowedPostgresDatabase
        from fencepost.stores.postgres.ledger import PostgresLedger
        from fencepost.stores.postgres.rows import PostgresRows
        from fencepost.stores.postgres.schedules import PostgresSchedules

        self._lent = lent
        self._database = BorrowedPostgresDatabase(lent)
        database: Any = self._database
        rows = PostgresRows(database)
        super().__init__(rows)
        self.schedules = PostgresSchedules(rows)
        ledger = PostgresLedger(rows)
        ledger.tries = 1
        self.ledger = ledger

    async def bound(self, idle_max_s: float) -> None:
        await self._database.bound(idle_max_s)

    async def refuse(self) -> None:
        if self._lent.spoil is not None:
            self._lent.spoil()
        try:
            await self._database.refuse()
        except Exception as refusal:
            raise RunLost("the run belongs to a later attempt, or has ended; roll back") from refusal


class BorrowedSqlite(Borrowed):
    """Over a connection to SQLite."""

    def __init__(self, lent: Lent, clock: Clock, path: Path) -> None:
        from fencepost.stores.borrowed.sqlite import BorrowedSignals, BorrowedSqliteDatabase
        from fencepost.stores.sqlite.ledger import SqliteLedger
        from fencepost.stores.sqlite.rows import SqliteRows
        from fencepost.stores.sqlite.schedules import SqliteSchedules

        database: Any = BorrowedSqliteDatabase(lent, clock)
        signals: Any = BorrowedSignals(lent, path)
        rows = SqliteRows(database, signals)
        super().__init__(rows)
        self.schedules = SqliteSchedules(rows)
        self.ledger = SqliteLedger(rows)


class BorrowedMongo(Borrowed):
    """Over a session in a transaction on MongoDB. It is of no database: where none is named it is the one of
    its client's URL."""

    def __init__(self, lent: Lent, database: str | None, *, is_sharded: bool | None = None) -> None:
        from fencepost.stores.borrowed.mongodb import BorrowedRows

        rows = BorrowedRows(lent, database, is_sharded=is_sharded)
        super().__init__(rows)
        self._lent = lent
        self.catch_up = rows.catch_up

    async def complete(
        self, ticket: Ticket, output: str | None = None, *, idle_max_s: float | None = None
    ) -> None:
        """What the run leaves to others, as the next tick of its schedule, is found by their own look: to
        touch it here would set the caller's transaction against theirs. Its successors are its own."""
        outcome = Outcome(ticket, RunState.SUCCEEDED, output=output)
        await self.catch_up(ticket)
        (receipt,) = await self.rows.write(partial(_finish, outcome))
        if receipt is not Receipt.ACCEPTED:
            aborted = self._lent.connection.abort_transaction()
            if self._lent.kind is Kind.PYMONGO_ASYNC:
                await aborted
            raise RunLost(f"run {ticket.run_key}: it belongs to a later attempt, or has ended; roll back")


async def _finish(outcome: Outcome, tx: Transaction) -> list[Receipt]:
    checked, freed = Checked(tx), Freed()
    receipts = await finish(checked, freed, [outcome])
    freed.tell(checked)
    await freed.follow(checked)
    return receipts


async def borrow(connection: object, clock: Clock | None = None, database: str | None = None) -> Borrowed:
    """The store over a connection of any driver; a database is named for one that is of none."""
    return await _over(await recognise(connection), clock or SystemClock(), database)


async def _over(lent: Lent, clock: Clock, database: str | None) -> Borrowed:
    if lent.dialect is Dialect.MONGODB:
        from fencepost.stores.borrowed.mongodb import check_ledger

        await check_ledger(lent, database)
        return BorrowedMongo(lent, database)
    if lent.dialect is Dialect.POSTGRES:
        return BorrowedPostgres(lent)
    return BorrowedSqlite(lent, clock, await _path_of(lent, clock))


async def _path_of(lent: Lent, clock: Clock) -> Path:
    """The file behind the connection, by which the workers of its store are found."""
    from fencepost.stores.borrowed.sqlite import BorrowedSqliteDatabase, check_library

    path = await BorrowedSqliteDatabase(lent, clock).file()
    if not path:
        raise UnfitConnection("connection: a SQLite database in memory is no ledger of a store")
    if lent.kind in (Kind.SQLITE3, Kind.SQLALCHEMY, Kind.SQLALCHEMY_ASYNC):
        check_library(Path(path))
    return Path(path)
