"""What operators do to runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeAlias, assert_never

from fencepost.errors import UsageError
from fencepost.model.audit import Action, Author
from fencepost.model.clocks import StoreTime, later
from fencepost.model.enqueueing import Entered
from fencepost.model.identifiers import Namespace, RunKey, ScheduleId, tick_key
from fencepost.model.json import JsonObject
from fencepost.model.plan import Fate, Tick
from fencepost.model.run import REPLAYABLE, Hold, NewRun, Ordered, Origin, RunRecord, RunState
from fencepost.model.schedule import ScheduleState
from fencepost.model.table import Row
from fencepost.model.tables import MISSED_RANGES, RUNS, SCHEDULES, VERSIONS
from fencepost.ports.rows import Transaction
from fencepost.ports.signals import Topic
from fencepost.rules.audit_log import log
from fencepost.rules.part import Part, writes
from fencepost.rules.plans import lock_cursors, range_at, taken, touch
from fencepost.rules.rows import payload_text
from fencepost.rules.runs import (
    WAITING,
    Freed,
    by_key,
    call_off,
    change,
    end,
    log_runs,
    new_tick,
    owners_of,
    place_of,
    put_runs,
    records_by_key,
    send_again,
    shown,
)
from fencepost.rules.unique import take_names

LOCKED = (
    "it is in a transaction of its own, or its schedule in one that is open; nothing can be asked of it "
    "until that ends; ask again"
)
TRIES, PAUSE_S = 50, 0.02
"""How often a locked run is tried, while the caller waits for the answer."""

BY_FATE = {
    Fate.PLANNED: Action.RUN_RESTORE,
    Fate.HELD: Action.RUN_HOLD,
    Fate.SKIPPED: Action.RUN_SKIP,
}
"""The audit log's actions for the writing of a tick by name."""

Order: TypeAlias = Callable[[Transaction, Freed, Row], Coroutine[Any, Any, Row | None]]
"""What is done to a run that was asked for; None where that changes nothing."""


