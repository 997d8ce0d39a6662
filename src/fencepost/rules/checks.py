"""Checks in every store: no rule may write a row that it has not locked, or move a run in a way that is not
in the table of `core.lifecycle`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fencepost.core.lifecycle import ENDED, REPLAYS, may_move
from fencepost.model.rescue import Rescue
from fencepost.model.run import Outcome, RunState
from fencepost.model.table import Key, Ranges, Row, Selection, Table
from fencepost.model.tables import RUNS
from fencepost.ports.rows import Transaction


class RuleBroken(AssertionError):
    """A rule has broken a check: a mistake in this program; nothing of its transaction is kept."""


class Checked:
    """A transaction that allows only valid writes."""

    def __init__(self, inner: Transaction) -> None:
        self.inner = inner
        self._mine: set[tuple[str, Key]] = set()
        # What writes no row is the transaction's own.
        self.now, self.find, self.count = inner.now, inner.find, inner.count
        self.fences, self.take_turn, self.hint = inner.fences, inner.take_turn, inner.hint

    async def lock(self, selection: Selection, *, limit: int | None = None) -> list[Row]:
        return self.own(selection.table, await self.inner.lock(selection, limit=limit))

    async def take(
        self, selection: Selection | Ranges, *, limit: int | None = None, reverse: bool = False
    ) -> list[Row]:
        return self.own(selection.table, await self.inner.take(selection, limit=limit, reverse=reverse))

    async def put_if_absent(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> list[Row]:
        return self.own(table, await self.inner.put_if_absent(table, rows))

    async def change(self, table: Table, changes: Iterable[tuple[Row, Mapping[str, Any]]]) -> list[Row]:
        wanted = list(changes)
        for row, values in wanted:
            self._check_owned(table, row)
            if table is RUNS and "state" in values:
                _check_move(row, values)
        return await self.inner.change(table, wanted)

    async def delete(self, table: Table, rows: Iterable[Row]) -> None:
        gone = list(rows)
        for row in gone:
            self._check_owned(table, row)
        await self.inner.delete(table, gone)

    def own(self, table: Table, rows: list[Row]) -> list[Row]:
        """Rows that this transaction has locked."""
        self._mine |= {(table.name, table.key_of(row)) for row in rows}
        return rows

    def _check_owned(self, table: Table, row: Row) -> None:
        key = table.key_of(row)
        if (table.name, key) not in self._mine:
            raise RuleBroken(f"{table.name} {key} is written without its lock")


def check_end(run_key: str, state: RunState) -> None:
    """Refuse to end a waiting run in a state in which none ends. Asked where a statement of a store's own
    writes a state that its caller names."""
    if state not in ENDED:
        raise RuleBroken(f"run {run_key}: {state} is no end")
    _check(run_key, RunState.READY, state)


def check_outcomes(outcomes: Iterable[Outcome | Rescue]) -> None:
    """Refuse an attempt that ends in a way in which no run stops running."""
    for one in outcomes:
        _check(one.ticket.run_key, RunState.RUNNING, one.state)


def _check_move(row: Row, values: Mapping[str, Any]) -> None:
    """A run keeps its state, or moves as the table says; a run that has ended is replayed by name only."""
    source, target = RunState(row["state"]), RunState(values["state"])
    if source is not target and (source, target) not in REPLAYS:
        _check(row["run_key"], source, target)


def _check(run_key: str, source: RunState, target: RunState) -> None:
    if not may_move(source, target):
        raise RuleBroken(f"run {run_key}: {source} does not become {target}")
