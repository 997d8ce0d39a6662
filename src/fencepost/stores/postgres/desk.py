"""What people do to runs in PostgreSQL: a change and its entry in the audit log are one transaction.

A verb about runs locks them, or says which cannot be had: a job may keep its run locked for as long
as it has a transaction open. What is locked is tried again, each time in a transaction of its own: whoever
kept some runs while it waited for others would hold up who has those. One that makes ticks, or sends them on
their way again, locks their schedules first, as a claim and an edit do, and so comes entirely before or after
them; one that makes ticks also locks the cursors, and marks them, and so comes entirely before or after a
planner.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, assert_never

from fencepost.errors import UsageError
from fencepost.model.audit import Action, Author
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace, RunKey, ScheduleId, tick_key
from fencepost.model.json import canonical
from fencepost.model.plan import Fate, Tick
from fencepost.model.run import REPLAYABLE, Hold, NewRun, Ordered, Origin, RunRecord, RunState
from fencepost.rules.desk_rows import BY_FATE, logged_run
from fencepost.stores.postgres.audit_log import Change, log
from fencepost.stores.postgres.connection import clean
from fencepost.stores.postgres.runs import PostgresRuns
from fencepost.stores.postgres.writing import (
    PAUSE_S,
    TRIES_OF_PEOPLE,
    lock_ended,
    lock_planning,
    read_places,
    read_runs,
    ring,
    send_again,
    store_time,
    take_runs,
    tell,
    touch_planning,
)
from fencepost.stores.queries import load_queries

if TYPE_CHECKING:
    from fencepost.stores.postgres.connection import Row, Session

QUERIES = load_queries(__package__, "desk.sql")
LOCKED = "it is in a transaction of its own, and nothing can be asked of it until that ends; ask again"


class PostgresDesk(PostgresRuns):
    """The operators' part of `ports.ledger`."""

    async def enqueue(
        self, namespace: Namespace, runs: Sequence[NewRun], *, author: Author | None = None
    ) -> Sequence[bool]:
        marks = await self._enqueue(namespace, runs, author)
        if not all(marks):
            await self._database.confirm()
        return marks

    async def _enqueue(
        self, namespace: Namespace, runs: Sequence[NewRun], author: Author | None
    ) -> Sequence[bool]:
        if author is not None:
            async with self._database.transaction() as session:
                row = await session.fetchrow(QUERIES["enqueue"], namespace, *_columns(runs))
                assert row is not None
                marks = _marks(runs, row)
                fresh = [run.run_key for run, is_new in zip(runs, marks, strict=True) if is_new]
                await _log_new(session, namespace, author, Action.RUN_ENQUEUE, fresh)
                return marks
        if len(runs) == 1:
            return [await self._enqueue_one(namespace, runs[0])]
        row = await self._database.fetch_one(QUERIES["enqueue"], namespace, *_columns(runs))
        assert row is not None
        return _marks(runs, row)

    async def _enqueue_one(self, namespace: Namespace, run: NewRun) -> bool:
        """The most common call by far, so its statement is as plain as can be."""
        terms = (run.run_key, run.job, run.queue, run.priority, run.run_at, canonical(run.payload))
        return await self._database.fetch_one(QUERIES["enqueue_one"], namespace, *terms) is not None

    async def trigger(
        self,
        namespace: Namespace,
        schedule_id: ScheduleId,
        fire_time: StoreTime,
        *,
        author: Author | None = None,
    ) -> RunKey | None:
        async with self._database.transaction() as session:
            version = await session.fetchval(QUERIES["in_force"], namespace, schedule_id)
            if version is None:
                return None
            run_key = tick_key(schedule_id, fire_time, version)
            terms = namespace, schedule_id, fire_time, run_key
            if await session.fetchrow(QUERIES["trigger"], *terms) is not None:
                made = Change(schedule_id, {}, {"run_key": run_key})
                await log(session, namespace, author, Action.SCHEDULE_TRIGGER, made)
            await tell(session)
            return run_key

    async def cancel(
        self, namespace: Namespace, run_key: RunKey, reason: str, *, author: Author | None = None
    ) -> RunRecord | None:
        return _single(await self.cancel_many(namespace, [run_key], reason, author=author))

    async def cancel_many(
        self, namespace: Namespace, run_keys: Sequence[RunKey], reason: str, *, author: Author | None = None
    ) -> Mapping[RunKey, Ordered]:
        return await self._order(namespace, run_keys, Action.RUN_CANCEL, "cancel", author, clean(reason))

    async def skip(self, namespace: Namespace, run_key: RunKey, author: Author) -> RunRecord | None:
        terms = Action.RUN_SKIP, "skip", author, clean(author.reason)
        return _single(await self._order(namespace, [run_key], *terms))

    async def hold(self, namespace: Namespace, run_key: RunKey, author: Author) -> RunRecord | None:
        return _single(await self._order(namespace, [run_key], Action.RUN_HOLD, "hold", author))

    async def release(self, namespace: Namespace, run_key: RunKey, author: Author) -> RunRecord | None:
        return _single(await self._order(namespace, [run_key], Action.RUN_RELEASE, "release", author))

    async def _order(
        self,
        namespace: Namespace,
        run_keys: Sequence[RunKey],
        action: Action,
        query: str,
        author: Author | None,
        *terms: object,
    ) -> Mapping[RunKey, Ordered]:
        """Do one thing to runs; returns those that are there, as they are then. No lock is kept while one
        that cannot be had yet is waited for."""
        found = dict(await self._order_once(namespace, run_keys, action, query, author, *terms))
        for _ in range(TRIES_OF_PEOPLE - 1):
            left = [key for key, one in found.items() if one.refused is not None]
            if not left:
                break
            await asyncio.sleep(PAUSE_S)
            found |= await self._order_once(namespace, left, action, query, author, *terms)
        return found

    async def _order_once(
        self,
        namespace: Namespace,
        run_keys: Sequence[RunKey],
        action: Action,
        query: str,
        author: Author | None,
        *terms: object,
    ) -> Mapping[RunKey, Ordered]:
        """Do it to those that can be had at once, and say which cannot."""
        async with self._database.transaction() as session:
            there = await read_runs(session, namespace, run_keys)
            names = [(namespace, key) for key in dict.fromkeys(run_keys) if key in there]
            taken = {key for _, key in await take_runs(session, names, tries=1)}
            before = await read_runs(session, namespace, list(there))
            rows = await session.fetch(QUERIES[query], namespace, sorted(taken), *terms)
            after = await read_runs(session, namespace, [row["run_key"] for row in rows])
            changed = [key for _, key in names if key in after]
            changes = [Change(key, logged_run(before[key]), logged_run(after[key])) for key in changed]
            await log(session, namespace, author, action, *changes)
            await ring(session, [(namespace, one.schedule_id) for one in after.values() if one.finished_at])
            if changed and action is Action.RUN_RELEASE:
                await tell(session)
            return {
                key: Ordered(after.get(key, run), None if key in taken else f"run {key}: {LOCKED}")
                for key, run in before.items()
            }

    async def replay(
        self,
        namespace: Namespace,
        run_keys: Sequence[RunKey],
        every_s: float,
        author: Author,
        *,
        first_in_s: float = 0.0,
        only: frozenset[RunState] = REPLAYABLE,
    ) -> Sequence[RunKey]:
        async with self._database.transaction() as session:
            ended = await lock_ended(session, namespace, run_keys)
            ended &= set(await session.fetchval(QUERIES["replayable"], namespace, run_keys, sorted(only)))
            sent = [key for key in dict.fromkeys(run_keys) if key in ended]
            if not sent:
                return []
            now = await store_time(session)
            before = await read_runs(session, namespace, sent)
            due = {
                key: now + timedelta(seconds=first_in_s + every_s * number) for number, key in enumerate(sent)
            }
            await send_again(session, namespace, due, Origin.REPLAY)
            after = await read_runs(session, namespace, sent)
            changes = [Change(key, logged_run(before[key]), logged_run(after[key])) for key in sent]
            await log(session, namespace, author, Action.RUN_REPLAY, *changes)
            await tell(session)
            return sent

    async def plan_by_name(
        self,
        namespace: Namespace,
        schedule_id: ScheduleId,
        version: int,
        ticks: Sequence[Tick],
        author: Author | None,
        *,
        fate: Fate = Fate.PLANNED,
    ) -> Sequence[RunKey]:
        async with self._database.transaction() as session:
            schedule = await lock_planning(session, namespace, schedule_id)
            place = (await read_places(session, namespace, schedule_id, [version])).get(version)
            if schedule is None or place is None:
                return []
            keys = [tick_key(schedule_id, tick.fire_time, version) for tick in ticks]
            times = [tick.fire_time for tick in ticks], [tick.run_at for tick in ticks]
            target = namespace, schedule_id, version, *place
            end = _end_of(fate, author, frozen=schedule["frozen"])
            rows = await session.fetch(QUERIES["plan_by_name"], *target, *end, keys, *times)
            fresh = {row["run_key"] for row in rows}
            written = [key for key in dict.fromkeys(keys) if key in fresh]
            await _log_new(session, namespace, author, BY_FATE[fate], written)
            if written:
                await touch_planning(session, namespace, schedule_id)
                await tell(session)
            return written


