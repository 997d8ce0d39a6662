"""Catch-up gates in PostgreSQL. A gate is closed within a claim, and opened under the same lock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fencepost.model.audit import HOUSE, Action, Author
from fencepost.model.gate import ClosedGate, GateDecision
from fencepost.model.identifiers import Namespace, ScheduleId
from fencepost.rules.desk_rows import to_closed_gate
from fencepost.stores.postgres.audit_log import Change, log
from fencepost.stores.postgres.connection import Database, clean
from fencepost.stores.postgres.runs import TYPICAL_OF
from fencepost.stores.postgres.writing import lock_schedule, ring, tell
from fencepost.stores.queries import load_queries

if TYPE_CHECKING:
    from fencepost.stores.postgres.connection import Session

QUERIES = load_queries(__package__, "gates.sql")
ACTIONS = {
    GateDecision.OPEN: Action.GATE_OPEN,
    GateDecision.LATEST: Action.GATE_LATEST,
    GateDecision.DROP: Action.GATE_DROP,
}
RELEASED_MAX = {GateDecision.OPEN: None, GateDecision.LATEST: 1, GateDecision.DROP: 0}


async def close_gate(session: Session, namespace: Namespace, schedule_id: ScheduleId, reason: str) -> None:
    """Close a gate under its schedule's lock; one that is closed stays as it is."""
    key = namespace, schedule_id
    if await session.fetchrow(QUERIES["close"], *key, clean(reason)) is None:
        return
    held = await session.fetchval(QUERIES["hold_back"], *key)
    change = Change(schedule_id, {"closed": False}, {"closed": True, "reason": reason, "held": held})
    await log(session, namespace, HOUSE, Action.GATE_CLOSE, change)


class PostgresGates:
    """See `ports.gates`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def closed(self, namespace: Namespace) -> Sequence[ClosedGate]:
        rows = await self._database.fetch(QUERIES["closed"], namespace, TYPICAL_OF)
        return [to_closed_gate(row) for row in rows]

    async def decide(
        self, namespace: Namespace, schedule_id: ScheduleId, decision: GateDecision, author: Author
    ) -> int | None:
        key = namespace, schedule_id
        async with self._database.transaction() as session:
            await lock_schedule(session, *key)
            if await session.fetchrow(QUERIES["is_closed"], *key) is None:
                return None
            await session.fetch(QUERIES["lock_backlog"], *key)
            why = clean(_why_missed(decision, author))
            row = await session.fetchrow(QUERIES["open"], *key, RELEASED_MAX[decision], why)
            assert row is not None
            before = {"closed": True, "held": row["released"] + row["missed"]}
            after = {"closed": False, "released": row["released"], "missed": row["missed"]}
            await log(session, namespace, author, ACTIONS[decision], Change(schedule_id, before, after))
            if row["missed"]:
                await ring(session, [key])
            await tell(session)
            return int(row["released"])


def _why_missed(decision: GateDecision, author: Author) -> str:
    return f"gate: {decision}, by {author.name}" + ("" if author.reason is None else f": {author.reason}")
