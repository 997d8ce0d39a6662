"""Rows as documents: how values are kept, how rows are found, and which index finds them.

A document has the columns of its row, and its key as `_id`. Moments are whole microseconds since 1970: a date
of the server has only milliseconds. For each declared index that a row is in, its document has an *entry*:
the name of the index and its columns in their order. So a condition is judged in one place (`model.table`),
a range of an index is a range of one index of the server, and it has one plan for it.

Indexes that no row is in at the same time share a field. The server does not mind many fields, but many
indexes: within a transaction it reads the description of all of them for each that it writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from math import prod
from operator import itemgetter
from typing import Any, TypeAlias

from bson import Int64, MaxKey
from pymongo import ASCENDING, DESCENDING, IndexModel

from fencepost.model.table import Bound, ColumnKind, Index, Key, Keys, Range, Row, Selection, Table
from fencepost.model.tables import (
    RUNS_BEHIND,
    RUNS_CAUGHT_UP,
    RUNS_DEAD,
    RUNS_DUE_DIRECT,
    RUNS_DUE_TICKS,
    RUNS_ENDED,
    RUNS_EXPIRING,
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
NOTHING: Filter = {"_id": {"$in": []}}
SPARE = 4
"""How many times as many places of an index may be looked at as are asked for."""
SHARED = {
    "by_state": (
        *(RUNS_DUE_DIRECT, RUNS_DUE_TICKS, RUNS_LINED, RUNS_LIMITED, RUNS_PARKED),
        *(RUNS_RUNNING, RUNS_ENDED),
    ),
    "by_schedule_and_state": (RUNS_OPEN, RUNS_BEHIND, RUNS_UNFINISHED, RUNS_FINISHED),
    "by_outcome_or_limit": (
        *(RUNS_SUCCEEDED, RUNS_DEAD, RUNS_GATED, RUNS_LIMITED_TICKS, RUNS_IN_SLOTS),
        RUNS_EXPIRING,
    ),
    "by_catch_up_or_hold": (RUNS_CAUGHT_UP, RUNS_HELD),
}
"""Fields, and the indexes that share each."""
_FIELDS = {index: field for field, indexes in SHARED.items() for index in indexes}


def to_us(moment: datetime) -> int:
    return (moment - EPOCH) // MICROSECOND


@lru_cache(1_000)
def from_us(number: int) -> datetime:
    """Runs of one batch have most of their moments in common."""
    return EPOCH + timedelta(microseconds=number)


def encoded(table: Table, values: Mapping[str, Any]) -> Document:
    """Columns as a document has them."""
    return {name: value if type(value) in PLAIN else _stored(value) for name, value in values.items()}


def to_document(table: Table, row: Row) -> Document:
    """A whole row: its key, its entries, and its columns. The server looks for each column of each of its
    indexes from the document's beginning."""
    columns = encoded(table, row)
    return {"_id": {name: columns[name] for name in table.key}, **entries_of(table, columns), **columns}


def to_row(table: Table, document: Mapping[str, Any]) -> Row:
    """The driver has a type of its own for large numbers, which JSON encoders refuse."""
    try:
        row = dict(zip(table.columns, _columns(table)(document), strict=True))
    except KeyError:
        # It was written before the table had all of these columns.
        row = {name: document.get(name, table.defaults.get(name)) for name in table.columns}
    for name in _moments(table):
        if row[name] is not None:
            row[name] = from_us(row[name])
    for name in _integers(table):
        if type(row[name]) is Int64:
            row[name] = int(row[name])
    return row


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
    if _is_key(selection.index):
        return _filter_of_keys(selection)
    same = {path: {"$eq": value} for path, value in _equal(selection)}
    lows, highs = _beyond(selection, selection.low, "$gt"), _beyond(selection, selection.high, "$lt")
    cases = [_both(same | low, high) for low in lows for high in highs]
    return cases[0] if len(cases) == 1 else {"$or": cases}


