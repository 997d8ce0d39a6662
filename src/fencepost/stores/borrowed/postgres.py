"""A PostgreSQL connection of any driver as what the parts of the store call a database.

The statements are the store's own, with `$1` for parameters: asyncpg takes them so, psycopg by its raw
cursor, and for the drivers behind SQLAlchemy they are rewritten. The caller's own errors stay the caller's:
nothing is translated here.

A call of several statements stands in a savepoint, so that one that fails leaves nothing half done in a
transaction that goes on.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from enum import Enum
from typing import Any

from fencepost.errors import UnfitConnection
from fencepost.model.table import Row
from fencepost.stores.borrowed.kinds import Kind, Lent
from fencepost.stores.queries import load_queries

QUERIES = load_queries("fencepost.stores.postgres", "connection.sql")
BORROWED = load_queries("fencepost.stores.borrowed", "postgres.sql")
_PLACE = re.compile(r"\$(\d+)")
NO_LEDGER = ("42P01", "42703", "3F000")
"""No such table, column or schema."""


class BorrowedPostgresDatabase:
    """See `stores.postgres.connection.Database`: the same calls, in the caller's transaction."""

    def __init__(self, lent: Lent) -> None:
        self._lent = lent

    async def fetch(self, statement: str, *arguments: Any, within_s: float | None = None) -> list[Row]:
        try:
            return await RUN[self._lent.kind](
                self._lent.connection, statement, [plain(one) for one in arguments]
            )
        except Exception as error:
            if _sqlstate(error) not in NO_LEDGER:
                raise
            raise UnfitConnection(
                "connection: there is no ledger in its database, or one of another release; it must be the "
                "database that --store names"
            ) from error

    async def fetch_one(self, statement: str, *arguments: Any) -> Row | None:
        rows = await self.fetch(statement, *arguments)
        return rows[0] if rows else None

    async def fetch_value(self, statement: str, *arguments: Any) -> Any:
        row = await self.fetch_one(statement, *arguments)
        return None if row is None else next(iter(row.values()))

    fetchrow = fetch_one
    fetchval = fetch_value

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[BorrowedPostgresDatabase]:
        await self.fetch(BORROWED["begin"])
        try:
            yield self
        except BaseException:
            await self.fetch(BORROWED["undo"])
            raise
        await self.fetch(BORROWED["end"])

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[BorrowedPostgresDatabase]:
        """What the caller's transaction sees."""
        yield self

    async def confirm(self) -> None:
        await self.fetch(QUERIES["confirm"])

    async def bound(self, idle_max_s: float) -> None:
        """Let the server end the caller's transaction where it stays idle for so long."""
        await self.fetch(BORROWED["bound"], f"{round(idle_max_s * 1000)}ms")

    async def refuse(self) -> None:
        """Spoil the caller's transaction: whatever it has written cannot be committed any more."""
        await self.fetch(BORROWED["refuse"])


async def _by_psycopg(connection: Any, statement: str, arguments: Sequence[Any]) -> list[Row]:
    """psycopg 3, over a connection that blocks."""
    from psycopg import RawCursor
    from psycopg.rows import tuple_row

    with RawCursor(connection, row_factory=tuple_row) as cursor:
        cursor.execute(statement, arguments)
        return _rows(cursor.description, cursor.fetchall() if cursor.description else ())


async def _by_async_psycopg(connection: Any, statement: str, arguments: Sequence[Any]) -> list[Row]:
    from psycopg import AsyncRawCursor
    from psycopg.rows import tuple_row

    async with AsyncRawCursor(connection, row_factory=tuple_row) as cursor:
        await cursor.execute(statement, arguments)
        return _rows(cursor.description, await cursor.fetchall() if cursor.description else ())


async def _by_asyncpg(connection: Any, statement: str, arguments: Sequence[Any]) -> list[Row]:
    records = await connection.fetch(statement, *arguments)
    return [dict(one) for one in records]


async def _by_sqlalchemy(connection: Any, statement: str, arguments: Sequence[Any]) -> list[Row]:
    """SQLAlchemy's Connection, whichever driver is under it."""
    return _through_sqlalchemy(connection, statement, arguments)


async def _by_async_sqlalchemy(connection: Any, statement: str, arguments: Sequence[Any]) -> list[Row]:
    rows: list[Row] = await connection.run_sync(_through_sqlalchemy, statement, arguments)
    return rows


RUN: dict[Kind, Callable[[Any, str, Sequence[Any]], Awaitable[list[Row]]]] = {
    Kind.PSYCOPG: _by_psycopg,
    Kind.PSYCOPG_ASYNC: _by_async_psycopg,
    Kind.ASYNCPG: _by_asyncpg,
    Kind.SQLALCHEMY: _by_sqlalchemy,
    Kind.SQLALCHEMY_ASYNC: _by_async_sqlalchemy,
}
"""How one statement is given to each kind of connection."""


def plain(value: Any) -> Any:
    """The value in a type that every driver knows: enums and our own kinds of names are text or numbers."""
    match value:
        case Enum():
            return plain(value.value)
        case str():
            return str(value)
        case list() | tuple():
            return [plain(one) for one in value]
    return value


def _sqlstate(error: BaseException) -> str | None:
    """The server's code, as drivers and what wraps them keep it."""
    for one in (error, getattr(error, "orig", None), error.__cause__, getattr(error, "__context__", None)):
        code = getattr(one, "sqlstate", None)
        if isinstance(code, str):
            return code
    return None


def _through_sqlalchemy(connection: Any, statement: str, arguments: Sequence[Any]) -> list[Row]:
    if connection.dialect.driver == "asyncpg":
        result = connection.exec_driver_sql(statement, tuple(arguments))
    else:
        named = {f"p{number}": value for number, value in enumerate(arguments, 1)}
        result = connection.exec_driver_sql(_by_name(statement), named)
    if not result.returns_rows:
        return []
    names = list(result.keys())
    return [dict(zip(names, one, strict=True)) for one in result]


def _by_name(statement: str) -> str:
    return _PLACE.sub(r"%(p\1)s", statement.replace("%", "%%"))


def _rows(description: Sequence[Any] | None, fetched: Sequence[Sequence[Any]]) -> list[Row]:
    names = [column[0] for column in description or ()]
    return [dict(zip(names, one, strict=True)) for one in fetched]
