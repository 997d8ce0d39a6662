"""What is known of schedules in memory when their ticks are judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeAlias

from fencepost.model.claiming import DueTick, GateFacts, ScheduleFacts, StartedRun, gate_question, parked_max
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import tick_key
from fencepost.model.run import IN_TURN, Hold, Origin, RunRecord, RunState
from fencepost.stores.memory.lanes import WAITING, Lane, RunRow, is_tick
from fencepost.stores.memory.tables import GateRow, Owner, Tables
from fencepost.stores.rows import at_once_max

DUE_MAX = 100
SCHEDULES_MAX = 200

Wanted: TypeAlias = Callable[[RunRow], bool]

_LIVE = frozenset({Origin.LIVE, Origin.MANUAL})


def gather(
    tables: Tables, due: Sequence[RunRow], wanted: Wanted, limit: int, now: StoreTime, room: int
) -> list[ScheduleFacts]:
    """The facts of the first schedules among due ticks."""
    owners = dict.fromkeys(
        (row.record.namespace, row.record.schedule_id) for row in due if row.record.schedule_id is not None
    )
    first = list(owners)[: min(limit, SCHEDULES_MAX)]
    most = parked_max(room, len(first))
    return [_facts_of(tables, owner, wanted, now, most) for owner in first]


def _facts_of(tables: Tables, owner: Owner, wanted: Wanted, now: StoreTime, parked: int) -> ScheduleFacts:
    lane = tables.lane(*owner)
    open_due = [row for row in lane.open.values() if _is_due_tick(row.record, now)]
    seen = [row for row in open_due if not row.record.held & ~IN_TURN and wanted(row)]
    due = [_due_tick(tables, row.record) for row in _cut(sorted(seen, key=_turn), parked)]
    known = [row.record.fire_time for row in open_due if not row.record.held & Hold.OPERATOR]
    return ScheduleFacts(
        namespace=owner[0],
        schedule_id=owner[1],
        due=tuple(due),
        newest_due=max(known),
        unfinished=tuple(_started(row.record) for row in lane.unfinished()),
        finished=tuple(_started(one) for one in lane.finished.records if _ended_after(one, due)),
        previous=lane.last_success,
        gate=_gate_facts(lane, tables.gates.get(owner, GateRow()), due),
        unplanned=_unplanned(tables, owner, now),
    )


def _unplanned(tables: Tables, owner: Owner, now: StoreTime) -> datetime | None:
    """Where the latest cursor goes on, if that has passed. A cursor that was never planned does not know when
    its version fires, and what was called off or is held by name is no tick to wait for."""
    row = tables.schedules.get(owner)
    if row is None:
        return None
    cursor = row.cursors[-1]
    moment = cursor.next_fire_at
    if moment is None or moment > now or not cursor.may_plan(moment):
        return None
    key = tick_key(owner[1], moment, row.versions[-1].version)
    lane = tables.lane(*owner)
    return None if key in lane.runs or moment in lane.taken else moment


def _cut(seen: Sequence[RunRow], most: int) -> list[RunRow]:
    """So many of each: a long line of parked ticks must not hide those that have not been parked yet."""
    live = [row for row in seen if row.record.origin in _LIVE][:DUE_MAX]
    behind = [row for row in seen if row.record.origin not in _LIVE]
    free = [row for row in behind if not row.record.held][:DUE_MAX]
    parked = [row for row in behind if row.record.held == Hold.PARKED][:most]
    limited = [row for row in behind if row.record.held & (Hold.LIMITED | Hold.PACED)][:DUE_MAX]
    return [*live, *sorted([*free, *parked, *limited], key=_turn)]


def _ended_after(record: RunRecord, due: Sequence[DueTick]) -> bool:
    """Whether a run ended after the first of the due live ticks became due."""
    ended, live = record.finished_at, (tick for tick in due if tick.origin in _LIVE)
    return ended is not None and any(tick.run_at < ended for tick in live)


def _gate_facts(lane: Lane, gate: GateRow, due: Sequence[DueTick]) -> GateFacts:
    question = None if gate.closed_at is not None else gate_question(due)
    if question is None:
        return GateFacts(gate.closed_at is not None)
    waiting = sum(_counts_as_waiting(row.record, gate) for row in lane.open.values())
    ended = [one for one in lane.caught_up.records if one.finished_at and one.finished_at > gate.opened_at]
    failed = tuple(one.state is RunState.DEAD for one in ended)
    return GateFacts(False, min(waiting, question.waiting_max), failed[: question.of_last])


def _counts_as_waiting(record: RunRecord, gate: GateRow) -> bool:
    catches_up = record.origin is Origin.CATCH_UP and is_tick(record)
    return catches_up and not record.held & Hold.GATE and record.fire_time > gate.let_through


def _due_tick(tables: Tables, record: RunRecord) -> DueTick:
    version = tables.version_of(record)
    assert version is not None
    spec = version.spec
    number = record.backfill_id
    of_backfill = None if number is None else tables.backfills[number].asked.at_once_max
    return DueTick(
        run_key=record.run_key,
        fire_time=record.fire_time,
        run_at=record.run_at,
        overlap=spec.overlap,
        catch_up=spec.catch_up,
        origin=record.origin,
        at_once_max=at_once_max(record.origin, spec.catch_up, of_backfill),
        parked=bool(record.held & Hold.PARKED),
        job=record.job,
        payload=spec.payload,
        limited=bool(record.held & (Hold.LIMITED | Hold.PACED)),
        is_new=record.reason is None,
    )


def _started(record: RunRecord) -> StartedRun:
    return StartedRun(
        record.run_key,
        record.fire_time,
        record.finished_at,
        record.origin,
        record.cancel_requested,
        record.begun_at,
    )


def _is_due_tick(record: RunRecord, now: StoreTime) -> bool:
    return is_tick(record) and record.state in WAITING and record.run_at <= now


def _turn(row: RunRow) -> tuple[bool, datetime, str]:
    """Live ticks first, each group by fire time."""
    record = row.record
    return record.origin not in _LIVE, record.fire_time, record.run_key
