"""Schedules and their history in PostgreSQL.

Every change locks the schedule's row and its cursors first, and reads and writes in later statements of
the same transaction, whose snapshots then hold all that a planner or a worker did before it let go.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from fencepost.model.audit import Action, Author
from fencepost.model.calendar import calendar_revisions
from fencepost.model.codec import schedule_from_text, schedule_to_text
from fencepost.model.identifiers import Namespace, ScheduleId, shard_of
from fencepost.model.run import Hold
from fencepost.model.schedule import Schedule, ScheduleFilter, ScheduleSpec, ScheduleState, ScheduleVersion
from fencepost.model.views import COUNTED_MAX
from fencepost.rules.desk_rows import logged_schedule
from fencepost.rules.rows import to_schedule, to_schedule_version
from fencepost.rules.specs import applied_by_code
from fencepost.stores.postgres.audit_log import Change as Entered
from fencepost.stores.postgres.audit_log import log
from fencepost.stores.postgres.connection import Database, clean
from fencepost.stores.postgres.epochs import share_shards
from fencepost.stores.postgres.freezes import settle, share_turn
from fencepost.stores.queries import load_queries

if TYPE_CHECKING:
    from fencepost.stores.postgres.connection import Row, Session

QUERIES = load_queries(__package__, "schedules.sql")
FIND, COUNT = (f"{QUERIES['wanted']} {QUERIES[name]}" for name in ("find", "count"))
PAGE = f"{QUERIES['page']} {QUERIES['find']}"


class PostgresSchedules:
    """See `ports.schedules`."""

    def __init__(self, database: Database) -> None:
        self._database = database

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
        async with self._database.transaction() as session:
            change = _Change(session, namespace, schedule_id)
            if admit is not None and not expected_version:
                await session.fetch(QUERIES["one_adds"], namespace)
            row = await change.lock()
            if expected_version not in (None, _visible_version(row)):
                return None
            row = row or await change.create()
            if expected_version not in (None, _visible_version(row)):
                return None
            if admit is not None and not _visible_version(row):
                admit(await session.fetchval(QUERIES["number"], namespace))
            before = await change.get()
            await change.edit(row, spec, tzdata)
            if applied is not None:
                await change.run("record_code", schedule_to_text(applied), code_digest)
            await session.fetch(QUERIES["tell"])
            after = await change.log(author, Action.SCHEDULE_PUT, before)
            assert after is not None
            return after

    async def pause(
        self, namespace: Namespace, schedule_id: ScheduleId, reason: str, *, author: Author | None = None
    ) -> bool:
        async with self._database.transaction() as session:
            change = _Change(session, namespace, schedule_id)
            row = await change.lock()
            if row is None or row["state"] != ScheduleState.ACTIVE:
                return False
            before = await change.get()
            await change.stop(ScheduleState.PAUSED, reason)
            await change.log(author, Action.SCHEDULE_PAUSE, before)
            return True

    async def resume(
        self,
        namespace: Namespace,
        schedule_id: ScheduleId,
        *,
        tzdata: str | None = None,
        back_s: float = 0.0,
        author: Author | None = None,
    ) -> bool:
        async with self._database.transaction() as session:
            change = _Change(session, namespace, schedule_id)
            row = await change.lock()
            if row is None or row["state"] != ScheduleState.PAUSED:
                return False
            before = await change.get()
            spec = schedule_from_text(row["spec"])
            if tzdata is None:
                tzdata = await session.fetchval(QUERIES["tzdata"], namespace, schedule_id)
            assert tzdata is not None
            await change.replace(row, ScheduleState.ACTIVE, spec, tzdata, back_s=back_s)
            await session.fetch(QUERIES["tell"])
            await change.log(author, Action.SCHEDULE_RESUME, before)
            return True

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
        async with self._database.transaction() as session:
            change = _Change(session, namespace, schedule_id)
            row = await change.lock()
            if row is None or row["state"] != ScheduleState.ACTIVE or row["version"] != expected_version:
                return None
            await change.replace(row, ScheduleState.ACTIVE, spec, tzdata, reason)
            await session.fetch(QUERIES["tell"])
            return await change.get()

    async def remove(
        self, namespace: Namespace, schedule_id: ScheduleId, *, author: Author | None = None
    ) -> bool:
        async with self._database.transaction() as session:
            change = _Change(session, namespace, schedule_id)
            row = await change.lock()
            if row is None or row["state"] == ScheduleState.REMOVED:
                return False
            before = await change.get()
            await change.stop(ScheduleState.REMOVED, "the schedule was removed")
            await change.run("forget_uses")
            await change.log(author, Action.SCHEDULE_REMOVE, before)
            return True

    async def get(self, namespace: Namespace, schedule_id: ScheduleId) -> Schedule | None:
        row = await self._database.fetch_one(QUERIES["get"], namespace, schedule_id)
        return None if row is None else to_schedule(row)

    async def page(self, namespace: Namespace, after: ScheduleId | None, limit: int) -> Sequence[Schedule]:
        rows = await self._database.fetch(PAGE, namespace, after or "", limit)
        return [to_schedule(row) for row in rows]

    async def history(
        self,
        namespace: Namespace,
        schedule_id: ScheduleId,
        *,
        after: int = 0,
        limit: int | None = None,
        since: datetime | None = None,
    ) -> Sequence[ScheduleVersion]:
        rows = await self._database.fetch(QUERIES["history"], namespace, schedule_id, after, limit, since)
        return [to_schedule_version(row) for row in rows]

    async def find(self, namespace: Namespace, wanted: ScheduleFilter) -> Sequence[Schedule]:
        rows = await self._database.fetch(FIND, *_terms(namespace, wanted), wanted.limit)
        return [to_schedule(row) for row in rows]

    async def count(self, namespace: Namespace, wanted: ScheduleFilter) -> int:
        terms = _terms(namespace, replace(wanted, after=None))
        return int(await self._database.fetch_value(COUNT, *terms, COUNTED_MAX))

    async def labels(self, namespace: Namespace, limit: int) -> Sequence[str]:
        rows = await self._database.fetch(QUERIES["labels"], namespace, limit)
        return [row["label"] for row in rows]


@dataclass(frozen=True)
class _Change:
    """One transaction's work on one schedule."""

    session: Session
    namespace: Namespace
    schedule_id: ScheduleId

    async def run(self, query: str, *arguments: object) -> None:
        await self.session.fetch(QUERIES[query], self.namespace, self.schedule_id, *arguments)

    async def lock(self) -> Row | None:
        """The schedule first, then its cursors: whoever holds a cursor without its schedule can deadlock.

        Before all that, the freezes, so that what they say of its labels stays so."""
        await share_turn(self.session, self.namespace)
        row = await self.session.fetchrow(QUERIES["lock"], self.namespace, self.schedule_id)
        if row is not None:
            await self.run("lock_cursors")
        return row

    async def create(self) -> Row:
        shards = await share_shards(self.session)
        await self.run("create", shard_of(self.namespace, self.schedule_id, shards))
        row = await self.lock()
        assert row is not None
        return row

    async def edit(self, row: Row, spec: ScheduleSpec, tzdata: str) -> None:
        """Write the next version, unless the one in force says the same."""
        state = ScheduleState(row["state"])
        if state is not ScheduleState.REMOVED and row["spec"] == schedule_to_text(spec):
            return
        revived = ScheduleState.ACTIVE if state is ScheduleState.REMOVED else state
        await self.replace(row, revived, spec, tzdata)

    async def replace(
        self,
        row: Row,
        state: ScheduleState,
        spec: ScheduleSpec,
        tzdata: str,
        reason: str | None = None,
        back_s: float = 0.0,
    ) -> None:
        """Write the next version of the schedule in that row."""
        version = row["version"] + 1
        boundary = await self.close(reason or f"replaced by version {version}", back_s, Hold.OPERATOR)
        text, labels = schedule_to_text(spec), json.dumps(dict(spec.labels))
        where = spec.job, spec.queue, spec.priority, labels, row["shard"]
        await self.run("edit", version, state, text, boundary, tzdata, *where)
        await self.use(calendar_revisions(spec))
        await settle(self.session, self.namespace, [self.schedule_id])

    async def use(self, revisions: dict[str, int]) -> None:
        """Keep which calendars the new version was written with, in place of those of the one before."""
        await self.run("forget_uses")
        if revisions:
            names = list(revisions)
            await self.session.fetch(QUERIES["lock_calendars"], self.namespace, names)
            await self.run("record_uses", names, list(revisions.values()))

    async def stop(self, state: ScheduleState, reason: str) -> None:
        await self.close(reason)
        await self.run("stop", state)
        await self.session.fetch(QUERIES["tell"])

    async def close(self, reason: str, back_s: float = 0.0, spared: Hold = Hold.NONE) -> datetime:
        """End the version in force and withdraw its future but for what is held so; returns the boundary."""
        key = self.namespace, self.schedule_id
        boundary: datetime = await self.session.fetchval(QUERIES["boundary"], *key, back_s)
        await self.run("close", boundary, clean(reason), int(spared))
        return boundary

    async def get(self) -> Schedule | None:
        """The schedule as it is now; None while it has no version."""
        row = await self.session.fetchrow(QUERIES["get"], self.namespace, self.schedule_id)
        return None if row is None else to_schedule(row)

    async def log(self, author: Author | None, action: Action, before: Schedule | None) -> Schedule | None:
        """Leave an entry where the schedule is not what it was; returns what it is."""
        after = await self.get()
        was, now = logged_schedule(before), logged_schedule(after)
        if was != now:
            await log(self.session, self.namespace, author, action, Entered(self.schedule_id, was, now))
        return after


def _visible_version(row: Row | None) -> int:
    return 0 if row is None or row["state"] == ScheduleState.REMOVED else row["version"]


def _terms(namespace: Namespace, wanted: ScheduleFilter) -> tuple[object, ...]:
    label = wanted.label_terms
    return namespace, wanted.after or "", wanted.state, wanted.text, wanted.job, *label, wanted.frozen
