"""Every kind of connection that a job may bring, behind one face: a transaction, an insert, and its end."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol, TypeAlias

CREATE = "CREATE TABLE sent (run_key text NOT NULL, fence bigint NOT NULL)"
BUSY_S = 30


class Hand(Protocol):
    """A connection in a transaction of its own."""

    connection: Any

    async def insert(self, run_key: str, fence: int) -> None: ...

    async def commit(self) -> None: ...

    async def rollback(self) -> None: ...


Opened: TypeAlias = Callable[[str], AbstractAsyncContextManager[Hand]]


class Blocking:
    """A driver with a cursor of the usual kind."""

    def __init__(self, connection: Any, owner: Any = None, mark: str = "%s") -> None:
        self.connection = owner or connection
        self._raw = connection
        self._insert = f"INSERT INTO sent VALUES ({mark}, {mark})"

    async def insert(self, run_key: str, fence: int) -> None:
        self._raw.cursor().execute(self._insert, (run_key, fence))

    async def commit(self) -> None:
        self._raw.commit()

    async def rollback(self) -> None:
        self._raw.rollback()


class Apsw:
    """apsw, whose transactions are statements."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    async def insert(self, run_key: str, fence: int) -> None:
        self.connection.execute("INSERT INTO sent VALUES (?, ?)", (run_key, fence))

    async def commit(self) -> None:
        self.connection.execute("COMMIT")

    async def rollback(self) -> None:
        self.connection.execute("ROLLBACK")


class AsyncPsycopg:
    """psycopg's async connection."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    async def insert(self, run_key: str, fence: int) -> None:
        await self.connection.execute("INSERT INTO sent VALUES (%s, %s)", (run_key, fence))

    async def commit(self) -> None:
        await self.connection.commit()

    async def rollback(self) -> None:
        await self.connection.rollback()


class Asyncpg:
    """asyncpg, with its transaction object."""

    def __init__(self, connection: Any, transaction: Any) -> None:
        self.connection = connection
        self._transaction = transaction

    async def insert(self, run_key: str, fence: int) -> None:
        await self.connection.execute("INSERT INTO sent VALUES ($1, $2)", run_key, fence)

    async def commit(self) -> None:
        await self._transaction.commit()

    async def rollback(self) -> None:
        await self._transaction.rollback()


class SqlAlchemy:
    """SQLAlchemy's Connection or Session."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    async def insert(self, run_key: str, fence: int) -> None:
        self.connection.execute(_insert(), {"run_key": run_key, "fence": fence})

    async def commit(self) -> None:
        self.connection.commit()

    async def rollback(self) -> None:
        self.connection.rollback()


class AsyncSqlAlchemy:
    """SQLAlchemy's AsyncConnection or AsyncSession."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    async def insert(self, run_key: str, fence: int) -> None:
        await self.connection.execute(_insert(), {"run_key": run_key, "fence": fence})

    async def commit(self) -> None:
        await self.connection.commit()

    async def rollback(self) -> None:
        await self.connection.rollback()


class Django:
    """Django's connection inside `atomic`, ended by its own means."""

    def __init__(self, connection: Any, atomic: Any) -> None:
        self.connection = connection
        self._atomic = atomic

    async def insert(self, run_key: str, fence: int) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute("INSERT INTO sent VALUES (%s, %s)", [run_key, fence])

    async def commit(self) -> None:
        self._atomic.__exit__(None, None, None)

    async def rollback(self) -> None:
        self.connection.set_rollback(True)
        self._atomic.__exit__(None, None, None)


def _insert() -> Any:
    from sqlalchemy import text

    return text("INSERT INTO sent VALUES (:run_key, :fence)")


@asynccontextmanager
async def psycopg_blocking(url: str) -> AsyncIterator[Hand]:
    import psycopg

    with psycopg.connect(url) as connection:
        yield Blocking(connection)


@asynccontextmanager
async def psycopg_awaited(url: str) -> AsyncIterator[Hand]:
    import psycopg

    async with await psycopg.AsyncConnection.connect(url) as connection:
        yield AsyncPsycopg(connection)


@asynccontextmanager
async def asyncpg_(url: str) -> AsyncIterator[Hand]:
    import asyncpg

    connection = await asyncpg.connect(url)
    try:
        transaction = connection.transaction()
        await transaction.start()
        yield Asyncpg(connection, transaction)
    finally:
        await connection.close()


@asynccontextmanager
async def sqlalchemy_core(url: str) -> AsyncIterator[Hand]:
    from sqlalchemy import create_engine

    engine = create_engine(_alchemical(url, "psycopg", "pysqlite"), **_alchemical_options(url))
    with engine.connect() as connection:
        yield SqlAlchemy(connection)
    engine.dispose()


