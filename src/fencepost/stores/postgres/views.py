"""What boards, lists and live streams read, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from fencepost.model.clocks import StoreTime, later
from fencepost.model.identifiers import JobName, Namespace, ScheduleId
from fencepost.model.run import RunState
from fencepost.model.times import from_epoch_s
from fencepost.model.views import (
    COUNTED_MAX,
    ERROR_SHOWN_MAX,
    News,
    Outcomes,
    RunNews,
    ScheduleOutcomes,
    Standing,
    TrafficBucket,
    every_bucket,
)
from fencepost.rules.views import to_run_news, to_standing
from fencepost.stores.postgres.connection import Row
from fencepost.stores.postgres.part import PostgresPart
from fencepost.stores.queries import load_queries

QUERIES = load_queries(__package__, "views.sql")

# The news come as arrays of rows without names; these are the names, in the query's order.
TOLD_COLUMNS = tuple(one.name for one in fields(RunNews))
STANDING_COLUMNS = ("namespace", *(one.name for one in fields(Standing)))


class PostgresViews(PostgresPart):
    """See `ports.views`."""

    async def outcomes_of_runs(
        self,
        namespace: Namespace,
        schedule_ids: Sequence[ScheduleId],
        edges: Sequence[datetime],
        each: int,
        late_s: float,
    ) -> Mapping[ScheduleId, ScheduleOutcomes]:
        terms = namespace, list(schedule_ids), list(edges), each, late_s
        found: dict[ScheduleId, list[Row]] = {}
        for row in await self._database.fetch(QUERIES["outcomes"], *terms):
            found.setdefault(row["schedule_id"], []).append(row)
        return {one: _outcomes(rows) for one, rows in found.items()}

    async def traffic(self, namespace: Namespace, since_s: float, bucket_s: int) -> Sequence[TrafficBucket]:
        row = await self._database.fetch_one(QUERIES["traffic"], namespace, since_s, bucket_s)
        assert row is not None
        now: StoreTime = row["now"]
        return every_bucket(_buckets(row), later(now, -since_s), now, bucket_s)

    async def runs_by_job(
        self, namespace: Namespace, since_s: float
    ) -> Mapping[JobName, Mapping[RunState, int]]:
        counts: dict[JobName, dict[RunState, int]] = {}
        for row in await self._database.fetch(QUERIES["tally_by_job"], namespace, since_s):
            counts.setdefault(row["job"], {})[RunState(row["state"])] = row["runs"]
        return counts

    async def overdue(self, namespace: Namespace, since_s: float, late_s: float) -> int:
        row = await self._database.fetch_one(QUERIES["overdue"], namespace, since_s, late_s)
        assert row is not None
        return int(row["runs"])

    async def news(self, since: StoreTime, limit: int, namespaces: Sequence[Namespace]) -> News:
        terms = since, limit + 1, COUNTED_MAX, ERROR_SHOWN_MAX, list(namespaces)
        row = await self._database.fetch_one(QUERIES["news"], *terms)
        assert row is not None
        told = [to_run_news(_named(TOLD_COLUMNS, one)) for one in row["runs"]]
        stand = [_named(STANDING_COLUMNS, one) for one in row["standings"]]
        standings = {Namespace(one["namespace"]): to_standing(one) for one in stand}
        return News(row["now"], tuple(told[:limit]), len(told) > limit, standings, row["leases_at"])


def _outcomes(rows: Sequence[Row]) -> ScheduleOutcomes:
    stretches: dict[int, tuple[Outcomes, ...]] = {}
    for row in rows:
        if row["state"] is None:
            continue
        one = Outcomes(RunState(row["state"]), row["late"], row["runs"], row["run_key"])
        stretches[row["stretch"]] = (*stretches.get(row["stretch"], ()), one)
    return ScheduleOutcomes(stretches, rows[0]["known_from"])


def _buckets(row: Row) -> list[TrafficBucket]:
    counts: dict[int, dict[RunState, int]] = {}
    for at_s, state, runs in row["counts"]:
        counts.setdefault(at_s, {})[RunState(state)] = runs
    parts = {at_s: found for at_s, *found in row["parts"]}
    return [TrafficBucket(from_epoch_s(at_s), found, *parts[at_s]) for at_s, found in counts.items()]


def _named(columns: tuple[str, ...], values: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(columns, values, strict=True))
