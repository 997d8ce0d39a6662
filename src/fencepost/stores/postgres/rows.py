"""Rows in PostgreSQL. Many rows go in one statement, as one array for each column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from fencepost.model.clocks import StoreTime
from fencepost.model.table import Keys, Kind, Row, Selection, Table
from fencepost.model.text import cleaned
from fencepost.ports.rows import Rule
from fencepost.ports.signals import Topic
from fencepost.stores.postgres.connection import Database
from fencepost.stores.queries import load_queries
from fencepost.stores.statements import count_text, find_text, shape_of, values_of, written_columns

if TYPE_CHECKING:
    from fencepost.stores.postgres.connection import Session

T = TypeVar("T")
QUERIES = load_queries(__package__, "rows.sql")
SCHEMA = "fencepost."
TYPES = {
    Kind.TEXT: "text",
    Kind.INTEGER: "bigint",
    Kind.REAL: "double precision",
    Kind.BOOLEAN: "boolean",
    Kind.TIME: "timestamptz",
    Kind.BYTES: "bytea",
    Kind.JSON: "jsonb",
}
ONE_BY_ONE_MAX = 10_000
"""Fences are given out one by one, unless somebody lifts the sequence past all that were."""


class PostgresRows:
    """See `ports.rows`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, rule: Rule[T]) -> T:
        async with self._database.snapshot() as session:
            return await rule(PostgresRowTransaction(session))

    async def write(self, rule: Rule[T]) -> T:
        async with self._database.transaction() as session:
            transaction = PostgresRowTransaction(session)
            result = await rule(transaction)
            await transaction.tell()
            return result


