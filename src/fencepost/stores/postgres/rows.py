"""Rows in PostgreSQL. Many rows go in one statement, as one array for each column."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar

from fencepost.model.clocks import StoreTime
from fencepost.model.table import ColumnKind, Key, Keys, Range, Ranges, Row, Selection, Table
from fencepost.model.text import cleaned
from fencepost.ports.signals import Topic
from fencepost.stores.postgres.columns import alike
from fencepost.stores.postgres.connection import Database, Session
from fencepost.stores.queries import load_queries
from fencepost.stores.statements import (
    Shape,
    count_text,
    find_text,
    shape_of,
    value_columns,
    values_of,
    written_columns,
)

T = TypeVar("T")
QUERIES = load_queries(__package__, "rows.sql")
SCHEMA, READ_AT = "fencepost.", "read_at"
TYPES = {
    ColumnKind.TEXT: "text",
    ColumnKind.INTEGER: "bigint",
    ColumnKind.REAL: "double precision",
    ColumnKind.BOOLEAN: "boolean",
    ColumnKind.TIME: "timestamptz",
    ColumnKind.BYTES: "bytea",
    ColumnKind.JSON: "jsonb",
}
ONE_BY_ONE_MAX = 10_000
"""Fences are given out one by one; a restore asks for more, and lifts the sequence past all that were."""


PostgresRule: TypeAlias = "Callable[[PostgresRowTransaction], Coroutine[Any, Any, T]]"


class PostgresRows:
    """See `ports.rows`."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def read(self, rule: PostgresRule[T]) -> T:
        async with self.database.snapshot() as session:
            return await rule(PostgresRowTransaction(session))

    async def write(self, rule: PostgresRule[T]) -> T:
        async with self.database.transaction() as session:
            transaction = PostgresRowTransaction(session)
            result = await rule(transaction)
            await transaction.end()
            return result


