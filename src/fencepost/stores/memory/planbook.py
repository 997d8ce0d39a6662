"""Plans in memory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fencepost.model.clocks import later
from fencepost.model.identifiers import DEFAULT_QUEUE, Epoch, Fence, Shard, tick_key
from fencepost.model.job import PRIORITY_DEFAULT
from fencepost.model.plan import Cursor, Plan, PlanningWindow, PlanReceipt
from fencepost.model.run import RunRecord, RunState
from fencepost.model.schedule import ScheduleVersion
from fencepost.ports.signals import Topic
from fencepost.stores.memory.signals import MemorySignals
from fencepost.stores.memory.tables import CursorRow, RunRow, ScheduleRow, Tables


class MemoryPlanBook:
    """See `ports.planbook`."""

    def __init__(self, tables: Tables, signals: MemorySignals) -> None:
        self._tables = tables
        self._signals = signals

    async def register_epoch(self, shard: Shard, epoch: Epoch) -> bool:
        accepted = self._tables.epochs.get(shard, Epoch(0))
        self._tables.epochs[shard] = max(accepted, epoch)
        return epoch >= accepted

    async def window(self, shards: Sequence[Shard], horizon_s: float, limit: int) -> PlanningWindow:
        now = self._tables.now()
        through = later(now, horizon_s)
        due = [
            (cursor.next_fire_at, self._cursor(row, version, cursor))
            for row in self._tables.schedules.values()
            if row.schedule.shard in shards
            for version, cursor in zip(row.versions, row.cursors, strict=True)
            if cursor.next_fire_at is not None and cursor.next_fire_at <= through
        ]
        due.sort(key=lambda pair: (pair[0], pair[1].namespace, pair[1].schedule_id, pair[1].version))
        return PlanningWindow(now, through, tuple(cursor for _, cursor in due[:limit]))

    async def write(self, plans: Sequence[Plan]) -> PlanReceipt:
        stale = {plan.cursor.shard for plan in plans if not self._accepted(plan)}
        fenced = [plan for plan in plans if plan.cursor.shard not in stale]
        fitting = [plan for plan in fenced if self._fits(plan.cursor)]
        written = sum(self._write(plan) for plan in fitting)
        if written:
            self._signals.hint(Topic.RUNS)
        return PlanReceipt(written, tuple(sorted(stale)), len(fenced) - len(fitting))

    async def postpone(self, cursors: Sequence[Cursor], by_s: float) -> None:
        moment = later(self._tables.now(), by_s)
        for cursor in cursors:
            known = self._known(cursor)
            if known is not None and self._fits(cursor):
                known.next_fire_at = moment

    def _accepted(self, plan: Plan) -> bool:
        return self._tables.epochs.get(plan.cursor.shard) == plan.epoch

    def _fits(self, cursor: Cursor) -> bool:
        known = self._known(cursor)
        return (
            known is not None
            and known.next_fire_at is not None
            and known.planned_through == cursor.planned_through
            and known.until == cursor.until
        )

    def _known(self, cursor: Cursor) -> CursorRow | None:
        row = self._tables.schedules.get((cursor.namespace, cursor.schedule_id))
        if row is None or cursor.version > len(row.cursors):
            return None
        return row.cursors[cursor.version - 1]

    def _write(self, plan: Plan) -> int:
        known = self._known(plan.cursor)
        assert known is not None
        assert plan.planned_through >= known.planned_through
        known.planned_through, known.next_fire_at = plan.planned_through, plan.next_fire_at
        return sum(self._insert(plan, fire_time) for fire_time in plan.fire_times)

    def _insert(self, plan: Plan, fire_time: datetime) -> bool:
        cursor = plan.cursor
        run_key = tick_key(cursor.schedule_id, fire_time, cursor.version)
        lane = self._tables.lane(cursor.namespace, cursor.schedule_id)
        if run_key in lane.runs or fire_time in lane.taken:
            return False
        record = RunRecord(
            namespace=cursor.namespace,
            run_key=run_key,
            schedule_id=cursor.schedule_id,
            job=plan.job,
            fire_time=fire_time,
            version=cursor.version,
            state=RunState.PLANNED,
            reason=None,
            attempt=0,
            fence=Fence(0),
            epoch=plan.epoch,
            run_at=fire_time,
            started_at=None,
            finished_at=None,
            worker=None,
            error=None,
            queue=cursor.queue,
            priority=cursor.priority,
            payload={},
        )
        self._tables.insert(RunRow(record))
        return True

    def _cursor(self, row: ScheduleRow, version: ScheduleVersion, cursor: CursorRow) -> Cursor:
        schedule, spec = row.schedule, version.spec
        job = self._tables.jobs.get((schedule.namespace, spec.job))
        return Cursor(
            namespace=schedule.namespace,
            schedule_id=schedule.schedule_id,
            shard=schedule.shard,
            version=version.version,
            planned_through=cursor.planned_through,
            spec=spec,
            queue=spec.queue or (job.queue if job else DEFAULT_QUEUE),
            priority=spec.priority or (job.priority if job else PRIORITY_DEFAULT),
            until=cursor.until,
        )
