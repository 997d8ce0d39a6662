"""What people do to runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from fencepost.errors import UsageError
from fencepost.model.audit import Action, Author
from fencepost.model.clocks import StoreTime, later
from fencepost.model.identifiers import Namespace, RunKey, ScheduleId, tick_key
from fencepost.model.json import JsonObject, canonical
from fencepost.model.plan import Fate, Tick
from fencepost.model.run import REPLAYABLE, Hold, NewRun, Ordered, Origin, RunRecord, RunState
from fencepost.model.schedule import ScheduleState
from fencepost.model.table import Row
from fencepost.model.tables import RUNS, SCHEDULES, VERSIONS
from fencepost.ports.rows import Transaction
from fencepost.ports.signals import Topic
from fencepost.rules.audit_log import log
from fencepost.rules.cursors import lock_cursors, touch
from fencepost.rules.desk_rows import BY_FATE
from fencepost.rules.part import Part, writes
from fencepost.rules.planbook import is_taken
from fencepost.rules.ranges import range_at
from fencepost.rules.runs import (
    WAITING,
    Bells,
    by_key,
    call_off,
    change,
    end,
    log_run,
    new_tick,
    owners_of,
    send_again,
    shown,
)

LOCKED = "it is in a transaction of its own, and nothing can be asked of it until that ends; ask again"
TRIES, PAUSE_S = 50, 0.02
"""How often a run that is locked is looked for, on behalf of somebody who waits for the answer."""

Order: TypeAlias = Callable[[Transaction, Bells, Row], Coroutine[Any, Any, Row | None]]
"""What is done to a run that was asked for; None where that makes no difference."""


class DeskRules(Part):
    """The operators' part of `ports.ledger`."""

    @writes
    async def enqueue(
        self,
        tx: Transaction,
        namespace: Namespace,
        runs: Sequence[NewRun],
        *,
        author: Author | None = None,
    ) -> Sequence[bool]:
        now = await tx.now()
        fresh = []
        for run in runs:
            written = await tx.put_if_absent(RUNS, [_new_run(namespace, run, now)])
            fresh.append(bool(written))
            for row in written:
                await log_run(tx, author, Action.RUN_ENQUEUE, None, row)
        if any(fresh):
            tx.hint(Topic.RUNS)
        return fresh

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
        new = await new_tick(tx, schedules[0], version, fire_time, fire_time, RunState.READY, Origin.MANUAL)
        if await tx.put_if_absent(RUNS, [new]):
            after: JsonObject = {"run_key": new["run_key"]}
            await log(tx, author, namespace, Action.SCHEDULE_TRIGGER, schedule_id, {}, after)
        tx.hint(Topic.RUNS)
        return RunKey(new["run_key"])

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
        """Do one thing to runs; those that are there, as they are then. A run that is in a transaction of its
        own cannot be had: it is tried again for a while, and no lock is kept meanwhile."""
        found = dict(await self._order_once(namespace, run_keys, action, author, order))
        for _ in range(TRIES - 1):
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
        """Do it to those that can be had at once, and say which cannot. Their schedules first, so that no
        judge is at them."""
        keys = RUNS.among((namespace, run_key) for run_key in run_keys)
        there = await tx.find(keys)
        await tx.lock(SCHEDULES.among(owners_of(there)))
        after, bells = by_key(there), Bells()
        taken = by_key(await tx.take(keys))
        for run_key in (one for one in dict.fromkeys(run_keys) if one in taken):
            (before,) = await shown(tx, [taken[run_key]])
            changed = await order(tx, bells, taken[run_key])
            after[run_key] = changed or taken[run_key]
            if changed is not None:
                await log_run(tx, author, action, before, changed)
        await bells.ring(tx)
        runs = await shown(tx, list(after.values()))
        return {run.run_key: Ordered(run, _refusal(run, taken)) for run in runs}

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
        keys = RUNS.among((namespace, run_key) for run_key in run_keys)
        schedules = await tx.lock(SCHEDULES.among(owners_of(await tx.find(keys))))
        frozen = {row["schedule_id"] for row in schedules if row["frozen"]}
        runs = {run["run_key"]: run for run in await tx.lock(keys)}
        now, sent = await tx.now(), list[RunKey]()
        for run_key in dict.fromkeys(run_keys):
            run = runs.get(run_key)
            if run is None or run["stripped"] or run["state"] not in only:
                continue
            (before,) = await shown(tx, [run])
            run_at = later(now, first_in_s + len(sent) * every_s)
            after = await send_again(tx, run, run_at, Origin.REPLAY, None, run["schedule_id"] in frozen)
            await log_run(tx, author, Action.RUN_REPLAY, before, after)
            sent.append(run_key)
        if sent:
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
        written: list[RunKey] = []
        for tick in ticks:
            if not _governs(versions[0], tick) or await _is_accounted_for(tx, versions[0], tick):
                continue
            new = await new_tick(
                tx, schedules[0], versions[0], tick.fire_time, tick.run_at, RunState.PLANNED, Origin.LIVE
            )
            for row in await tx.put_if_absent(RUNS, [new]):
                await _seal(tx, row, fate, author)
                written.append(row["run_key"])
        if written:
            await touch(tx, cursors)
            tx.hint(Topic.RUNS)
        return written


