"""Lists of schedules in SQLite; everything else about schedules is by the rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import apsw

from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace
from fencepost.model.schedule import Schedule, ScheduleFilter
from fencepost.model.views import COUNTED_MAX
from fencepost.rules.rows import to_schedule
from fencepost.rules.schedules import ScheduleRules
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.moments import fetch
from fencepost.stores.sqlite.part import SqlitePart, reading

QUERIES = load_queries(__package__, "schedules.sql")


class SqliteSchedules(SqlitePart, ScheduleRules):
    """See `ports.schedules`."""

    @reading
    def find(
        self, connection: apsw.Connection, _: StoreTime, namespace: Namespace, wanted: ScheduleFilter
    ) -> Sequence[Schedule]:
        rows = fetch(connection.execute(QUERIES["find"], _terms(namespace, wanted)))
        return [to_schedule(row) for row in rows]

    @reading
    def count(
        self, connection: apsw.Connection, _: StoreTime, namespace: Namespace, wanted: ScheduleFilter
    ) -> int:
        counted: int = connection.execute(QUERIES["count"], _terms(namespace, wanted)).get
        return min(counted, COUNTED_MAX)

    @reading
    def labels(
        self, connection: apsw.Connection, _: StoreTime, namespace: Namespace, limit: int
    ) -> Sequence[str]:
        terms = {"namespace": namespace, "limit": limit}
        return [label for (label,) in connection.execute(QUERIES["labels"], terms)]


def _terms(namespace: Namespace, wanted: ScheduleFilter) -> dict[str, str | int | None]:
    label, value = wanted.label_terms
    terms = {**asdict(wanted), "namespace": namespace, "after": wanted.after or ""}
    return {**terms, "label": label, "label_value": value}
