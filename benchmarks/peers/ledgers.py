"""The ledger seen from outside, on every store: whether anything is left, and what has begun."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

import apsw
import asyncpg
from pymongo import AsyncMongoClient

LEFT = "state IN ('planned', 'ready', 'running')"
LEFT_STATES = ["planned", "ready", "running"]
STARTED = "SELECT extract(epoch FROM started_at)::float8 FROM fencepost.runs WHERE started_at IS NOT NULL"


class Ledger(Protocol):
    """What measurements ask."""

    async def is_empty(self) -> bool: ...

    async def count(self) -> int: ...

    async def started(self) -> list[float]: ...


@asynccontextmanager
async def ledger_of(url: str) -> AsyncIterator[Ledger]:
    """Over a connection of its own."""
    if url.startswith("sqlite:"):
        file = apsw.Connection(url.removeprefix("sqlite:///"))
        yield OnSqlite(file)
        file.close()
    elif url.startswith("mongodb:"):
        client = AsyncMongoClient[dict[str, object]](url)
        yield OnMongo(client)
        await client.close()
    else:
        connection = await asyncpg.connect(url)
        yield OnPostgres(connection)
        await connection.close()


class OnSqlite:
    """A file."""

    def __init__(self, file: apsw.Connection) -> None:
        self._file = file

    async def is_empty(self) -> bool:
        return not next(self._file.execute(f"SELECT EXISTS (SELECT 1 FROM runs WHERE {LEFT})"))[0]

    async def count(self) -> int:
        return int(next(self._file.execute("SELECT count(*) FROM runs"))[0])

    async def started(self) -> list[float]:
        rows = self._file.execute("SELECT started_at FROM runs WHERE started_at IS NOT NULL")
        return [row[0] / 1e6 for row in rows]


class OnPostgres:
    """A server."""

    def __init__(self, connection: asyncpg.Connection[asyncpg.Record]) -> None:
        self._connection = connection

    async def is_empty(self) -> bool:
        asked = f"SELECT NOT EXISTS (SELECT 1 FROM fencepost.runs WHERE {LEFT})"
        return bool(await self._connection.fetchval(asked))

    async def count(self) -> int:
        return int(await self._connection.fetchval("SELECT count(*) FROM fencepost.runs"))

    async def started(self) -> list[float]:
        return [row[0] for row in await self._connection.fetch(STARTED)]


class OnMongo:
    """A replica set."""

    def __init__(self, client: AsyncMongoClient[dict[str, object]]) -> None:
        self._runs = client.get_default_database()["runs"]

    async def is_empty(self) -> bool:
        return await self._runs.find_one({"state": {"$in": LEFT_STATES}}, {"_id": 1}) is None

    async def count(self) -> int:
        return await self._runs.estimated_document_count()

    async def started(self) -> list[float]:
        rows = self._runs.find({"started_at": {"$ne": None}}, {"started_at": 1})
        return [float(str(row["started_at"])) / 1e6 async for row in rows]
