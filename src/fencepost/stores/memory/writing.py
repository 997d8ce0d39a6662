"""What several parts do to runs in memory alike."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from fencepost.model.identifiers import (
    Epoch,
    Fence,
    JobName,
    Namespace,
    Queue,
    RunKey,
    ScheduleId,
    tick_key,
)
from fencepost.model.job import PRIORITY_BEHIND
from fencepost.model.json import JsonObject
from fencepost.model.plan import Tick
from fencepost.model.run import Attempt, Hold, Origin, RunRecord, RunState
from fencepost.stores.memory.lanes import WAITING, RunRow
from fencepost.stores.memory.tables import ScheduleRow, Tables

NO_EPOCH = Epoch(0)


@dataclass(frozen=True, slots=True)
class NewRow:
    """A run to be written; what it does not say is as in any new run."""

    namespace: Namespace
    run_key: RunKey
    schedule_id: ScheduleId | None
    job: JobName
    version: int
    fire_time: datetime
    run_at: datetime
    state: RunState
    queue: Queue
    priority: int
    payload: JsonObject
    epoch: Epoch = NO_EPOCH
    origin: Origin = Origin.LIVE
    backfill_id: int | None = None


def insert(tables: Tables, new: NewRow) -> RunRow:
    """Write a new run, held where its schedule is frozen."""
    frozen = Hold.NONE if new.schedule_id is None else tables.hold_of(new.namespace, new.schedule_id)
    record = RunRecord(
        namespace=new.namespace,
        run_key=new.run_key,
        schedule_id=new.schedule_id,
        job=new.job,
        fire_time=new.fire_time,
        version=new.version,
        state=new.state,
        reason=None,
        attempt=0,
        fence=Fence(0),
        epoch=new.epoch,
        run_at=new.run_at,
        started_at=None,
        finished_at=None,
        worker=None,
        error=None,
        queue=new.queue,
        priority=new.priority,
        payload=new.payload,
        origin=new.origin,
        held=frozen,
        backfill_id=new.backfill_id,
    )
    row = RunRow(record)
    tables.insert(row)
    return row


def new_tick(
    tables: Tables,
    row: ScheduleRow,
    version: int,
    tick: Tick,
    state: RunState,
    origin: Origin,
) -> NewRow:
    """A tick as the planner would write it."""
    namespace, schedule_id = row.schedule.namespace, row.schedule.schedule_id
    spec = row.versions[version - 1].spec
    queue, priority = tables.place_of(namespace, spec)
    return NewRow(
        namespace=namespace,
        run_key=tick_key(schedule_id, tick.fire_time, version),
        schedule_id=schedule_id,
        job=spec.job,
        version=version,
        fire_time=tick.fire_time,
        run_at=tick.run_at,
        state=state,
        queue=queue,
        priority=priority,
        payload={},
        origin=origin,
    )


def send_again(
    tables: Tables, row: RunRow, run_at: datetime, origin: Origin, backfill_id: int | None
) -> None:
    """Let an ended run be ready once more: its attempts stay, all else is as if it had never begun."""
    record = row.record
    assert record.finished_at is not None
    owner = record.schedule_id
    tables.change(
        row,
        state=RunState.READY,
        reason=None,
        error=None,
        fence=Fence(0),
        run_at=run_at,
        priority=PRIORITY_BEHIND,
        started_at=None,
        finished_at=None,
        begun_at=None,
        worker=None,
        progress=None,
        note=None,
        progress_at=None,
        cancel_requested=False,
        origin=origin,
        held=Hold.NONE if owner is None else tables.hold_of(record.namespace, owner),
        met=None,
        spent=record.attempt,
        backfill_id=backfill_id,
    )


def call_off(tables: Tables, row: RunRow, reason: str) -> bool:
    """End a waiting run as cancelled, ask a running one to stop; whether either made a difference."""
    record = row.record
    if record.state in WAITING:
        fence = tables.next_fence() if record.fence else record.fence
        tables.end(row, RunState.CANCELLED, reason, fence=fence)
        return True
    if record.state is RunState.RUNNING and not record.cancel_requested:
        tables.change(row, cancel_requested=True)
        return True
    return False


def terminate(tables: Tables, row: RunRow, reason: str) -> None:
    """End an unfinished run at once: whoever has it is fenced off."""
    if row.record.state is RunState.RUNNING:
        keep_attempt(tables, row, "terminated", reason)
    tables.end(row, RunState.CANCELLED, reason, fence=tables.next_fence())


def keep_attempt(
    tables: Tables,
    row: RunRow,
    outcome: str,
    error: str | None,
    detail: str | None = None,
    output: str | None = None,
) -> None:
    """Remember the attempt that the run is in by itself."""
    record = row.record
    row.attempts.append(
        Attempt(
            attempt=record.attempt,
            fence=record.fence,
            worker=record.worker,
            started_at=record.started_at,
            finished_at=tables.now(),
            outcome=outcome,
            error=error,
            detail=detail,
            output=output,
        )
    )
