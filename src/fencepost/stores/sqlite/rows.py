"""Rows in SQLite. Its writers come one after the other, so there is nothing to lock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import apsw

from fencepost.model.clocks import StoreTime
from fencepost.model.driving import finish_now
from fencepost.model.table import ColumnKind, Key, Keys, Range, Ranges, Row, Selection, Table
from fencepost.ports.rows import Rule
from fencepost.ports.signals import Topic
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.connection import Database
from fencepost.stores.sqlite.moments import to_row, to_us
from fencepost.stores.sqlite.signals import SqliteSignals
from fencepost.stores.statements import (
    Encode,
    count_text,
    encoded,
    find_text,
    shape_of,
    values_of,
    written_columns,
)

T = TypeVar("T")
QUERIES = load_queries("fencepost.stores.sqlite", "connection.sql")


class SqliteRows:
    """See `ports.rows`."""

    def __init__(self, database: Database, signals: SqliteSignals) -> None:
        self.database = database
        self.signals = signals

    async def read(self, rule: Rule[T]) -> T:
        return await self.database.read(
            lambda connection, now: finish_now(rule(SqliteRowTransaction(connection, now)))
        )

    async def write(self, rule: Rule[T]) -> T:
        hints: dict[Topic, None] = {}

        def work(connection: apsw.Connection, now: StoreTime) -> T:
            transaction = SqliteRowTransaction(connection, now)
            result = finish_now(rule(transaction))
            hints.update(transaction.hints)
            return result

        result = await self.database.transact(work)
        for topic in hints:
            self.signals.hint(topic)
        return result


class SqliteRowTransaction:
    """An open transaction on a connection that has the write lock, or one snapshot for reading."""

    def __init__(self, connection: apsw.Connection, now: StoreTime) -> None:
        self._connection = connection
        self._now = now
        self.hints: dict[Topic, None] = {}

    async def now(self) -> StoreTime:
        return self._now

    async def find(
        self, selection: Selection | Ranges, *, limit: int | None = None, reverse: bool = False
    ) -> list[Row]:
        table = selection.table
        if isinstance(selection, Ranges):
            return [
                row for one in selection.ranges for row in await self.find(one, limit=limit, reverse=reverse)
            ]
        if isinstance(selection, Keys):
            keys = sorted(selection.keys, reverse=reverse)
            return [row for key in keys for row in self._at(table, key)][:limit]
        text = find_text(shape_of(selection), "", reverse).replace("{}", "?")
        values = [_encode(table, column, value) for column, value in values_of(selection)]
        return self._fetch(table, f"{text} LIMIT ?", [*values, -1 if limit is None else limit])

    async def count(self, ranges: Sequence[Range], *, limit: int | None = None) -> list[int]:
        return [self._count(one, limit) for one in ranges]

    def _count(self, wanted: Range, limit: int | None) -> int:
        text = count_text(shape_of(wanted), "").replace("{}", "?")
        values = [_encode(wanted.table, column, value) for column, value in values_of(wanted)]
        return int(self._connection.execute(text, [*values, -1 if limit is None else limit]).get)

    async def lock(self, selection: Selection, *, limit: int | None = None) -> list[Row]:
        return await self.find(selection, limit=limit)

    async def take(
        self, selection: Selection | Ranges, *, limit: int | None = None, reverse: bool = False
    ) -> list[Row]:
        return await self.find(selection, limit=limit, reverse=reverse)

    async def put_if_absent(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> list[Row]:
        numbered, written = table.brings_serial(rows), []
        columns = written_columns(table, numbered)
        for values in rows:
            row = encoded(table.row(values), columns, _encoders(table))
            written += self._fetch(table, _insert(table, numbered), row)
        return written

    async def change(self, table: Table, changes: Iterable[tuple[Row, Mapping[str, Any]]]) -> list[Row]:
        changed = []
        for row, values in changes:
            columns = tuple(values)
            if columns:
                given = encoded(values, columns, _encoders(table)) + encoded(row, table.key, _encoders(table))
                self._connection.execute(_update(table, columns), given)
            changed.append({**row, **values})
        return changed

    async def delete(self, table: Table, rows: Iterable[Row]) -> None:
        for row in rows:
            self._connection.execute(_delete(table), encoded(row, table.key, _encoders(table)))

    async def fences(self, count: int) -> Sequence[int]:
        taken = QUERIES["take_fences"], {"count": count}
        last = int(self._connection.execute(*taken if count else (QUERIES["last_fence"],)).get)
        return range(last - max(count - 1, 0), last + 1)

    async def take_turn(self, name: str, *, shared: bool = False) -> None:
        return None

    def hint(self, topic: Topic) -> None:
        self.hints[topic] = None

    def _at(self, table: Table, key: Key) -> list[Row]:
        values = [_encode(table, column, value) for column, value in zip(table.key, key, strict=True)]
        return self._fetch(table, _by_key(table), values)

    def _fetch(self, table: Table, text: str, values: Sequence[Any]) -> list[Row]:
        moments, truths = _special(table)
        names = tuple(table.columns)
        return [to_row(names, moments, one, truths) for one in self._connection.execute(text, values)]


@lru_cache(100)
def _special(table: Table) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns that are not read as they are written: moments, and truths."""
    moments = tuple(name for name, kind in table.columns.items() if kind is ColumnKind.TIME)
    return moments, tuple(name for name, kind in table.columns.items() if kind is ColumnKind.BOOLEAN)


@lru_cache(100)
def _encoders(table: Table) -> Mapping[str, Encode]:
    codecs: dict[ColumnKind, Encode] = {
        ColumnKind.TIME: to_us,
        ColumnKind.BOOLEAN: int,
        ColumnKind.TEXT: str,
        ColumnKind.INTEGER: int,
    }
    return {name: codecs[kind] for name, kind in table.columns.items() if kind in codecs}


def _encode(table: Table, column: str, value: Any) -> Any:
    codec = _encoders(table).get(column)
    return value if value is None or codec is None else codec(value)


@lru_cache(100)
def _by_key(table: Table) -> str:
    return f"SELECT {', '.join(table.columns)} FROM {table.name} WHERE {_key(table)}"


@lru_cache(100)
def _insert(table: Table, numbered: bool) -> str:
    columns = written_columns(table, numbered)
    places = ", ".join("?" for _ in columns)
    return (
        f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({places}) "
        f"ON CONFLICT DO NOTHING RETURNING {', '.join(table.columns)}"
    )


@lru_cache(1_000)
def _update(table: Table, columns: tuple[str, ...]) -> str:
    return f"UPDATE {table.name} SET {', '.join(f'{one} = ?' for one in columns)} WHERE {_key(table)}"


@lru_cache(100)
def _delete(table: Table) -> str:
    return f"DELETE FROM {table.name} WHERE {_key(table)}"


def _key(table: Table) -> str:
    return " AND ".join(f"{column} = ?" for column in table.key)