class OrderRules(Part):
    """The operators' part of `ports.ledger`."""

    tries = TRIES
    """How often a locked run is tried; once in a transaction of the caller, where nothing may wait."""

    @writes
    async def enqueue(
        self,
        tx: Transaction,
        namespace: Namespace,
        runs: Sequence[NewRun],
        *,
        author: Author | None = None,
    ) -> Sequence[bool]:
        new = await write_runs(tx, namespace, runs, author)
        return marks([run.run_key for run in runs], new)

    @writes
    async def enqueue_unique(
        self,
        tx: Transaction,
        namespace: Namespace,
        runs: Sequence[NewRun],
        *,
        author: Author | None = None,
    ) -> Sequence[Entered]:
        keys = await take_names(tx, namespace, runs, await tx.now())
        mine = [run for run, key in zip(runs, keys, strict=True) if run.run_key == key]
        new = await write_runs(tx, namespace, mine, author)
        asked = [run.run_key if run.run_key == key else None for run, key in zip(runs, keys, strict=True)]
        return list(map(Entered, keys, marks(asked, new)))

    @writes
    async def trigger(
        self,
        tx: Transaction,
        namespace: Namespace,
        schedule_id: ScheduleId,
        fire_time: StoreTime,
        *,
        author: Author | None = None,
    ) -> RunKey | None:
        schedules = await tx.lock(SCHEDULES.at(namespace, schedule_id))
        if not schedules or schedules[0]["state"] == ScheduleState.REMOVED:
            return None
        (version,) = await tx.find(VERSIONS.at(namespace, schedule_id, schedules[0]["version"]))
        place = await place_of(tx, version)
        new = new_tick(schedules[0], version, place, fire_time, fire_time, RunState.READY, Origin.MANUAL)
        if await put_runs(tx, [new]):
            after: JsonObject = {"run_key": new["run_key"]}
            await log(tx, author, namespace, Action.SCHEDULE_TRIGGER, schedule_id, {}, after)
        tx.hint(Topic.RUNS)
        return RunKey(new["run_key"])

    @writes
    async def await_end(self, tx: Transaction, namespace: Namespace, run_key: RunKey) -> bool:
        unended = [
            run for run in await tx.take(RUNS.among([(namespace, run_key)])) if run["finished_at"] is None
        ]
        await tx.change(RUNS, [(run, {"awaited": True}) for run in unended if not run["awaited"]])
        return bool(unended)

    async def cancel(
        self, namespace: Namespace, run_key: RunKey, reason: str, *, author: Author | None = None
    ) -> RunRecord | None:
        return _single(await self.cancel_many(namespace, [run_key], reason, author=author))

    async def cancel_many(
        self, namespace: Namespace, run_keys: Sequence[RunKey], reason: str, *, author: Author | None = None
    ) -> Mapping[RunKey, Ordered]:
        return await self._order(namespace, run_keys, Action.RUN_CANCEL, author, partial(_cancel, reason))

    async def skip(self, namespace: Namespace, run_key: RunKey, author: Author) -> RunRecord | None:
        order = Action.RUN_SKIP, author, partial(_skip, author.reason)
        return _single(await self._order(namespace, [run_key], *order))

    async def hold(self, namespace: Namespace, run_key: RunKey, author: Author) -> RunRecord | None:
        return _single(await self._order(namespace, [run_key], Action.RUN_HOLD, author, _hold))

    async def release(self, namespace: Namespace, run_key: RunKey, author: Author) -> RunRecord | None:
        return _single(await self._order(namespace, [run_key], Action.RUN_RELEASE, author, _release))

    async def _order(
        self,
        namespace: Namespace,
        run_keys: Sequence[RunKey],
        action: Action,
        author: Author | None,
        order: Order,
    ) -> Mapping[RunKey, Ordered]:
        """Do one thing to runs; returns those that are there, as they are then. A run in a transaction of its
        own is locked: it is tried again for a while, and no lock is kept meanwhile."""
        found = dict(await self._order_once(namespace, run_keys, action, author, order))
        for _ in range(self.tries - 1):
            left = [key for key, one in found.items() if one.refused is not None]
            if not left:
                break
            await asyncio.sleep(PAUSE_S)
            found |= await self._order_once(namespace, left, action, author, order)
        return found

    @writes
    async def _order_once(
        self,
        tx: Transaction,
        namespace: Namespace,
        run_keys: Sequence[RunKey],
        action: Action,
        author: Author | None,
        order: Order,
    ) -> Mapping[RunKey, Ordered]:
        """Do it to the runs that are free at once, and name those that are not. Their schedules are locked
        first, so that no judge works on them; one may be in an edit whose transaction its caller keeps
        open."""
        there = await tx.find(RUNS.among((namespace, run_key) for run_key in run_keys))
        mine = {row["schedule_id"] for row in await tx.take(SCHEDULES.among(owners_of(there)))}
        free = [run for run in there if run["schedule_id"] is None or run["schedule_id"] in mine]
        taken, freed = by_key(await tx.take(RUNS.among(map(RUNS.key_of, free)))), Freed()
        before = records_by_key(await shown(tx, list(taken.values())))
        changed: dict[str, Row] = {}
        for run_key in (one for one in dict.fromkeys(run_keys) if one in taken):
            done = await order(tx, freed, taken[run_key])
            changed |= {} if done is None else {run_key: done}
        after = records_by_key(await shown(tx, list((by_key(there) | taken | changed).values())))
        await log_runs(tx, author, namespace, action, before, [after[RunKey(key)] for key in changed])
        await freed.wake_next(tx)
        return {key: Ordered(run, _refusal(run, taken)) for key, run in after.items()}

    @writes
    async def replay(
        self,
        tx: Transaction,
        namespace: Namespace,
        run_keys: Sequence[RunKey],
        every_s: float,
        author: Author,
        *,
        first_in_s: float = 0.0,
        only: frozenset[RunState] = REPLAYABLE,
    ) -> Sequence[RunKey]:
        there = await tx.find(RUNS.among((namespace, run_key) for run_key in run_keys))
        schedules = await tx.lock(SCHEDULES.among(owners_of(there)))
        frozen = {row["schedule_id"] for row in schedules if row["frozen"]}
        # A run that has not ended may be in a transaction of its own, and is not waited for.
        ended = [RUNS.key_of(run) for run in there if run["finished_at"] is not None]
        runs = by_key(await tx.lock(RUNS.among(ended)))
        sent = [key for key in dict.fromkeys(run_keys) if key in runs and _runs_again(runs[key], only)]
        if not sent:
            return []
        now, after = await tx.now(), list[Row]()
        before = records_by_key(await shown(tx, [runs[key] for key in sent]))
        for number, key in enumerate(sent):
            due = later(now, first_in_s + number * every_s)
            held = runs[key]["schedule_id"] in frozen
            after.append(await send_again(tx, runs[key], due, Origin.REPLAY, None, held))
        await log_runs(tx, author, namespace, Action.RUN_REPLAY, before, await shown(tx, after))
        tx.hint(Topic.RUNS)
        return sent

    @writes
    async def plan_by_name(
        self,
        tx: Transaction,
        namespace: Namespace,
        schedule_id: ScheduleId,
        version: int,
        ticks: Sequence[Tick],
        author: Author | None,
        *,
        fate: Fate = Fate.PLANNED,
    ) -> Sequence[RunKey]:
        schedules = await tx.lock(SCHEDULES.at(namespace, schedule_id))
        versions = await tx.find(VERSIONS.at(namespace, schedule_id, version))
        if not schedules or not versions:
            return []
        cursors = await lock_cursors(tx, namespace, schedule_id)
        free = await _free(tx, versions[0], [tick for tick in ticks if _governs(versions[0], tick)])
        now, place = await tx.now(), await place_of(tx, versions[0])
        of_version = schedules[0], versions[0], place
        planned = [
            new_tick(*of_version, tick.fire_time, tick.run_at, RunState.PLANNED, Origin.LIVE) for tick in free
        ]
        new = [_sealed(tick, fate, author, now) for tick in planned]
        written = await put_runs(tx, new)
        if not written:
            return []
        await Freed([run for run in written if run["finished_at"] is not None]).follow(tx)
        records = records_by_key(await shown(tx, written))
        in_order = [records[key] for row in new if (key := RunKey(row["run_key"])) in records]
        await log_runs(tx, author, namespace, BY_FATE[fate], {}, in_order)
        await touch(tx, cursors)
        tx.hint(Topic.RUNS)
        return [run.run_key for run in in_order]


