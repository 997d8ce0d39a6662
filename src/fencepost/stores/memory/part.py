"""What every part of the store in memory has at hand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from fencepost.model.audit import Action, Author
from fencepost.model.run import Hold, RunRecord, RunState
from fencepost.ports.signals import Topic
from fencepost.stores.desk_rows import logged_run
from fencepost.stores.memory.lanes import Lane, RunRow
from fencepost.stores.memory.signals import MemorySignals
from fencepost.stores.memory.tables import Tables


class MemoryPart:
    """The tables, the listeners, and what several ports do alike."""

    def __init__(self, tables: Tables, signals: MemorySignals) -> None:
        self._tables = tables
        self._signals = signals

    def _ring(self, ended: Iterable[RunRow]) -> None:
        """Runs ended: where ticks of their schedules wait, one tick of each is unparked."""
        lanes = {
            (row.record.namespace, row.record.schedule_id): self._tables.lane(
                row.record.namespace, row.record.schedule_id
            )
            for row in ended
            if row.record.schedule_id is not None
        }
        unparked = sum(self._unpark(lane) for lane in lanes.values())
        if unparked or self._tables.rung:
            self._signals.hint(Topic.RUNS)
        self._tables.rung = False

    def _unpark(self, lane: Lane) -> bool:
        row = lane.first_parked()
        if row is not None:
            self._tables.change(row, held=row.record.held & ~Hold.PARKED)
        return row is not None

    def _shown(self, row: RunRow) -> RunRecord:
        """The run as readers see it: a due `planned` run is `ready`."""
        record = row.record
        due = record.state is RunState.PLANNED and record.run_at <= self._tables.now()
        return replace(
            record,
            payload={} if row.stripped else self._tables.payload_of(record),
            state=RunState.READY if due else record.state,
            alive_until=row.alive_until if record.state is RunState.RUNNING else None,
        )

    def _log_run(self, author: Author | None, action: Action, before: RunRecord | None, row: RunRow) -> None:
        """Leave an entry about a run that was changed or written."""
        after = self._shown(row)
        self._tables.log(
            author, after.namespace, action, after.run_key, logged_run(before), logged_run(after)
        )
