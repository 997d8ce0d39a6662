"""Filling in a backfill's fire times, a stretch of its range at a time.

The mark is compared first, under the write lock, and moves with the runs. So a stretch is written once,
whoever else fills the same backfill, and a filler that died is gone on from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import apsw

from fencepost.model.audit import Action, Author
from fencepost.model.backfill import Backfill, FillMode, FillTick, runs_again
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import RunKey, tick_key
from fencepost.model.job import PRIORITY_BEHIND
from fencepost.model.run import Origin, RunState
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.entries import forgotten_before
from fencepost.stores.sqlite.moments import span_us, to_us
from fencepost.stores.sqlite.orders import Order, send_again, terms_of_version, touch_planning

QUERIES = load_queries("fencepost.stores.sqlite", "backfills.sql")


def fill(
    backfill: Backfill,
    ticks: Sequence[FillTick],
    through: datetime,
    author: Author,
    connection: apsw.Connection,
    now: StoreTime,
) -> int | None:
    """Have these fire times run and move the mark; how many do, None where the mark had moved."""
    terms = {"backfill_id": backfill.backfill_id, "filled_through": to_us(backfill.filled_through)}
    next_run_at = connection.execute(QUERIES["mark"], terms).get
    if next_run_at is None:
        return None
    forgotten = forgotten_before(connection, now)
    stretch = _Stretch(connection, now, backfill, author, next_run_at, forgotten)
    filled = sum(stretch.fill(tick) for tick in ticks)
    moved = {"through": to_us(through), "next_run_at": stretch.next_run_at}
    connection.execute(QUERIES["advance"], {**terms, **moved})
    if filled:
        touch_planning(connection, backfill.namespace, backfill.asked.schedule_id)
    return filled


@dataclass(slots=True)
class _Stretch:
    """One write of a backfill."""

    connection: apsw.Connection
    now: StoreTime
    backfill: Backfill
    author: Author
    next_run_at: int
    forgotten_before: datetime | None
    versions: dict[int, dict[str, Any] | None] = field(default_factory=dict)

    def fill(self, tick: FillTick) -> bool:
        """Have one fire time run, where the mode says so; whether it does."""
        if self._may_have_run(tick):
            return False
        latest = self._ask("latest", tick)
        if latest is not None:
            run_key, state = latest
            again = runs_again(self.backfill.asked.mode, RunState(state))
            if again:
                self._again(run_key, Action.RUN_REPLAY)
            return again
        return self._leave_range(tick) and self._write(tick)

    def _may_have_run(self, tick: FillTick) -> bool:
        """Whether retention may have removed the run of this fire time, and that matters."""
        forced = self.backfill.asked.mode is FillMode.ALL
        before = self.forgotten_before
        return not forced and before is not None and tick.fire_time < before

    def _leave_range(self, tick: FillTick) -> bool:
        """Whether a fire time without a run gets one; a missed range then counts one less."""
        found = self._ask("range_at", tick)
        if found is None:
            return True
        if self.backfill.asked.mode is FillMode.MISSING:
            return False
        for query in ("shrink_range", "drop_range"):
            self.connection.execute(QUERIES[query], {"row_id": found[0]})
        return True

    def _write(self, tick: FillTick) -> bool:
        terms = self._version(tick.version)
        if terms is None:
            return False
        run_key = tick_key(self.backfill.asked.schedule_id, tick.fire_time, tick.version)
        name = {"namespace": self.backfill.namespace, "run_key": run_key}
        if self.connection.execute(QUERIES["is_there"], name).get is not None:
            self._again(run_key, Action.RUN_RESTORE)
            return True
        new = {"fire_time": to_us(tick.fire_time), "run_at": self._take_run_at(), "priority": PRIORITY_BEHIND}
        mine = {"backfill_id": self.backfill.backfill_id}
        self.connection.execute(QUERIES["fill"], {**terms, **name, **new, **mine})
        return True

    def _again(self, run_key: RunKey, action: Action) -> None:
        order = Order(self.connection, self.now, self.backfill.namespace, self.author, action)
        send_again(order, run_key, self._take_run_at(), Origin.BACKFILL, self.backfill.backfill_id)

    def _take_run_at(self) -> int:
        """When the next run is due; the one after it is that much later."""
        run_at = max(self.next_run_at, to_us(self.now))
        self.next_run_at = run_at + span_us(self.backfill.asked.every_s)
        return run_at

    def _ask(self, query: str, tick: FillTick) -> Any:
        terms = {
            "namespace": self.backfill.namespace,
            "schedule_id": self.backfill.asked.schedule_id,
            "fire_time": to_us(tick.fire_time),
        }
        return self.connection.execute(QUERIES[query], terms).get

    def _version(self, version: int) -> dict[str, Any] | None:
        if version not in self.versions:
            owner = self.backfill.namespace, self.backfill.asked.schedule_id
            self.versions[version] = terms_of_version(self.connection, *owner, version)
        return self.versions[version]
