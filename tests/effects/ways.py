"""Every driver with which a job can complete its run in its own transaction, as a user would write it.

Each way inserts one row and completes the run, over a connection of a small pool of its own.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from typing import Any

from fencepost import Run

STORE = "FENCEPOST_STORE"
POOL_MAX = 2
INSERT = "INSERT INTO sent VALUES (%s, %s)"
NUMBERED = "INSERT INTO sent VALUES ($1, $2)"
NAMED = "INSERT INTO sent VALUES (:run_key, :fence)"


def psycopg_blocking(run: Run) -> None:
    with lent_psycopg() as connection, connection.transaction():
        connection.execute(INSERT, (run.key, run.fence))
        run.complete_in(connection)


async def psycopg_awaited(run: Run) -> None:
    async with _lent_async_psycopg() as connection, connection.transaction():
        await connection.execute(INSERT, (run.key, run.fence))
        await run.complete_in(connection)


async def asyncpg_(run: Run) -> None:
    async with (await _asyncpg_pool()).acquire() as connection, connection.transaction():
        await connection.execute(NUMBERED, run.key, run.fence)
        await run.complete_in(connection)


def sqlalchemy_core(run: Run) -> None:
    from sqlalchemy import text

    with _engine().begin() as connection:
        connection.execute(text(NAMED), {"run_key": run.key, "fence": run.fence})
        run.complete_in(connection)


def sqlalchemy_orm(run: Run) -> None:
    from sqlalchemy import text
    from sqlalchemy.orm import Session

    with Session(_engine()) as session, session.begin():
        session.execute(text(NAMED), {"run_key": run.key, "fence": run.fence})
        run.complete_in(session)


async def sqlalchemy_async_core(run: Run) -> None:
    from sqlalchemy import text

    async with _async_engine("asyncpg").begin() as connection:
        await connection.execute(text(NAMED), {"run_key": run.key, "fence": run.fence})
        await run.complete_in(connection)


async def sqlalchemy_async_orm(run: Run) -> None:
    from sqlalchemy import text
    from sqlalchemy.ext.asyncio import AsyncSession

    async with AsyncSession(_async_engine("psycopg")) as session, session.begin():
        await session.execute(text(NAMED), {"run_key": run.key, "fence": run.fence})
        await run.complete_in(session)


def django_(run: Run) -> None:
    """Its connections belong to threads: each is closed again, so that there are never too many."""
    from django.db import transaction

    connection = _django_connection()
    with _django_turns():
        try:
            with transaction.atomic(using=connection.alias):
                with connection.cursor() as cursor:
                    cursor.execute(INSERT, [run.key, run.fence])
                run.complete_in(connection)
        finally:
            connection.close()


WAYS = {
    "psycopg": psycopg_blocking,
    "psycopg-async": psycopg_awaited,
    "asyncpg": asyncpg_,
    "sqlalchemy-core": sqlalchemy_core,
    "sqlalchemy-orm": sqlalchemy_orm,
    "sqlalchemy-async-core": sqlalchemy_async_core,
    "sqlalchemy-async-orm": sqlalchemy_async_orm,
    "django": django_,
}


def url() -> str:
    return os.environ[STORE]


@cache
def _psycopg_shelf() -> queue.LifoQueue[Any]:
    store: queue.LifoQueue[Any] = queue.LifoQueue()
    for _ in range(POOL_MAX):
        store.put(None)
    return store


@contextmanager
def lent_psycopg() -> Iterator[Any]:
    """One of the store, opened when it is first taken, or when it has broken."""
    import psycopg

    connection = _psycopg_shelf().get()
    try:
        if connection is None or connection.broken or connection.closed:
            connection = psycopg.connect(url(), autocommit=True)
        yield connection
    finally:
        _psycopg_shelf().put(connection)


@cache
def _async_psycopg_shelf() -> asyncio.LifoQueue[Any]:
    store: asyncio.LifoQueue[Any] = asyncio.LifoQueue()
    for _ in range(POOL_MAX):
        store.put_nowait(None)
    return store


@asynccontextmanager
async def _lent_async_psycopg() -> AsyncIterator[Any]:
    import psycopg

    connection = await _async_psycopg_shelf().get()
    try:
        if connection is None or connection.broken or connection.closed:
            connection = await psycopg.AsyncConnection.connect(url(), autocommit=True)
        yield connection
    finally:
        _async_psycopg_shelf().put_nowait(connection)


@cache
def _asyncpg_opening() -> asyncio.Task[Any]:
    import asyncpg

    async def opened() -> Any:
        return await asyncpg.create_pool(url(), min_size=0, max_size=POOL_MAX)

    return asyncio.ensure_future(opened())


async def _asyncpg_pool() -> Any:
    return await asyncio.shield(_asyncpg_opening())


@cache
def _engine() -> Any:
    from sqlalchemy import create_engine

    return create_engine(_alchemical("psycopg"), pool_size=POOL_MAX, max_overflow=0)


@cache
def _async_engine(driver: str) -> Any:
    from sqlalchemy.ext.asyncio import create_async_engine

    return create_async_engine(_alchemical(driver), pool_size=POOL_MAX, max_overflow=0)


@cache
def _django_turns() -> threading.Semaphore:
    return threading.Semaphore(POOL_MAX)


def _django_connection() -> Any:
    from tests.transactions.drivers import django_connection

    return django_connection(url())


def _alchemical(driver: str) -> str:
    return f"postgresql+{driver}://{url().partition('://')[2]}"
