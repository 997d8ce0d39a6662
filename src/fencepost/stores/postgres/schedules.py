"""Lists of schedules in PostgreSQL; everything else about schedules is by the rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fencepost.model.identifiers import Namespace
from fencepost.model.schedule import Schedule, ScheduleFilter
from fencepost.model.views import COUNTED_MAX
from fencepost.rules.rows import to_schedule
from fencepost.rules.schedules import ScheduleRules
from fencepost.stores.postgres.part import Accelerated
from fencepost.stores.queries import load_queries

QUERIES = load_queries(__package__, "schedules.sql")


class PostgresSchedules(Accelerated, ScheduleRules):
    """See `ports.schedules`."""

    async def find(self, namespace: Namespace, wanted: ScheduleFilter) -> Sequence[Schedule]:
        rows = await self._database.fetch(QUERIES["find"], *_terms(namespace, wanted), wanted.limit)
        return [to_schedule(row) for row in rows]

    async def count(self, namespace: Namespace, wanted: ScheduleFilter) -> int:
        terms = _terms(namespace, replace(wanted, after=None))
        return int(await self._database.fetch_value(QUERIES["count"], *terms, COUNTED_MAX))

    async def labels(self, namespace: Namespace, limit: int) -> Sequence[str]:
        rows = await self._database.fetch(QUERIES["labels"], namespace, limit)
        return [row["label"] for row in rows]


def _terms(namespace: Namespace, wanted: ScheduleFilter) -> tuple[object, ...]:
    label = wanted.label_terms
    return namespace, wanted.after or "", wanted.state, wanted.text, wanted.job, *label, wanted.frozen
