"""Rows in dictionaries, with every declared index as a sorted list."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, TypeVar

from fencepost.clock import Clock
from fencepost.model.clocks import StoreTime
from fencepost.model.driving import finish_now
from fencepost.model.table import Index, Key, Range, Ranges, Row, Selection, Table
from fencepost.ports.rows import Rule
from fencepost.ports.signals import Topic
from fencepost.stores.memory.signals import MemorySignals

T = TypeVar("T")
Place: TypeAlias = tuple[Any, ...]
"""The values of some columns that can be compared: each with a number before it, and none comes first."""

ABSENT = (0, None)
PRESENT, BEYOND = 1, 2


@dataclass(slots=True)
class Sorted:
    """An index: the keys of its rows in order, and next to them their places. `columns` are all that it
    depends on."""

    index: Index
    columns: frozenset[str]
    places: list[Place] = field(default_factory=list)
    keys: list[Key] = field(default_factory=list)

    def move(self, key: Key, before: Row | None, after: Row | None) -> None:
        """Take in that a row was changed, written or removed."""
        old = self._place(before)
        new = self._place(after)
        if old == new:
            return
        if old is not None:
            here = bisect_left(self.places, old)
            del self.places[here], self.keys[here]
        if new is not None:
            here = bisect_left(self.places, new)
            self.places.insert(here, new)
            self.keys.insert(here, key)

    def between(self, wanted: Range, limit: int | None, *, reverse: bool) -> list[Key]:
        """The first keys of a range, or the last ones backwards."""
        prefix = _place_of(wanted.equal)
        start = prefix if wanted.low is None else (*prefix, *_place_of(wanted.low.values))
        if wanted.low is not None and not wanted.low.inclusive:
            start = (*start, BEYOND)
        end = prefix if wanted.high is None else (*prefix, *_place_of(wanted.high.values))
        if wanted.high is None or wanted.high.inclusive:
            end = (*end, BEYOND)
        first = bisect_left(self.places, start)
        last = bisect_left(self.places, end, first)
        most = last - first if limit is None else min(limit, last - first)
        return self.keys[last - most : last][::-1] if reverse else self.keys[first : first + most]

    def _place(self, row: Row | None) -> Place | None:
        if row is None:
            return None
        for condition in self.index.where:
            if not condition.holds(row):
                return None
        return _place_of(map(row.__getitem__, self.index.columns))


@dataclass(slots=True)
class Kept:
    """The rows of a table by key, and its indexes. A row itself is never changed, only replaced by
    another."""

    table: Table
    rows: dict[Key, Row] = field(default_factory=dict)
    number: int = 0
    indexes: dict[str, Sorted] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, index in self.table.indexes.items():
            columns = {*index.columns, *(column for one in index.where for column in _columns_of(one))}
            self.indexes[name] = Sorted(index, frozenset(columns))

    def find(self, selection: Selection, limit: int | None, *, reverse: bool) -> list[Key]:
        """The keys of some rows, in the order of their index or of the keys."""
        if isinstance(selection, Range):
            return self.indexes[selection.index.name].between(selection, limit, reverse=reverse)
        known = [key for key in selection.keys if key in self.rows]
        known.sort(reverse=reverse)
        return known[:limit]

    def set(self, key: Key, row: Row | None) -> Row | None:
        """Write a row, or remove it; what was there before."""
        before = self.rows.get(key)
        changed = _changed(before, row)
        for one in self.indexes.values():
            if changed is None or not one.columns.isdisjoint(changed):
                one.move(key, before, row)
        if row is None:
            self.rows.pop(key, None)
        else:
            self.rows[key] = row
        return before


class Tables(dict[Table, Kept]):
    """All tables, each there when it is first asked for."""

    def __missing__(self, table: Table) -> Kept:
        self[table] = kept = Kept(table)
        return kept


class Written(NamedTuple):
    """One row before and after one write: nothing before it was written, nothing after it was removed."""

    kept: Kept
    key: Key
    before: Row | None
    after: Row | None


class MemoryRows:
    """See `ports.rows`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.tables = Tables()
        self.signals = MemorySignals()
        self.fence = 0

    def now(self) -> StoreTime:
        return StoreTime(self._clock.wall())

    def kept(self, table: Table) -> Kept:
        """A table's rows, for the transaction and for tests that look or tamper."""
        return self.tables[table]

    def all(self, table: Table) -> Iterator[Row]:
        """Every row of a table, as it is."""
        return iter(list(self.kept(table).rows.values()))

    async def read(self, rule: Rule[T]) -> T:
        return await self.write(rule)

    async def write(self, rule: Rule[T]) -> T:
        transaction = MemoryTransaction(self)
        try:
            result = finish_now(rule(transaction))
        except BaseException:
            transaction.undo()
            raise
        self.commit(transaction)
        return result

    def commit(self, transaction: MemoryTransaction) -> None:
        """What it wrote stays, and listeners are told."""
        for topic in transaction.hints:
            self.signals.hint(topic)


