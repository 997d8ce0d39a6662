"""Calendars and their users in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.model.calendar import Behind, CalendarRecord
from fencepost.model.identifiers import Namespace, ScheduleId, Shard
from fencepost.model.json import JsonObject, canonical
from fencepost.ports.calendars import USERS_NAMED_MAX
from fencepost.stores.postgres.connection import Database
from fencepost.stores.queries import load_queries
from fencepost.stores.rows import to_calendar_record

QUERIES = load_queries(__package__, "calendars.sql")


class PostgresCalendars:
    """See `ports.calendars`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, namespace: Namespace, name: str, definition: JsonObject) -> CalendarRecord:
        async with self._database.transaction() as session:
            row = await session.fetchrow(QUERIES["put"], namespace, name, canonical(definition))
            if row is None:
                row = await session.fetchrow(QUERIES["get"], namespace, name)
            else:
                await session.fetch(QUERIES["tell"])
            assert row is not None, "a calendar that was left as it is stays locked until it has been read"
            return to_calendar_record(row)

    async def get(self, namespace: Namespace, name: str) -> CalendarRecord | None:
        row = await self._database.fetch_one(QUERIES["get"], namespace, name)
        return None if row is None else to_calendar_record(row)

    async def all(self, namespace: Namespace) -> Sequence[CalendarRecord]:
        rows = await self._database.fetch(QUERIES["all"], namespace)
        return [to_calendar_record(row) for row in rows]

    async def remove(self, namespace: Namespace, name: str) -> Sequence[ScheduleId] | None:
        async with self._database.transaction() as session:
            if await session.fetchrow(QUERIES["lock"], namespace, name) is None:
                return None
            rows = await session.fetch(QUERIES["users"], namespace, name, USERS_NAMED_MAX)
            if not rows:
                await session.fetch(QUERIES["remove"], namespace, name)
                await session.fetch(QUERIES["tell"])
            return [row["schedule_id"] for row in rows]

    async def users(self, namespace: Namespace, name: str, limit: int) -> Sequence[ScheduleId]:
        rows = await self._database.fetch(QUERIES["users"], namespace, name, limit)
        return [row["schedule_id"] for row in rows]

    async def behind(self, shards: Sequence[Shard], limit: int) -> Sequence[Behind]:
        rows = await self._database.fetch(QUERIES["behind"], sorted(set(shards)), limit)
        return [Behind(*row) for row in rows]
