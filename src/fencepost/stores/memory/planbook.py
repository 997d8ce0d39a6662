"""Plans in memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from fencepost.model.clocks import StoreTime, later
from fencepost.model.identifiers import Namespace, Shard, tick_key
from fencepost.model.job import PRIORITY_BEHIND
from fencepost.model.missed import MissedRange, MissedTicks
from fencepost.model.plan import Cursor, Outlived, Plan, PlanningWindow, PlanReceipt, Tick
from fencepost.model.run import Origin, RunState
from fencepost.model.schedule import ScheduleVersion
from fencepost.ports.planbook import PLANNED_MAX
from fencepost.ports.signals import Topic
from fencepost.stores.memory.lanes import withdrawable
from fencepost.stores.memory.part import MemoryPart
from fencepost.stores.memory.tables import CursorRow, RangeRow, ScheduleRow
from fencepost.stores.memory.writing import NewRow, insert


class MemoryPlanBook(MemoryPart):
    """See `ports.planbook`."""

    async def window(
        self, shards: Sequence[Shard], horizon_s: float, limit: int, without: Collection[Namespace] = ()
    ) -> PlanningWindow:
        now = self._tables.now()
        through = later(now, horizon_s)
        due = [
            (cursor.next_fire_at, self._cursor(row, version, cursor))
            for row in self._tables.schedules.values()
            if row.schedule.shard in shards and row.schedule.namespace not in without
            for version, cursor in zip(row.versions, row.cursors, strict=True)
            if cursor.next_fire_at is not None and cursor.next_fire_at <= through
        ]
        due.sort(key=lambda pair: (pair[0], pair[1].namespace, pair[1].schedule_id, pair[1].version))
        return PlanningWindow(now, through, tuple(cursor for _, cursor in due[:limit]))

    async def write(self, plans: Sequence[Plan]) -> PlanReceipt:
        stale = {plan.cursor.shard for plan in plans if not self._accepted(plan)}
        fenced = [plan for plan in plans if plan.cursor.shard not in stale]
        fitting = [plan for plan in fenced if self._fits(plan.cursor) and self._is_untouched(plan.cursor)]
        written = sum(self._write(plan) for plan in fitting)
        if written:
            self._signals.hint(Topic.RUNS)
        done = {plan.cursor.place for plan in fitting}
        dropped = tuple(place for plan in fenced if (place := plan.cursor.place) not in done)
        return PlanReceipt(written, tuple(sorted(stale)), dropped)

    async def postpone(self, cursors: Sequence[Cursor], by_s: float) -> None:
        moment = later(self._tables.now(), by_s)
        for cursor in cursors:
            known = self._known(cursor)
            if known is not None and self._fits(cursor):
                known.next_fire_at = moment

    async def outlived(self, shards: Sequence[Shard], tzdata: str, limit: int) -> Sequence[Outlived]:
        now = self._tables.now()
        found = (
            self._outlived(row, version, cursor, cursor.next_fire_at, now)
            for row in self._tables.schedules.values()
            if row.schedule.shard in shards
            for version, cursor in zip(row.versions, row.cursors, strict=True)
            if cursor.until is None and cursor.next_fire_at is not None and cursor.tzdata < tzdata
        )
        return list(islice(found, limit))

    async def confirm(self, confirmed: Sequence[tuple[Cursor, datetime | None]], tzdata: str) -> None:
        for cursor, next_fire_at in confirmed:
            known = self._known(cursor)
            if known is not None and self._fits(cursor) and known.tzdata <= tzdata:
                known.tzdata, known.next_fire_at = tzdata, next_fire_at

    def _accepted(self, plan: Plan) -> bool:
        known = self._tables.leaders.get(plan.cursor.shard)
        return known is not None and known.epoch == plan.epoch

    def _fits(self, cursor: Cursor) -> bool:
        known = self._known(cursor)
        row = self._tables.schedules.get((cursor.namespace, cursor.schedule_id))
        return (
            row is not None
            and row.schedule.shard == cursor.shard
            and known is not None
            and known.next_fire_at is not None
            and known.planned_through == cursor.planned_through
            and known.until == cursor.until
        )

    def _is_untouched(self, cursor: Cursor) -> bool:
        known = self._known(cursor)
        return known is not None and known.touched == cursor.touched

    def _known(self, cursor: Cursor) -> CursorRow | None:
        row = self._tables.schedules.get((cursor.namespace, cursor.schedule_id))
        if row is None or cursor.version > len(row.cursors):
            return None
        return row.cursors[cursor.version - 1]

    def _write(self, plan: Plan) -> int:
        known = self._known(plan.cursor)
        assert known is not None
        assert plan.planned_through >= known.planned_through
        for number, missed in enumerate(plan.missed, start=1):
            last = number == len(plan.missed) and not plan.ticks
            self._count_missed(plan, missed, plan.planned_through if last else missed.fire_times[-1])
        known.planned_through, known.next_fire_at = plan.planned_through, plan.next_fire_at
        known.tzdata = plan.tzdata
        return sum(self._insert(plan, tick) for tick in plan.ticks)

    def _count_missed(self, plan: Plan, missed: MissedTicks, through: datetime) -> None:
        """In the range that ended where the cursor stood, or else in a new one."""
        cursor = plan.cursor
        owner = cursor.namespace, cursor.schedule_id
        gone = [one for one in missed.fire_times if one not in self._tables.lane(*owner).taken]
        if not gone:
            return
        ranges = self._tables.missed.setdefault(owner, [])
        for row in ranges:
            same = (row.shown.version, row.shown.reason) == (cursor.version, missed.reason)
            if same and row.through == cursor.planned_through:
                row.shown = replace(row.shown, last=gone[-1], count=row.shown.count + len(gone))
                row.through = through
                return
        counted = MissedRange(*owner, cursor.version, gone[0], gone[-1], len(gone), missed.reason)
        ranges.append(RangeRow(counted, through))

    def _insert(self, plan: Plan, tick: Tick) -> bool:
        cursor = plan.cursor
        run_key = tick_key(cursor.schedule_id, tick.fire_time, cursor.version)
        lane = self._tables.lane(cursor.namespace, cursor.schedule_id)
        if run_key in lane.runs or tick.fire_time in lane.taken:
            return False
        new = NewRow(
            namespace=cursor.namespace,
            run_key=run_key,
            schedule_id=cursor.schedule_id,
            job=plan.job,
            version=cursor.version,
            fire_time=tick.fire_time,
            run_at=tick.run_at,
            state=RunState.PLANNED,
            queue=cursor.queue,
            priority=PRIORITY_BEHIND if tick.catches_up else cursor.priority,
            payload={},
            epoch=plan.epoch,
            origin=Origin.CATCH_UP if tick.catches_up else Origin.LIVE,
        )
        insert(self._tables, new)
        return True

    def _outlived(
        self,
        row: ScheduleRow,
        version: ScheduleVersion,
        cursor: CursorRow,
        next_fire_at: datetime,
        now: StoreTime,
    ) -> Outlived:
        runs = self._tables.runs_of(row.schedule.namespace, row.schedule.schedule_id)
        ahead = [
            run.record.fire_time
            for run in runs
            if withdrawable(run, now) and run.record.version == version.version
        ]
        return Outlived(self._cursor(row, version, cursor), next_fire_at, tuple(ahead[:PLANNED_MAX]))

    def _cursor(self, row: ScheduleRow, version: ScheduleVersion, cursor: CursorRow) -> Cursor:
        schedule, spec = row.schedule, version.spec
        queue, priority = self._tables.place_of(schedule.namespace, spec)
        return Cursor(
            namespace=schedule.namespace,
            schedule_id=schedule.schedule_id,
            shard=schedule.shard,
            version=version.version,
            planned_through=cursor.planned_through,
            spec=spec,
            queue=queue,
            priority=priority,
            until=cursor.until,
            tzdata=cursor.tzdata,
            touched=cursor.touched,
        )
