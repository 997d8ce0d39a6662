"""What a table is to every store: its columns, its key, and the indexes by which its rows are found.

A row is a plain mapping of columns to values: text, numbers, truth, bytes, and aware datetimes in UTC. JSON
is text. Rows are found only by an index: in the order of the index, those with equal first columns, between
two bounds on the columns after them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from functools import cache, cached_property
from typing import Any, TypeAlias

from fencepost.model.dataclasses import dataclass

Row: TypeAlias = dict[str, Any]
Key: TypeAlias = tuple[Any, ...]


class ColumnKind(StrEnum):
    """What a column holds."""

    TEXT = "text"
    INTEGER = "integer"
    REAL = "real"
    BOOLEAN = "boolean"
    TIME = "time"
    BYTES = "bytes"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class NotNull:
    """The column has a value."""

    column: str

    def holds(self, row: Mapping[str, Any]) -> bool:
        return row[self.column] is not None


@dataclass(frozen=True, slots=True)
class Null:
    """The column has no value."""

    column: str

    def holds(self, row: Mapping[str, Any]) -> bool:
        return row[self.column] is None


@dataclass(frozen=True, slots=True)
class OneOf:
    """The column has one of these values."""

    column: str
    values: tuple[Any, ...]

    def holds(self, row: Mapping[str, Any]) -> bool:
        return row[self.column] in self.values


@dataclass(frozen=True, slots=True)
class NoneOf:
    """The column has another value than these."""

    column: str
    values: tuple[Any, ...]

    def holds(self, row: Mapping[str, Any]) -> bool:
        return row[self.column] not in self.values


@dataclass(frozen=True, slots=True)
class AtLeast:
    """The number is not smaller than this."""

    column: str
    number: int

    def holds(self, row: Mapping[str, Any]) -> bool:
        return row[self.column] is not None and row[self.column] >= self.number


@dataclass(frozen=True, slots=True)
class Above:
    """The number is larger than this."""

    column: str
    number: int

    def holds(self, row: Mapping[str, Any]) -> bool:
        return row[self.column] is not None and row[self.column] > self.number


@dataclass(frozen=True, slots=True)
class Unlike:
    """The number is another."""

    column: str
    number: int

    def holds(self, row: Mapping[str, Any]) -> bool:
        return bool(row[self.column] != self.number)


@dataclass(frozen=True, slots=True)
class AnyBit:
    """The number has one of these bits."""

    column: str
    bits: int

    def holds(self, row: Mapping[str, Any]) -> bool:
        return bool(row[self.column] & self.bits)


@dataclass(frozen=True, slots=True)
class Either:
    """One of two conditions holds."""

    one: Condition
    other: Condition

    def holds(self, row: Mapping[str, Any]) -> bool:
        return self.one.holds(row) or self.other.holds(row)


Condition: TypeAlias = NotNull | Null | OneOf | NoneOf | AtLeast | Above | Unlike | AnyBit | Either


@dataclass(frozen=True, slots=True)
class Bound:
    """The end of a range, by the columns after those that are equal."""

    values: tuple[Any, ...]
    inclusive: bool


@dataclass(frozen=True, slots=True)
class Range:
    """Rows that an index finds."""

    index: Index
    equal: tuple[Any, ...]
    low: Bound | None = None
    high: Bound | None = None

    @property
    def table(self) -> Table:
        return self.index.table

    def covers(self, row: Mapping[str, Any]) -> bool:
        """Whether a row is one of these."""
        columns = self.index.columns
        place = [row[column] for column in columns[len(self.equal) :]]
        same = all(row[column] == value for column, value in zip(columns, self.equal, strict=False))
        return same and self.index.has(row) and _is_above(place, self.low) and _is_below(place, self.high)

    def after(self, *values: Any) -> Range:
        return Range(self.index, self.equal, Bound(values, inclusive=False), self.high)

    def since(self, *values: Any) -> Range:
        return Range(self.index, self.equal, Bound(values, inclusive=True), self.high)

    def before(self, *values: Any) -> Range:
        return Range(self.index, self.equal, self.low, Bound(values, inclusive=False))

    def through(self, *values: Any) -> Range:
        return Range(self.index, self.equal, self.low, Bound(values, inclusive=True))


@dataclass(frozen=True, slots=True)
class Keys:
    """Rows by their keys, in the order of the keys."""

    table: Table
    keys: tuple[Key, ...]


Selection: TypeAlias = Range | Keys


@dataclass(frozen=True, slots=True)
class Ranges:
    """Several ranges of one table; those of one index come one after the other."""

    table: Table
    ranges: tuple[Range, ...]

    def through(self, *values: Any) -> Ranges:
        return Ranges(self.table, tuple(one.through(*values) for one in self.ranges))


@dataclass(frozen=True, eq=False)
class Index:
    """Rows of a table that meet all conditions, in the order of some columns, then of the key."""

    table: Table
    name: str
    columns: tuple[str, ...]
    where: tuple[Condition, ...] = ()

    def __call__(self, *equal: Any) -> Range:
        return Range(self, equal)

    def each(self, equals: Iterable[tuple[Any, ...]]) -> Ranges:
        """A range for each of these."""
        return Ranges(self.table, tuple(self(*equal) for equal in equals))

    def has(self, row: Mapping[str, Any]) -> bool:
        """Whether a row is in the index."""
        return all(condition.holds(row) for condition in self.where)


@dataclass(frozen=True, eq=False)
class Table:
    """Rows with the same columns, each with a key of its own. `serial` is a column that the store counts."""

    name: str
    key: tuple[str, ...]
    columns: Mapping[str, ColumnKind]
    defaults: Mapping[str, Any]
    serial: str | None = None
    indexes: dict[str, Index] = field(default_factory=dict)

    def index(self, name: str, columns: str, *where: Condition) -> Index:
        """Declare an index on these columns, of the rows that meet all conditions."""
        tail = tuple(one for one in self.key if one not in columns.split())
        self.indexes[name] = Index(self, name, (*columns.split(), *tail), where)
        return self.indexes[name]

    def all(self, *equal: Any) -> Range:
        """All rows, or those whose keys begin so, in the order of the keys."""
        return self.indexes[f"{self.name}_key"](*equal)

    def each(self, keys: Iterable[tuple[Any, ...]]) -> Ranges:
        """The rows whose keys begin with each of these."""
        return self.indexes[f"{self.name}_key"].each(keys)

    def at(self, *key: Any) -> Keys:
        """The row of one key."""
        return Keys(self, (key,))

    def among(self, keys: Iterable[Key]) -> Keys:
        """The rows of these keys."""
        return Keys(self, tuple(dict.fromkeys(keys)))

    def key_of(self, row: Mapping[str, Any]) -> Key:
        return tuple(map(row.__getitem__, self.key))

    def brings_serial(self, rows: Sequence[Mapping[str, Any]]) -> bool:
        """Whether rows come with the numbers that the store would count."""
        return self.serial is not None and bool(rows) and rows[0].get(self.serial) is not None

    def indexes_of(self, row: Mapping[str, Any]) -> tuple[Index, ...]:
        """The indexes that a row is in."""
        return self._indexes_where(tuple(one.holds(row) for one in self._conditions))

    @cached_property
    def _conditions(self) -> tuple[Condition, ...]:
        """Those of all indexes, each once."""
        return tuple(dict.fromkeys(one for index in self.indexes.values() for one in index.where))

    @cached_property
    def _indexes_where(self) -> Callable[[tuple[bool, ...]], tuple[Index, ...]]:
        """The indexes of rows for which these conditions hold, computed once for each kind of row."""

        def found(holds: tuple[bool, ...]) -> tuple[Index, ...]:
            met = {one for one, holding in zip(self._conditions, holds, strict=True) if holding}
            return tuple(one for one in self.indexes.values() if met.issuperset(one.where))

        return cache(found)

    def row(self, values: Mapping[str, Any]) -> Row:
        """A whole row: columns that are not given take the table's defaults."""
        assert values.keys() <= self.columns.keys(), values.keys() - self.columns.keys()
        return {**self.defaults, **values}


def table(
    name: str,
    key: str,
    *,
    serial: str | None = None,
    defaults: Mapping[str, Any] | None = None,
    **columns: str,
) -> Table:
    """Declare a table; the keywords are kinds, each with the names of its columns."""
    kinds = {column: ColumnKind(kind) for kind, names in columns.items() for column in names.split()}
    empty = dict.fromkeys(kinds)
    declared = Table(name, tuple(key.split()), kinds, {**empty, **(defaults or {})}, serial)
    declared.index(f"{name}_key", key)
    return declared


def _is_above(place: Sequence[Any], low: Bound | None) -> bool:
    if low is None:
        return True
    mine = tuple(place[: len(low.values)])
    return mine >= low.values if low.inclusive else mine > low.values


def _is_below(place: Sequence[Any], high: Bound | None) -> bool:
    if high is None:
        return True
    mine = tuple(place[: len(high.values)])
    return mine <= high.values if high.inclusive else mine < high.values
