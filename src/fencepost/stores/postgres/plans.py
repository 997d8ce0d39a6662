"""Plans in PostgreSQL, fenced by the ledger's own record of epochs.

The invariant: no run of a shard is written under an epoch older than one that the ledger has accepted.
Authoritative is the shard's row in `epochs`. Comparing it is not enough, whatever the isolation level: a
newer leader could be accepted between the comparison and the commit. So the write locks the row
`FOR SHARE`, which a registration waits for, and all of it (fence, cursors, runs) is one statement: one
round trip, no client in the middle of a transaction. A leader whose connection stalls in that statement
blocks its successor until the server notices; the session's timeouts bound that.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from fencepost.model.identifiers import Namespace, Shard, tick_key
from fencepost.model.plan import Plan, PlanningWindow, PlanReceipt
from fencepost.rules.plans import PlanRules
from fencepost.rules.rows import to_cursor
from fencepost.stores.postgres.connection import clean
from fencepost.stores.postgres.part import Accelerated
from fencepost.stores.queries import load_queries

QUERIES = load_queries(__package__, "plans.sql")


class PostgresPlans(Accelerated, PlanRules):
    """See `ports.plans`."""

    async def window(
        self, shards: Sequence[Shard], horizon_s: float, limit: int, without: Collection[Namespace] = ()
    ) -> PlanningWindow:
        rows = await self._database.fetch(
            QUERIES["window"], sorted(set(shards)), horizon_s, limit, list(without)
        )
        moment = rows[0]
        cursors = tuple(to_cursor(row) for row in rows if row["schedule_id"] is not None)
        return PlanningWindow(moment["now"], moment["through"], cursors)

    async def write(self, plans: Sequence[Plan]) -> PlanReceipt:
        # In one order for all writers, so that two of them do not lock each other out.
        plans = sorted(plans, key=lambda plan: plan.cursor.place)
        arguments = _plan_columns(plans) + _tick_columns(plans) + _missed_columns(plans)
        row = await self._database.fetch_one(QUERIES["write"], *arguments)
        assert row is not None
        fenced, advanced = set(row["fenced"]), set(row["advanced"])
        stale = {plan.cursor.shard for plan in plans} - fenced
        dropped = tuple(
            plan.cursor.place
            for number, plan in enumerate(plans)
            if number not in advanced and plan.cursor.shard not in stale
        )
        return PlanReceipt(row["written"], tuple(sorted(stale)), dropped)


def _plan_columns(plans: Sequence[Plan]) -> list[list[Any]]:
    return [
        list(range(len(plans))),
        [plan.cursor.namespace for plan in plans],
        [plan.cursor.schedule_id for plan in plans],
        [plan.cursor.shard for plan in plans],
        [plan.epoch for plan in plans],
        [plan.cursor.version for plan in plans],
        [plan.cursor.planned_through for plan in plans],
        [plan.planned_through for plan in plans],
        [plan.next_fire_at for plan in plans],
        [plan.job for plan in plans],
        [plan.cursor.queue for plan in plans],
        [plan.cursor.priority for plan in plans],
        [plan.cursor.until for plan in plans],
        [plan.tzdata for plan in plans],
        [plan.cursor.touched for plan in plans],
    ]


def _tick_columns(plans: Sequence[Plan]) -> list[list[Any]]:
    ticks = [(number, tick) for number, plan in enumerate(plans) for tick in plan.ticks]
    return [
        [number for number, _ in ticks],
        [
            tick_key(plans[number].cursor.schedule_id, tick.fire_time, plans[number].cursor.version)
            for number, tick in ticks
        ],
        [tick.fire_time for _, tick in ticks],
        [tick.run_at for _, tick in ticks],
        [tick.catches_up for _, tick in ticks],
    ]


def _missed_columns(plans: Sequence[Plan]) -> list[list[Any]]:
    missed = [
        (number, clean(each.reason), moment, plan.counted_through(each))
        for number, plan in enumerate(plans)
        for each in plan.missed
        for moment in each.fire_times
    ]
    return [list(column) for column in zip(*missed, strict=True)] or [[], [], [], []]
