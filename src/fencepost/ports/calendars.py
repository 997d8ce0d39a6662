"""Business calendars by name, and which schedules were written with them.

A calendar's definition is JSON that the store does not look into. Each change of it is the next revision. A
name keeps counting when its calendar is removed and written anew. So of two definitions of one name the later
always has the larger revision, and a version that was written with the earlier one is seen to be behind.

A version of a schedule carries the calendars that it needs within its spec (`ScheduleSpec.calendars`), each
with its revision, and never reads them from here. The store also keeps, beside the schedule, which calendars
the schedule uses. Every call that writes a version (put, resume, renew) replaces that list in the same
transaction. The list is removed with the schedule. A calendar in a spec without a revision belongs to that
spec alone. A calendar with a revision that the store does not have is no fault.

Listeners for `calendars` are told of every change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from fencepost.model.audit import Author
from fencepost.model.calendar import Behind, CalendarRecord
from fencepost.model.identifiers import Namespace, ScheduleId, Shard
from fencepost.model.json import JsonObject

USERS_NAMED_MAX = 10


class Calendars(Protocol):
    """The calendars of a store."""

    async def put(
        self,
        namespace: Namespace,
        name: str,
        definition: JsonObject,
        *,
        expected_revision: int | None = None,
        author: Author | None = None,
    ) -> CalendarRecord | None:
        """Write a calendar: its first revision, or the next one. An equal definition changes nothing. A
        change by an author leaves an entry in the audit log, with the definition before and after.

        With an `expected_revision`, only where the calendar has that one, or where there is none of that name
        and it is 0. Otherwise None, also for an equal definition. Without one the call always returns a
        record."""
        ...

    async def get(self, namespace: Namespace, name: str) -> CalendarRecord | None: ...

    async def all(self, namespace: Namespace) -> Sequence[CalendarRecord]:
        """Every calendar of the namespace, by name."""
        ...

    async def remove(
        self,
        namespace: Namespace,
        name: str,
        *,
        expected_revision: int | None = None,
        author: Author | None = None,
    ) -> Sequence[ScheduleId] | None:
        """Remove a calendar that no schedule uses. None where there is none of that name, or it has another
        revision than the expected one.

        Otherwise returns the first `USERS_NAMED_MAX` of the schedules that use it, by id; where there are
        any, the calendar stays. The call waits for a version that is being written meanwhile.
        """
        ...

    async def users(
        self, namespace: Namespace, names: Sequence[str], limit: int
    ) -> Mapping[str, Sequence[ScheduleId]]:
        """For each of these calendars the schedules whose latest version was written with it, by id, up to
        `limit`; removed ones use none."""
        ...

    async def behind(self, shards: Sequence[Shard], limit: int) -> Sequence[Behind]:
        """The active schedules of these shards that were written with an older revision of a calendar than
        the store has, by namespace and id. No schedule is behind a calendar that was removed."""
        ...