async def write_runs(
    tx: Transaction, namespace: Namespace, runs: Sequence[NewRun], author: Author | None
) -> set[RunKey]:
    """Write the runs whose keys are not there; returns the keys that were written."""
    now, first = await tx.now(), dict[RunKey, NewRun]()
    for run in runs:
        first.setdefault(run.run_key, run)
    written = await put_runs(tx, [_new_run(namespace, run, now) for run in first.values()])
    new = {RunKey(row["run_key"]) for row in written}
    if author is not None:
        records = records_by_key(await shown(tx, written))
        in_order = [records[key] for key in first if key in new]
        await log_runs(tx, author, namespace, Action.RUN_ENQUEUE, {}, in_order)
    if new:
        tx.hint(Topic.RUNS)
    return new


def marks(keys: Sequence[RunKey | None], new: set[RunKey]) -> list[bool]:
    """True at the first mention of each new key."""
    marks, unseen = [], set[RunKey | None](new)
    for key in keys:
        marks.append(key in unseen)
        unseen.discard(key)
    return marks


def _single(found: Mapping[RunKey, Ordered]) -> RunRecord | None:
    """The one run that an operator's command was about; a refusal where it is locked."""
    for run, refused in found.values():
        if refused is not None:
            raise UsageError(refused)
        return run
    return None