class MemoryTransaction:
    """One call. There is one event loop and no rule waits, so no other call is ever in between."""

    def __init__(self, rows: MemoryRows) -> None:
        self._rows = rows
        self._tables = rows.tables
        self.written: list[Written] = []
        self.hints: dict[Topic, None] = {}

    async def now(self) -> StoreTime:
        return self._rows.now()

    async def find(
        self, selection: Selection | Ranges, *, limit: int | None = None, reverse: bool = False
    ) -> list[Row]:
        kept = self._tables[selection.table]
        each = selection.ranges if isinstance(selection, Ranges) else (selection,)
        keys = [key for one in each for key in kept.find(one, limit, reverse=reverse)]
        return [kept.rows[key].copy() for key in keys]

    async def count(self, ranges: Sequence[Range], *, limit: int | None = None) -> list[int]:
        return [len(self._tables[one.table].find(one, limit, reverse=False)) for one in ranges]

    lock = take = find

    async def put_if_absent(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> list[Row]:
        kept, written = self._tables[table], []
        for values in rows:
            row = table.row(values)
            if table.serial is not None and row[table.serial] is None:
                row[table.serial] = kept.number + 1
            key = table.key_of(row)
            if key not in kept.rows:
                if table.serial is not None:
                    kept.number = max(kept.number, row[table.serial])
                self._set(table, key, row)
                written.append(dict(row))
        return written

    async def change(self, table: Table, changes: Iterable[tuple[Row, Mapping[str, Any]]]) -> list[Row]:
        changed = []
        for row, values in changes:
            key = table.key_of(row)
            after = {**self._tables[table].rows[key], **values}
            self._set(table, key, after)
            changed.append(dict(after))
        return changed

    async def delete(self, table: Table, rows: Iterable[Row]) -> None:
        for row in rows:
            self._set(table, table.key_of(row), None)

    async def fences(self, count: int) -> Sequence[int]:
        self._rows.fence += count
        return range(self._rows.fence - max(count - 1, 0), self._rows.fence + 1)

    async def take_turn(self, name: str, *, shared: bool = False) -> None:
        return None

    def hint(self, topic: Topic) -> None:
        self.hints[topic] = None

    def undo(self) -> None:
        """Leave everything as it was."""
        for one in reversed(self.written):
            one.kept.set(one.key, one.before)

    def _set(self, table: Table, key: Key, row: Row | None) -> None:
        kept = self._tables[table]
        self.written.append(Written(kept, key, kept.set(key, row), row))


def _place_of(values: Iterable[Any]) -> Place:
    place: list[Any] = []
    for value in values:
        place += ABSENT if value is None else (PRESENT, value)
    return tuple(place)


def _changed(before: Row | None, after: Row | None) -> set[str] | None:
    """The columns that differ; None where all do."""
    if before is None or after is None:
        return None
    return {column for column, value in after.items() if value != before[column]}


def _columns_of(condition: Any) -> Iterator[str]:
    if hasattr(condition, "column"):
        yield condition.column
    else:
        yield from _columns_of(condition.one)
        yield from _columns_of(condition.other)
