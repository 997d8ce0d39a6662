"""Plans: what is to be planned, and what was."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from fencepost.model.clocks import StoreTime, later
from fencepost.model.identifiers import DEFAULT_QUEUE, Namespace, ScheduleId, Shard, tick_key
from fencepost.model.job import PRIORITY_BEHIND, PRIORITY_DEFAULT
from fencepost.model.missed import MissedTicks
from fencepost.model.plan import Cursor, Outlived, Plan, PlanningWindow, PlanReceipt, Tick
from fencepost.model.run import Hold, Origin, RunState
from fencepost.model.table import Ranges, Row
from fencepost.model.tables import (
    CURSORS,
    CURSORS_BY_RULES,
    CURSORS_NEXT,
    EPOCHS,
    JOBS,
    MISSED_RANGES,
    RUNS_BY_SCHEDULE,
    RUNS_OPEN,
    VERSIONS,
)
from fencepost.ports.plans import PLANNED_MAX
from fencepost.ports.rows import Transaction
from fencepost.ports.signals import Topic
from fencepost.rules.part import Part, reads, search, writes
from fencepost.rules.rows import to_cursor, to_outlived
from fencepost.rules.runs import put_runs

WITHDRAWN = RunState.WITHDRAWN.value

FireTime: TypeAlias = tuple[str, str, datetime]
"""Namespace, schedule and moment."""


class PlanRules(Part):
    """See `ports.plans`."""

    @reads
    async def window(
        self,
        tx: Transaction,
        shards: Sequence[Shard],
        horizon_s: float,
        limit: int,
        without: Collection[Namespace] = (),
    ) -> PlanningWindow:
        now = await tx.now()
        through, due = later(now, horizon_s), list[Row]()
        every = CURSORS_NEXT.each((shard,) for shard in sorted(set(shards))).through(through)
        if without:
            for one in every.ranges:
                due += await search(tx, one, lambda row: row["namespace"] not in without, limit)
        else:
            due = await tx.find(every, limit=limit)
        due.sort(key=lambda row: (row["next_fire_at"], *CURSORS.key_of(row)))
        cursors = await _with_specs(tx, due[:limit])
        return PlanningWindow(now, through, tuple(map(to_cursor, cursors)))

    @writes
    async def write(self, tx: Transaction, plans: Sequence[Plan]) -> PlanReceipt:
        shards = sorted({plan.cursor.shard for plan in plans})
        epochs = {row["shard"]: row["epoch"] for row in await tx.lock(EPOCHS.among((one,) for one in shards))}
        stale = {plan.cursor.shard for plan in plans if epochs.get(plan.cursor.shard) != plan.epoch}
        fenced = [plan for plan in plans if plan.cursor.shard not in stale]
        known = await _take_cursors(tx, [plan.cursor for plan in fenced])
        fitting, dropped = list[tuple[Plan, Row]](), []
        for plan in fenced:
            cursor = known.get(_place(plan.cursor))
            if cursor is not None and _fits(cursor, plan.cursor) and cursor["touched"] == plan.cursor.touched:
                fitting.append((plan, cursor))
            else:
                dropped.append(plan.cursor.place)
        written = await _write(tx, fitting)
        if written:
            tx.hint(Topic.RUNS)
        return PlanReceipt(written, tuple(sorted(stale)), tuple(dropped))

    @writes
    async def postpone(self, tx: Transaction, cursors: Sequence[Cursor], by_s: float) -> None:
        known = await _take_cursors(tx, cursors)
        moment = later(await tx.now(), by_s)
        fitting = [
            known[place] for one in cursors if (place := _place(one)) in known and _fits(known[place], one)
        ]
        await tx.change(CURSORS, [(cursor, {"next_fire_at": moment}) for cursor in fitting])

    @reads
    async def outlived(
        self, tx: Transaction, shards: Sequence[Shard], tzdata: str, limit: int
    ) -> Sequence[Outlived]:
        now, older = await tx.now(), [CURSORS_BY_RULES(one).before(tzdata) for one in sorted(set(shards))]
        found = await tx.find(Ranges(CURSORS, tuple(older)), limit=limit)
        rows = await _with_specs(tx, found[:limit])
        return [to_outlived({**row, "planned": await _planned_ahead(tx, row, now)}) for row in rows]

    @writes
    async def confirm(
        self, tx: Transaction, confirmed: Sequence[tuple[Cursor, datetime | None]], tzdata: str
    ) -> None:
        known = await _take_cursors(tx, [cursor for cursor, _ in confirmed])
        for cursor, next_fire_at in confirmed:
            row = known.get(_place(cursor))
            if row is not None and _fits(row, cursor) and row["tzdata"] <= tzdata:
                await tx.change(CURSORS, [(row, {"tzdata": tzdata, "next_fire_at": next_fire_at})])


async def taken(tx: Transaction, fire_times: Iterable[FireTime]) -> set[FireTime]:
    """The fire times of schedules that have a run that was not withdrawn."""
    runs = await tx.find(RUNS_BY_SCHEDULE.each(fire_times))
    return {_fire_time(run) for run in runs if run["state"] != WITHDRAWN}


def _fire_time(run: Row) -> FireTime:
    return run["namespace"], run["schedule_id"], run["fire_time"]


async def _take_cursors(tx: Transaction, cursors: Sequence[Cursor]) -> Mapping[Any, Row]:
    """The cursors that are free: an edit may be in a transaction that its caller keeps open for long, and the
    other cursors must not wait for that."""
    rows = await tx.take(CURSORS.among(sorted(map(_place, cursors))))
    return {CURSORS.key_of(row): row for row in rows}


def _place(cursor: Cursor) -> tuple[Namespace, ScheduleId, int]:
    return cursor.namespace, cursor.schedule_id, cursor.version


def _fits(known: Row, cursor: Cursor) -> bool:
    """Whether a cursor is where it was when it was read."""
    return (
        known["shard"] == cursor.shard
        and known["next_fire_at"] is not None
        and known["planned_through"] == cursor.planned_through
        and known["until"] == cursor.until
    )


async def _write(tx: Transaction, plans: Sequence[tuple[Plan, Row]]) -> int:
    """Write plans, each beside its cursor; how many of their ticks are new."""
    for plan, cursor in plans:
        assert plan.planned_through >= cursor["planned_through"]
        await count_missed(tx, plan)
    moved = [
        {"planned_through": plan.planned_through, "next_fire_at": plan.next_fire_at, "tzdata": plan.tzdata}
        for plan, _ in plans
    ]
    await tx.change(CURSORS, [(cursor, values) for (_, cursor), values in zip(plans, moved, strict=True)])
    rows = [_new_tick(plan, tick, cursor["frozen"]) for plan, cursor in plans for tick in plan.ticks]
    there = await taken(tx, map(_fire_time, rows))
    # Of two versions that fire at the same time the first is written.
    fresh = {place: row for row in reversed(rows) if (place := _fire_time(row)) not in there}
    return len(await put_runs(tx, list(reversed(fresh.values()))))


def _new_tick(plan: Plan, tick: Tick, frozen: bool) -> Row:
    cursor = plan.cursor
    return {
        "namespace": cursor.namespace,
        "run_key": tick_key(cursor.schedule_id, tick.fire_time, cursor.version),
        "schedule_id": cursor.schedule_id,
        "job": plan.job,
        "version": cursor.version,
        "fire_time": tick.fire_time,
        "run_at": tick.run_at,
        "state": RunState.PLANNED.value,
        "queue": cursor.queue,
        "priority": PRIORITY_BEHIND if tick.catches_up else cursor.priority,
        "epoch": plan.epoch,
        "origin": Origin.CATCH_UP.value if tick.catches_up else Origin.LIVE.value,
        "held": Hold.FROZEN.value if frozen else 0,
    }


async def count_missed(tx: Transaction, plan: Plan) -> None:
    """Count the ticks that are missed already: in the range that ended where the cursor stood, or else in a
    new one."""
    for missed in plan.missed:
        await _count_missed(tx, plan.cursor, missed, plan.counted_through(missed))


async def _count_missed(tx: Transaction, cursor: Cursor, missed: MissedTicks, through: datetime) -> None:
    owner = cursor.namespace, cursor.schedule_id
    there = await taken(tx, ((*owner, one) for one in missed.fire_times))
    gone = [one for one in missed.fire_times if (*owner, one) not in there]
    if not gone:
        return
    ranges = await tx.lock(MISSED_RANGES.all(*owner, cursor.version))
    for known in ranges:
        if (known["reason"], known["through"]) == (missed.reason, cursor.planned_through):
            counts = {one: known[one] + len(gone) for one in ("ticks", "untold")}
            more = {"last_at": gone[-1], **counts, "through": through}
            await tx.change(MISSED_RANGES, [(known, more)])
            return
    counted: Row = {"first_at": gone[0], "last_at": gone[-1], "through": through}
    counted |= {"ticks": len(gone), "untold": len(gone)}
    key = {"namespace": owner[0], "schedule_id": owner[1], "version": cursor.version}
    await tx.put_if_absent(MISSED_RANGES, [{**key, **counted, "reason": missed.reason}])


async def _planned_ahead(tx: Transaction, cursor: Row, now: StoreTime) -> list[datetime]:
    ahead = RUNS_OPEN(cursor["namespace"], cursor["schedule_id"]).after(now)
    runs = await search(tx, ahead, lambda run: _is_planned_by(run, cursor), PLANNED_MAX)
    return [run["fire_time"] for run in runs]


def _is_planned_by(run: Row, cursor: Row) -> bool:
    return bool(run["state"] == RunState.PLANNED and run["version"] == cursor["version"])


async def _with_specs(tx: Transaction, cursors: Sequence[Row]) -> list[Row]:
    """Cursors with the spec of their version, and the queue and the priority of its job."""
    rows = await tx.find(VERSIONS.among(sorted(map(CURSORS.key_of, cursors))))
    versions = {VERSIONS.key_of(row): row for row in rows}
    names = sorted({(row["namespace"], row["job"]) for row in rows})
    jobs = {JOBS.key_of(row): row for row in await tx.find(JOBS.among(names))}
    default = {"queue": DEFAULT_QUEUE, "priority": PRIORITY_DEFAULT}
    found = []
    for cursor in cursors:
        version = versions[CURSORS.key_of(cursor)]
        job = jobs.get((version["namespace"], version["job"]), default)
        found.append({**cursor, "spec": version["spec"], "queue": job["queue"], "priority": job["priority"]})
    return found


async def lock_cursors(tx: Transaction, namespace: str, schedule_id: str) -> list[Row]:
    """Before ticks are written beside the planner: a plan in flight is then written before, or comes
    later."""
    return await tx.lock(CURSORS.all(namespace, schedule_id))


async def touch(tx: Transaction, cursors: Sequence[Row]) -> None:
    """Ticks were written beside the planner: plans that it made before are to be dropped."""
    open_ = [cursor for cursor in cursors if cursor["next_fire_at"] is not None]
    await tx.change(CURSORS, [(cursor, {"touched": cursor["touched"] + 1}) for cursor in open_])


def range_at(ranges: Iterable[Row], fire_time: datetime) -> Row | None:
    """The missed range in which a fire time lies."""
    return next((one for one in ranges if one["first_at"] <= fire_time <= one["last_at"]), None)
