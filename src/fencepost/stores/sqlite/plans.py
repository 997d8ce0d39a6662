"""Plans in SQLite: epochs compared, cursors moved by compare-and-set, runs written, in one transaction."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from functools import partial

import apsw

from fencepost.model.clocks import StoreTime, later
from fencepost.model.driving import finish_now
from fencepost.model.identifiers import DEFAULT_QUEUE, Namespace, Shard, tick_key
from fencepost.model.job import PRIORITY_BEHIND, PRIORITY_DEFAULT
from fencepost.model.plan import Plan, PlanningWindow, PlanReceipt
from fencepost.model.run import Hold, Origin
from fencepost.rules.checks import Checked
from fencepost.rules.plans import PlanRules, count_missed
from fencepost.rules.rows import to_cursor
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.moments import fetch, to_us
from fencepost.stores.sqlite.part import SqlitePart
from fencepost.stores.sqlite.rows import SqliteRowTransaction

QUERIES = load_queries("fencepost.stores.sqlite", "plans.sql")


class SqlitePlans(SqlitePart, PlanRules):
    """See `ports.plans`."""

    async def window(
        self, shards: Sequence[Shard], horizon_s: float, limit: int, without: Collection[Namespace] = ()
    ) -> PlanningWindow:
        return await self._database.read(partial(_window, shards, horizon_s, limit, without))

    async def write(self, plans: Sequence[Plan]) -> PlanReceipt:
        receipt = await self._database.transact(partial(_write, plans))
        self._hint_if(receipt.runs_written > 0)
        return receipt


def _window(
    shards: Sequence[Shard],
    horizon_s: float,
    limit: int,
    without: Collection[Namespace],
    connection: apsw.Connection,
    now: StoreTime,
) -> PlanningWindow:
    through = later(now, horizon_s)
    terms = {
        "shards": json.dumps(list(shards)),
        "through": to_us(through),
        "limit": limit,
        "without": json.dumps(list(without)),
        "queue": DEFAULT_QUEUE,
        "priority": PRIORITY_DEFAULT,
    }
    rows = fetch(connection.execute(QUERIES["window"], terms))
    return PlanningWindow(now, through, tuple(to_cursor(row) for row in rows))


def _write(plans: Sequence[Plan], connection: apsw.Connection, now: StoreTime) -> PlanReceipt:
    stale = _stale_shards(connection, plans)
    fenced = [plan for plan in plans if plan.cursor.shard not in stale]
    advanced = connection.executemany(QUERIES["advance"], _advances(fenced))
    fitting = [(fenced[place], Hold.FROZEN if frozen else Hold.NONE) for place, frozen in advanced]
    tx = Checked(SqliteRowTransaction(connection, now))
    for plan, _held in fitting:
        finish_now(count_missed(tx, plan))
    before = connection.total_changes()
    runs = [run for plan, held in fitting for run in _runs(plan, held)]
    connection.execute(QUERIES["plan"], {"runs": json.dumps(runs), "now": to_us(now)})
    written = connection.total_changes() - before
    done = {plan.cursor.place for plan, _held in fitting}
    dropped = tuple(place for plan in fenced if (place := plan.cursor.place) not in done)
    return PlanReceipt(written, tuple(sorted(stale)), dropped)


def _stale_shards(connection: apsw.Connection, plans: Sequence[Plan]) -> set[Shard]:
    shards = json.dumps(sorted({plan.cursor.shard for plan in plans}))
    accepted = dict(connection.execute(QUERIES["epochs"], {"shards": shards}))
    return {plan.cursor.shard for plan in plans if accepted.get(plan.cursor.shard) != plan.epoch}


def _advances(plans: Sequence[Plan]) -> Iterator[dict[str, str | int | None]]:
    for place, plan in enumerate(plans):
        assert plan.planned_through >= plan.cursor.planned_through, "a plan never goes back"
        yield {
            "place": place,
            "namespace": plan.cursor.namespace,
            "schedule_id": plan.cursor.schedule_id,
            "version": plan.cursor.version,
            "from": to_us(plan.cursor.planned_through),
            "until": _to_us_if_any(plan.cursor.until),
            "planned_through": to_us(plan.planned_through),
            "next_fire_at": _to_us_if_any(plan.next_fire_at),
            "tzdata": plan.tzdata,
            "touched": plan.cursor.touched,
            "shard": plan.cursor.shard,
        }


def _to_us_if_any(moment: datetime | None) -> int | None:
    return None if moment is None else to_us(moment)


def _runs(plan: Plan, held: Hold) -> Iterator[list[str | int]]:
    """The columns of each run, in the order of `plan`."""
    cursor = plan.cursor
    for fire_time, run_at, catches_up in plan.ticks:
        yield [
            cursor.namespace,
            tick_key(cursor.schedule_id, fire_time, cursor.version),
            cursor.schedule_id,
            plan.job,
            to_us(fire_time),
            cursor.version,
            plan.epoch,
            cursor.queue,
            PRIORITY_BEHIND if catches_up else cursor.priority,
            to_us(run_at),
            Origin.CATCH_UP if catches_up else Origin.LIVE,
            int(held),
        ]
