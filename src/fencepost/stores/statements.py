"""Statements about rows, made from the declarations of the tables for any SQL database.

The text of a statement depends on the shape of what is asked and not on its values, so each is made once.
Conditions of an index are written as the schema writes them: a server uses a partial index only where it sees
that they hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, assert_never

from fencepost.model.dataclasses import dataclass
from fencepost.model.table import (
    Above,
    AnyBit,
    AtLeast,
    Bound,
    ColumnKind,
    Condition,
    Either,
    Index,
    NoneOf,
    NotNull,
    Null,
    OneOf,
    Range,
    Table,
    Unlike,
)

PLACE = "{}"
"""Stands for a parameter until the dialect has numbered it."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What of a range its statement depends on."""

    index: Index
    equal: int
    low: tuple[int, bool] | None
    high: tuple[int, bool] | None


def shape_of(wanted: Range) -> Shape:
    """The shape of a range; its values are `values_of`."""
    return Shape(wanted.index, len(wanted.equal), _shape(wanted.low), _shape(wanted.high))


def values_of(wanted: Range) -> list[tuple[str, Any]]:
    """The values of a range, each with its column, in the order of their places."""
    columns, rest = wanted.index.columns, wanted.index.columns[len(wanted.equal) :]
    equal = list(zip(columns, wanted.equal, strict=False))
    bounds = [bound.values for bound in (wanted.low, wanted.high) if bound is not None]
    return [*equal, *(pair for values in bounds for pair in zip(rest, values, strict=False))]


def value_columns(shape: Shape) -> list[str]:
    """The columns of the values of ranges of a shape, in the order of their places."""
    columns, rest = shape.index.columns, shape.index.columns[shape.equal :]
    bounds = [bound for bound in (shape.low, shape.high) if bound is not None]
    return [*columns[: shape.equal], *(column for count, _ in bounds for column in rest[:count])]


@lru_cache(1_024)
def find_text(shape: Shape, prefix: str, reverse: bool) -> str:
    """SELECT … WHERE … ORDER BY …, with a place for each value; the limit and the lock are the dialect's."""
    index = shape.index
    order = ", ".join(f"{column} DESC" if reverse else column for column in index.columns[shape.equal :])
    where = " AND ".join(_where(shape)) or "true"
    columns = ", ".join(index.table.columns)
    tail = f" ORDER BY {order}" if order else ""
    return f"SELECT {columns} FROM {prefix}{index.table.name} WHERE {where}{tail}"


@lru_cache(1_024)
def count_text(shape: Shape, prefix: str) -> str:
    """How many there are, up to a limit in the last place."""
    where = " AND ".join(_where(shape)) or "true"
    found = f"SELECT 1 FROM {prefix}{shape.index.table.name} WHERE {where} LIMIT {PLACE}"
    return f"SELECT count(*) FROM ({found}) AS found"


def _where(shape: Shape) -> list[str]:
    index, rest = shape.index, shape.index.columns[shape.equal :]
    terms = [condition_text(one, index.table) for one in index.where]
    terms += [f"{column} = {PLACE}" for column in index.columns[: shape.equal]]
    for bound, signs in ((shape.low, (">", ">=")), (shape.high, ("<", "<="))):
        if bound is not None:
            count, inclusive = bound
            terms.append(f"{_list(rest[:count])} {signs[inclusive]} {_list([PLACE] * count)}")
    return terms


def condition_text(condition: Condition, table: Table) -> str:
    """A condition as the schema writes it."""
    match condition:
        case NotNull(column):
            return f"{column} IS NOT NULL"
        case Null(column):
            return f"{column} IS NULL"
        case OneOf(column, values):
            return _one_of(column, values, table.columns[column])
        case NoneOf(column, values):
            return f"{column} NOT IN ({', '.join(_written(values, table.columns[column]))})"
        case AtLeast(column, number):
            return f"{column} >= {number}"
        case Above(column, number):
            return f"{column} > {number}"
        case Unlike(column, number):
            return f"{column} <> {number}"
        case AnyBit(column, bits):
            return f"{column} & {bits} <> 0"
        case Either(one, other):
            return f"({condition_text(one, table)} OR {condition_text(other, table)})"
        case _ as never:
            assert_never(never)


def _one_of(column: str, values: Sequence[Any], kind: ColumnKind) -> str:
    if kind is ColumnKind.BOOLEAN:
        return column if values[0] else f"NOT {column}"
    written = _written(values, kind)
    return f"{column} = {written[0]}" if len(written) == 1 else f"{column} IN ({', '.join(written)})"


def _written(values: Sequence[Any], kind: ColumnKind) -> list[str]:
    return [f"'{value}'" if kind is ColumnKind.TEXT else str(value) for value in values]


def _list(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def _shape(bound: Bound | None) -> tuple[int, bool] | None:
    return None if bound is None else (len(bound.values), bound.inclusive)


def written_columns(table: Table, numbered: bool = False) -> tuple[str, ...]:
    """The columns that are written; what the store counts itself only where rows bring it."""
    return tuple(column for column in table.columns if numbered or column != table.serial)


Encode = Callable[[Any], Any]


def encoded(values: Mapping[str, Any], columns: Sequence[str], codecs: Mapping[str, Encode]) -> list[Any]:
    """The values of some columns as the driver wants them."""
    return [
        None
        if values[column] is None
        else codecs[column](values[column])
        if column in codecs
        else values[column]
        for column in columns
    ]
