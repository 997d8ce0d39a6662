"""Calendars and their users in SQLite."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import apsw

from fencepost.model.audit import Action, Author
from fencepost.model.calendar import Behind, CalendarRecord
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace, ScheduleId, Shard
from fencepost.model.json import JsonObject, canonical
from fencepost.ports.calendars import USERS_NAMED_MAX
from fencepost.ports.signals import Topic
from fencepost.stores.queries import load_queries
from fencepost.stores.rows import to_calendar_record
from fencepost.stores.sqlite.audit_log import note
from fencepost.stores.sqlite.connection import Database
from fencepost.stores.sqlite.moments import fetch, to_us
from fencepost.stores.sqlite.signals import SqliteSignals

QUERIES = load_queries("fencepost.stores.sqlite", "calendars.sql")


class SqliteCalendars:
    """See `ports.calendars`."""

    def __init__(self, database: Database, signals: SqliteSignals) -> None:
        self._database = database
        self._signals = signals

    async def put(
        self,
        namespace: Namespace,
        name: str,
        definition: JsonObject,
        *,
        expected_revision: int | None = None,
        author: Author | None = None,
    ) -> CalendarRecord | None:
        def work(connection: apsw.Connection, now: StoreTime) -> tuple[CalendarRecord | None, bool]:
            before = _get(connection, namespace, name)
            terms = {"definition": canonical(definition), "now": to_us(now), "expected": expected_revision}
            connection.execute(QUERIES["put"], {**terms, "namespace": namespace, "name": name})
            after = _get(connection, namespace, name)
            if after is not None and before != after:
                said = _logged(before), after.definition
                note(connection, now, namespace, author, Action.CALENDAR_PUT, name, *said)
            is_expected = expected_revision in (None, before.revision if before else 0)
            return after if is_expected else None, before != after

        record, changed = await self._database.transact(work)
        if changed:
            self._signals.hint(Topic.CALENDARS)
        return record

    async def get(self, namespace: Namespace, name: str) -> CalendarRecord | None:
        return await self._database.read(lambda connection, _: _get(connection, namespace, name))

    async def all(self, namespace: Namespace) -> Sequence[CalendarRecord]:
        def work(connection: apsw.Connection, _: StoreTime) -> list[CalendarRecord]:
            rows = fetch(connection.execute(QUERIES["all"], {"namespace": namespace}))
            return [to_calendar_record(row) for row in rows]

        return await self._database.read(work)

    async def remove(
        self,
        namespace: Namespace,
        name: str,
        *,
        expected_revision: int | None = None,
        author: Author | None = None,
    ) -> Sequence[ScheduleId] | None:
        def work(connection: apsw.Connection, now: StoreTime) -> Sequence[ScheduleId] | None:
            known = _get(connection, namespace, name)
            if known is None or expected_revision not in (None, known.revision):
                return None
            users = _users(connection, namespace, [name], USERS_NAMED_MAX)[name]
            if not users:
                terms = {"namespace": namespace, "name": name, "now": to_us(now)}
                connection.execute(QUERIES["remove"], terms)
                note(connection, now, namespace, author, Action.CALENDAR_REMOVE, name, _logged(known), {})
            return users

        users = await self._database.transact(work)
        if users is not None and not users:
            self._signals.hint(Topic.CALENDARS)
        return users

    async def users(
        self, namespace: Namespace, names: Sequence[str], limit: int
    ) -> Mapping[str, Sequence[ScheduleId]]:
        return await self._database.read(lambda connection, _: _users(connection, namespace, names, limit))

    async def behind(self, shards: Sequence[Shard], limit: int) -> Sequence[Behind]:
        def work(connection: apsw.Connection, _: StoreTime) -> list[Behind]:
            terms = {"shards": json.dumps(list(shards)), "limit": limit}
            return [Behind(*row) for row in connection.execute(QUERIES["behind"], terms)]

        return await self._database.read(work)


def _get(connection: apsw.Connection, namespace: Namespace, name: str) -> CalendarRecord | None:
    rows = fetch(connection.execute(QUERIES["get"], {"namespace": namespace, "name": name}))
    return to_calendar_record(rows[0]) if rows else None


def _logged(record: CalendarRecord | None) -> JsonObject:
    return {} if record is None else record.definition


def _users(
    connection: apsw.Connection, namespace: Namespace, names: Sequence[str], limit: int
) -> dict[str, list[ScheduleId]]:
    terms = {"namespace": namespace, "names": json.dumps(list(names)), "limit": limit}
    found: dict[str, list[ScheduleId]] = {name: [] for name in names}
    for name, schedule_id in connection.execute(QUERIES["users"], terms):
        found[name].append(schedule_id)
    return found