def _refusal(run: RunRecord, taken: Mapping[str, Row]) -> str | None:
    return None if run.run_key in taken else f"run {run.run_key}: {LOCKED}"


async def _cancel(reason: str, tx: Transaction, freed: Freed, run: Row) -> Row | None:
    return await call_off(tx, freed, run, reason)


async def _skip(reason: str | None, tx: Transaction, freed: Freed, run: Row) -> Row | None:
    if run["state"] not in WAITING or run["fence"] != 0:
        return None
    return await end(tx, freed, run, RunState.SKIPPED, reason)


async def _hold(tx: Transaction, freed: Freed, run: Row) -> Row | None:
    if run["state"] not in WAITING or run["held"] & Hold.OPERATOR:
        return None
    return await change(tx, freed, run, held=run["held"] | Hold.OPERATOR.value)


async def _release(tx: Transaction, freed: Freed, run: Row) -> Row | None:
    if run["state"] not in WAITING or not run["held"] & Hold.OPERATOR:
        return None
    run_at = max(run["run_at"], await tx.now())
    tx.hint(Topic.RUNS)
    return await change(tx, freed, run, held=run["held"] & ~Hold.OPERATOR.value, run_at=run_at)


def _runs_again(run: Row, only: frozenset[RunState]) -> bool:
    return not run["stripped"] and run["state"] in only


def _sealed(tick: Row, fate: Fate, author: Author | None, now: StoreTime) -> Row:
    """A tick that is written by name, with its fate."""
    match fate:
        case Fate.PLANNED:
            return tick
        case Fate.HELD:
            return {**tick, "held": tick["held"] | Hold.OPERATOR.value}
        case Fate.SKIPPED:
            reason = None if author is None else author.reason
            return {**tick, "state": RunState.SKIPPED.value, "reason": reason, "finished_at": now, "held": 0}
        case _ as never:
            assert_never(never)


async def _free(tx: Transaction, version: Row, ticks: Sequence[Tick]) -> list[Tick]:
    """The ticks that the ledger does not account for yet, and whose key it does not keep."""
    owner = version["namespace"], version["schedule_id"]
    keys = {tick.fire_time: tick_key(owner[1], tick.fire_time, version["version"]) for tick in ticks}
    there = await taken(tx, ((*owner, one) for one in keys))
    kept = by_key(await tx.find(RUNS.among((owner[0], key) for key in keys.values())))
    missed = await tx.find(MISSED_RANGES.all(*owner))
    return [
        tick
        for tick in {tick.fire_time: tick for tick in ticks}.values()
        if (*owner, tick.fire_time) not in there
        and keys[tick.fire_time] not in kept
        and range_at(missed, tick.fire_time) is None
    ]


def _governs(version: Row, tick: Tick) -> bool:
    """Whether a fire time lies in the version's time in force."""
    until = version["in_force_until"]
    return bool(version["in_force_from"] < tick.fire_time and (until is None or tick.fire_time <= until))


def _new_run(namespace: Namespace, run: NewRun, now: StoreTime) -> Row:
    run_at = _moment(run.run_at, now) or now
    return {
        "namespace": namespace,
        "run_key": run.run_key,
        "job": run.job,
        "fire_time": run_at,
        "run_at": run_at,
        "state": (RunState.PLANNED if run_at > now else RunState.READY).value,
        "queue": run.queue,
        "priority": run.priority,
        "payload": payload_text(run.payload),
        "expires_at": _moment(run.expires, run_at),
    }


def _moment(when: datetime | timedelta | None, since: datetime) -> datetime | None:
    return since + when if isinstance(when, timedelta) else when
