"""Lists of schedules in PostgreSQL; everything else about schedules is by the rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fencepost.model.identifiers import Namespace, ScheduleId
from fencepost.model.schedule import Schedule, ScheduleFilter
from fencepost.model.views import COUNTED_MAX
from fencepost.rules.rows import to_schedule
from fencepost.rules.schedules import ScheduleRules
from fencepost.stores.postgres.connection import Database
from fencepost.stores.postgres.rows import PostgresRows
from fencepost.stores.queries import load_queries

QUERIES = load_queries(__package__, "schedules.sql")
FIND, COUNT = (f"{QUERIES['wanted']} {QUERIES[name]}" for name in ("find", "count"))
PAGE = f"{QUERIES['page']} {QUERIES['find']}"


class PostgresSchedules(ScheduleRules):
    """See `ports.schedules`."""

    def __init__(self, rows: PostgresRows, database: Database) -> None:
        super().__init__(rows)
        self._database = database

    async def page(self, namespace: Namespace, after: ScheduleId | None, limit: int) -> Sequence[Schedule]:
        rows = await self._database.fetch(PAGE, namespace, after or "", limit)
        return [to_schedule(row) for row in rows]

    async def find(self, namespace: Namespace, wanted: ScheduleFilter) -> Sequence[Schedule]:
        rows = await self._database.fetch(FIND, *_terms(namespace, wanted), wanted.limit)
        return [to_schedule(row) for row in rows]

    async def count(self, namespace: Namespace, wanted: ScheduleFilter) -> int:
        terms = _terms(namespace, replace(wanted, after=None))
        return int(await self._database.fetch_value(COUNT, *terms, COUNTED_MAX))

    async def labels(self, namespace: Namespace, limit: int) -> Sequence[str]:
        rows = await self._database.fetch(QUERIES["labels"], namespace, limit)
        return [row["label"] for row in rows]


def _terms(namespace: Namespace, wanted: ScheduleFilter) -> tuple[object, ...]:
    label = wanted.label_terms
    return namespace, wanted.after or "", wanted.state, wanted.text, wanted.job, *label, wanted.frozen