class PostgresRowTransaction:
    """An open transaction at read committed."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._hints: dict[Topic, None] = {}

    async def now(self) -> StoreTime:
        return StoreTime(await self._session.fetchval(QUERIES["now"]))

    async def find(
        self, selection: Selection, *, limit: int | None = None, reverse: bool = False
    ) -> list[Row]:
        return await self._select(selection, limit, reverse, "")

    async def count(self, selection: Selection, *, limit: int | None = None) -> int:
        if isinstance(selection, Keys):
            return len(await self.find(selection, limit=limit))
        values = [_encode(selection.table, column, value) for column, value in values_of(selection)]
        return int(
            await self._session.fetchval(_numbered(count_text(shape_of(selection), SCHEMA)), *values, limit)
        )

    async def lock(self, selection: Selection, *, limit: int | None = None) -> list[Row]:
        """First what is to be locked, so that it can be in the order of the keys; what has left the range
        meanwhile is left out."""
        if isinstance(selection, Keys):
            return await self._select(selection, limit, False, "FOR UPDATE")
        rows = await self._select(selection, limit, False, "")
        keys = selection.table.among(map(selection.table.key_of, rows))
        return [row for row in await self._select(keys, None, False, "FOR UPDATE") if selection.covers(row)]

    async def take(
        self, selection: Selection, *, limit: int | None = None, reverse: bool = False
    ) -> list[Row]:
        return await self._select(selection, limit, reverse, "FOR UPDATE SKIP LOCKED")

    async def put_if_absent(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> list[Row]:
        if not rows:
            return []
        whole = sorted((table.row(one) for one in rows), key=lambda row: _order(table, row))
        columns = _columns(table, whole, written_columns(table))
        return [dict(row) for row in await self._session.fetch(_insert(table), *columns)]

    async def change(self, table: Table, changes: Iterable[tuple[Row, Mapping[str, Any]]]) -> list[Row]:
        wanted = list(changes)
        alike: dict[tuple[str, ...], list[Row]] = {}
        for row, values in wanted:
            key = dict(zip(table.key, table.key_of(row), strict=True))
            alike.setdefault(tuple(values), []).append({**{f"{KEY}{one}": key[one] for one in key}, **values})
        for columns, rows in alike.items():
            if columns:
                given = _columns(table, rows, (*(f"{KEY}{one}" for one in table.key), *columns))
                await self._session.fetch(_update(table, columns), *given)
        return [{**row, **values} for row, values in wanted]

    async def delete(self, table: Table, rows: Iterable[Row]) -> None:
        gone = list(rows)
        if gone:
            await self._session.fetch(_delete(table), *_columns(table, gone, table.key))

    async def fences(self, count: int) -> int:
        kind = "last_fence" if not count else "fences" if count <= ONE_BY_ONE_MAX else "lift_fences"
        return int(await self._session.fetchval(QUERIES[kind], *([count] if count else [])))

    async def take_turn(self, name: str, *, shared: bool = False) -> None:
        await self._session.fetch(QUERIES["share_turn" if shared else "take_turn"], name)

    def hint(self, topic: Topic) -> None:
        self._hints[topic] = None

    async def tell(self) -> None:
        """Hand the hints to the server, which sends them with the commit."""
        for topic in self._hints:
            await self._session.fetch(QUERIES["tell"], f"fencepost_{topic}")

    async def _select(self, selection: Selection, limit: int | None, reverse: bool, lock: str) -> list[Row]:
        table = selection.table
        if isinstance(selection, Keys):
            if not selection.keys:
                return []
            rows = [dict(zip(table.key, key, strict=True)) for key in selection.keys]
            text = _by_keys(table, reverse, lock)
            values: list[Any] = [*_columns(table, rows, table.key)]
        else:
            text = f"{_numbered(find_text(shape_of(selection), SCHEMA, reverse))} LIMIT ${{}} {lock}"
            values = [_encode(table, column, value) for column, value in values_of(selection)]
            text = text.replace("${}", f"${len(values) + 1}")
            values.append(limit)
            limit = None
        found = [dict(row) for row in await self._session.fetch(text, *values)]
        return found[:limit]


KEY = "key of "


def _columns(table: Table, rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[list[Any]]:
    """One array for each column."""
    return [[_encode(table, name.removeprefix(KEY), row[name]) for row in rows] for name in names]


def _encode(table: Table, column: str, value: Any) -> Any:
    if value is None:
        return None
    kind = table.columns[column]
    if kind is Kind.TEXT:
        return cleaned(str(value))
    return int(value) if kind is Kind.INTEGER else value


def _order(table: Table, row: Row) -> tuple[Any, ...]:
    return tuple(row[column] for column in table.key if column != table.serial)


@lru_cache(1_024)
def _numbered(text: str) -> str:
    """The text with a numbered parameter at each place."""
    first, *rest = text.split("{}")
    return first + "".join(f"${number}{part}" for number, part in enumerate(rest, start=1))


def _given(table: Table, columns: Sequence[str]) -> str:
    arrays = [f"${at}::{TYPES[table.columns[one]]}[]" for at, one in enumerate(columns, start=1)]
    return ", ".join(arrays)


@lru_cache(200)
def _by_keys(table: Table, reverse: bool, lock: str) -> str:
    columns = ", ".join(f"kept.{column}" for column in table.columns)
    same = " AND ".join(f"kept.{column} = given.{column}" for column in table.key)
    order = ", ".join(f"kept.{column}{' DESC' if reverse else ''}" for column in table.key)
    of_kept = lock.replace("FOR UPDATE", "FOR UPDATE OF kept")
    return (
        f"SELECT {columns} FROM unnest({_given(table, table.key)}) AS given ({', '.join(table.key)}) "
        f"JOIN {SCHEMA}{table.name} AS kept ON {same} ORDER BY {order} {of_kept}"
    )


@lru_cache(100)
def _insert(table: Table) -> str:
    columns = written_columns(table)
    return (
        f"INSERT INTO {SCHEMA}{table.name} ({', '.join(columns)}) "
        f"SELECT * FROM unnest({_given(table, columns)}) "
        f"ON CONFLICT DO NOTHING RETURNING {', '.join(table.columns)}"
    )


@lru_cache(1_000)
def _update(table: Table, columns: tuple[str, ...]) -> str:
    names = [*(f"key_{one}" for one in table.key), *columns]
    arrays = _given(table, (*table.key, *columns))
    same = " AND ".join(f"kept.{one} = given.key_{one}" for one in table.key)
    values = ", ".join(f"{one} = given.{one}" for one in columns)
    return (
        f"UPDATE {SCHEMA}{table.name} AS kept SET {values} "
        f"FROM unnest({arrays}) AS given ({', '.join(names)}) WHERE {same}"
    )


@lru_cache(100)
def _delete(table: Table) -> str:
    same = " AND ".join(f"kept.{one} = given.{one}" for one in table.key)
    given = f"unnest({_given(table, table.key)}) AS given ({', '.join(table.key)})"
    return f"DELETE FROM {SCHEMA}{table.name} AS kept USING {given} WHERE {same}"
