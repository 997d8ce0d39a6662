"""Transactions of jobs on the ledger's file, over a connection that the ledger itself does not use.

SQLite has one writer at a time: while a job's transaction is open, every other write of the whole store
waits, heartbeats and claims among them. So it is bounded as a whole, well below the time for which others
wait for the lock, and a process has one of them at a time. What takes longer is rolled back and says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import apsw

from fencepost.clock import Clock
from fencepost.errors import RunLost, StoreUnavailable
from fencepost.model.clocks import StoreTime
from fencepost.model.driving import finish_now
from fencepost.model.run import Outcome, Receipt, RunState, Ticket
from fencepost.model.times import to_utc_text
from fencepost.ports.signals import Topic
from fencepost.ports.transactions import BorrowedStore, Parameters, Row
from fencepost.rules.runs import lock_owned
from fencepost.stores.borrowed.kinds import Dialect, Kind, Lent
from fencepost.stores.borrowed.recognition import is_awaited
from fencepost.stores.borrowed.store import borrow
from fencepost.stores.placeholders import bound
from fencepost.stores.sqlite import reports
from fencepost.stores.sqlite.connection import FAULTS
from fencepost.stores.sqlite.guest import Guest
from fencepost.stores.sqlite.rows import SqliteRowTransaction
from fencepost.stores.sqlite.signals import SqliteSignals

T = TypeVar("T")

OPEN_MAX_S = 5.0
"""Half of what others wait for the write lock."""


class SqliteTransaction:
    """See `ports.transactions.Transaction`; the connection is apsw's, and belongs to a thread of its own."""

    def __init__(self, guest: Guest) -> None:
        self.connection = guest.connection
        self.guest = guest

    async def execute(self, statement: str, parameters: Parameters = ()) -> int:
        text, values = _bound(statement, parameters)
        return await self.apply(lambda connection: _touched(connection, text, values))

    async def execute_many(self, statement: str, parameters: Sequence[Parameters]) -> None:
        every = [_bound(statement, one) for one in parameters]
        if every:
            values = [one for _, one in every]
            await self.apply(lambda connection: connection.executemany(every[0][0], values).fetchall())

    async def fetch(self, statement: str, parameters: Parameters = ()) -> list[Row]:
        text, values = _bound(statement, parameters)
        return await self.apply(lambda connection: _fetched(connection, text, values))

    async def fetch_one(self, statement: str, parameters: Parameters = ()) -> Row | None:
        rows = await self.fetch(statement, parameters)
        return rows[0] if rows else None

    async def fetch_value(self, statement: str, parameters: Parameters = ()) -> Any:
        row = await self.fetch_one(statement, parameters)
        return None if row is None else next(iter(row.values()))

    async def apply(self, work: Callable[[apsw.Connection], T]) -> T:
        """Run something on the connection, in its thread."""
        return await self.guest.apply(work)

    def abort(self) -> None:
        self.guest.abort()

    def lent(self) -> Lent:
        """For what the ledger is to write in this transaction."""
        return Lent(Dialect.SQLITE, Kind.GUEST, self, on_commit=lambda callback: None)


class SqliteTransactions:
    """See `ports.transactions.Transactions`."""

    def __init__(self, path: Path, signals: SqliteSignals, clock: Clock) -> None:
        self._path = path
        self._signals = signals
        self._clock = clock
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def begin(
        self, ticket: Ticket, *, complete: bool, idle_max_s: float
    ) -> AsyncIterator[SqliteTransaction]:
        await self._turn.acquire()
        # The turn ends with the lock, though the job's block may stand for longer.
        guest = Guest(self._path, min(idle_max_s, OPEN_MAX_S), self._turn.release)
        async with self._closed_after(guest):
            await guest.begin()
            await guest.apply(partial(self._check_owned, ticket))
            yield SqliteTransaction(guest)
            await guest.commit(partial(self._write_marker, ticket) if complete else _nothing)
        for topic in (Topic.RUNS, Topic.ENDED) if complete else (Topic.RUNS,):
            self._signals.hint(topic)

    async def borrow(self, connection: object) -> BorrowedStore:
        return await borrow(connection, self._clock)

    def is_awaited(self, connection: object) -> bool:
        return is_awaited(connection)

    @asynccontextmanager
    async def _closed_after(self, guest: Guest) -> AsyncIterator[None]:
        try:
            yield
        except apsw.Error as error:
            if (cut := guest.cut_short()) is not None:
                raise cut from error
            if isinstance(error, FAULTS):
                raise StoreUnavailable(f"store {self._path}: {error}") from error
            raise
        finally:
            await guest.close()

    def _check_owned(self, ticket: Ticket, connection: apsw.Connection) -> None:
        """The write lock is the lock on every row."""
        rows = SqliteRowTransaction(connection, StoreTime(self._clock.wall()))
        if finish_now(lock_owned(rows, ticket)) is None:
            raise RunLost(f"run {ticket.run_key}: it belongs to a later attempt, or has ended")

    def _write_marker(self, ticket: Ticket, connection: apsw.Connection) -> None:
        now = StoreTime(self._clock.wall())
        (receipt,), _ = reports.finish([Outcome(ticket, RunState.SUCCEEDED)], connection, now)
        assert receipt is Receipt.ACCEPTED, "no other can have written since the run was found its own"


def _nothing(_: apsw.Connection) -> None:
    """The run goes on."""


def _bound(statement: str, parameters: Parameters) -> tuple[str, list[Any]]:
    text, values = bound(statement, parameters, _mark)
    return text, [_plain(value) for value in values]


def _mark(number: int) -> str:
    return f"?{number}"


def _plain(value: Any) -> Any:
    """SQLite knows no moments: they are kept as the text that people and machines read alike."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return to_utc_text(value)
    return value.isoformat() if isinstance(value, date) else value


def _touched(connection: apsw.Connection, text: str, values: Sequence[Any]) -> int:
    before = connection.total_changes()
    connection.execute(text, values or None).fetchall()
    return connection.total_changes() - before


def _fetched(connection: apsw.Connection, text: str, values: Sequence[Any]) -> list[Row]:
    cursor = connection.execute(text, values or None)
    rows: list[Mapping[str, Any]] = []
    for one in cursor:
        names = [column[0] for column in cursor.get_description()]
        rows.append(dict(zip(names, one, strict=True)))
    return rows
