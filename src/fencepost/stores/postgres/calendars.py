"""Calendars and their users in PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fencepost.model.audit import Action, Author
from fencepost.model.calendar import Behind, CalendarRecord
from fencepost.model.identifiers import Namespace, ScheduleId, Shard
from fencepost.model.json import JsonObject, canonical
from fencepost.ports.calendars import USERS_NAMED_MAX
from fencepost.rules.rows import to_calendar_record
from fencepost.stores.postgres.audit_log import Change, log
from fencepost.stores.postgres.connection import Database
from fencepost.stores.queries import load_queries

if TYPE_CHECKING:
    from fencepost.stores.postgres.connection import Session

QUERIES = load_queries(__package__, "calendars.sql")


class PostgresCalendars:
    """See `ports.calendars`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(
        self,
        namespace: Namespace,
        name: str,
        definition: JsonObject,
        *,
        expected_revision: int | None = None,
        author: Author | None = None,
    ) -> CalendarRecord | None:
        key = namespace, name
        async with self._database.transaction() as session:
            if await session.fetchrow(QUERIES["take"], *key) is None:
                if expected_revision:
                    return None
                await session.fetch(QUERIES["create"], *key)
            known = await session.fetchval(QUERIES["take"], *key)
            row = await session.fetchrow(QUERIES["put"], *key, canonical(definition), expected_revision)
            if row is None:
                return await self._left(session, namespace, name, expected_revision)
            before = {} if known is None else json.loads(known)
            await log(session, namespace, author, Action.CALENDAR_PUT, Change(name, before, definition))
            await session.fetch(QUERIES["tell"])
            return to_calendar_record(row)

    async def _left(
        self, session: Session, namespace: Namespace, name: str, expected_revision: int | None
    ) -> CalendarRecord | None:
        """A calendar that was left as it is, and stays locked until it has been read; None where it is not
        the expected one."""
        row = await session.fetchrow(QUERIES["get"], namespace, name)
        if row is None or expected_revision not in (None, row["revision"]):
            return None
        return to_calendar_record(row)

    async def get(self, namespace: Namespace, name: str) -> CalendarRecord | None:
        row = await self._database.fetch_one(QUERIES["get"], namespace, name)
        return None if row is None else to_calendar_record(row)

    async def all(self, namespace: Namespace) -> Sequence[CalendarRecord]:
        rows = await self._database.fetch(QUERIES["all"], namespace)
        return [to_calendar_record(row) for row in rows]

    async def remove(
        self,
        namespace: Namespace,
        name: str,
        *,
        expected_revision: int | None = None,
        author: Author | None = None,
    ) -> Sequence[ScheduleId] | None:
        async with self._database.transaction() as session:
            known = await session.fetchrow(QUERIES["lock"], namespace, name, expected_revision)
            if known is None:
                return None
            rows = await session.fetch(QUERIES["users"], namespace, [name], USERS_NAMED_MAX)
            if not rows:
                await session.fetch(QUERIES["remove"], namespace, name)
                change = Change(name, json.loads(known["definition"]), {})
                await log(session, namespace, author, Action.CALENDAR_REMOVE, change)
                await session.fetch(QUERIES["tell"])
            return [row["schedule_id"] for row in rows]

    async def users(
        self, namespace: Namespace, names: Sequence[str], limit: int
    ) -> Mapping[str, Sequence[ScheduleId]]:
        found: dict[str, list[ScheduleId]] = {name: [] for name in names}
        for row in await self._database.fetch(QUERIES["users"], namespace, list(found), limit):
            found[row["calendar"]].append(row["schedule_id"])
        return found

    async def behind(self, shards: Sequence[Shard], limit: int) -> Sequence[Behind]:
        rows = await self._database.fetch(QUERIES["behind"], sorted(set(shards)), limit)
        return [Behind(*row) for row in rows]
