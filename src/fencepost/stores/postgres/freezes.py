"""Freezes in PostgreSQL.

Authoritative is the table of freezes. That a schedule is covered by one is also kept on the schedule, on its
cursors and on its runs, because those are what a claim and a planner's write look at, and lock. All of it
changes in one transaction under the locks of the schedule and of its cursors. So whoever plans or judges a
tick comes entirely before a freeze, and then its runs are marked, or entirely after it.

A running run is marked for the sake of its next attempt. One that is in a transaction of its own is locked
by its job, and nobody waits for it: `settle_left`, the net, marks it once it can be had. Only an attempt that
begins before the net comes escapes a freeze, or waits for it after a thaw.

A freeze of everything, or of a queue, marks nothing: every claim looks for it. A claim whose statement began
before the freeze was committed may still start what it found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fencepost.model.audit import Action, Author
from fencepost.model.freeze import Freeze, Scope, ScopeKind
from fencepost.model.identifiers import Namespace, ScheduleId
from fencepost.rules.desk_rows import to_freeze
from fencepost.stores.postgres.audit_log import Change, log
from fencepost.stores.postgres.connection import Database, clean
from fencepost.stores.postgres.writing import TRIES_OF_PEOPLE, take_runs, tell
from fencepost.stores.queries import load_queries

if TYPE_CHECKING:
    from fencepost.stores.postgres.connection import Row, Session

QUERIES = load_queries(__package__, "freezes.sql")


async def share_turn(session: Session, namespace: Namespace) -> None:
    """Keep freezes from changing until the transaction ends. Taken before any schedule is."""
    await session.fetch(QUERIES["share_turn"], namespace)


async def settle(session: Session, namespace: Namespace, schedules: Sequence[ScheduleId]) -> None:
    """Mark these schedules, which are locked with their cursors, as the freezes in force say."""
    if not schedules:
        return
    rows = await session.fetch(QUERIES["mark_schedules"], namespace, schedules)
    for frozen in (True, False):
        changed = [row["schedule_id"] for row in rows if row["frozen"] is frozen]
        if changed:
            await session.fetch(QUERIES["mark_cursors"], namespace, changed, frozen)
            running = await session.fetch(QUERIES["running"], namespace, changed)
            names = [(namespace, row["run_key"]) for row in running]
            taken = [key for _, key in await take_runs(session, names, TRIES_OF_PEOPLE)]
            await session.fetch(QUERIES["mark_runs"], namespace, changed, frozen, taken)


async def settle_left(database: Database, limit: int) -> None:
    """Mark the runs, up to so many, that a freeze or a thaw had to leave."""
    await database.fetch(QUERIES["mark_left"], limit)


class PostgresFreezes:
    """See `ports.freezes`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def freeze(self, namespace: Namespace, scope: Scope, author: Author) -> bool:
        by = clean(author.name), clean(author.source), clean(author.reason)
        async with self._database.transaction() as session:
            await session.fetch(QUERIES["take_turn"], namespace)
            row = await session.fetchrow(QUERIES["freeze"], namespace, scope.kind, scope.value, *by)
            if row is None:
                return False
            await _settle_covered(session, namespace, scope)
            change = Change(str(scope), {"frozen": False}, {"frozen": True})
            await log(session, namespace, author, Action.FREEZE, change)
            return True

    async def thaw(self, namespace: Namespace, scope: Scope, author: Author) -> bool:
        async with self._database.transaction() as session:
            await session.fetch(QUERIES["take_turn"], namespace)
            if await session.fetchrow(QUERIES["thaw"], namespace, scope.kind, scope.value) is None:
                return False
            await _settle_covered(session, namespace, scope)
            change = Change(str(scope), {"frozen": True}, {"frozen": False})
            await log(session, namespace, author, Action.THAW, change)
            await tell(session)
            return True

    async def all(self, namespace: Namespace) -> Sequence[Freeze]:
        return [to_freeze(row) for row in await self._database.fetch(QUERIES["all"], namespace)]


async def _settle_covered(session: Session, namespace: Namespace, scope: Scope) -> None:
    schedules = [row["schedule_id"] for row in await _lock_covered(session, namespace, scope)]
    await session.fetch(QUERIES["lock_cursors"], namespace, schedules)
    await settle(session, namespace, schedules)


async def _lock_covered(session: Session, namespace: Namespace, scope: Scope) -> Sequence[Row]:
    match scope.kind:
        case ScopeKind.ALL | ScopeKind.QUEUE:
            return []
        case ScopeKind.SCHEDULE:
            return await session.fetch(QUERIES["lock_schedule"], namespace, scope.value)
        case ScopeKind.LABEL:
            return await session.fetch(QUERIES["lock_labelled"], namespace, *scope.label)