def filter_of_each(ranges: Sequence[Range]) -> Filter:
    """What finds the rows of several ranges of an index, and perhaps some more: lists of what may be in their
    columns, with which the server is much faster than with as many ranges."""
    first, columns = ranges[0], zip(*(one.equal for one in ranges), strict=True)
    lists = [[first.index.name], *(list(map(_stored, dict.fromkeys(column))) for column in columns)]
    if _is_key(first.index) or prod(map(len, lists)) > SPARE * len(ranges):
        return {"$or": [filter_of(one) for one in ranges]}
    same = {path: {"$in": some} for path, some in zip(_paths(first.index), lists, strict=False)}
    low, high = _widest([one.low for one in ranges], min), _widest([one.high for one in ranges], max)
    return _both(same, _both(*_beyond(first, low, "$gt"), *_beyond(first, high, "$lt")))


def are_alike(ranges: Sequence[Range]) -> bool:
    """Whether one question can ask for the first rows of each of them: entries, between bounds of the same
    kind by one column."""
    kinds = {(_kind(one.low), _kind(one.high)) for one in ranges}
    simple = all(kind is None or kind[0] == 1 for both in kinds for kind in both)
    return len(kinds) == 1 and simple and not _is_key(ranges[0].index)


def first_of_each(ranges: Sequence[Range], limit: int, *, reverse: bool) -> list[Document]:
    """The question for the first rows of each of some ranges that are alike."""
    conditions = [[(path, "$eq", value) for path, value in _equal(one)] + _bounds(one) for one in ranges]
    within = [{how: [f"${path}", f"$$v{place}"]} for place, (path, how, _) in enumerate(conditions[0])]
    looked: list[Document] = [
        {"$match": {"$expr": {"$and": within}}},
        {"$sort": dict(order_of(ranges[0], reverse=reverse))},
        {"$limit": limit},
    ]
    values = [{f"v{place}": value for place, (*_, value) in enumerate(one)} for one in conditions]
    return [
        {"$documents": [{"$literal": one} for one in values]},
        {
            "$lookup": {
                "from": ranges[0].table.name,
                "let": {name: f"${name}" for name in values[0]},
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
    paths = _paths(selection.index) if isinstance(selection, Range) else ("_id",)
    return [(path, DESCENDING if reverse else ASCENDING) for path in paths]


def field_of(index: Index) -> str:
    """Where documents have their entry of an index."""
    return "_id" if _is_key(index) else _FIELDS.get(index, index.name)


def has_entry(document: Document, index: Index) -> bool:
    """Whether an index has this document."""
    return _is_key(index) or bool(document.get(field_of(index), {}).get("index") == index.name)


def indexes_of(table: Table) -> list[IndexModel]:
    """An index of the server for each field of entries."""
    longest: dict[str, tuple[str, ...]] = {}
    for one in table.indexes.values():
        if not _is_key(one):
            longest[field_of(one)] = max(longest.get(field_of(one), ()), _paths(one), key=len)
    return [
        IndexModel([(path, ASCENDING) for path in paths], name=in_order(field), sparse=True)
        for field, paths in longest.items()
    ]


def in_order(field: str) -> str:
    """The name of the server's index of the entries in a field."""
    return f"{field}_in_order"


@lru_cache(200)
def _is_key(index: Index) -> bool:
    return index.columns == index.table.key and not index.where


def _filter_of_keys(selection: Range) -> Filter:
    """A key is one value, compared column by column."""
    low, high = selection.low or ALL, selection.high or ALL
    first, last = _start_of(selection, low), _start_of(selection, high)
    first = first if low.inclusive else _end_of(selection, first)
    last = _end_of(selection, last) if high.inclusive else last
    return {"_id": {"$gte": first, "$lt": last}}


def _start_of(selection: Range, bound: Bound) -> Document:
    """Before all keys that begin with these columns."""
    return _named(selection.table, selection.index.columns, (*selection.equal, *bound.values))


def _end_of(selection: Range, place: Document) -> Document:
    """Behind all keys that begin like this one."""
    return {**place, (*selection.index.columns, "end")[len(place)]: MaxKey()}


def _equal(one: Range) -> list[tuple[str, Any]]:
    """What is the same in all entries of a range, beginning with the name of their index, and where it is."""
    values = _named(one.table, one.index.columns, one.equal).values()
    return list(zip(_paths(one.index), (one.index.name, *values), strict=False))


def _bounds(one: Range) -> list[tuple[str, str, Any]]:
    """The conditions on the column after those that are equal."""
    sides = [*_beyond(one, one.low, "$gt"), *_beyond(one, one.high, "$lt")]
    return [(path, how, value) for side in sides for path, is_ in side.items() for how, value in is_.items()]


def _beyond(one: Range, bound: Bound | None, how: str) -> list[Filter]:
    """What is beyond a bound: for each of its columns, entries that are equal before it and beyond in it."""
    if bound is None or not bound.values:
        return [{} if bound is None or bound.inclusive else NOTHING]
    place = len(one.equal)
    values = _named(one.table, one.index.columns[place:], bound.values).values()
    placed = list(zip(_paths(one.index)[place + 1 :], values, strict=False))
    cases = [
        {**{path: {"$eq": value} for path, value in placed[:number]}, path: {how: value}}
        for number, (path, value) in enumerate(placed)
    ]
    if bound.inclusive:
        path, value = placed[-1]
        cases[-1][path] = {f"{how}e": value}
    return cases


def _kind(bound: Bound | None) -> tuple[int, bool] | None:
    """By how many columns it is, and whether it is inclusive."""
    return None if bound is None else (len(bound.values), bound.inclusive)


def _both(one: Filter, other: Filter) -> Filter:
    """What meets the conditions of two filters."""
    if any(one.get(path, {}).keys() & conditions.keys() for path, conditions in other.items()):
        return {"$and": [one, other]}
    return {path: one.get(path, {}) | other.get(path, {}) for path in one | other}


def _widest(bounds: Sequence[Bound | None], outermost: Callable[[list[Any]], Any]) -> Bound | None:
    """A bound by one column within which all that have these are."""
    firsts = [one.values[0] for one in bounds if one is not None and one.values]
    return Bound((outermost(firsts),), inclusive=True) if len(firsts) == len(bounds) else None


def _named(table: Table, columns: Iterable[str], values: Iterable[Any]) -> Document:
    return encoded(table, dict(zip(columns, values, strict=False)))


@lru_cache(200)
def _names(index: Index) -> tuple[str, ...]:
    return ("index", *"abcdefgh"[: len(index.columns)])


@lru_cache(200)
def _paths(index: Index) -> tuple[str, ...]:
    """Where the columns of entries are, in the order in which they are compared."""
    return ("_id",) if _is_key(index) else tuple(f"{field_of(index)}.{name}" for name in _names(index))


def entries_of(table: Table, columns: Document) -> Document:
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
def fields_of(table: Table) -> tuple[str, ...]:
    """Where documents of a table have entries."""
    return tuple(dict.fromkeys(field_of(one) for one in table.indexes.values() if not _is_key(one)))


@lru_cache(100)
def _moments(table: Table) -> frozenset[str]:
    return frozenset(name for name, kind in table.columns.items() if kind is ColumnKind.TIME)


@lru_cache(100)
def _integers(table: Table) -> tuple[str, ...]:
    return tuple(name for name, kind in table.columns.items() if kind is ColumnKind.INTEGER)


@lru_cache(100)
def _columns(table: Table) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
    """What a document has in the columns of its table; each has several."""
    return itemgetter(*table.columns)


def _stored(value: Any) -> Any:
    """A moment as its number, else the base type of a value: the driver refuses enumerations and named
    strings."""
    match value:
        case datetime():
            return to_us(value)
        case bool() | None | bytes() | float():
            return value
        case str():
            return str.__str__(value)
        case int():
            return int(value)
    return value
