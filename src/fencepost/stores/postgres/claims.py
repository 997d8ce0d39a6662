"""Claiming in PostgreSQL: what is due goes to whoever locks it first.

A direct run is claimed by one statement. A tick is judged, and the judgement depends on the other runs
of its schedule, so its claim is a transaction: lock the schedules, read the facts with a snapshot that is
younger than the locks, ask the judge, write. Whoever started or ended a tick of the schedule before held
the same lock, so the facts are complete; whoever comes later waits or passes on.
"""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.model.claiming import Appetite, Judge, Outlook
from fencepost.model.identifiers import Fence, NodeId
from fencepost.model.run import Claim
from fencepost.stores.postgres.connection import Database
from fencepost.stores.postgres.facts import judge_locked
from fencepost.stores.postgres.rulings import carry_out, start
from fencepost.stores.queries import load_queries
from fencepost.stores.rows import to_claim, to_outlook

QUERIES = load_queries(__package__, "claims.sql")
LOCKED_MAX = 200
WALK_PER_SCHEDULE, WALK_MIN = 4, 200


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
        tastes, most = _tastes(appetite), min(limit, LOCKED_MAX)
        async with self._database.transaction() as session:
            locked = await session.fetch(
                QUERIES["lock_due"], *tastes, most, appetite.namespace, WALK_PER_SCHEDULE * most + WALK_MIN
            )
            rulings = await judge_locked(session, locked, tastes, limit, judge)
            await carry_out(session, rulings)
            return await start(session, rulings.starts, appetite)

    async def sweep_late(self, older_than_s: float, limit: int, judge: Judge) -> int:
        most = min(limit, LOCKED_MAX)
        async with self._database.transaction() as session:
            locked = await session.fetch(
                QUERIES["lock_late"], older_than_s, most, WALK_PER_SCHEDULE * most + WALK_MIN
            )
            return await carry_out(session, await judge_locked(session, locked, (None, None), 0, judge))

    async def adopt(self, worker: NodeId, known: Sequence[Fence]) -> Sequence[Claim]:
        rows = await self._database.fetch(QUERIES["adopt"], worker, list(known))
        if rows:
            await self._database.confirm()
        return [to_claim(row, row["previous"]) for row in rows]


def _tastes(appetite: Appetite) -> tuple[list[str], list[str]]:
    return sorted(set(appetite.queues)), sorted(set(appetite.jobs))