@asynccontextmanager
async def sqlalchemy_orm(url: str) -> AsyncIterator[Hand]:
    from sqlalchemy import create_engine
    from sqlalchemy.orm import Session

    engine = create_engine(_alchemical(url, "psycopg", "pysqlite"), **_alchemical_options(url))
    with Session(engine) as session:
        yield SqlAlchemy(session)
    engine.dispose()


@asynccontextmanager
async def sqlalchemy_async_core(url: str) -> AsyncIterator[Hand]:
    from sqlalchemy.ext.asyncio import create_async_engine

    engine = create_async_engine(_alchemical(url, "asyncpg", "aiosqlite"), **_alchemical_options(url))
    async with engine.connect() as connection:
        yield AsyncSqlAlchemy(connection)
    await engine.dispose()


@asynccontextmanager
async def sqlalchemy_async_orm(url: str) -> AsyncIterator[Hand]:
    from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

    engine = create_async_engine(_alchemical(url, "psycopg", "aiosqlite"), **_alchemical_options(url))
    async with AsyncSession(engine) as session:
        yield AsyncSqlAlchemy(session)
    await engine.dispose()


@asynccontextmanager
async def django_(url: str) -> AsyncIterator[Hand]:
    connection = django_connection(url)
    from django.db import transaction

    atomic = transaction.atomic(using=connection.alias)
    atomic.__enter__()
    try:
        yield Django(connection, atomic)
    finally:
        connection.close()


@asynccontextmanager
async def sqlite3_(url: str) -> AsyncIterator[Hand]:
    connection = sqlite3.connect(_path(url), timeout=BUSY_S)
    try:
        yield Blocking(connection, mark="?")
    finally:
        connection.close()


@asynccontextmanager
async def apsw_(url: str) -> AsyncIterator[Hand]:
    import apsw

    connection = apsw.Connection(_path(url))
    connection.set_busy_timeout(BUSY_S * 1000)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield Apsw(connection)
    finally:
        connection.close(True)


ON_POSTGRES: dict[str, Opened] = {
    "psycopg": psycopg_blocking,
    "psycopg-async": psycopg_awaited,
    "asyncpg": asyncpg_,
    "sqlalchemy-core": sqlalchemy_core,
    "sqlalchemy-orm": sqlalchemy_orm,
    "sqlalchemy-async-core": sqlalchemy_async_core,
    "sqlalchemy-async-orm": sqlalchemy_async_orm,
    "django": django_,
}
ON_SQLITE: dict[str, Opened] = {"apsw": apsw_}
FROM_OUTSIDE: dict[str, Opened] = {
    "sqlite3": sqlite3_,
    "sqlalchemy-core": sqlalchemy_core,
    "sqlalchemy-orm": sqlalchemy_orm,
    "sqlalchemy-async-core": sqlalchemy_async_core,
    "sqlalchemy-async-orm": sqlalchemy_async_orm,
    "django": django_,
}
"""By the interpreter's own copy of SQLite: only where the process has no ledger open."""


def django_connection(url: str) -> Any:
    """A connection of Django's own for this database, outside of any project."""
    import django
    from django.conf import settings
    from django.db import connections

    # Here it is the test that calls from a loop; a job calls from its thread.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    if not settings.configured:
        settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.dummy"}}, USE_TZ=True)
        django.setup()
    alias = f"test-{abs(hash(url))}"
    connections.databases[alias] = connections.configure_settings(
        {"default": {}, alias: _django_settings(url)}
    )[alias]
    return connections[alias]


def _django_settings(url: str) -> dict[str, Any]:
    if url.startswith("sqlite"):
        options = {"timeout": BUSY_S, "transaction_mode": "IMMEDIATE"}
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": _path(url), "OPTIONS": options}
    from psycopg.conninfo import conninfo_to_dict

    parts = conninfo_to_dict(url)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts["dbname"],
        "USER": parts.get("user", ""),
        "HOST": parts["host"],
        "PORT": parts["port"],
    }


def _path(url: str) -> str:
    return str(Path(url.removeprefix("sqlite:///")))


def _alchemical(url: str, postgres: str, sqlite: str) -> str:
    if url.startswith("sqlite"):
        return f"sqlite+{sqlite}:///{_path(url)}"
    return f"postgresql+{postgres}://{url.partition('://')[2]}"


def _alchemical_options(url: str) -> dict[str, Any]:
    return {"connect_args": {"timeout": BUSY_S}} if url.startswith("sqlite") else {}
