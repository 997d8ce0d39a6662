"""What kind of connection was handed over, told without importing a driver.

A caller with a connection of a driver has loaded the driver, so one that is not loaded is not looked for.
Each kind is refused where its statements would be committed one by one: then nothing would hold the caller's
writes and the ledger's together.
"""

from __future__ import annotations

import sys
from typing import Any

from fencepost.errors import UnfitConnection
from fencepost.stores.borrowed.kinds import Dialect, Kind, Lendable, Lent

SUPPORTED = (
    "psycopg 3 (sync or async), asyncpg, sqlite3, apsw, SQLAlchemy's Connection and Session (sync or async), "
    "Django's connection, a session of pymongo (sync or async), or the tx of run.transaction()"
)

ALCHEMICAL: dict[str, tuple[str, ...]] = {
    Dialect.POSTGRES: ("psycopg", "psycopg_async", "asyncpg"),
    Dialect.SQLITE: ("pysqlite", "aiosqlite"),
}


async def recognise(connection: Any) -> Lent:
    """What was handed over, ready for use; `UnfitConnection` says why it cannot be."""
    if isinstance(connection, Lendable):
        return connection.lent()
    if hasattr(connection, "serve") and hasattr(connection, "inner"):
        raise UnfitConnection(
            "connection: the tx of a plain function is for its own thread; use app.enqueue_in"
        )
    if _is_a(connection, "sqlalchemy.ext.asyncio", "AsyncSession"):
        connection = await connection.connection()
    if _is_a(connection, "sqlalchemy.ext.asyncio", "AsyncConnection"):
        return await _async_sqlalchemy(connection)
    return recognise_blocking(connection) or _awaited(connection)


def recognise_blocking(connection: Any) -> Lent | None:
    """What was handed over, where its driver blocks; None where it may be one that does not."""
    if _is_a(connection, "sqlalchemy.orm", "Session", "scoped_session"):
        connection = connection.connection()
    if _is_a(connection, "sqlalchemy.engine", "Connection"):
        return _sqlalchemy(connection)
    if hasattr(connection, "ensure_connection") and hasattr(connection, "in_atomic_block"):
        return _django(connection)
    if _is_a(connection, "psycopg", "Connection"):
        return _psycopg(connection, Kind.PSYCOPG)
    if _is_a(connection, "sqlite3", "Connection"):
        return _sqlite3(connection)
    if _is_a(connection, "apsw", "Connection"):
        return _apsw(connection)
    if _is_a(connection, "pymongo.client_session", "ClientSession"):
        return _pymongo(connection, Kind.PYMONGO)
    return None


def is_awaited(connection: Any) -> bool:
    """Whether the connection's driver is one that is awaited."""
    return (
        isinstance(connection, Lendable)
        or _is_a(connection, "sqlalchemy.ext.asyncio", "AsyncSession", "AsyncConnection")
        or _is_a(connection, "psycopg", "AsyncConnection")
        or _is_a(connection, "asyncpg", "Connection")
        or _is_a(connection, "asyncpg.pool", "PoolConnectionProxy")
        or _is_a(connection, "pymongo.asynchronous.client_session", "AsyncClientSession")
    )


def _awaited(connection: Any) -> Lent:
    if _is_a(connection, "psycopg", "AsyncConnection"):
        return _psycopg(connection, Kind.PSYCOPG_ASYNC)
    if _is_a(connection, "asyncpg", "Connection") or _is_a(connection, "asyncpg.pool", "PoolConnectionProxy"):
        _require(connection.is_in_transaction(), "open one: async with connection.transaction()")
        return Lent(Dialect.POSTGRES, Kind.ASYNCPG, connection)
    if _is_a(connection, "pymongo.asynchronous.client_session", "AsyncClientSession"):
        return _pymongo(connection, Kind.PYMONGO_ASYNC)
    name = f"{type(connection).__module__}.{type(connection).__qualname__}"
    raise UnfitConnection(f"connection: a {name} cannot carry writes of the ledger; expected {SUPPORTED}")


