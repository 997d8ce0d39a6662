"""The rows of a store in memory, as tests look at them, and as they lay hands on them."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, cast

from fencepost.model.driving import finish_now
from fencepost.model.identifiers import DEFAULT_NAMESPACE, ScheduleId
from fencepost.model.run import RunRecord
from fencepost.model.schedule import ScheduleVersion
from fencepost.model.table import Key, Row, Selection, Table
from fencepost.model.tables import META, RUNS, VERSIONS
from fencepost.rules.rows import to_run_record, to_schedule_version
from fencepost.stores.memory import MemoryStore
from fencepost.stores.memory.rows import MemoryRows

NOT_OF_THE_ROW = {"alive_until": None, "spec": None}


def find(rows: MemoryRows, selection: Selection) -> list[Row]:
    """Copies of some rows, in the order of their index."""
    return finish_now(cast("Coroutine[Any, Any, list[Row]]", rows.read(lambda tx: tx.find(selection))))


def rows_of(store: MemoryStore, table: Table) -> list[Row]:
    """All rows of a table."""
    return list(store.memory.all(table))


def row_of(store: MemoryStore, table: Table, *key: Any) -> Row:
    """One row."""
    return store.memory.kept(table).rows[key]


def put(store: MemoryStore, table: Table, **values: Any) -> None:
    """Write a row, or other values into the row that is there."""
    kept = store.memory.kept(table)
    plain = {name: one.value if isinstance(one, Enum) else one for name, one in values.items()}
    key = table.key_of(plain)
    kept.set(key, {**table.row({}), **kept.rows.get(key, {}), **plain})


def change_run(store: MemoryStore, run_key: str, **values: Any) -> None:
    """Other values for a run that is there."""
    row = row_of(store, RUNS, DEFAULT_NAMESPACE, run_key)
    put(store, RUNS, **{**row, **values})


def drop_run(store: MemoryStore, run_key: str) -> None:
    """A run's row goes, and what it left stays."""
    store.memory.kept(RUNS).set((DEFAULT_NAMESPACE, run_key), None)


def share(source: MemoryStore, target: MemoryStore, *tables: Table) -> None:
    """Write all rows of one store into another."""
    for table in tables:
        for key, row in source.memory.kept(table).rows.items():
            target.memory.kept(table).set(key, row)


def shards_of(store: MemoryStore) -> int:
    """How many shards there are."""
    return int(row_of(store, META, "shards")["value"])


def run_of(store: MemoryStore, run_key: str) -> RunRecord:
    """A run as its row has it."""
    return record_of(row_of(store, RUNS, DEFAULT_NAMESPACE, run_key))


def runs_of(store: MemoryStore) -> list[RunRecord]:
    """All runs, as their rows have them."""
    return [record_of(row) for row in rows_of(store, RUNS)]


def record_of(row: Row) -> RunRecord:
    """A run as its row has it: without the payload of its version, and without its heartbeats."""
    return to_run_record({**row, **NOT_OF_THE_ROW})


def versions_of(rows: MemoryRows) -> Mapping[ScheduleId, Sequence[ScheduleVersion]]:
    """The versions of every schedule, oldest first."""
    found: dict[ScheduleId, list[ScheduleVersion]] = {}
    for row in find(rows, VERSIONS.indexes["schedule_versions_key"]()):
        found.setdefault(row["schedule_id"], []).append(to_schedule_version(row))
    return found


@dataclass(frozen=True)
class Copy:
    """All rows as they were. A row itself is never changed, only replaced by another."""

    rows: Mapping[Table, Mapping[Key, Row]]
    numbers: Mapping[Table, int]
    fence: int


def copy_of(rows: MemoryRows) -> Copy:
    """All rows as they are."""
    return Copy(
        {table: dict(kept.rows) for table, kept in rows.tables.items()},
        {table: kept.number for table, kept in rows.tables.items()},
        rows.fence,
    )


def restore(rows: MemoryRows, copy: Copy) -> None:
    """Let all rows be as they were."""
    for table, kept in rows.tables.items():
        then = copy.rows.get(table, {})
        for key in [*kept.rows, *(key for key in then if key not in kept.rows)]:
            if kept.rows.get(key) is not then.get(key):
                kept.set(key, then.get(key))
        kept.number = copy.numbers.get(table, 0)
    rows.fence = copy.fence