def _single(found: Mapping[RunKey, Ordered]) -> RunRecord | None:
    """The one run that an order was about, where it is there; a refusal where it cannot be had."""
    for run, refused in found.values():
        if refused is not None:
            raise UsageError(refused)
        return run
    return None


def _end_of(fate: Fate, author: Author | None, *, frozen: bool) -> tuple[int, RunState, str | None]:
    """What holds a tick that is written by name, its state, and the reason for it."""
    held = Hold.FROZEN if frozen else Hold.NONE
    match fate:
        case Fate.PLANNED:
            return int(held), RunState.PLANNED, None
        case Fate.HELD:
            return int(held | Hold.OPERATOR), RunState.PLANNED, None
        case Fate.SKIPPED:
            return 0, RunState.SKIPPED, None if author is None else clean(author.reason)
        case _ as never:
            assert_never(never)


async def _log_new(
    session: Session, namespace: Namespace, author: Author | None, action: Action, keys: Iterable[RunKey]
) -> None:
    """An entry for each run that was not there before."""
    if author is None:
        return
    written = list(dict.fromkeys(keys))
    runs = await read_runs(session, namespace, written)
    changes = [Change(key, {}, logged_run(runs[key])) for key in written]
    await log(session, namespace, author, action, *changes)


def _columns(runs: Sequence[NewRun]) -> list[list[Any]]:
    return [
        [run.run_key for run in runs],
        [run.job for run in runs],
        [run.queue for run in runs],
        [run.priority for run in runs],
        [run.run_at for run in runs],
        [canonical(run.payload) for run in runs],
    ]


def _marks(runs: Sequence[NewRun], row: Row) -> list[bool]:
    """True at the first mention of each new key."""
    if row["count"] == len(runs):
        return [True] * len(runs)
    unseen = set(row["keys"] or ())
    marks = []
    for run in runs:
        marks.append(run.run_key in unseen)
        unseen.discard(run.run_key)
    return marks
