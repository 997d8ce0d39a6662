"""Rows as documents: how values are kept, how rows are found, and which index finds them.

A document has the columns of its row, and its key as `_id`. Moments are whole microseconds since 1970: a date
of the server has only milliseconds. For each declared index that a row is in, its document has an *entry*:
the name of the index and the columns in their order, as one value. So a condition is judged in one place
(`model.table`), a range of an index is a range of one field, and the server has one plan for it.

Indexes that no row is in at the same time share a field. The server does not mind many fields, but many
indexes: within a transaction it reads the description of all of them for each that it writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, TypeAlias

from bson import Int64, MaxKey
from pymongo import ASCENDING, DESCENDING, IndexModel

from fencepost.model.table import Bound, Index, Key, Keys, Kind, Range, Row, Selection, Table
from fencepost.model.tables import (
    RUNS_BEHIND,
    RUNS_CAUGHT_UP,
    RUNS_DEAD,
    RUNS_DUE_DIRECT,
    RUNS_DUE_TICKS,
    RUNS_ENDED,
    RUNS_FINISHED,
    RUNS_GATED,
    RUNS_HELD,
    RUNS_IN_SLOTS,
    RUNS_LIMITED,
    RUNS_LIMITED_TICKS,
    RUNS_LINED,
    RUNS_OPEN,
    RUNS_PARKED,
    RUNS_RUNNING,
    RUNS_SUCCEEDED,
    RUNS_UNFINISHED,
)
from fencepost.model.times import EPOCH

Document: TypeAlias = dict[str, Any]
Filter: TypeAlias = dict[str, Any]
MICROSECOND = timedelta(microseconds=1)
PLAIN = frozenset({str, int, bool, float, bytes, type(None)})
"""What the driver takes as it is."""
ALL = Bound((), inclusive=True)
SHARED = {
    "by_state": (
        *(RUNS_DUE_DIRECT, RUNS_DUE_TICKS, RUNS_LINED, RUNS_LIMITED, RUNS_PARKED),
        *(RUNS_RUNNING, RUNS_ENDED),
    ),
    "by_schedule_and_state": (RUNS_OPEN, RUNS_BEHIND, RUNS_UNFINISHED, RUNS_FINISHED),
    "by_outcome_or_limit": (RUNS_SUCCEEDED, RUNS_DEAD, RUNS_GATED, RUNS_LIMITED_TICKS, RUNS_IN_SLOTS),
    "by_catch_up_or_hold": (RUNS_CAUGHT_UP, RUNS_HELD),
}
"""Fields, and the indexes that share each."""
_FIELDS = {index: field for field, indexes in SHARED.items() for index in indexes}


def to_us(moment: datetime) -> int:
    return (moment - EPOCH) // MICROSECOND


def from_us(number: int) -> datetime:
    return EPOCH + timedelta(microseconds=number)


def encoded(table: Table, values: Mapping[str, Any]) -> Document:
    """Columns as a document has them."""
    return {
        name: value if (kind := type(value)) in PLAIN else to_us(value) if kind is datetime else _plain(value)
        for name, value in values.items()
    }


def to_document(table: Table, row: Row) -> Document:
    """A whole row: its key, its columns, and its entries."""
    columns = encoded(table, row)
    return {"_id": {name: columns[name] for name in table.key}, **columns, **_entries(table, columns)}


def to_row(table: Table, document: Mapping[str, Any]) -> Row:
    """The driver has a type of its own for large numbers, which JSON encoders refuse."""
    row = {name: document[name] for name in table.columns}
    for name in _moments(table):
        if row[name] is not None:
            row[name] = from_us(row[name])
    return {name: int(value) if type(value) is Int64 else value for name, value in row.items()}


def change_of(table: Table, document: Document, values: Mapping[str, Any]) -> tuple[Document, Document]:
    """The update that gives a row new values and puts it into the indexes that it is in then, and the
    document after it."""
    new = encoded(table, values)
    after = document | new
    entries = _entries(table, after)
    moved = {field: entry for field, entry in entries.items() if document.get(field) != entry}
    update: Document = {"$set": new | moved}
    if gone := [field for field in _fields(table) if field in document and field not in entries]:
        update["$unset"] = dict.fromkeys(gone, "")
        for field in gone:
            del after[field]
    return update, after | moved


def key_of(table: Table, document: Document) -> Key:
    """The key of the row; a moment in it is not a number."""
    key = tuple(document["_id"].values())
    return key if _moments(table).isdisjoint(table.key) else table.key_of(to_row(table, document))


def id_of(table: Table, key: Key) -> Document:
    return encoded(table, dict(zip(table.key, key, strict=True)))


def ids_of(table: Table, keys: Iterable[Key]) -> list[Document]:
    return [id_of(table, key) for key in keys]


def filter_of(selection: Selection) -> Filter:
    """What finds these rows."""
    if isinstance(selection, Keys):
        return {"_id": {"$in": ids_of(selection.table, selection.keys)}}
    index, low, high = selection.index, selection.low or ALL, selection.high or ALL
    first, last = _place(selection, low), _place(selection, high)
    first = first if low.inclusive else _end_of(index, first)
    last = _end_of(index, last) if high.inclusive else last
    return {field_of(index): {"$gte": first, "$lt": last}}


def first_of_each(ranges: Sequence[Range], limit: int, *, reverse: bool) -> list[Document]:
    """The question for the first rows of each of some ranges of an index."""
    field = field_of(ranges[0].index)
    bounds = [filter_of(one)[field] for one in ranges]
    within = {"$and": [{"$gte": [f"${field}", "$$first"]}, {"$lt": [f"${field}", "$$last"]}]}
    looked: list[Document] = [
        {"$match": {"$expr": within}},
        {"$sort": dict(order_of(ranges[0], reverse=reverse))},
        {"$limit": limit},
    ]
    return [
        {"$documents": [{"$literal": {"first": one["$gte"], "last": one["$lt"]}} for one in bounds]},
        {
            "$lookup": {
                "from": ranges[0].table.name,
                "let": {"first": "$first", "last": "$last"},
                "pipeline": looked,
                "as": "found",
            }
        },
    ]


def counted(one: Range, place: int, limit: int | None) -> list[Document]:
    """The question how many rows a range has, with its place among others; no answer where it has none."""
    most: list[Document] = [] if limit is None else [{"$limit": limit}]
    return [{"$match": filter_of(one)}, *most, {"$count": "rows"}, {"$set": {"place": {"$literal": place}}}]


def are_distinct(ranges: Sequence[Range]) -> bool:
    """Whether they are of one index, and no two have the same equal columns."""
    equals = {one.equal for one in ranges}
    return len(equals) == len(ranges) and len({(one.index, len(one.equal)) for one in ranges}) == 1


def prefix_of(one: Range, row: Row) -> Key:
    """What a row has in the columns in which rows of a range are equal."""
    return tuple(row[column] for column in one.index.columns[: len(one.equal)])


def order_of(selection: Selection, *, reverse: bool) -> list[tuple[str, int]]:
    field = field_of(selection.index) if isinstance(selection, Range) else "_id"
    return [(field, DESCENDING if reverse else ASCENDING)]


def field_of(index: Index) -> str:
    """Where documents have their entry of an index."""
    return "_id" if _is_key(index) else _FIELDS.get(index, index.name)


def has_entry(document: Document, index: Index) -> bool:
    """Whether an index has this document."""
    return _is_key(index) or bool(document.get(field_of(index), {}).get("index") == index.name)


def indexes_of(table: Table) -> list[IndexModel]:
    """An index of the server for each field of entries."""
    return [IndexModel([(one, ASCENDING)], name=one, sparse=True) for one in _fields(table)]


@lru_cache(200)
def _is_key(index: Index) -> bool:
    return index.columns == index.table.key and not index.where


def _place(selection: Range, bound: Bound) -> Document:
    """Where a bound is among the entries of its index: before all that begin with it."""
    index = selection.index
    values = dict(zip(index.columns, (*selection.equal, *bound.values), strict=False))
    return _entry(index, encoded(index.table, values).values())


def _end_of(index: Index, place: Document) -> Document:
    """Behind all entries that begin like this one."""
    return {**place, (*_names(index), "end")[len(place)]: MaxKey()}


def _entry(index: Index, columns: Iterable[Any]) -> Document:
    """Entries are compared column by column, in this order."""
    values = columns if _is_key(index) else (index.name, *columns)
    return dict(zip(_names(index), values, strict=False))


@lru_cache(200)
def _names(index: Index) -> tuple[str, ...]:
    return index.columns if _is_key(index) else ("index", *"abcdefgh"[: len(index.columns)])


def _entries(table: Table, columns: Document) -> Document:
    """What a row with these columns has to be found by."""
    entries: Document = {}
    for field, index, names in _places(table.indexes_of(columns)):
        assert field not in entries, f"{index.name} is in the field of {entries[field]}"
        values = map(columns.__getitem__, index.columns)
        entries[field] = dict(zip(names, (index.name, *values), strict=True))
    return entries


@lru_cache(1_000)
def _places(indexes: tuple[Index, ...]) -> list[tuple[str, Index, tuple[str, ...]]]:
    """Where entries of these indexes are, and the names of what is in them."""
    return [(field_of(one), one, _names(one)) for one in indexes if not _is_key(one)]


@lru_cache(100)
def _fields(table: Table) -> tuple[str, ...]:
    """Where documents of a table have entries."""
    return tuple(dict.fromkeys(field_of(one) for one in table.indexes.values() if not _is_key(one)))


@lru_cache(100)
def _moments(table: Table) -> frozenset[str]:
    return frozenset(name for name, kind in table.columns.items() if kind is Kind.TIME)


def _plain(value: Any) -> Any:
    """The base type of a value: the driver refuses enumerations and named strings."""
    match value:
        case bool() | None | bytes() | float():
            return value
        case str():
            return str.__str__(value)
        case int():
            return int(value)
    return value
