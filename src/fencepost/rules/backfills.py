"""Backfills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from fencepost.model.audit import Action, Author
from fencepost.model.backfill import Backfill, BackfillState, FillMode, FillTick, NewBackfill, runs_again
from fencepost.model.clocks import StoreTime, later
from fencepost.model.identifiers import Namespace, ScheduleId, tick_key
from fencepost.model.job import PRIORITY_BEHIND
from fencepost.model.json import JsonObject
from fencepost.model.run import Origin, RunState
from fencepost.model.table import Row
from fencepost.model.tables import (
    BACKFILLS,
    BACKFILLS_ACTIVE,
    BACKFILLS_BY_NAMESPACE,
    MISSED_RANGES,
    RUNS,
    RUNS_BY_SCHEDULE,
    RUNS_OF_BACKFILL,
    SCHEDULES,
    VERSIONS,
)
from fencepost.model.times import to_utc_text
from fencepost.ports.rows import Transaction
from fencepost.ports.signals import Topic
from fencepost.rules.audit_log import log
from fencepost.rules.cursors import lock_cursors, touch
from fencepost.rules.desk_rows import to_backfill
from fencepost.rules.meta import forgotten_before
from fencepost.rules.part import Part, reads, writes
from fencepost.rules.planbook import WITHDRAWN
from fencepost.rules.ranges import range_at
from fencepost.rules.runs import WAITING, Bells, call_off, end, log_run, new_tick, send_again, shown


class BackfillRules(Part):
    """See `ports.backfills`."""

    @writes
    async def start(
        self, tx: Transaction, namespace: Namespace, asked: NewBackfill, author: Author
    ) -> Backfill | None:
        if not await tx.find(SCHEDULES.at(namespace, asked.schedule_id)):
            return None
        now = await tx.now()
        new = {
            "namespace": namespace,
            "schedule_id": asked.schedule_id,
            "since": asked.since,
            "until": asked.until,
            "mode": asked.mode.value,
            "at_once_max": asked.at_once_max,
            "every_s": asked.every_s,
            "state": BackfillState.ACTIVE.value,
            "filled_through": asked.since,
            "next_run_at": now,
            "created_at": now,
        }
        (row,) = await tx.put_if_absent(BACKFILLS, [new])
        await log(tx, author, namespace, Action.BACKFILL_START, str(row["backfill_id"]), {}, _logged(asked))
        tx.hint(Topic.SCHEDULES)
        return await _shown(tx, row)

    @writes
    async def fill(
        self,
        tx: Transaction,
        backfill: Backfill,
        ticks: Sequence[FillTick],
        through: datetime,
        author: Author,
    ) -> int | None:
        owner = backfill.namespace, backfill.asked.schedule_id
        (schedule,) = await tx.lock(SCHEDULES.at(*owner))
        cursors = await lock_cursors(tx, *owner)
        (row,) = await tx.lock(BACKFILLS.at(backfill.backfill_id))
        if row["state"] != BackfillState.ACTIVE or row["filled_through"] != backfill.filled_through:
            return None
        filling = _Filling(tx, schedule, row, author, await tx.now(), await forgotten_before(tx))
        filled = 0
        for tick in ticks:
            filled += await filling.fill(tick)
        state = BackfillState.FILLED if through >= row["until"] else BackfillState.ACTIVE
        mark = {"filled_through": through, "state": state.value, "next_run_at": filling.next_run_at}
        await tx.change(BACKFILLS, [(row, mark)])
        if filled:
            await touch(tx, cursors)
            tx.hint(Topic.RUNS)
        return filled

    @writes
    async def cancel(
        self, tx: Transaction, namespace: Namespace, backfill_id: int, author: Author
    ) -> Backfill | None:
        rows = await tx.find(BACKFILLS.at(backfill_id))
        if not rows or rows[0]["namespace"] != namespace:
            return None
        await tx.lock(SCHEDULES.at(namespace, rows[0]["schedule_id"]))
        (row,) = await tx.lock(BACKFILLS.at(backfill_id))
        if row["state"] != BackfillState.CANCELLED:
            (after,) = await tx.change(BACKFILLS, [(row, {"state": BackfillState.CANCELLED.value})])
            ended = await _give_up(tx, backfill_id)
            said: JsonObject = {"state": after["state"], "cancelled": ended}
            was: JsonObject = {"state": row["state"]}
            await log(tx, author, namespace, Action.BACKFILL_CANCEL, str(backfill_id), was, said)
            row = after
        return await _shown(tx, row)

    @reads
    async def get(self, tx: Transaction, namespace: Namespace, backfill_id: int) -> Backfill | None:
        rows = await tx.find(BACKFILLS.at(backfill_id))
        return await _shown(tx, rows[0]) if rows and rows[0]["namespace"] == namespace else None

    @reads
    async def list(
        self, tx: Transaction, namespace: Namespace, limit: int, before_id: int | None = None
    ) -> Sequence[Backfill]:
        mine = BACKFILLS_BY_NAMESPACE(namespace)
        rows = await tx.find(mine if before_id is None else mine.before(before_id), limit=limit, reverse=True)
        return [await _shown(tx, row) for row in rows]

    @reads
    async def active(self, tx: Transaction, limit: int) -> Sequence[Backfill]:
        return [await _shown(tx, row) for row in await tx.find(BACKFILLS_ACTIVE(), limit=limit)]


class _Filling:
    """Fire times of one backfill that are to run, one after the other."""

    def __init__(
        self,
        tx: Transaction,
        schedule: Row,
        backfill: Row,
        author: Author,
        now: StoreTime,
        forgotten: datetime | None,
    ) -> None:
        self._tx = tx
        self._schedule = schedule
        self._backfill = backfill
        self._author = author
        self._now = now
        self._forgotten = forgotten
        self._mode = FillMode(backfill["mode"])
        self.next_run_at = backfill["next_run_at"]

    async def fill(self, tick: FillTick) -> bool:
        """Have one fire time run, where the mode says so; whether it does."""
        if (
            self._forgotten is not None
            and tick.fire_time < self._forgotten
            and self._mode is not FillMode.ALL
        ):
            return False
        owner = SCHEDULES.key_of(self._schedule)
        runs = await self._tx.lock(RUNS_BY_SCHEDULE(*owner, tick.fire_time))
        there = [run for run in runs if run["state"] != WITHDRAWN]
        if there:
            latest = max(there, key=lambda run: run["version"])
            if not runs_again(self._mode, RunState(latest["state"])):
                return False
            await self._again(latest, Action.RUN_REPLAY)
            return True
        if not await self._leave_range(tick.fire_time):
            return False
        key = tick_key(ScheduleId(owner[1]), tick.fire_time, tick.version)
        withdrawn = [run for run in runs if run["run_key"] == key]
        if withdrawn:
            await self._again(withdrawn[0], Action.RUN_RESTORE)
        else:
            await self._insert(tick)
        return True

    async def _leave_range(self, fire_time: datetime) -> bool:
        """Whether a fire time without a run gets one; a missed range then counts one less."""
        owner = self._schedule["namespace"], self._schedule["schedule_id"]
        found = await range_at(self._tx, *owner, fire_time)
        if found is None:
            return True
        if self._mode is FillMode.MISSING:
            return False
        (locked,) = await self._tx.lock(MISSED_RANGES.at(*MISSED_RANGES.key_of(found)))
        if locked["ticks"] > 1:
            await self._tx.change(MISSED_RANGES, [(locked, {"ticks": locked["ticks"] - 1})])
        else:
            await self._tx.delete(MISSED_RANGES, [locked])
        return True

    async def _again(self, run: Row, action: Action) -> None:
        (before,) = await shown(self._tx, [run])
        due, number = self._next_run_at(), self._backfill["backfill_id"]
        after = await send_again(self._tx, run, due, Origin.BACKFILL, number, self._schedule["frozen"])
        await log_run(self._tx, self._author, action, before, after)

    async def _insert(self, tick: FillTick) -> None:
        (version,) = await self._tx.find(VERSIONS.at(*SCHEDULES.key_of(self._schedule), tick.version))
        due = self._next_run_at()
        new = await new_tick(
            self._tx, self._schedule, version, tick.fire_time, due, RunState.READY, Origin.BACKFILL
        )
        own = {"priority": PRIORITY_BEHIND, "backfill_id": self._backfill["backfill_id"]}
        await self._tx.put_if_absent(RUNS, [{**new, **own}])

    def _next_run_at(self) -> datetime:
        """When the next run of the backfill is due; the one after it, that much later."""
        run_at: datetime = max(self.next_run_at, self._now)
        self.next_run_at = later(StoreTime(run_at), self._backfill["every_s"])
        return run_at


async def _give_up(tx: Transaction, backfill_id: int) -> int:
    """What no worker has begun is missed; a run that waits for its next attempt is cancelled. How many there
    were."""
    waiting = [
        run for state in sorted(WAITING) for run in await tx.find(RUNS_OF_BACKFILL(backfill_id, state))
    ]
    bells, reason, ended = Bells(), f"backfill {backfill_id} was cancelled", 0
    for run in await tx.lock(RUNS.among(map(RUNS.key_of, waiting))):
        if run["state"] not in WAITING or run["backfill_id"] != backfill_id:
            continue
        if run["fence"]:
            await call_off(tx, bells, run, reason)
        else:
            await end(tx, bells, run, RunState.MISSED, reason)
        ended += 1
    await bells.ring(tx)
    return ended


async def _shown(tx: Transaction, backfill: Row) -> Backfill:
    return to_backfill(backfill, await _count(tx, backfill["backfill_id"]))


async def _count(tx: Transaction, backfill_id: int) -> Mapping[RunState, int]:
    """Its runs by state, as readers see them: what is planned and due is ready."""
    counts = {state: await tx.count(RUNS_OF_BACKFILL(backfill_id, state.value)) for state in RunState}
    due = await tx.count(RUNS_OF_BACKFILL(backfill_id, RunState.PLANNED.value).through(await tx.now()))
    counts[RunState.PLANNED] -= due
    counts[RunState.READY] += due
    return {state: count for state, count in counts.items() if count}


def _logged(asked: NewBackfill) -> JsonObject:
    return {
        "schedule_id": asked.schedule_id,
        "since": to_utc_text(asked.since),
        "until": to_utc_text(asked.until),
        "mode": asked.mode,
        "at_once_max": asked.at_once_max,
        "every_s": asked.every_s,
    }