def _psycopg(connection: Any, kind: Kind) -> Lent:
    idle = int(connection.info.transaction_status) == 0
    _require(not (connection.autocommit and idle), "open one: with connection.transaction()")
    if int(connection.pgconn.pipeline_status):
        raise UnfitConnection(
            "connection: it is in pipeline mode, where no answer is awaited; leave that first"
        )
    return Lent(Dialect.POSTGRES, kind, connection)


def _pymongo(session: Any, kind: Kind) -> Lent:
    _require(session.in_transaction, "open one: session.start_transaction()")
    return Lent(Dialect.MONGODB, kind, session)


def _sqlite3(connection: Any) -> Lent:
    # From Python 3.12 on `autocommit=True` is a second way to say what isolation_level None said before.
    alone = connection.isolation_level is None and getattr(connection, "autocommit", -1) is not False
    alone = alone or getattr(connection, "autocommit", -1) is True
    _require(connection.in_transaction or not alone, 'open one: connection.execute("BEGIN IMMEDIATE")')
    return Lent(Dialect.SQLITE, Kind.SQLITE3, connection)


def _apsw(connection: Any) -> Lent:
    _require(connection.in_transaction, 'open one: connection.execute("BEGIN IMMEDIATE")')
    return Lent(Dialect.SQLITE, Kind.APSW, connection)


def _django(connection: Any) -> Lent:
    _require(connection.in_atomic_block, "open one: with transaction.atomic()")
    connection.ensure_connection()
    raw = connection.connection
    if connection.vendor == "postgresql" and _is_a(raw, "psycopg", "Connection"):
        return Lent(Dialect.POSTGRES, Kind.PSYCOPG, raw, spoil=lambda: connection.set_rollback(True))
    if connection.vendor == "sqlite":
        return Lent(Dialect.SQLITE, Kind.SQLITE3, raw, on_commit=_django_hook(connection))
    raise UnfitConnection(
        f"connection: Django's {connection.vendor} backend cannot carry writes of the ledger; "
        "expected postgresql with psycopg 3, or sqlite"
    )


def _django_hook(connection: Any) -> Any:
    return lambda callback: connection.on_commit(callback)


def _sqlalchemy(connection: Any) -> Lent:
    _check_isolation(connection)
    return Lent(_dialect(connection), Kind.SQLALCHEMY, connection)


async def _async_sqlalchemy(connection: Any) -> Lent:
    _check_isolation(connection.sync_connection)
    return Lent(_dialect(connection.sync_connection), Kind.SQLALCHEMY_ASYNC, connection)


def _check_isolation(connection: Any) -> None:
    level = connection.get_execution_options().get("isolation_level")
    level = level or connection.engine.get_execution_options().get("isolation_level")
    level = level or getattr(connection.dialect, "_on_connect_isolation_level", None)
    _require(level != "AUTOCOMMIT", "leave out isolation_level AUTOCOMMIT")
    driver = connection.connection.driver_connection
    _require(getattr(driver, "autocommit", False) is not True, "leave out autocommit in connect_args")


def _dialect(connection: Any) -> Dialect:
    name, driver = connection.dialect.name, connection.dialect.driver
    if driver not in ALCHEMICAL.get(name, ()):
        known = ", ".join(f"{one}+{other}" for one, drivers in ALCHEMICAL.items() for other in drivers)
        raise UnfitConnection(f"connection: SQLAlchemy's {name}+{driver}: expected one of {known}")
    return Dialect(name)


def _require(holds: bool, remedy: str) -> None:
    if not holds:
        raise UnfitConnection(
            f"connection: not in a transaction, so nothing would hold the writes together; {remedy}"
        )


def _is_a(connection: object, module: str, *names: str) -> bool:
    home = sys.modules.get(module)
    kinds = tuple(kind for name in names if isinstance(kind := getattr(home, name, None), type))
    return isinstance(connection, kinds)
