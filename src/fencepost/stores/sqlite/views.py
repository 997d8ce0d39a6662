"""What boards, lists and live streams read, in SQLite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import apsw

from fencepost.model.clocks import StoreTime, later
from fencepost.model.identifiers import JobName, Namespace
from fencepost.model.run import RunState
from fencepost.model.views import TrafficBucket, bucket_start
from fencepost.rules.store import LedgerRules
from fencepost.rules.views import traffic_of
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
        return traffic_of(fetch(connection.execute(QUERIES["fired"], terms)), first, now, bucket_s)

    @reading
    def runs_by_job(
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
