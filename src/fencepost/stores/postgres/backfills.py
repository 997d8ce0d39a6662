"""Backfills in PostgreSQL.

Filling decides for each fire time by what the ledger says of it. So the schedule and its cursors are locked,
as by an edit, then the backfill, whose mark is compared: of two that fill at once, or of one that asks again
after a crash, the later finds the mark moved. The writes are a few statements, whatever the number of fire
times.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from fencepost.model.audit import Action, Author
from fencepost.model.backfill import Backfill, BackfillState, FillTick, NewBackfill
from fencepost.model.identifiers import Namespace
from fencepost.model.json import JsonObject
from fencepost.model.run import RunState
from fencepost.model.times import to_utc_text
from fencepost.rules.desk_rows import to_backfill
from fencepost.stores.postgres.audit_log import Change, log
from fencepost.stores.postgres.connection import Database
from fencepost.stores.postgres.filling import Filling
from fencepost.stores.postgres.writing import lock_planning, lock_schedule, ring, tell, touch_planning
from fencepost.stores.queries import load_queries

if TYPE_CHECKING:
    from fencepost.stores.postgres.connection import Row, Session

QUERIES = load_queries(__package__, "backfills.sql")


class PostgresBackfills:
    """See `ports.backfills`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def start(self, namespace: Namespace, asked: NewBackfill, author: Author) -> Backfill | None:
        terms = asked.since, asked.until, asked.mode, asked.at_once_max, asked.every_s
        async with self._database.transaction() as session:
            if await lock_schedule(session, namespace, asked.schedule_id) is None:
                return None
            backfill_id = await session.fetchval(QUERIES["start"], namespace, asked.schedule_id, *terms)
            change = Change(str(backfill_id), {}, _logged(asked))
            await log(session, namespace, author, Action.BACKFILL_START, change)
            await session.fetch(QUERIES["tell_schedules"])
            return await _get(session, namespace, backfill_id)

    async def fill(
        self, backfill: Backfill, ticks: Sequence[FillTick], through: datetime, author: Author
    ) -> int | None:
        namespace, schedule_id = backfill.namespace, backfill.asked.schedule_id
        async with self._database.transaction() as session:
            schedule = await lock_planning(session, namespace, schedule_id)
            row = await session.fetchrow(QUERIES["lock"], namespace, backfill.backfill_id)
            if schedule is None or row is None or not _is_there(row, backfill):
                return None
            filling = Filling(session, backfill, author, row["next_run_at"], frozen=schedule["frozen"])
            filled = await filling.fill(ticks)
            await session.fetch(QUERIES["move"], backfill.backfill_id, through, filling.next_run_at)
            if filled:
                await touch_planning(session, namespace, schedule_id)
                await tell(session)
            return filled

    async def cancel(self, namespace: Namespace, backfill_id: int, author: Author) -> Backfill | None:
        async with self._database.transaction() as session:
            known = await session.fetchrow(QUERIES["get"], namespace, backfill_id)
            if known is None:
                return None
            await lock_schedule(session, namespace, known["schedule_id"])
            row = await session.fetchrow(QUERIES["lock"], namespace, backfill_id)
            assert row is not None
            if row["state"] != BackfillState.CANCELLED:
                await session.fetch(QUERIES["cancel"], backfill_id)
                reason = f"backfill {backfill_id} was cancelled"
                cancelled = await session.fetchval(QUERIES["cancel_runs"], backfill_id, reason)
                if cancelled:
                    await ring(session, [(namespace, known["schedule_id"])])
                after: JsonObject = {"state": BackfillState.CANCELLED, "cancelled": cancelled}
                change = Change(str(backfill_id), {"state": row["state"]}, after)
                await log(session, namespace, author, Action.BACKFILL_CANCEL, change)
            return await _get(session, namespace, backfill_id)

    async def get(self, namespace: Namespace, backfill_id: int) -> Backfill | None:
        async with self._database.transaction() as session:
            return await _get(session, namespace, backfill_id)

    async def list(
        self, namespace: Namespace, limit: int, before_id: int | None = None
    ) -> Sequence[Backfill]:
        async with self._database.transaction() as session:
            rows = await session.fetch(QUERIES["list"], namespace, limit, before_id)
            return await _with_runs(session, rows)

    async def active(self, limit: int) -> Sequence[Backfill]:
        async with self._database.transaction() as session:
            return await _with_runs(session, await session.fetch(QUERIES["active"], limit))


async def _get(session: Session, namespace: Namespace, backfill_id: int) -> Backfill | None:
    rows = await session.fetch(QUERIES["get"], namespace, backfill_id)
    return next(iter(await _with_runs(session, rows)), None)


async def _with_runs(session: Session, rows: Sequence[Row]) -> Sequence[Backfill]:
    """These backfills, each with its runs counted."""
    tally = await session.fetch(QUERIES["tally"], [row["backfill_id"] for row in rows]) if rows else []
    counts: dict[int, dict[RunState, int]] = {row["backfill_id"]: {} for row in rows}
    for one in tally:
        counts[one["backfill_id"]][RunState(one["shown"])] = one["runs"]
    return [to_backfill(row, counts[row["backfill_id"]]) for row in rows]


def _is_there(row: Row, backfill: Backfill) -> bool:
    """Whether the backfill goes on from where its filler believes it stands."""
    active = row["state"] == BackfillState.ACTIVE
    return active and bool(row["filled_through"] == backfill.filled_through)


def _logged(asked: NewBackfill) -> JsonObject:
    return {
        "schedule_id": asked.schedule_id,
        "since": to_utc_text(asked.since),
        "until": to_utc_text(asked.until),
        "mode": asked.mode,
        "at_once_max": asked.at_once_max,
        "every_s": asked.every_s,
    }
