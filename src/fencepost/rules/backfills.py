"""Backfills."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime

from fencepost.model.audit import Action, Author
from fencepost.model.backfill import Backfill, BackfillState, FillMode, FillTick, NewBackfill, runs_again
from fencepost.model.clocks import StoreTime, later
from fencepost.model.identifiers import Namespace, RunKey, tick_key
from fencepost.model.job import PRIORITY_BEHIND
from fencepost.model.json import JsonObject
from fencepost.model.run import Origin, RunState
from fencepost.model.table import Key, Row
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
from fencepost.rules.meta import forgotten_before
from fencepost.rules.part import Part, older, reads, search, writes
from fencepost.rules.plans import WITHDRAWN, lock_cursors, range_at, touch
from fencepost.rules.rows import columns_of, reader
from fencepost.rules.runs import (
    WAITING,
    Freed,
    call_off,
    end,
    log_runs,
    new_tick,
    place_of,
    put_runs,
    records_by_key,
    send_again,
    shown,
)


class BackfillRules(Part):
    """See `ports.backfills`."""

    @writes
    async def start(
        self, tx: Transaction, namespace: Namespace, request: NewBackfill, author: Author
    ) -> Backfill | None:
        if not await tx.find(SCHEDULES.at(namespace, request.schedule_id)):
            return None
        now = await tx.now()
        asks = {"namespace": namespace, **columns_of(BACKFILLS, request)}
        stands = {"state": BackfillState.ACTIVE.value, "filled_through": request.since}
        new = {**asks, **stands, "next_run_at": now, "created_at": now}
        (row,) = await tx.put_if_absent(BACKFILLS, [new])
        await log(tx, author, namespace, Action.BACKFILL_START, str(row["backfill_id"]), {}, _logged(request))
        tx.hint(Topic.SCHEDULES)
        return (await _shown(tx, [row]))[0]

    @writes
    async def fill(
        self,
        tx: Transaction,
        backfill: Backfill,
        ticks: Sequence[FillTick],
        through: datetime,
        author: Author,
    ) -> int | None:
        owner = backfill.namespace, backfill.request.schedule_id
        (schedule,) = await tx.lock(SCHEDULES.at(*owner))
        cursors = await lock_cursors(tx, *owner)
        (row,) = await tx.lock(BACKFILLS.at(backfill.backfill_id))
        if row["state"] != BackfillState.ACTIVE or row["filled_through"] != backfill.filled_through:
            return None
        filling = _Filling(schedule, row, await tx.now())
        filled = await filling.fill(tx, ticks, author)
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
        return (await _shown(tx, [row]))[0]

    @reads
    async def get(self, tx: Transaction, namespace: Namespace, backfill_id: int) -> Backfill | None:
        rows = [row for row in await tx.find(BACKFILLS.at(backfill_id)) if row["namespace"] == namespace]
        return next(iter(await _shown(tx, rows)), None)

    @reads
    async def list(
        self, tx: Transaction, namespace: Namespace, limit: int, before_id: int | None = None
    ) -> Sequence[Backfill]:
        mine = older(BACKFILLS_BY_NAMESPACE(namespace), before_id)
        return await _shown(tx, await tx.find(mine, limit=limit, reverse=True))

    @reads
    async def active(
        self, tx: Transaction, limit: int, without: Collection[Namespace] = ()
    ) -> Sequence[Backfill]:
        found = await search(tx, BACKFILLS_ACTIVE(), lambda row: row["namespace"] not in without, limit)
        return await _shown(tx, found)


class _Filling:
    """Fire times of one backfill that are to run: first it is decided for each, then all are written."""

    def __init__(self, schedule: Row, backfill: Row, now: StoreTime) -> None:
        self._schedule = schedule
        self._backfill = backfill
        self._mode = FillMode(backfill["mode"])
        self._new: dict[FillTick, datetime] = {}
        self._again: dict[Action, dict[RunKey, datetime]] = {Action.RUN_REPLAY: {}, Action.RUN_RESTORE: {}}
        self._left: Counter[Key] = Counter()
        """How many ticks leave each missed range."""
        self.next_run_at: datetime = max(backfill["next_run_at"], now)
        """When the next run is due; each that is written moves it on."""

    async def fill(self, tx: Transaction, ticks: Sequence[FillTick], author: Author) -> int:
        """Write the runs of these fire times that the mode allows; returns how many."""
        owner = SCHEDULES.key_of(self._schedule)
        found = await tx.find(RUNS_BY_SCHEDULE.each((*owner, tick.fire_time) for tick in ticks))
        there: dict[datetime, list[Row]] = {}
        for run in await tx.lock(RUNS.among(map(RUNS.key_of, found))):
            there.setdefault(run["fire_time"], []).append(run)
        # Read after the runs: what removed one of them before they were read has left its mark by now.
        forgotten = None if self._mode is FillMode.ALL else await forgotten_before(tx)
        ranges = await tx.lock(MISSED_RANGES.all(*owner)) if ticks else []
        for tick in ticks:
            if forgotten is None or tick.fire_time >= forgotten:
                self._decide(tick, there.get(tick.fire_time, []), ranges)
        await self._insert(tx)
        runs = {run["run_key"]: run for some in there.values() for run in some}
        for action, due in self._again.items():
            await self._send(tx, action, {key: runs[key] for key in due}, author)
        await self._leave(tx, ranges)
        return len(self._new) + sum(map(len, self._again.values()))

    def _decide(self, tick: FillTick, runs: Sequence[Row], ranges: Sequence[Row]) -> None:
        there = [run for run in runs if run["state"] != WITHDRAWN]
        if there:
            latest = max(there, key=lambda run: run["version"])
            if runs_again(self._mode, RunState(latest["state"])):
                self._again[Action.RUN_REPLAY][latest["run_key"]] = self._next_turn()
            return
        missed = range_at(ranges, tick.fire_time)
        if missed is not None:
            if self._mode is FillMode.MISSING:
                return
            self._left[MISSED_RANGES.key_of(missed)] += 1
        key = tick_key(self._schedule["schedule_id"], tick.fire_time, tick.version)
        if any(run["run_key"] == key for run in runs):
            self._again[Action.RUN_RESTORE][key] = self._next_turn()
        else:
            self._new[tick] = self._next_turn()

    def _next_turn(self) -> datetime:
        turn = self.next_run_at
        self.next_run_at = later(StoreTime(turn), self._backfill["every_s"])
        return turn

    async def _insert(self, tx: Transaction) -> None:
        numbers = sorted({tick.version for tick in self._new})
        owner = SCHEDULES.key_of(self._schedule)
        versions = {
            row["version"]: row for row in await tx.find(VERSIONS.among((*owner, one) for one in numbers))
        }
        places = {number: await place_of(tx, version) for number, version in versions.items()}
        own = {"priority": PRIORITY_BEHIND, "backfill_id": self._backfill["backfill_id"]}
        rows = []
        for tick, due in self._new.items():
            of_version = self._schedule, versions[tick.version], places[tick.version]
            rows.append(new_tick(*of_version, tick.fire_time, due, RunState.READY, Origin.BACKFILL) | own)
        await put_runs(tx, rows)

    async def _send(
        self, tx: Transaction, action: Action, runs: Mapping[RunKey, Row], author: Author
    ) -> None:
        """Replay runs that had ended, with an entry for each."""
        before = records_by_key(await shown(tx, list(runs.values())))
        number, frozen, due = self._backfill["backfill_id"], self._schedule["frozen"], self._again[action]
        after = [
            await send_again(tx, run, due[key], Origin.BACKFILL, number, frozen) for key, run in runs.items()
        ]
        await log_runs(tx, author, self._backfill["namespace"], action, before, await shown(tx, after))

    async def _leave(self, tx: Transaction, ranges: Sequence[Row]) -> None:
        """Missed ranges count less by the ticks that run after all."""
        touched = [row for row in ranges if self._left[MISSED_RANGES.key_of(row)]]
        fewer = [(row, row["ticks"] - self._left[MISSED_RANGES.key_of(row)]) for row in touched]
        await tx.change(MISSED_RANGES, [(row, {"ticks": left}) for row, left in fewer if left > 0])
        await tx.delete(MISSED_RANGES, [row for row, left in fewer if left <= 0])


async def _give_up(tx: Transaction, backfill_id: int) -> int:
    """Runs that no worker has begun become missed; a run that waits for its next attempt is cancelled.
    Returns how many there were."""
    waiting = [
        run for state in sorted(WAITING) for run in await tx.find(RUNS_OF_BACKFILL(backfill_id, state))
    ]
    freed, reason, ended = Freed(), f"backfill {backfill_id} was cancelled", 0
    for run in await tx.lock(RUNS.among(map(RUNS.key_of, waiting))):
        if run["state"] not in WAITING or run["backfill_id"] != backfill_id:
            continue
        if run["fence"]:
            await call_off(tx, freed, run, reason)
        else:
            await end(tx, freed, run, RunState.MISSED, reason)
        ended += 1
    await freed.wake_next(tx)
    return ended


async def _shown(tx: Transaction, backfills: Sequence[Row]) -> list[Backfill]:
    """Backfills with their runs by state, as readers see them: a planned run that is due is ready."""
    now, places = await tx.now(), [(row["backfill_id"], state) for row in backfills for state in RunState]
    due = [RUNS_OF_BACKFILL(row["backfill_id"], RunState.PLANNED.value).through(now) for row in backfills]
    numbers = await tx.count([*(RUNS_OF_BACKFILL(number, state.value) for number, state in places), *due])
    counts = dict(zip(places, numbers, strict=False))
    for row, count in zip(backfills, numbers[len(places) :], strict=True):
        counts[row["backfill_id"], RunState.PLANNED] -= count
        counts[row["backfill_id"], RunState.READY] += count
    return [
        _backfill(row, {state: n for state in RunState if (n := counts[row["backfill_id"], state])})
        for row in backfills
    ]


_to_request = reader(NewBackfill)


def _backfill(row: Row, runs: Mapping[RunState, int]) -> Backfill:
    return Backfill(
        backfill_id=row["backfill_id"],
        namespace=row["namespace"],
        request=_to_request(row),
        state=BackfillState(row["state"]),
        filled_through=row["filled_through"],
        created_at=row["created_at"],
        runs=runs,
    )


def _logged(request: NewBackfill) -> JsonObject:
    return {**asdict(request), "since": to_utc_text(request.since), "until": to_utc_text(request.until)}
