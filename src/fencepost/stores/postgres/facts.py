"""What is known of schedules that a claim has locked, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace

from fencepost.model.claiming import (
    FINISHED_KEPT,
    VERSIONS_SEEN,
    GateFacts,
    Judge,
    ScheduleFacts,
    StartedRun,
    gate_question,
    parked_max,
)
from fencepost.model.limits import Limiter
from fencepost.rules.allowances import Allowances
from fencepost.rules.facts import DUE_MAX
from fencepost.rules.limits import allowances
from fencepost.rules.rows import to_facts
from fencepost.rules.runs import Slot
from fencepost.rules.verdicts import Verdicts, rule
from fencepost.stores.postgres.connection import Row
from fencepost.stores.postgres.rows import PostgresRowTransaction
from fencepost.stores.queries import load_queries

QUERIES = load_queries(__package__, "facts.sql")
LIMITS = DUE_MAX, FINISHED_KEPT, VERSIONS_SEEN

# The facts come as arrays of rows without names; these are the names, in the query's order.
DUE_COLUMNS = ("run_key", "fire_time", "run_at", "origin", "held", "at_once_max", "version", "is_new")
STARTED_COLUMNS = tuple(one.name for one in fields(StartedRun))


@dataclass(slots=True)
class Judged:
    """What a pass over several schedules amounts to, and what it left of the limits of their jobs.

    `slots` are those that became free, or that some wait for: what waits is called after the commit."""

    verdicts: Verdicts = field(default_factory=Verdicts)
    allowed: Allowances | None = None
    slots: set[Slot] = field(default_factory=set)


async def judge_locked(
    tx: PostgresRowTransaction,
    locked: Sequence[tuple[str, str]],
    wanted: tuple[list[str] | None, list[str] | None],
    room: int,
    judge: Judge,
    limiter: Limiter | None = None,
) -> Judged:
    """Ask the judge about these schedules; without wanted every due tick counts. Where there is room for
    something, the limits of the ticks' jobs are asked first."""
    owners = dict.fromkeys(locked)
    if not owners:
        return Judged()
    rows = await tx.fetch(
        QUERIES["facts"],
        [one for one, _ in owners],
        [one for _, one in owners],
        *wanted,
        *LIMITS,
        parked_max(room, len(owners)),
    )
    if not rows:
        return Judged()
    every, now, allowed = [_facts(row) for row in rows], rows[0]["now"], None
    await _ask_gates(tx, every)
    if room > 0 and any(row["limited"] for row in rows):
        allowed = await allowances(tx, every, limiter)
    verdicts = rule(every, now, room, judge, allowed)
    return Judged(verdicts, allowed, set() if allowed is None else set(allowed.full))


async def _ask_gates(tx: PostgresRowTransaction, every: list[ScheduleFacts]) -> None:
    """Fill in how catch-up fares where some of it is due and its gate is open."""
    open_gates = ((place, gate_question(one.due)) for place, one in enumerate(every) if not one.gate.closed)
    asked = {place: question for place, question in open_gates if question is not None}
    if not asked:
        return
    answers = await tx.fetch(
        QUERIES["gates"],
        [every[place].namespace for place in asked],
        [every[place].schedule_id for place in asked],
        [question.waiting_max for question in asked.values()],
        [question.of_last for question in asked.values()],
    )
    for place, answer in zip(asked, answers, strict=True):
        gate = GateFacts(False, answer["waiting"], tuple(answer["failed"]))
        every[place] = replace(every[place], gate=gate)


def _facts(row: Row) -> ScheduleFacts:
    specs = dict(row["specs"])
    due = [dict(zip(DUE_COLUMNS, each, strict=True)) for each in row["due"]]
    return to_facts(
        row,
        [one | {"spec": specs[one["version"]]} for one in due if one["version"] in specs],
        [dict(zip(STARTED_COLUMNS, each, strict=True)) for each in row["unfinished"]],
        [dict(zip(STARTED_COLUMNS, each, strict=True)) for each in row["finished"]],
        GateFacts(row["gate_closed"]),
    )
