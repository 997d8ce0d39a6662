"""A store of one's own: rows in a file, for one process.

Every transaction is one line of the file, with the rows that it changed, on disk before its caller goes on.
Opening the file reads all of it back, but for a last line that a crash has cut off: nobody was told of it.
Rows are found by looking at each of them: right from the first day, and fast enough for some thousand. Who
needs more keeps each declared index sorted, as the memory store does.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from secrets import token_hex
from typing import Any, TypeVar

from fencepost.clock import Clock
from fencepost.errors import StoreUnavailable
from fencepost.model import tables as declared
from fencepost.model.caveat import Caveat
from fencepost.model.clocks import StoreTime
from fencepost.model.driving import finish_now
from fencepost.model.table import ColumnKind, Key, Range, Ranges, Row, Selection, Table
from fencepost.model.tables import META
from fencepost.ports import rows
from fencepost.ports.rows import Rule
from fencepost.ports.signals import Topic
from fencepost.ports.transactions import NoTransactions
from fencepost.rules.leases import LeaseRules
from fencepost.rules.store import RuleStore

T = TypeVar("T")
TABLES = {one.name: one for one in vars(declared).values() if isinstance(one, Table)}
SHARDS = 8


class JournalRows:
    """See `fencepost.ports.rows.Rows`."""

    def __init__(self, path: Path, clock: Clock, signals: LocalSignals) -> None:
        self.clock = clock
        self.tables: dict[str, dict[Key, Row]] = {name: {} for name in TABLES}
        self.fence = 0
        self._signals = signals
        self._failed: OSError | None = None
        written = path.read_bytes() if path.exists() else b""
        whole = written[: written.rfind(b"\n") + 1]
        for line in whole.splitlines():
            self._read_back(json.loads(line))
        self._file = path.open("ab")
        self._file.truncate(len(whole))

    async def read(self, rule: Rule[T]) -> T:
        self._check()
        return finish_now(rule(JournalTransaction(self)))

    async def write(self, rule: Rule[T]) -> T:
        self._check()
        transaction = JournalTransaction(self)
        try:
            result = finish_now(rule(transaction))
            self._keep(transaction)
        except BaseException:
            transaction.undo()
            raise
        for topic in transaction.hints:
            self._signals.hint(topic)
        return result

    def close(self) -> None:
        with suppress(OSError):
            self._file.close()

    def _check(self) -> None:
        """After a failed write nobody knows what the disk has: who opens the file again will see."""
        if self._failed is not None:
            raise StoreUnavailable(f"the journal could not be written: {self._failed}")

    def _keep(self, transaction: JournalTransaction) -> None:
        """The line is durable before anybody is answered."""
        changed = {(table.name, key): table for table, key, _ in transaction.undone}
        rows = [
            [
                name,
                _to_json(table, dict(zip(table.key, key, strict=True))),
                _to_json(table, self.tables[name].get(key)),
            ]
            for (name, key), table in changed.items()
        ]
        if rows or transaction.took_fences:
            self._append(json.dumps({"fence": self.fence, "rows": rows}).encode() + b"\n")

    def _append(self, line: bytes) -> None:
        try:
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            self._failed = error
            self._check()

    def _read_back(self, line: dict[str, Any]) -> None:
        self.fence = line["fence"]
        for name, key_json, row_json in line["rows"]:
            key = TABLES[name].key_of(_from_json(TABLES[name], key_json) or {})
            row = _from_json(TABLES[name], row_json)
            if row is None:
                self.tables[name].pop(key, None)
            else:
                self.tables[name][key] = row


class JournalTransaction(rows.Transaction):
    """See `fencepost.ports.rows.Transaction`. No rule waits, so transactions come one after the other."""

    def __init__(self, rows: JournalRows) -> None:
        self._rows = rows
        self.undone: list[tuple[Table, Key, Row | None]] = []
        self.hints: dict[Topic, None] = {}
        self.took_fences = False

    async def now(self) -> StoreTime:
        return StoreTime(self._rows.clock.wall())

    async def find(
        self, selection: Selection | Ranges, *, limit: int | None = None, reverse: bool = False
    ) -> list[Row]:
        if isinstance(selection, Ranges):
            return [
                row for one in selection.ranges for row in await self.find(one, limit=limit, reverse=reverse)
            ]
        return [
            dict(row) for row in sorted(self._matching(selection), key=_order(selection), reverse=reverse)
        ][:limit]

    async def lock(self, selection: Selection, *, limit: int | None = None) -> list[Row]:
        return await self.find(selection, limit=limit)

    async def take(
        self, selection: Selection | Ranges, *, limit: int | None = None, reverse: bool = False
    ) -> list[Row]:
        return await self.find(selection, limit=limit, reverse=reverse)

    async def put_if_absent(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> list[Row]:
        written = []
        for values in rows:
            row = table.row(values)
            if table.serial is not None and row[table.serial] is None:
                known = self._rows.tables[table.name].values()
                row[table.serial] = max((one[table.serial] for one in known), default=0) + 1
            if table.key_of(row) not in self._rows.tables[table.name]:
                self._set(table, table.key_of(row), row)
                written.append(dict(row))
        return written

    async def change(self, table: Table, changes: Iterable[tuple[Row, Mapping[str, Any]]]) -> list[Row]:
        changed = []
        for row, values in changes:
            after = {**self._rows.tables[table.name][table.key_of(row)], **values}
            self._set(table, table.key_of(row), after)
            changed.append(dict(after))
        return changed

    async def delete(self, table: Table, rows: Iterable[Row]) -> None:
        for row in rows:
            self._set(table, table.key_of(row), None)

    async def fences(self, count: int) -> Sequence[int]:
        self._rows.fence += count
        self.took_fences |= count > 0
        return range(self._rows.fence - max(count - 1, 0), self._rows.fence + 1)

    async def take_turn(self, name: str, *, shared: bool = False) -> None:
        return None

    def hint(self, topic: Topic) -> None:
        self.hints[topic] = None

    def undo(self) -> None:
        """Leave every row as it was; fences that were taken are lost, as they may be."""
        for table, key, before in reversed(self.undone):
            self._put(table, key, before)

    def _matching(self, selection: Selection) -> Iterator[Row]:
        rows = self._rows.tables[selection.table.name]
        if isinstance(selection, Range):
            return (row for row in rows.values() if selection.covers(row))
        return (rows[key] for key in selection.keys if key in rows)

    def _set(self, table: Table, key: Key, row: Row | None) -> None:
        self.undone.append((table, key, self._rows.tables[table.name].get(key)))
        self._put(table, key, row)

    def _put(self, table: Table, key: Key, row: Row | None) -> None:
        if row is None:
            self._rows.tables[table.name].pop(key, None)
        else:
            self._rows.tables[table.name][key] = row


class LocalSignals:
    """Hints within this process; there is no other."""

    are_connected = True

    def __init__(self) -> None:
        self._callbacks: dict[Topic, list[Callable[[], None]]] = {topic: [] for topic in Topic}

    async def listen(self, topic: Topic, callback: Callable[[], None]) -> Callable[[], None]:
        self._callbacks[topic].append(callback)
        return lambda: self._callbacks[topic].remove(callback)

    def hint(self, topic: Topic) -> None:
        for callback in self._callbacks[topic]:
            asyncio.get_running_loop().call_soon(callback)


class JournalStore(RuleStore):
    """The whole ledger in one file: everything but the rows comes from `fencepost.rules`."""

    caveats: Sequence[Caveat] = ()

    def __init__(self, path: Path, clock: Clock, shards: int = SHARDS) -> None:
        self.signals = LocalSignals()
        self.journal = JournalRows(path, clock, self.signals)
        super().__init__(self.journal)
        self.leases = LeaseRules(self.journal, self.signals)
        self.transactions = NoTransactions("this store has no tables of yours")
        self._shards = shards

    async def set_up(self) -> None:
        """What a ledger knows from its first moment; one that has it keeps it."""
        first = {"shards": str(self._shards), "incarnation": f"1-{token_hex(8)}"}
        rows = [{"name": name, "value": value} for name, value in first.items()]
        await self.journal.write(lambda tx: tx.put_if_absent(META, rows))

    async def close(self) -> None:
        self.journal.close()


async def open_store(path: Path, clock: Clock, shards: int = SHARDS) -> JournalStore:
    """The store in a file, which need not be there."""
    store = JournalStore(path, clock, shards)
    await store.set_up()
    return store


def _order(selection: Selection) -> Callable[[Row], tuple[Any, ...]]:
    """By the columns of the index, or by the key; what has no value comes first."""
    columns = selection.index.columns if isinstance(selection, Range) else selection.table.key
    return lambda row: tuple((row[one] is not None, row[one]) for one in columns)


def _to_json(table: Table, row: Row | None) -> dict[str, Any] | None:
    return (
        None if row is None else {name: _encoded(table.columns[name], value) for name, value in row.items()}
    )


def _from_json(table: Table, row: dict[str, Any] | None) -> Row | None:
    return (
        None if row is None else {name: _decoded(table.columns[name], value) for name, value in row.items()}
    )


def _encoded(kind: ColumnKind, value: Any) -> Any:
    if kind is ColumnKind.TIME and value is not None:
        return value.isoformat()
    return value.hex() if kind is ColumnKind.BYTES and value is not None else value


def _decoded(kind: ColumnKind, value: Any) -> Any:
    if kind is ColumnKind.TIME and value is not None:
        return datetime.fromisoformat(value)
    return bytes.fromhex(value) if kind is ColumnKind.BYTES and value is not None else value
