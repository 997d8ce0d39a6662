"""The old ledger in stores: by plain SQL in SQLite and PostgreSQL, as each kept it under schema 9, and in
memory as the reference."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw
import asyncpg

from fencepost.ports.rows import Transaction
from fencepost.stores.memory import MemoryStore
from fencepost.stores.sqlite.moments import to_us
from tests.integration.old_ledger import FENCE, FORGOTTEN, TABLES, Values, every_row

NAMES_THEN = {"blocked_by": "met", "first_started_at": "begun_at", "attempts_before_replay": "spent"}
"""Columns that have another name since."""


def fill_sqlite(path: Path) -> None:
    """Write the rows into a file of schema 9, which kept times as microseconds."""
    connection = apsw.Connection(str(path))
    for table, rows in every_row().items():
        for row in rows:
            insert(connection, table, _named_then(_as_in_sqlite(table, row)))
    connection.execute("UPDATE sequences SET value = ? WHERE name = 'fences'", (FENCE,))
    connection.close()


def insert(connection: apsw.Connection, table: str, row: Mapping[str, Any]) -> None:
    """One row of SQLite."""
    marks = ", ".join("?" for _ in row)
    connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))


def _as_in_sqlite(table: str, row: Values) -> Values:
    if table == "meta":
        return {**row, "value": str(to_us(FORGOTTEN))}
    if table == "leases":
        spans = {"ttl_us": "ttl_s", "set_back_us": "set_back_s"}
        kept = {name: value for name, value in row.items() if name not in spans.values()}
        row = {**kept, **{name: int(row[other] * 1e6) for name, other in spans.items()}}
    return {name: to_us(value) if isinstance(value, datetime) else value for name, value in row.items()}


def _named_then(row: Values) -> Values:
    return {NAMES_THEN.get(name, name): value for name, value in row.items()}


async def fill_postgres(url: str) -> None:
    """Write the rows into a database of schema 9."""
    connection = await asyncpg.connect(url)
    for table, rows in every_row().items():
        for row in map(_named_then, rows):
            marks = ", ".join(f"${number}" for number in range(1, len(row) + 1))
            statement = f"INSERT INTO fencepost.{table} ({', '.join(row)}) VALUES ({marks})"
            await connection.execute(statement, *row.values())
    await connection.execute(f"SELECT setval('fencepost.fences', {FENCE})")
    await connection.close()


async def fill_memory(store: MemoryStore) -> None:
    """Write the rows into a store of today."""

    async def put(tx: Transaction) -> None:
        for table, rows in every_row().items():
            await tx.put_if_absent(TABLES[table], rows)
        await tx.fences(FENCE)

    await store.memory.write(put)