def _single(found: Mapping[RunKey, Ordered]) -> RunRecord | None:
    """The one run that an order was about, where it is there; a refusal where it cannot be had."""
    for run, refused in found.values():
        if refused is not None:
            raise UsageError(refused)
        return run
    return None


def _refusal(run: RunRecord, taken: Mapping[str, Row]) -> str | None:
    return None if run.run_key in taken else f"run {run.run_key}: {LOCKED}"


async def _cancel(reason: str, tx: Transaction, bells: Bells, run: Row) -> Row | None:
    return await call_off(tx, bells, run, reason)


async def _skip(reason: str | None, tx: Transaction, bells: Bells, run: Row) -> Row | None:
    if run["state"] not in WAITING or run["fence"] != 0:
        return None
    return await end(tx, bells, run, RunState.SKIPPED, reason)


async def _hold(tx: Transaction, bells: Bells, run: Row) -> Row | None:
    if run["state"] not in WAITING or run["held"] & Hold.OPERATOR:
        return None
    return await change(tx, bells, run, held=run["held"] | Hold.OPERATOR.value)


async def _release(tx: Transaction, bells: Bells, run: Row) -> Row | None:
    if run["state"] not in WAITING or not run["held"] & Hold.OPERATOR:
        return None
    run_at = max(run["run_at"], await tx.now())
    tx.hint(Topic.RUNS)
    return await change(tx, bells, run, held=run["held"] & ~Hold.OPERATOR.value, run_at=run_at)


async def _seal(tx: Transaction, run: Row, fate: Fate, author: Author | None) -> None:
    """A tick that was written by name, and what becomes of it."""
    match fate:
        case Fate.HELD:
            run = await change(tx, Bells(), run, held=run["held"] | Hold.OPERATOR.value)
        case Fate.SKIPPED:
            reason = None if author is None else author.reason
            run = await end(tx, Bells(), run, RunState.SKIPPED, reason)
    await log_run(tx, author, BY_FATE[fate], None, run)


async def _is_accounted_for(tx: Transaction, version: Row, tick: Tick) -> bool:
    """Whether the ledger says already what becomes of a fire time, or keeps its key."""
    owner = version["namespace"], version["schedule_id"]
    key = tick_key(ScheduleId(owner[1]), tick.fire_time, version["version"])
    return (
        await is_taken(tx, *owner, tick.fire_time)
        or bool(await tx.find(RUNS.at(owner[0], key)))
        or await range_at(tx, *owner, tick.fire_time) is not None
    )


def _governs(version: Row, tick: Tick) -> bool:
    """Whether a fire time lies in the version's time in force."""
    until = version["in_force_until"]
    return bool(version["in_force_from"] < tick.fire_time and (until is None or tick.fire_time <= until))


def _new_run(namespace: Namespace, run: NewRun, now: StoreTime) -> Row:
    run_at = run.run_at or now
    return {
        "namespace": namespace,
        "run_key": run.run_key,
        "job": run.job,
        "fire_time": run_at,
        "run_at": run_at,
        "state": (RunState.PLANNED if run_at > now else RunState.READY).value,
        "queue": run.queue,
        "priority": run.priority,
        "payload": canonical(run.payload),
    }
