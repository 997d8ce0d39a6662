"""Calendars and their users in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fencepost.model.audit import Action, Author
from fencepost.model.calendar import Behind, CalendarRecord
from fencepost.model.identifiers import Namespace, ScheduleId, Shard
from fencepost.model.json import JsonObject, canonical
from fencepost.model.schedule import ScheduleState
from fencepost.ports.calendars import USERS_NAMED_MAX
from fencepost.ports.signals import Topic
from fencepost.stores.memory.part import MemoryPart
from fencepost.stores.memory.tables import ScheduleRow


class MemoryCalendars(MemoryPart):
    """See `ports.calendars`."""

    async def put(
        self,
        namespace: Namespace,
        name: str,
        definition: JsonObject,
        *,
        expected_revision: int | None = None,
        author: Author | None = None,
    ) -> CalendarRecord | None:
        known = self._tables.calendars.get((namespace, name))
        if expected_revision not in (None, known.revision if known else 0):
            return None
        if known is not None and canonical(known.definition) == canonical(definition):
            return known
        revision = self._tables.revisions.get((namespace, name), 0) + 1
        record = CalendarRecord(namespace, name, revision, definition, self._tables.now())
        self._tables.revisions[namespace, name] = revision
        self._tables.calendars[namespace, name] = record
        before = {} if known is None else known.definition
        self._tables.log(author, namespace, Action.CALENDAR_PUT, name, before, definition)
        self._signals.hint(Topic.CALENDARS)
        return record

    async def get(self, namespace: Namespace, name: str) -> CalendarRecord | None:
        return self._tables.calendars.get((namespace, name))

    async def all(self, namespace: Namespace) -> Sequence[CalendarRecord]:
        return [record for (owner, _), record in sorted(self._tables.calendars.items()) if owner == namespace]

    async def remove(
        self,
        namespace: Namespace,
        name: str,
        *,
        expected_revision: int | None = None,
        author: Author | None = None,
    ) -> Sequence[ScheduleId] | None:
        known = self._tables.calendars.get((namespace, name))
        if known is None or expected_revision not in (None, known.revision):
            return None
        users = (await self.users(namespace, [name], USERS_NAMED_MAX))[name]
        if not users:
            del self._tables.calendars[namespace, name]
            self._tables.log(author, namespace, Action.CALENDAR_REMOVE, name, known.definition, {})
            self._signals.hint(Topic.CALENDARS)
        return users

    async def users(
        self, namespace: Namespace, names: Sequence[str], limit: int
    ) -> Mapping[str, Sequence[ScheduleId]]:
        mine = [pair for pair in sorted(self._tables.schedules.items()) if pair[0][0] == namespace]
        return {name: [key for (_, key), row in mine if name in row.uses][:limit] for name in names}

    async def behind(self, shards: Sequence[Shard], limit: int) -> Sequence[Behind]:
        found = [
            Behind(namespace, schedule_id, row.schedule.version)
            for (namespace, schedule_id), row in sorted(self._tables.schedules.items())
            if row.schedule.state is ScheduleState.ACTIVE
            and row.schedule.shard in shards
            and self._is_behind(row)
        ]
        return found[:limit]

    def _is_behind(self, row: ScheduleRow) -> bool:
        namespace = row.schedule.namespace
        present = {name: self._tables.calendars.get((namespace, name)) for name in row.uses}
        return any(one is not None and row.uses[name] < one.revision for name, one in present.items())
