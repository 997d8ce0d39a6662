"""Lists of schedules in SQLite; everything else about schedules is by the rules."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import apsw

from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace, ScheduleId
from fencepost.model.schedule import Schedule, ScheduleFilter
from fencepost.model.views import COUNTED_MAX
from fencepost.rules.rows import to_schedule
from fencepost.rules.schedules import ScheduleRules
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.connection import Database
from fencepost.stores.sqlite.moments import fetch
from fencepost.stores.sqlite.rows import SqliteRows

QUERIES = load_queries("fencepost.stores.sqlite", "schedules.sql")


class SqliteSchedules(ScheduleRules):
    """See `ports.schedules`."""

    def __init__(self, rows: SqliteRows, database: Database) -> None:
        super().__init__(rows)
        self._database = database

    async def page(self, namespace: Namespace, after: ScheduleId | None, limit: int) -> Sequence[Schedule]:
        terms = {"namespace": namespace, "after": after or "", "limit": limit}
        return await self._database.read(partial(_page, terms))

    async def find(self, namespace: Namespace, wanted: ScheduleFilter) -> Sequence[Schedule]:
        return await self._database.read(partial(_find, _terms(namespace, wanted)))

    async def count(self, namespace: Namespace, wanted: ScheduleFilter) -> int:
        return await self._database.read(partial(_count, _terms(namespace, wanted)))

    async def labels(self, namespace: Namespace, limit: int) -> Sequence[str]:
        return await self._database.read(partial(_labels, {"namespace": namespace, "limit": limit}))


def _page(terms: dict[str, str | int], connection: apsw.Connection, _: StoreTime) -> list[Schedule]:
    return [to_schedule(row) for row in fetch(connection.execute(QUERIES["page"], terms))]


def _terms(namespace: Namespace, wanted: ScheduleFilter) -> dict[str, str | int | None]:
    label, label_value = wanted.label_terms
    return {
        "namespace": namespace,
        "after": wanted.after or "",
        "text": wanted.text,
        "state": wanted.state,
        "job": wanted.job,
        "label": label,
        "label_value": label_value,
        "frozen": wanted.frozen,
        "limit": wanted.limit,
    }


def _find(terms: dict[str, str | int | None], connection: apsw.Connection, _: StoreTime) -> list[Schedule]:
    query = f"{QUERIES['find']} {QUERIES['wanted']}"
    return [to_schedule(row) for row in fetch(connection.execute(query, terms))]


def _count(terms: dict[str, str | int | None], connection: apsw.Connection, _: StoreTime) -> int:
    counted: int = connection.execute(f"{QUERIES['count']} {QUERIES['wanted']}", {**terms, "limit": 1}).get
    return min(counted, COUNTED_MAX)


def _labels(terms: dict[str, str | int], connection: apsw.Connection, _: StoreTime) -> list[str]:
    return [label for (label,) in connection.execute(QUERIES["labels"], terms)]
