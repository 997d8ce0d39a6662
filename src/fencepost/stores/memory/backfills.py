"""Backfills in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from fencepost.model.audit import Action, Author
from fencepost.model.backfill import Backfill, BackfillState, FillMode, FillTick, NewBackfill, runs_again
from fencepost.model.clocks import StoreTime, later
from fencepost.model.identifiers import Namespace, tick_key
from fencepost.model.job import PRIORITY_BEHIND
from fencepost.model.json import JsonObject
from fencepost.model.plan import Tick
from fencepost.model.run import Origin, RunState
from fencepost.model.times import to_utc_text
from fencepost.ports.signals import Topic
from fencepost.stores.memory.lanes import WAITING, RunRow
from fencepost.stores.memory.part import MemoryPart
from fencepost.stores.memory.tables import BackfillRow, Owner
from fencepost.stores.memory.writing import call_off, insert, new_tick, send_again


class MemoryBackfills(MemoryPart):
    """See `ports.backfills`."""

    async def start(self, namespace: Namespace, asked: NewBackfill, author: Author) -> Backfill | None:
        if (namespace, asked.schedule_id) not in self._tables.schedules:
            return None
        now, backfill_id = self._tables.now(), len(self._tables.backfills) + 1
        row = BackfillRow(namespace, asked, asked.since, created_at=now, next_run_at=now)
        self._tables.backfills[backfill_id] = row
        self._tables.log(author, namespace, Action.BACKFILL_START, str(backfill_id), {}, _logged(asked))
        self._signals.hint(Topic.SCHEDULES)
        return self._shown_backfill(backfill_id)

    async def fill(
        self, backfill: Backfill, ticks: Sequence[FillTick], through: datetime, author: Author
    ) -> int | None:
        row = self._tables.backfills[backfill.backfill_id]
        if row.state is not BackfillState.ACTIVE or row.filled_through != backfill.filled_through:
            return None
        filled = sum(self._fill(backfill.backfill_id, row, tick, author) for tick in ticks)
        row.filled_through = through
        if through >= row.asked.until:
            row.state = BackfillState.FILLED
        if filled:
            self._tables.schedules[row.namespace, row.asked.schedule_id].touch()
            self._signals.hint(Topic.RUNS)
        return filled

    async def cancel(self, namespace: Namespace, backfill_id: int, author: Author) -> Backfill | None:
        row = self._tables.backfills.get(backfill_id)
        if row is None or row.namespace != namespace:
            return None
        if row.state is not BackfillState.CANCELLED:
            before, row.state = row.state, BackfillState.CANCELLED
            waiting = [run for run in self._runs(backfill_id) if run.record.state in WAITING]
            for run in waiting:
                self._give_up(run, f"backfill {backfill_id} was cancelled")
            self._ring(waiting)
            after: JsonObject = {"state": row.state, "cancelled": len(waiting)}
            subject, was = str(backfill_id), {"state": before}
            self._tables.log(author, namespace, Action.BACKFILL_CANCEL, subject, was, after)
        return self._shown_backfill(backfill_id)

    async def get(self, namespace: Namespace, backfill_id: int) -> Backfill | None:
        row = self._tables.backfills.get(backfill_id)
        return None if row is None or row.namespace != namespace else self._shown_backfill(backfill_id)

    async def list(
        self, namespace: Namespace, limit: int, before_id: int | None = None
    ) -> Sequence[Backfill]:
        rows = self._tables.backfills.items()
        earlier = ((one, row) for one, row in rows if before_id is None or one < before_id)
        mine = [one for one, row in earlier if row.namespace == namespace]
        return [self._shown_backfill(one) for one in sorted(mine, reverse=True)[:limit]]

    async def active(self, limit: int) -> Sequence[Backfill]:
        rows = self._tables.backfills.items()
        active = sorted(one for one, row in rows if row.state is BackfillState.ACTIVE)
        return [self._shown_backfill(one) for one in active[:limit]]

    def _fill(self, backfill_id: int, row: BackfillRow, tick: FillTick, author: Author) -> bool:
        """Have one fire time run, where the mode says so; whether it does."""
        owner = row.namespace, row.asked.schedule_id
        forgotten = self._tables.forgotten_before
        if forgotten is not None and tick.fire_time < forgotten and row.asked.mode is not FillMode.ALL:
            return False
        lane = self._tables.lane(*owner)
        there = [lane.runs[key] for key in lane.taken.get(tick.fire_time, ())]
        if there:
            latest = max(there, key=lambda run: run.record.version)
            if not runs_again(row.asked.mode, latest.record.state):
                return False
            self._again(backfill_id, row, latest, Action.RUN_REPLAY, author)
            return True
        if not self._leave_range(owner, row.asked.mode, tick.fire_time):
            return False
        withdrawn = lane.runs.get(tick_key(owner[1], tick.fire_time, tick.version))
        if withdrawn is not None:
            self._again(backfill_id, row, withdrawn, Action.RUN_RESTORE, author)
        else:
            self._insert(backfill_id, row, tick)
        return True

    def _give_up(self, run: RunRow, reason: str) -> None:
        """What nobody has begun is missed; a run that waits for its next attempt is cancelled."""
        if run.record.fence:
            call_off(self._tables, run, reason)
        else:
            self._tables.end(run, RunState.MISSED, reason)

    def _leave_range(self, owner: Owner, mode: FillMode, fire_time: datetime) -> bool:
        """Whether a fire time without a run gets one; a missed range then counts one less."""
        found = self._tables.range_at(owner, fire_time)
        if found is None:
            return True
        if mode is FillMode.MISSING:
            return False
        found.shown = replace(found.shown, count=found.shown.count - 1)
        if not found.shown.count:
            self._tables.missed[owner].remove(found)
        return True

    def _again(self, backfill_id: int, row: BackfillRow, run: RunRow, action: Action, author: Author) -> None:
        before = self._shown(run)
        send_again(self._tables, run, self._next_run_at(row), Origin.BACKFILL, backfill_id)
        self._log_run(author, action, before, run)

    def _insert(self, backfill_id: int, row: BackfillRow, tick: FillTick) -> None:
        schedule = self._tables.schedules[row.namespace, row.asked.schedule_id]
        due = Tick(tick.fire_time, self._next_run_at(row))
        new = new_tick(self._tables, schedule, tick.version, due, RunState.READY, Origin.BACKFILL)
        insert(self._tables, replace(new, priority=PRIORITY_BEHIND, backfill_id=backfill_id))

    def _next_run_at(self, row: BackfillRow) -> datetime:
        """When the next run of the backfill is due; the one after it, that much later."""
        run_at = max(row.next_run_at, self._tables.now())
        row.next_run_at = later(StoreTime(run_at), row.asked.every_s)
        return run_at

    def _runs(self, backfill_id: int) -> Sequence[RunRow]:
        return [run for run in self._tables.runs.values() if run.record.backfill_id == backfill_id]

    def _shown_backfill(self, backfill_id: int) -> Backfill:
        row = self._tables.backfills[backfill_id]
        runs: dict[RunState, int] = {}
        for run in self._runs(backfill_id):
            state = self._shown(run).state
            runs[state] = runs.get(state, 0) + 1
        return Backfill(
            backfill_id, row.namespace, row.asked, row.state, row.filled_through, row.created_at, runs
        )


def _logged(asked: NewBackfill) -> JsonObject:
    return {
        "schedule_id": asked.schedule_id,
        "since": to_utc_text(asked.since),
        "until": to_utc_text(asked.until),
        "mode": asked.mode,
        "at_once_max": asked.at_once_max,
        "every_s": asked.every_s,
    }
