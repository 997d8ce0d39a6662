"""Business calendars by name, and the schedules that were written with them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from fencepost.model.audit import Action, Author
from fencepost.model.calendar import Behind, CalendarRecord
from fencepost.model.identifiers import Namespace, ScheduleId, Shard
from fencepost.model.json import JsonObject, canonical
from fencepost.model.schedule import ScheduleState
from fencepost.model.table import Key, Row
from fencepost.model.tables import CALENDAR_USES, CALENDAR_USES_BY_REVISION, CALENDARS, SCHEDULES
from fencepost.ports.calendars import USERS_NAMED_MAX
from fencepost.ports.rows import Transaction
from fencepost.ports.signals import Topic
from fencepost.rules.audit_log import log
from fencepost.rules.part import Part, pages, reads, writes
from fencepost.rules.rows import to_calendar_record


class CalendarRules(Part):
    """See `ports.calendars`."""

    @writes
    async def put(
        self,
        tx: Transaction,
        namespace: Namespace,
        name: str,
        definition: JsonObject,
        *,
        expected_revision: int | None = None,
        author: Author | None = None,
    ) -> CalendarRecord | None:
        now, text = await tx.now(), canonical(definition)
        empty = {"namespace": namespace, "name": name, "revision": 0, "updated_at": now}
        await tx.put_if_absent(CALENDARS, [empty])
        (known,) = await tx.lock(CALENDARS.at(namespace, name))
        if expected_revision not in (None, _visible_revision(known)):
            return None
        if known["definition"] == text:
            return to_calendar_record(known)
        values = {"revision": known["revision"] + 1, "definition": text, "updated_at": now}
        (after,) = await tx.change(CALENDARS, [(known, values)])
        await log(tx, author, namespace, Action.CALENDAR_PUT, name, _definition(known), definition)
        tx.hint(Topic.CALENDARS)
        return to_calendar_record(after)

    @reads
    async def get(self, tx: Transaction, namespace: Namespace, name: str) -> CalendarRecord | None:
        known = await tx.find(CALENDARS.at(namespace, name))
        return to_calendar_record(known[0]) if known and known[0]["definition"] is not None else None

    @reads
    async def all(self, tx: Transaction, namespace: Namespace) -> Sequence[CalendarRecord]:
        rows = await tx.find(CALENDARS.all(namespace))
        return [to_calendar_record(row) for row in rows if row["definition"] is not None]

    @writes
    async def remove(
        self,
        tx: Transaction,
        namespace: Namespace,
        name: str,
        *,
        expected_revision: int | None = None,
        author: Author | None = None,
    ) -> Sequence[ScheduleId] | None:
        await tx.take_turn(_turn(namespace, name))
        known = await tx.lock(CALENDARS.at(namespace, name))
        if not known or known[0]["definition"] is None:
            return None
        if expected_revision not in (None, known[0]["revision"]):
            return None
        uses = await tx.find(CALENDAR_USES_BY_REVISION(namespace, name), limit=USERS_NAMED_MAX)
        users = sorted(use["schedule_id"] for use in uses)
        if not users:
            await tx.change(CALENDARS, [(known[0], {"definition": None, "updated_at": await tx.now()})])
            await log(tx, author, namespace, Action.CALENDAR_REMOVE, name, _definition(known[0]), {})
            tx.hint(Topic.CALENDARS)
        return users

    @reads
    async def users(
        self, tx: Transaction, namespace: Namespace, names: Sequence[str], limit: int
    ) -> Mapping[str, Sequence[ScheduleId]]:
        found: dict[str, list[ScheduleId]] = {name: [] for name in names}
        wanted = CALENDAR_USES_BY_REVISION.each((namespace, one) for one in names)
        for use in await tx.find(wanted, limit=limit):
            found[use["calendar"]].append(use["schedule_id"])
        return {name: sorted(users) for name, users in found.items()}

    @reads
    async def behind(self, tx: Transaction, shards: Sequence[Shard], limit: int) -> Sequence[Behind]:
        found: dict[tuple[str, str], Behind] = {}
        for calendar in await tx.find(CALENDARS.all()):
            if calendar["definition"] is None:
                continue
            old = CALENDAR_USES_BY_REVISION(*CALENDARS.key_of(calendar)).before(calendar["revision"])
            async for uses in pages(tx, old):
                found |= await _behind(tx, uses, shards)
                if len(found) >= limit:
                    break
        return [found[key] for key in sorted(found)][:limit]


async def _behind(
    tx: Transaction, uses: Sequence[Row], shards: Sequence[Shard]
) -> dict[tuple[str, str], Behind]:
    """Those of the schedules that are to be written anew."""
    rows = await tx.find(SCHEDULES.among((use["namespace"], use["schedule_id"]) for use in uses))
    mine = [row for row in rows if row["state"] == ScheduleState.ACTIVE and row["shard"] in shards]
    return {
        (row["namespace"], row["schedule_id"]): Behind(row["namespace"], row["schedule_id"], row["version"])
        for row in mine
    }


async def use_calendars(tx: Transaction, revisions: Mapping[Key, Mapping[str, int]]) -> None:
    """Note the revisions with which the latest versions of schedules were written. A calendar is not removed
    meanwhile; a new revision does no harm, the version is then seen to be behind."""
    uses = [
        {"namespace": namespace, "schedule_id": schedule_id, "calendar": name, "revision": number}
        for (namespace, schedule_id), used in revisions.items()
        for name, number in used.items()
    ]
    for namespace, name in sorted({(one["namespace"], one["calendar"]) for one in uses}):
        await tx.take_turn(_turn(namespace, name), shared=True)
    await tx.put_if_absent(CALENDAR_USES, uses)


async def drop_calendars(tx: Transaction, schedules: Iterable[Key]) -> None:
    """Forget what the versions before were written with."""
    old = await tx.find(CALENDAR_USES.each(schedules))
    await tx.delete(CALENDAR_USES, await tx.lock(CALENDAR_USES.among(map(CALENDAR_USES.key_of, old))))


def _turn(namespace: Namespace, name: str) -> str:
    return f"calendar {namespace} {name}"


def _visible_revision(calendar: Row) -> int:
    return 0 if calendar["definition"] is None else int(calendar["revision"])


def _definition(calendar: Row) -> JsonObject:
    text = calendar["definition"]
    known: JsonObject = {} if text is None else json.loads(text)
    return known
