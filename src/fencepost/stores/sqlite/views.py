"""What boards, lists and live streams read, in SQLite."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import apsw

from fencepost.model.clocks import StoreTime, later
from fencepost.model.identifiers import JobName, Namespace, ScheduleId
from fencepost.model.run import RunState
from fencepost.model.views import (
    COUNTED_MAX,
    News,
    RunMark,
    Standing,
    TrafficBucket,
    bucket_start,
    every_bucket,
    percentile,
    shown_error,
)
from fencepost.rules.view_rows import to_run_mark, to_run_news, to_standing
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.moments import fetch, span_us, to_us

QUERIES = load_queries("fencepost.stores.sqlite", "views.sql")


def strips(
    namespace: Namespace,
    schedule_ids: Sequence[ScheduleId],
    each: int,
    connection: apsw.Connection,
    now: StoreTime,
) -> Mapping[ScheduleId, Sequence[RunMark]]:
    """The last runs of each schedule, oldest first."""
    terms = {"namespace": namespace, "each": each, "now": to_us(now)}
    wanted = {**terms, "schedules": json.dumps(list(dict.fromkeys(schedule_ids)))}
    found: dict[ScheduleId, list[RunMark]] = {}
    for row in fetch(connection.execute(QUERIES["strips"], wanted)):
        found.setdefault(row["schedule_id"], []).append(to_run_mark(row))
    return found


def traffic(
    namespace: Namespace, since_s: float, bucket_s: int, connection: apsw.Connection, now: StoreTime
) -> Sequence[TrafficBucket]:
    """What fired of late, in buckets."""
    first = bucket_start(later(now, -since_s), bucket_s)
    terms = {"namespace": namespace, "since": to_us(first), "now": to_us(now)}
    found: dict[datetime, list[dict[str, Any]]] = {}
    for row in fetch(connection.execute(QUERIES["fired"], terms)):
        found.setdefault(bucket_start(row["fire_time"], bucket_s), []).append(row)
    return every_bucket((_bucket(at, rows) for at, rows in found.items()), first, now, bucket_s)


def tally_by_job(
    namespace: Namespace, since_s: float, connection: apsw.Connection, now: StoreTime
) -> Mapping[JobName, Mapping[RunState, int]]:
    """Runs of late by job and state, as shown."""
    now_us = to_us(now)
    terms = {"namespace": namespace, "now": now_us, "since": now_us - span_us(since_s)}
    counts: dict[JobName, dict[RunState, int]] = {}
    for job, state, runs in connection.execute(QUERIES["tally_by_job"], terms):
        counts.setdefault(job, {})[RunState(state)] = runs
    return counts


def overdue(
    namespace: Namespace, since_s: float, late_s: float, connection: apsw.Connection, now: StoreTime
) -> int:
    """What could be taken and was not, for a while."""
    now_us = to_us(now)
    terms = {"namespace": namespace, "since": now_us - span_us(since_s), "by": now_us - span_us(late_s)}
    (row,) = fetch(connection.execute(QUERIES["overdue"], terms))
    return int(row["runs"])


def news(
    since: StoreTime,
    limit: int,
    namespaces: Sequence[Namespace],
    connection: apsw.Connection,
    now: StoreTime,
) -> News:
    """What happened of late, and how these namespaces stand; one snapshot."""
    terms = {"since": to_us(since), "limit": limit + 1, "namespaces": json.dumps(list(namespaces))}
    rows = fetch(connection.execute(QUERIES["news"], terms))
    told = [to_run_news({**row, "error": shown_error(row["error"])}) for row in rows]
    (leases,) = fetch(connection.execute(QUERIES["leases_at"]))
    standings = {one: _standing(one, connection, now) for one in namespaces}
    return News(now, tuple(told[:limit]), len(told) > limit, standings, leases["leases_at"])


def _standing(namespace: Namespace, connection: apsw.Connection, now: StoreTime) -> Standing:
    terms = {"namespace": namespace, "now": to_us(now), "most": COUNTED_MAX}
    (row,) = fetch(connection.execute(QUERIES["standing"], terms))
    return to_standing(row)


def _bucket(at: datetime, rows: Sequence[dict[str, Any]]) -> TrafficBucket:
    counts = Counter(RunState(row["state"]) for row in rows)
    late = sorted(row["late_s"] for row in rows if row["late_s"] is not None)
    return TrafficBucket(at, counts, percentile(late, 0.5), percentile(late, 0.95), percentile(late, 1.0))
