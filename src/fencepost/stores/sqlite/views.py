"""What boards, lists and live streams read, in SQLite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import apsw

from fencepost.model.clocks import StoreTime, later
from fencepost.model.identifiers import JobName, Namespace
from fencepost.model.run import RunState
from fencepost.model.views import TrafficBucket, bucket_start, every_bucket, percentile
from fencepost.rules.store import LedgerRules
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.moments import fetch, span_us, to_us
from fencepost.stores.sqlite.part import SqlitePart, reading

QUERIES = load_queries(__package__, "views.sql")


class SqliteViews(SqlitePart, LedgerRules):
    """See `ports.views`."""

    @reading
    def traffic(
        self, connection: apsw.Connection, now: StoreTime, namespace: Namespace, since_s: float, bucket_s: int
    ) -> Sequence[TrafficBucket]:
        first = bucket_start(later(now, -since_s), bucket_s)
        terms = {"namespace": namespace, "since": to_us(first), "now": to_us(now)}
        found: dict[datetime, list[dict[str, Any]]] = {}
        for row in fetch(connection.execute(QUERIES["fired"], terms)):
            found.setdefault(bucket_start(row["fire_time"], bucket_s), []).append(row)
        return every_bucket((_bucket(at, rows) for at, rows in found.items()), first, now, bucket_s)

    @reading
    def tally_by_job(
        self, connection: apsw.Connection, now: StoreTime, namespace: Namespace, since_s: float
    ) -> Mapping[JobName, Mapping[RunState, int]]:
        now_us = to_us(now)
        terms = {"namespace": namespace, "now": now_us, "since": now_us - span_us(since_s)}
        counts: dict[JobName, dict[RunState, int]] = {}
        for job, state, runs in connection.execute(QUERIES["tally_by_job"], terms):
            counts.setdefault(job, {})[RunState(state)] = runs
        return counts

    @reading
    def overdue(
        self, connection: apsw.Connection, now: StoreTime, namespace: Namespace, since_s: float, late_s: float
    ) -> int:
        now_us = to_us(now)
        terms = {"namespace": namespace, "since": now_us - span_us(since_s), "by": now_us - span_us(late_s)}
        (row,) = fetch(connection.execute(QUERIES["overdue"], terms))
        return int(row["runs"])


def _bucket(at: datetime, rows: Sequence[dict[str, Any]]) -> TrafficBucket:
    counts = Counter(RunState(row["state"]) for row in rows)
    late = sorted(row["late_s"] for row in rows if row["late_s"] is not None)
    return TrafficBucket(at, counts, percentile(late, 0.5), percentile(late, 0.95), percentile(late, 1.0))
