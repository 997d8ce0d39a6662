"""What is known of schedules when their ticks are judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from fencepost.model.claiming import FINISHED_KEPT, GateFacts, ScheduleFacts, gate_question
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import ScheduleId, tick_key
from fencepost.model.policies import OF_LAST_MAX
from fencepost.model.run import IN_TURN, LIVE_ORIGINS, Hold, Origin, RunState
from fencepost.model.table import Row
from fencepost.model.tables import (
    BACKFILLS,
    CURSORS,
    GATES,
    RUNS,
    RUNS_BEHIND,
    RUNS_CAUGHT_UP,
    RUNS_FINISHED,
    RUNS_OPEN,
    RUNS_SUCCEEDED,
    RUNS_UNFINISHED,
    VERSIONS,
)
from fencepost.ports.rows import Transaction
from fencepost.rules.planbook import taken
from fencepost.rules.rows import to_facts
from fencepost.rules.runs import with_specs

DUE_MAX = 100
SCHEDULES_MAX = 200
TYPICAL_OF = 20

Wanted: TypeAlias = Callable[[Row], bool]


async def facts_of(
    tx: Transaction, schedule: Row, wanted: Wanted, now: StoreTime, parked: int
) -> ScheduleFacts | None:
    """The facts of a schedule whose lock its caller has; None where nothing of it is due."""
    owner = schedule["namespace"], schedule["schedule_id"]
    waiting = [*await tx.find(RUNS_OPEN(*owner)), *await tx.find(RUNS_BEHIND(*owner))]
    due = [run for run in waiting if run["run_at"] <= now]
    seen = _cut([run for run in due if not run["held"] & ~IN_TURN.value and wanted(run)], parked)
    if not seen:
        return None
    known = [run["fire_time"] for run in due if not run["held"] & Hold.OPERATOR]
    row = {
        "namespace": owner[0],
        "schedule_id": owner[1],
        "newest_due": max(known),
        **await _unplanned(tx, schedule, now),
        "previous": (await last_successes(tx, [owner])).get(owner),
    }
    ticks = [await _with_terms(tx, run) for run in await with_specs(tx, seen)]
    unfinished = sorted(await tx.find(RUNS_UNFINISHED(*owner)), key=_place)
    finished = await tx.find(RUNS_FINISHED(*owner), limit=FINISHED_KEPT, reverse=True)
    facts = to_facts(row, ticks, unfinished, _ended_after(finished, seen), GateFacts())
    return replace(facts, gate=await _gate_facts(tx, owner, waiting, facts))


async def last_successes(
    tx: Transaction, schedules: Iterable[tuple[str, str]]
) -> Mapping[tuple[str, str], datetime]:
    """The fire time of each schedule's last successful run, where there is one."""
    runs = await tx.find(RUNS_SUCCEEDED.each(schedules), limit=1, reverse=True)
    return {(run["namespace"], run["schedule_id"]): run["fire_time"] for run in runs}


async def typical_run_s(
    tx: Transaction, schedules: Sequence[tuple[str, str]]
) -> Mapping[tuple[str, str], float]:
    """How long the last successes of each schedule took on average, where there are any."""
    lengths_s: dict[tuple[str, str], list[float]] = {}
    for run in await tx.find(RUNS_SUCCEEDED.each(schedules), limit=TYPICAL_OF, reverse=True):
        took_s = (run["finished_at"] - run["started_at"]).total_seconds()
        lengths_s.setdefault((run["namespace"], run["schedule_id"]), []).append(took_s)
    return {owner: sum(found) / len(found) for owner, found in lengths_s.items()}


async def _with_terms(tx: Transaction, tick: Row) -> Row:
    """A due tick with what its backfill allows."""
    at_once_max = None
    if tick["backfill_id"] is not None:
        (backfill,) = await tx.find(BACKFILLS.at(tick["backfill_id"]))
        at_once_max = backfill["at_once_max"]
    return {**tick, "at_once_max": at_once_max, "is_new": tick["reason"] is None}


async def _unplanned(tx: Transaction, schedule: Row, now: StoreTime) -> Row:
    """Where the latest cursor goes on, if that has passed, and the spec that says whether it fires then. A
    cursor that was never planned does not know when its version fires, and what was called off or is held by
    name is no tick to wait for."""
    owner, version = (schedule["namespace"], schedule["schedule_id"]), schedule["version"]
    (cursor,) = await tx.find(CURSORS.at(*owner, version))
    moment = cursor["next_fire_at"]
    if moment is None or moment > now or not may_plan(cursor, moment):
        return {"unplanned": None}
    key = tick_key(ScheduleId(owner[1]), moment, version)
    if await tx.find(RUNS.at(owner[0], key)) or await taken(tx, *owner, [moment]):
        return {"unplanned": None}
    (latest,) = await tx.find(VERSIONS.at(*owner, version))
    return {"unplanned": moment, "unplanned_spec": latest["spec"]}


def may_plan(cursor: Row, fire_time: datetime) -> bool:
    """Whether a cursor has not come by this fire time yet, and will."""
    ends_before = cursor["until"] is not None and cursor["until"] < fire_time
    return cursor["next_fire_at"] is not None and cursor["planned_through"] < fire_time and not ends_before


def _cut(seen: Sequence[Row], most: int) -> list[Row]:
    """So many of each, live ticks first: a long line of parked ticks must not hide those not parked yet."""
    in_order = sorted(seen, key=_place)
    live = [run for run in in_order if run["origin"] in LIVE_ORIGINS][:DUE_MAX]
    behind = [run for run in in_order if run["origin"] not in LIVE_ORIGINS]
    free = [run for run in behind if not run["held"]][:DUE_MAX]
    parked = [run for run in behind if run["held"] == Hold.PARKED][:most]
    limited = [run for run in behind if run["held"] & (Hold.LIMITED | Hold.PACED)][:DUE_MAX]
    return [*live, *sorted([*free, *parked, *limited], key=_place)]


def _ended_after(finished: Sequence[Row], due: Sequence[Row]) -> list[Row]:
    """The runs that ended after the first of the due live ticks became due."""
    live = [tick["run_at"] for tick in due if tick["origin"] in LIVE_ORIGINS]
    return [run for run in finished if live and min(live) < run["finished_at"]]


async def _gate_facts(
    tx: Transaction, owner: tuple[str, str], waiting: Sequence[Row], facts: ScheduleFacts
) -> GateFacts:
    gates = await tx.find(GATES.at(*owner))
    gate = gates[0] if gates else None
    closed = gate is not None and gate["closed_at"] is not None
    question = None if closed else gate_question(facts.due)
    if question is None:
        return GateFacts(closed)
    count = sum(_counts_as_waiting(run, gate) for run in waiting)
    ended = await tx.find(RUNS_CAUGHT_UP(*owner), limit=OF_LAST_MAX, reverse=True)
    opened_at = None if gate is None else gate["opened_at"]
    since = [run for run in ended if opened_at is None or run["finished_at"] > opened_at]
    failed = tuple(run["state"] == RunState.DEAD for run in since)
    return GateFacts(False, min(count, question.waiting_max), failed[: question.of_last])


def _counts_as_waiting(run: Row, gate: Row | None) -> bool:
    let_through = None if gate is None else gate["let_through"]
    newer = let_through is None or run["fire_time"] > let_through
    return run["origin"] == Origin.CATCH_UP and not run["held"] & Hold.GATE and newer


def _place(run: Row) -> tuple[datetime, str]:
    return run["fire_time"], run["run_key"]
