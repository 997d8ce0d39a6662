"""What is known of schedules that a claim has locked, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fencepost.model.claiming import FINISHED_KEPT, GateFacts, Judge, ScheduleFacts
from fencepost.model.policies import OF_LAST_MAX, WAITING_MAX
from fencepost.stores.queries import load_queries
from fencepost.stores.rows import to_facts
from fencepost.stores.verdicts import Rulings, rule

if TYPE_CHECKING:
    from fencepost.stores.postgres.connection import Row, Session

QUERIES = load_queries(__package__, "facts.sql")
DUE_PER_SCHEDULE_MAX = 100
LIMITS = DUE_PER_SCHEDULE_MAX, FINISHED_KEPT, WAITING_MAX + 1, OF_LAST_MAX

# The facts come as arrays of rows without names; these are the names, in the query's order.
DUE_COLUMNS = ("run_key", "fire_time", "run_at", "origin", "held", "at_once_max", "spec")
STARTED_COLUMNS = ("run_key", "fire_time", "finished_at", "origin", "cancel_requested", "begun_at")


async def judge_locked(
    session: Session,
    locked: Sequence[Row],
    tastes: tuple[list[str] | None, list[str] | None],
    room: int,
    judge: Judge,
) -> Rulings:
    """Ask the judge about these schedules; without tastes every due tick counts."""
    if not locked:
        return Rulings()
    rows = await session.fetch(
        QUERIES["facts"],
        [row["namespace"] for row in locked],
        [row["schedule_id"] for row in locked],
        *tastes,
        *LIMITS,
    )
    return rule([_facts(row) for row in rows], rows[0]["now"], room, judge) if rows else Rulings()


def _facts(row: Row) -> ScheduleFacts:
    gate = GateFacts(row["gate_closed"], row["gate_waiting"], tuple(row["gate_failed"]))
    return to_facts(
        row,
        [dict(zip(DUE_COLUMNS, each, strict=True)) for each in row["due"]],
        [dict(zip(STARTED_COLUMNS, each, strict=True)) for each in row["unfinished"]],
        [dict(zip(STARTED_COLUMNS, each, strict=True)) for each in row["finished"]],
        gate,
    )