class PostgresRowTransaction:
    """An open transaction at read committed.

    Changes are kept back until their table is asked for, or the transaction ends, so that many are one
    statement. The time is asked for once, and again when anything else was."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._hints: dict[Topic, None] = {}
        self._now: StoreTime | None = None
        self._unwritten: dict[Table, dict[Key, dict[str, Any]]] = {}

    async def now(self) -> StoreTime:
        if self._now is None:
            self._now = StoreTime(await self._session.fetchval(QUERIES["now"]))
        return self._now

    async def find(
        self, selection: Selection | Ranges, *, limit: int | None = None, reverse: bool = False
    ) -> list[Row]:
        if not isinstance(selection, Ranges):
            return await self._select(selection, limit, reverse, "")
        await self._write(selection.table)
        self._now = None
        found: list[Row] = []
        for shape, ranges in _by_shape(selection.ranges).items():
            rows = await self._session.fetch(find_each(shape, reverse), *_arrays(ranges), limit)
            found += [_decoded(selection.table, row) for row in rows]
        return found

    async def count(self, ranges: Sequence[Range], *, limit: int | None = None) -> list[int]:
        self._now = None
        numbers: dict[Range, int] = {}
        for shape, same in _by_shape(ranges).items():
            await self._write(shape.index.table)
            rows = await self._session.fetch(count_each(shape), *_arrays(same), limit)
            numbers |= {one: row["rows"] for one, row in zip(same, rows, strict=True)}
        return [numbers[one] for one in ranges]

    async def lock(self, selection: Selection, *, limit: int | None = None) -> list[Row]:
        """First what is to be locked, so that it can be in the order of the keys; what has left the range
        meanwhile is left out."""
        if isinstance(selection, Keys):
            return await self._select(selection, limit, False, "FOR UPDATE")
        rows = await self._select(selection, limit, False, "")
        keys = selection.table.among(map(selection.table.key_of, rows))
        return [row for row in await self._select(keys, None, False, "FOR UPDATE") if selection.covers(row)]

    async def take(
        self, selection: Selection | Ranges, *, limit: int | None = None, reverse: bool = False
    ) -> list[Row]:
        """Of several ranges, those that are found first: a row must not be looked for again once some are
        locked."""
        if not isinstance(selection, Ranges):
            return await self._select(selection, limit, reverse, "FOR UPDATE SKIP LOCKED")
        table = selection.table
        keys = [table.key_of(row) for row in await self.find(selection, limit=limit, reverse=reverse)]
        rows = await self._select(table.among(keys), None, False, "FOR UPDATE SKIP LOCKED")
        taken = {table.key_of(row): row for row in rows if selection.ranges[0].index.has(row)}
        return [taken[key] for key in keys if key in taken]

    async def put_if_absent(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> list[Row]:
        if not rows:
            return []
        await self._write(table)
        self._now = None
        whole = sorted((table.row(one) for one in rows), key=lambda row: _order(table, row))
        numbered = table.brings_serial(rows)
        columns = _columns(table, whole, written_columns(table, numbered))
        if numbered:
            last = max(row[str(table.serial)] for row in whole)
            await self._session.fetch(QUERIES["count_on"], SCHEMA + table.name, table.serial, last)
        return [_decoded(table, row) for row in await self._session.fetch(_insert(table, numbered), *columns)]

    async def change(self, table: Table, changes: Iterable[tuple[Row, Mapping[str, Any]]]) -> list[Row]:
        wanted = list(changes)
        unwritten = self._unwritten.setdefault(table, {})
        for row, values in wanted:
            unwritten.setdefault(table.key_of(row), {}).update(values)
        if not all(values.keys().isdisjoint(table.key) for _, values in wanted):
            await self._write(table)
        return [{**row, **values} for row, values in wanted]

    async def delete(self, table: Table, rows: Iterable[Row]) -> None:
        gone = list(rows)
        if gone:
            await self._write(table)
            await self._session.fetch(_delete(table), *_columns(table, gone, table.key))

    async def fences(self, count: int) -> Sequence[int]:
        if count > ONE_BY_ONE_MAX:
            last = int(await self._session.fetchval(QUERIES["lift_fences"], count))
            return range(last - count + 1, last + 1)
        query, terms = ("fences", [count]) if count else ("last_fence", [])
        return [int(row["fence"]) for row in await self._session.fetch(QUERIES[query], *terms)]

    async def take_turn(self, name: str, *, shared: bool = False) -> None:
        self._now = None
        await self._session.fetch(QUERIES["share_turn" if shared else "take_turn"], name)

    def hint(self, topic: Topic) -> None:
        self._hints[topic] = None

    async def end(self) -> None:
        """Write what was kept back, and hand the hints to the server, which sends them with the commit."""
        for topic in self._hints:
            await self.fetch(QUERIES["tell"], f"fencepost_{topic}")
        for table in tuple(self._unwritten):
            await self._write(table)

    async def fetch(self, query: str, *terms: Any) -> Sequence[Any]:
        """A statement of an accelerator, after all that was kept back."""
        self._now = None
        for table in tuple(self._unwritten):
            await self._write(table)
        return await self._session.fetch(query, *terms)

    async def _write(self, table: Table) -> None:
        """Write the changes of a table that were kept back: one statement for those of the same columns."""
        changes: dict[tuple[str, ...], list[tuple[Key, Row]]] = {}
        for key, values in self._unwritten.pop(table, {}).items():
            if values:
                changes.setdefault(tuple(values), []).append((key, values))
        for columns, rows in changes.items():
            keys = zip(*(key for key, _ in rows), strict=True)
            given = (alike([values[name] for _, values in rows]) for name in columns)
            kinds = [table.columns[name] for name in (*table.key, *columns)]
            arrays = [_column(kind, list(one)) for kind, one in zip(kinds, (*keys, *given), strict=True)]
            await self._session.fetch(_update(table, columns), *arrays)

    async def _select(self, selection: Selection, limit: int | None, reverse: bool, lock: str) -> list[Row]:
        table = selection.table
        await self._write(table)
        self._now = None
        if isinstance(selection, Keys):
            if not selection.keys:
                return []
            rows = [dict(zip(table.key, key, strict=True)) for key in selection.keys]
            text, values = _by_keys(table, reverse, lock), list[Any](_columns(table, rows, table.key))
        else:
            text = f"{_numbered(find_text(shape_of(selection), SCHEMA, reverse))} LIMIT ${{}} {lock}"
            if lock.endswith("SKIP LOCKED"):
                # It waits for nothing, so the time at which it read is the time after it.
                text = text.replace(" FROM ", f", fencepost.now() AS {READ_AT} FROM ", 1)
            values = [*(_encode(table, column, value) for column, value in values_of(selection)), limit]
            text, limit = text.replace("${}", f"${len(values)}"), None
        found = [_decoded(table, row) for row in await self._session.fetch(text, *values)]
        for row in found:
            self._now = row.pop(READ_AT, None)
        return found[:limit]


def _columns(table: Table, rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[list[Any]]:
    """One array for each column."""
    return [_column(table.columns[name], [row[name] for row in rows]) for name in names]


def _column(kind: ColumnKind, values: list[Any]) -> list[Any]:
    if kind is ColumnKind.TEXT:
        return [None if one is None else cleaned(str(one)) for one in values]
    return [None if one is None else int(one) for one in values] if kind is ColumnKind.INTEGER else values


def _by_shape(ranges: Iterable[Range]) -> dict[Shape, list[Range]]:
    """Ranges whose statements are the same, together."""
    same: dict[Shape, list[Range]] = {}
    for one in dict.fromkeys(ranges):
        same.setdefault(shape_of(one), []).append(one)
    return same


def _arrays(ranges: Sequence[Range]) -> list[list[Any]]:
    """The values of ranges of one shape, one array for each place; at least the numbers of the ranges."""
    table = ranges[0].table
    values = [[_encode(table, column, value) for column, value in values_of(one)] for one in ranges]
    return [list(range(len(ranges))), *map(list, zip(*values, strict=True))]


@lru_cache(200)
def _each(shape: Shape) -> tuple[str, list[str], int]:
    """The ranges as a table, the names of their values, and the place of the limit."""
    columns = value_columns(shape)
    names = [f"given.value_{number}" for number, _ in enumerate(columns)]
    types = [f"${at}::{TYPES[shape.index.table.columns[one]]}[]" for at, one in enumerate(columns, start=2)]
    named = ", ".join(["number", *(name.removeprefix("given.") for name in names)])
    return f"unnest({', '.join(['$1::bigint[]', *types])}) AS given ({named})", names, len(columns) + 2


@lru_cache(1_024)
def find_each(shape: Shape, reverse: bool) -> str:
    """The first rows of each of several ranges."""
    given, names, last = _each(shape)
    inner = find_text(shape, SCHEMA, reverse).format(*names)
    order = [f"found.{column}{' DESC' if reverse else ''}" for column in shape.index.columns[shape.equal :]]
    return (
        f"SELECT found.* FROM {given} CROSS JOIN LATERAL ({inner} LIMIT ${last}) AS found "
        f"ORDER BY {', '.join(['given.number', *order])}"
    )


@lru_cache(200)
def count_each(shape: Shape) -> str:
    """How many rows each of several ranges has."""
    given, names, last = _each(shape)
    inner = count_text(shape, SCHEMA).format(*names, f"${last}")
    return f"SELECT ({inner}) AS rows FROM {given} ORDER BY given.number"


def _encode(table: Table, column: str, value: Any) -> Any:
    return _column(table.columns[column], [value])[0]


def _decoded(table: Table, row: Any) -> Row:
    """The row with JSON as text; some drivers take it apart."""
    found = dict(row)
    for column in _json_columns(table):
        if not isinstance(found[column], str | None):
            found[column] = json.dumps(found[column])
    return found


@lru_cache
def _json_columns(table: Table) -> tuple[str, ...]:
    return tuple(column for column, kind in table.columns.items() if kind is ColumnKind.JSON)


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
    bytewise = {one: ' COLLATE "C"' if table.columns[one] is ColumnKind.TEXT else "" for one in table.key}
    order = ", ".join(f"given.{one}{how}{' DESC' if reverse else ''}" for one, how in bytewise.items())
    of_kept = lock.replace("FOR UPDATE", "FOR UPDATE OF kept")
    return (
        f"SELECT {columns} FROM unnest({_given(table, table.key)}) AS given ({', '.join(table.key)}) "
        f"JOIN {SCHEMA}{table.name} AS kept ON {_at_key(table)} ORDER BY {order} {of_kept}"
    )


@lru_cache(100)
def _insert(table: Table, numbered: bool) -> str:
    columns = written_columns(table, numbered)
    overriding = "OVERRIDING SYSTEM VALUE " if numbered else ""
    return (
        f"INSERT INTO {SCHEMA}{table.name} ({', '.join(columns)}) {overriding}"
        f"SELECT * FROM unnest({_given(table, columns)}) "
        f"ON CONFLICT DO NOTHING RETURNING {', '.join(table.columns)}"
    )


@lru_cache(1_000)
def _update(table: Table, columns: tuple[str, ...]) -> str:
    names = [*(f"key_{one}" for one in table.key), *columns]
    arrays = _given(table, (*table.key, *columns))
    # A value that all rows get is sent once.
    places = [(one, f"${at}") for at, one in enumerate(columns, start=len(table.key) + 1)]
    values = [
        f"{one} = CASE cardinality({at}) WHEN 1 THEN ({at})[1] ELSE given.{one} END" for one, at in places
    ]
    return (
        f"UPDATE {SCHEMA}{table.name} AS kept SET {', '.join(values)} "
        f"FROM unnest({arrays}) AS given ({', '.join(names)}) WHERE {_at_key(table, 'key_')}"
    )


@lru_cache(100)
def _delete(table: Table) -> str:
    given = f"unnest({_given(table, table.key)}) AS given ({', '.join(table.key)})"
    return f"DELETE FROM {SCHEMA}{table.name} AS kept USING {given} WHERE {_at_key(table)}"


def _at_key(table: Table, prefix: str = "") -> str:
    """Says that a kept row has the key that is given. With a plain `=` first the server could also walk the
    table in the order of the keys, and a plan that it made while the table was empty would do so for ever."""
    first, *rest = table.key
    same = [f"kept.{first} = ANY (ARRAY[given.{prefix}{first}])"]
    return " AND ".join([*same, *(f"kept.{one} = given.{prefix}{one}" for one in rest)])
