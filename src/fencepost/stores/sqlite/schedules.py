"""Schedules and their versions in SQLite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

import apsw

from fencepost.model.audit import Action, Author
from fencepost.model.clocks import StoreTime
from fencepost.model.codec import schedule_to_text
from fencepost.model.identifiers import Namespace, ScheduleId
from fencepost.model.schedule import Schedule, ScheduleFilter, ScheduleSpec, ScheduleState, ScheduleVersion
from fencepost.model.views import COUNTED_MAX
from fencepost.ports.signals import Topic
from fencepost.stores.rows import to_schedule, to_schedule_version
from fencepost.stores.specs import applied_by_code
from fencepost.stores.sqlite import edits
from fencepost.stores.sqlite.connection import Database
from fencepost.stores.sqlite.edits import QUERIES, Subject
from fencepost.stores.sqlite.moments import fetch, to_us
from fencepost.stores.sqlite.signals import SqliteSignals

EVERYTHING = -1
"""What SQLite takes for no limit."""


class SqliteSchedules:
    """See `ports.schedules`."""

    def __init__(self, database: Database, signals: SqliteSignals) -> None:
        self._database = database
        self._signals = signals

    async def put(
        self,
        namespace: Namespace,
        schedule_id: ScheduleId,
        spec: ScheduleSpec,
        *,
        tzdata: str,
        expected_version: int | None,
        code_digest: str | None = None,
        code_spec: ScheduleSpec | None = None,
        author: Author | None = None,
        admit: Callable[[int], None] | None = None,
    ) -> Schedule | None:
        applied = applied_by_code(spec, code_spec, code_digest)

        def work(connection: apsw.Connection, now: StoreTime) -> Schedule | None:
            subject = self._subject(namespace, schedule_id, connection, now)
            known = subject.read()
            if expected_version not in (None, _visible_version(known)):
                return None
            if admit is not None and not _visible_version(known):
                admit(connection.execute(QUERIES["number"], {"namespace": namespace}).get)
            if _differs(known, spec):
                edits.put(subject, known, spec, tzdata)
            if applied is not None and code_digest is not None:
                edits.record_code(subject, applied, code_digest)
            return subject.note(author, Action.SCHEDULE_PUT, known)

        schedule = await self._database.transact(work)
        if schedule is not None:
            self._signals.hint(Topic.SCHEDULES)
        return schedule

    async def pause(
        self, namespace: Namespace, schedule_id: ScheduleId, reason: str, *, author: Author | None = None
    ) -> bool:
        def work(connection: apsw.Connection, now: StoreTime) -> bool:
            subject = self._subject(namespace, schedule_id, connection, now)
            known = subject.read()
            if known is None or known.state is not ScheduleState.ACTIVE:
                return False
            edits.stop(subject, known, ScheduleState.PAUSED, reason)
            subject.note(author, Action.SCHEDULE_PAUSE, known)
            return True

        return self._hinted(await self._database.transact(work))

    async def resume(
        self,
        namespace: Namespace,
        schedule_id: ScheduleId,
        *,
        tzdata: str | None = None,
        back_s: float = 0.0,
        author: Author | None = None,
    ) -> bool:
        def work(connection: apsw.Connection, now: StoreTime) -> bool:
            subject = self._subject(namespace, schedule_id, connection, now)
            known = subject.read()
            if known is None or known.state is not ScheduleState.PAUSED:
                return False
            edits.resume(subject, known, tzdata, back_s)
            subject.note(author, Action.SCHEDULE_RESUME, known)
            return True

        return self._hinted(await self._database.transact(work))

    async def renew(
        self,
        namespace: Namespace,
        schedule_id: ScheduleId,
        spec: ScheduleSpec,
        *,
        tzdata: str,
        expected_version: int,
        reason: str,
    ) -> Schedule | None:
        def work(connection: apsw.Connection, now: StoreTime) -> Schedule | None:
            subject = self._subject(namespace, schedule_id, connection, now)
            known = subject.read()
            if known is None or known.state is not ScheduleState.ACTIVE:
                return None
            if known.version != expected_version:
                return None
            edits.renew(subject, known, spec, tzdata, reason)
            return subject.read()

        schedule = await self._database.transact(work)
        self._hinted(schedule is not None)
        return schedule

    async def remove(
        self, namespace: Namespace, schedule_id: ScheduleId, *, author: Author | None = None
    ) -> bool:
        def work(connection: apsw.Connection, now: StoreTime) -> bool:
            subject = self._subject(namespace, schedule_id, connection, now)
            known = subject.read()
            if known is None or known.state is ScheduleState.REMOVED:
                return False
            edits.stop(subject, known, ScheduleState.REMOVED, "the schedule was removed")
            subject.note(author, Action.SCHEDULE_REMOVE, known)
            return True

        return self._hinted(await self._database.transact(work))

    async def get(self, namespace: Namespace, schedule_id: ScheduleId) -> Schedule | None:
        def work(connection: apsw.Connection, now: StoreTime) -> Schedule | None:
            return self._subject(namespace, schedule_id, connection, now).read()

        return await self._database.read(work)

    async def page(self, namespace: Namespace, after: ScheduleId | None, limit: int) -> Sequence[Schedule]:
        terms = {"namespace": namespace, "after": after or "", "limit": limit}
        return await self._database.read(partial(_page, terms))

    async def history(
        self,
        namespace: Namespace,
        schedule_id: ScheduleId,
        *,
        after: int = 0,
        limit: int | None = None,
        since: datetime | None = None,
    ) -> Sequence[ScheduleVersion]:
        name = {"namespace": namespace, "schedule_id": schedule_id}
        since_us = None if since is None else to_us(since)
        terms = {**name, "after": after, "limit": EVERYTHING if limit is None else limit, "since": since_us}
        return await self._database.read(partial(_history, terms))

    async def find(self, namespace: Namespace, wanted: ScheduleFilter) -> Sequence[Schedule]:
        return await self._database.read(partial(_find, _terms(namespace, wanted)))

    async def count(self, namespace: Namespace, wanted: ScheduleFilter) -> int:
        return await self._database.read(partial(_count, _terms(namespace, wanted)))

    async def labels(self, namespace: Namespace, limit: int) -> Sequence[str]:
        return await self._database.read(partial(_labels, {"namespace": namespace, "limit": limit}))

    def _subject(
        self,
        namespace: Namespace,
        schedule_id: ScheduleId,
        connection: apsw.Connection,
        now: StoreTime,
    ) -> Subject:
        return Subject(connection, now, namespace, schedule_id)

    def _hinted(self, changed: bool) -> bool:
        if changed:
            self._signals.hint(Topic.SCHEDULES)
        return changed


def _visible_version(known: Schedule | None) -> int:
    return 0 if known is None or known.state is ScheduleState.REMOVED else known.version


def _differs(known: Schedule | None, spec: ScheduleSpec) -> bool:
    if known is None or known.state is ScheduleState.REMOVED:
        return True
    return schedule_to_text(known.spec) != schedule_to_text(spec)


def _page(terms: dict[str, str | int], connection: apsw.Connection, _: StoreTime) -> list[Schedule]:
    return [to_schedule(row) for row in fetch(connection.execute(QUERIES["page"], terms))]


def _history(terms: dict[str, Any], connection: apsw.Connection, _: StoreTime) -> list[ScheduleVersion]:
    rows = fetch(connection.execute(QUERIES["history"], terms))
    return [to_schedule_version(row) for row in rows]


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
