"""Rows as documents: how values are kept, how rows are found, and which index finds them.

A document has the columns of its row, and as `_id` the text of its key. Moments are whole microseconds since
1970: a date of the server has only milliseconds. An index with conditions is partial: a row that meets them
has a field of the index's name, so that a condition is judged in one place (`model.table`), whatever the
server's own partial indexes can express.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, TypeAlias

from pymongo import ASCENDING, DESCENDING, IndexModel

from fencepost.model.table import Bound, Index, Key, Keys, Kind, Range, Row, Selection, Table
from fencepost.model.times import EPOCH

Document: TypeAlias = dict[str, Any]
Filter: TypeAlias = dict[str, Any]
MICROSECOND = timedelta(microseconds=1)


def to_us(moment: datetime) -> int:
    return (moment - EPOCH) // MICROSECOND


def from_us(number: int) -> datetime:
    return EPOCH + timedelta(microseconds=number)


def encoded(table: Table, values: Mapping[str, Any]) -> Document:
    """Columns as a document has them."""
    moments = _moments(table)
    return {
        name: to_us(value) if value is not None and name in moments else _plain(value)
        for name, value in values.items()
    }


def to_document(table: Table, row: Row) -> Document:
    """A whole row: its columns, its key, and the fields of the indexes that it is in."""
    return {"_id": id_of(table, table.key_of(row)), **encoded(table, row), **_marks(table, row)}


def to_row(table: Table, document: Mapping[str, Any]) -> Row:
    moments = _moments(table)
    return {
        name: from_us(value) if (value := document[name]) is not None and name in moments else value
        for name in table.columns
    }


def change_of(table: Table, row: Row, values: Mapping[str, Any]) -> Document:
    """The update that gives a row new values, and puts it into the indexes that it is in then."""
    was, is_ = _marks(table, row), _marks(table, {**row, **values})
    update: Document = {"$set": {**encoded(table, values), **is_}}
    if gone := was.keys() - is_.keys():
        update["$unset"] = dict.fromkeys(gone, "")
    return update


def id_of(table: Table, key: Key) -> str:
    moments = _moments(table)
    return json.dumps(
        [
            to_us(value) if column in moments else _plain(value)
            for column, value in zip(table.key, key, strict=True)
        ],
        ensure_ascii=False,
        separators=(",", ":"),
    )


def ids_of(table: Table, keys: Iterable[Key]) -> list[str]:
    return [id_of(table, key) for key in keys]


def filter_of(selection: Selection) -> Filter:
    """What finds these rows."""
    if isinstance(selection, Keys):
        return {"_id": {"$in": ids_of(selection.table, selection.keys)}}
    index, columns = selection.index, selection.index.columns
    equal = dict(zip(columns, selection.equal, strict=False))
    wanted: Filter = encoded(selection.table, equal)
    if index.where:
        wanted[mark_of(index)] = True
    rest = columns[len(selection.equal) :]
    bounds = [*_beyond(selection, rest, selection.low, ">"), *_beyond(selection, rest, selection.high, "<")]
    return {"$and": [wanted, *bounds]} if bounds else wanted


def order_of(selection: Selection, *, reverse: bool) -> list[tuple[str, int]]:
    columns = selection.index.columns if isinstance(selection, Range) else selection.table.key
    return [(column, DESCENDING if reverse else ASCENDING) for column in columns]


def mark_of(index: Index) -> str:
    return f"in_{index.name}"


def indexes_of(table: Table) -> list[IndexModel]:
    """The declared indexes, as the server keeps them."""
    found = []
    for index in table.indexes.values():
        terms = {"partialFilterExpression": {mark_of(index): True}} if index.where else {}
        keys = [(column, ASCENDING) for column in index.columns]
        found.append(IndexModel(keys, name=index.name, **terms))
    return found


def _beyond(selection: Range, columns: Sequence[str], bound: Bound | None, side: str) -> list[Filter]:
    """Rows above a bound, or below it, by the first column in which they differ from it."""
    if bound is None:
        return []
    operator = {">": "$gt", "<": "$lt"}[side]
    values = encoded(selection.table, dict(zip(columns, bound.values, strict=False)))
    names = list(values)
    each: list[Filter] = []
    for place, name in enumerate(names):
        is_last = place == len(names) - 1
        compare = f"{operator}e" if is_last and bound.inclusive else operator
        each.append({**{one: values[one] for one in names[:place]}, name: {compare: values[name]}})
    if len(each) == 1:
        return each
    # The server sees no bounds in alternatives: without the first column's it would walk from the beginning.
    return [{names[0]: {f"{operator}e": values[names[0]]}}, {"$or": each}]


@lru_cache(100)
def _moments(table: Table) -> frozenset[str]:
    return frozenset(name for name, kind in table.columns.items() if kind is Kind.TIME)


def _marks(table: Table, row: Row) -> Document:
    return {mark_of(one): True for one in table.indexes.values() if one.where and one.has(row)}


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
