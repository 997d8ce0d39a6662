"""Claiming in PostgreSQL: what is due goes to whoever locks it first.

A direct run is claimed by one statement. A tick is judged, and the judgement depends on the other runs
of its schedule, so its claim is a transaction: lock the schedules, read the facts with a snapshot that is
younger than the locks, ask the judge, write. Whoever started or ended a tick of the schedule before held
the same lock, so the facts are complete; whoever comes later waits or passes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fencepost.model.claiming import Appetite, Judge, Outlook, ScheduleFacts
from fencepost.model.identifiers import Fence, NodeId
from fencepost.model.run import Claim
from fencepost.stores.postgres.connection import Database, clean
from fencepost.stores.queries import load_queries
from fencepost.stores.rows import to_claim, to_facts, to_outlook
from fencepost.stores.verdicts import Ended, Rulings, Started, rule

if TYPE_CHECKING:
    from fencepost.stores.postgres.connection import Row, Session

QUERIES = load_queries(__package__, "claims.sql")
DUE_MAX = 1_000
DUE_PER_SCHEDULE_MAX = 100
WALK_PER_SCHEDULE, WALK_MIN = 4, 200
DUE_COLUMNS = ("run_key", "fire_time", "run_at", "spec")


class PostgresClaims:
    """The claiming part of `ports.ledger`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def outlook(self, appetite: Appetite) -> Outlook:
        row = await self._database.fetch_one(QUERIES["outlook"], *_tastes(appetite), appetite.namespace)
        assert row is not None
        return to_outlook(row)

    async def claim_direct(self, appetite: Appetite, limit: int) -> Sequence[Claim]:
        rows = await self._database.fetch(
            QUERIES["claim_direct"],
            *_tastes(appetite),
            limit,
            appetite.worker,
            appetite.alive_for_s,
            appetite.namespace,
        )
        return [to_claim(row, row["previous"]) for row in rows]

    async def claim_ticks(self, appetite: Appetite, limit: int, judge: Judge) -> Sequence[Claim]:
        tastes = _tastes(appetite)
        async with self._database.transaction() as session:
            walk = WALK_PER_SCHEDULE * limit + WALK_MIN
            locked = await session.fetch(QUERIES["lock_due"], *tastes, limit, appetite.namespace, walk)
            rulings = await _judge(session, locked, tastes, limit, judge)
            await _end(session, rulings.ends)
            return await _start(session, rulings.starts, appetite)

    async def sweep_late(self, older_than_s: float, limit: int, judge: Judge) -> int:
        async with self._database.transaction() as session:
            locked = await session.fetch(
                QUERIES["lock_late"], older_than_s, limit, WALK_PER_SCHEDULE * limit + WALK_MIN
            )
            rulings = await _judge(session, locked, (None, None), 0, judge)
            return await _end(session, rulings.ends)

    async def adopt(self, worker: NodeId, known: Sequence[Fence]) -> Sequence[Claim]:
        rows = await self._database.fetch(QUERIES["adopt"], worker, list(known))
        return [to_claim(row, row["previous"]) for row in rows]


async def _judge(
    session: Session,
    locked: Sequence[Row],
    tastes: tuple[list[str] | None, list[str] | None],
    room: int,
    judge: Judge,
) -> Rulings:
    if not locked:
        return Rulings()
    rows = await session.fetch(
        QUERIES["facts"],
        [row["namespace"] for row in locked],
        [row["schedule_id"] for row in locked],
        *tastes,
        min(DUE_PER_SCHEDULE_MAX, max(1, DUE_MAX // len(locked))),
    )
    return rule([_facts(row) for row in rows], rows[0]["now"], room, judge) if rows else Rulings()


async def _start(session: Session, starts: Sequence[Started], appetite: Appetite) -> list[Claim]:
    if not starts:
        return []
    rows = await session.fetch(
        QUERIES["start"],
        [one.namespace for one in starts],
        [one.run_key for one in starts],
        appetite.worker,
        appetite.alive_for_s,
    )
    previous = {(one.namespace, one.run_key): one.previous for one in starts}
    return [to_claim(row, previous[row["namespace"], row["run_key"]]) for row in rows]


async def _end(session: Session, ends: Sequence[Ended]) -> int:
    if not ends:
        return 0
    rows = await session.fetch(
        QUERIES["end"],
        [one.namespace for one in ends],
        [one.end.run_key for one in ends],
        [one.end.state for one in ends],
        [clean(one.end.reason) for one in ends],
    )
    return len(rows)


def _facts(row: Row) -> ScheduleFacts:
    columns = row["due_keys"], row["due_fire_times"], row["due_run_ats"], row["due_specs"]
    due = [dict(zip(DUE_COLUMNS, each, strict=True)) for each in zip(*columns, strict=True)]
    return to_facts(row, due, row["unfinished"])


def _tastes(appetite: Appetite) -> tuple[list[str], list[str]]:
    return sorted(set(appetite.queues)), sorted(set(appetite.jobs))
