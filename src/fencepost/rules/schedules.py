"""Schedules and their versions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from fencepost.errors import UsageError
from fencepost.model.audit import Action, Author
from fencepost.model.codec import schedule_from_text, schedule_to_text
from fencepost.model.identifiers import Namespace, ScheduleId
from fencepost.model.json import JsonObject
from fencepost.model.schedule import (
    AppliedSchedule,
    DesiredSchedule,
    Schedule,
    ScheduleFilter,
    ScheduleSpec,
    ScheduleVersion,
)
from fencepost.model.table import Key, Row
from fencepost.model.tables import CURSORS, META, SCHEDULES, SCHEDULES_THERE, VERSIONS
from fencepost.model.views import COUNTED_MAX
from fencepost.ports.rows import Transaction
from fencepost.ports.schedules import Admit
from fencepost.ports.signals import Topic
from fencepost.rules.audit_log import Change, log_all
from fencepost.rules.calendars import drop_calendars
from fencepost.rules.epochs import SHARDS_TURN
from fencepost.rules.freezes import share_turn
from fencepost.rules.part import Part, reads, search, writes
from fencepost.rules.rows import to_schedule, to_schedule_version
from fencepost.rules.versions import ACTIVE, PAUSED, REMOVED, close, create, edit, owner_of

FEW = 1_000
"""With more schedules than this they are not counted each time that others are added."""


class ScheduleRules(Part):
    """See `ports.schedules`."""

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
        admit: Admit | None = None,
    ) -> Schedule | None:
        one = DesiredSchedule(schedule_id, spec, expected_version, code_spec)
        terms: dict[str, Any] = {"tzdata": tzdata, "code_digest": code_digest, "author": author}
        (applied,) = await self.put_many(namespace, [one], **terms, admit=admit)
        return None if applied is None else applied.schedule

    @writes
    async def put_many(
        self,
        tx: Transaction,
        namespace: Namespace,
        batch: Sequence[DesiredSchedule],
        *,
        tzdata: str,
        code_digest: str | None = None,
        author: Author | None = None,
        admit: Admit | None = None,
    ) -> Sequence[AppliedSchedule | None]:
        desired = {(namespace, one.schedule_id): one for one in batch}
        assert len(desired) == len(batch), "a schedule is in a batch once"
        await _share_turns(tx, namespace)
        absent = await _absent(tx, namespace, desired, admit)
        codes = {key: _of_code(one, code_digest) for key, one in desired.items()}
        fresh = await create(tx, {key: desired[key].spec for key in absent}, tzdata, codes)
        locked = await tx.lock(SCHEDULES.among(key for key in desired if key not in fresh))
        known = {owner_of(row): row for row in locked if _is_expected(desired, row)}
        specs = [(row, desired[key].spec) for key, row in known.items()]
        edited = await edit(tx, [one for one in specs if _differs(*one)], tzdata)
        after = await _put_code(tx, codes, {**known, **edited, **fresh})
        if edited or fresh:
            tx.hint(Topic.SCHEDULES)
        # The rows have the specs that were asked for, so their text need not be read.
        asked = {key: desired[key].spec for key in after}
        shown = await _log(tx, author, Action.SCHEDULE_PUT, known, after, asked)
        before = {key: _visible_version(row) for key, row in known.items()}
        return [AppliedSchedule(shown[key], before.get(key, 0)) if key in shown else None for key in desired]

    @writes
    async def pause(
        self,
        tx: Transaction,
        namespace: Namespace,
        schedule_id: ScheduleId,
        reason: str,
        *,
        author: Author | None = None,
    ) -> bool:
        schedule = await _lock(tx, namespace, schedule_id)
        if schedule is None or schedule["state"] != ACTIVE:
            return False
        await _stop(tx, schedule, PAUSED, reason, author, Action.SCHEDULE_PAUSE)
        return True

    @writes
    async def resume(
        self,
        tx: Transaction,
        namespace: Namespace,
        schedule_id: ScheduleId,
        *,
        tzdata: str | None = None,
        back_s: float = 0.0,
        author: Author | None = None,
    ) -> bool:
        await _share_turns(tx, namespace)
        schedule = await _lock(tx, namespace, schedule_id)
        if schedule is None or schedule["state"] != PAUSED:
            return False
        (active,) = await tx.change(SCHEDULES, [(schedule, {"state": ACTIVE})])
        (last,) = await tx.lock(VERSIONS.among([VERSIONS.key_of(schedule)]))
        rules = last["tzdata"] if tzdata is None else tzdata
        spec = schedule_from_text(schedule["spec"])
        edited = await edit(tx, [(active, spec)], rules, back_s=back_s)
        await _log(tx, author, Action.SCHEDULE_RESUME, {(namespace, schedule_id): schedule}, edited)
        tx.hint(Topic.SCHEDULES)
        return True

    @writes
    async def renew(
        self,
        tx: Transaction,
        namespace: Namespace,
        schedule_id: ScheduleId,
        spec: ScheduleSpec,
        *,
        tzdata: str,
        expected_version: int,
        reason: str,
    ) -> Schedule | None:
        await _share_turns(tx, namespace)
        schedule = await _lock(tx, namespace, schedule_id)
        if schedule is None or (schedule["state"], schedule["version"]) != (ACTIVE, expected_version):
            return None
        (edited,) = (await edit(tx, [(schedule, spec)], tzdata, reason)).values()
        tx.hint(Topic.SCHEDULES)
        return await _shown(tx, edited)

    @writes
    async def remove(
        self,
        tx: Transaction,
        namespace: Namespace,
        schedule_id: ScheduleId,
        *,
        author: Author | None = None,
    ) -> bool:
        schedule = await _lock(tx, namespace, schedule_id)
        if schedule is None or schedule["state"] == REMOVED:
            return False
        await _stop(tx, schedule, REMOVED, "the schedule was removed", author, Action.SCHEDULE_REMOVE)
        await drop_calendars(tx, [(namespace, schedule_id)])
        return True

    @reads
    async def get(self, tx: Transaction, namespace: Namespace, schedule_id: ScheduleId) -> Schedule | None:
        rows = await tx.find(SCHEDULES.at(namespace, schedule_id))
        return await _shown(tx, rows[0]) if rows else None

    @reads
    async def get_many(
        self, tx: Transaction, namespace: Namespace, schedule_ids: Sequence[ScheduleId]
    ) -> Mapping[ScheduleId, Schedule]:
        rows = await tx.find(SCHEDULES.among((namespace, one) for one in schedule_ids))
        return {one.schedule_id: one for one in await _all_shown(tx, rows)}

    async def page(self, namespace: Namespace, after: ScheduleId | None, limit: int) -> Sequence[Schedule]:
        return await self.find(namespace, ScheduleFilter(after=after, limit=limit))

    @reads
    async def history(
        self,
        tx: Transaction,
        namespace: Namespace,
        schedule_id: ScheduleId,
        *,
        after: int = 0,
        limit: int | None = None,
        since: datetime | None = None,
    ) -> Sequence[ScheduleVersion]:
        rows = await search(
            tx, VERSIONS.all(namespace, schedule_id).after(after), partial(_lasts_beyond, since), limit
        )
        return [to_schedule_version(row) for row in rows]

    @reads
    async def histories(
        self, tx: Transaction, namespace: Namespace, schedule_ids: Sequence[ScheduleId]
    ) -> Mapping[ScheduleId, Sequence[ScheduleVersion]]:
        found: dict[ScheduleId, list[ScheduleVersion]] = {one: [] for one in schedule_ids}
        wanted = VERSIONS.each((namespace, one) for one in found)
        for row in await tx.find(wanted):
            found[row["schedule_id"]].append(to_schedule_version(row))
        return found

    @reads
    async def find(self, tx: Transaction, namespace: Namespace, wanted: ScheduleFilter) -> Sequence[Schedule]:
        everything = (
            SCHEDULES.all(namespace) if wanted.after is None else SCHEDULES.all(namespace).after(wanted.after)
        )
        return await _all_shown(tx, await search(tx, everything, partial(_matches, wanted), wanted.limit))

    @reads
    async def count(self, tx: Transaction, namespace: Namespace, wanted: ScheduleFilter) -> int:
        return len(await search(tx, SCHEDULES.all(namespace), partial(_matches, wanted), COUNTED_MAX))

    @reads
    async def labels(self, tx: Transaction, namespace: Namespace, limit: int) -> Sequence[str]:
        rows = await search(tx, SCHEDULES.all(namespace), _is_there)
        every = {f"{key}={value}" for row in rows for key, value in json.loads(row["labels"]).items()}
        return sorted(every)[:limit]


async def _share_turns(tx: Transaction, namespace: Namespace) -> None:
    """Before a version is written: the freezes of its labels, and its shard, must not change until it is."""
    await share_turn(tx, namespace)
    await tx.take_turn(SHARDS_TURN, shared=True)


async def _absent(
    tx: Transaction, namespace: Namespace, desired: Mapping[Key, DesiredSchedule], admit: Admit | None
) -> list[Key]:
    """The schedules of these that are to be created. Where there would be more schedules, ask `admit`, while
    no other transaction creates one, also one that does not ask."""
    await tx.take_turn(f"schedules {namespace}", shared=admit is None)
    known = {owner_of(row): row for row in await tx.find(SCHEDULES.among(desired))}
    more = sum(key not in known or not _is_there(known[key]) for key in desired)
    if more:
        await _ask(tx, namespace, admit, more)
    return [key for key, one in desired.items() if key not in known and not one.expected_version]


async def _ask(tx: Transaction, namespace: Namespace, admit: Admit | None, more: int) -> None:
    """Ask whether there may be more. Many schedules are not counted each time: an upper bound is kept, which
    grows with each one added. They are counted where the bound would be too many."""
    mark = META.at(f"schedules of {namespace}")
    if admit is None:
        await tx.delete(META, await tx.lock(mark))
        return
    (there,) = await tx.count([SCHEDULES_THERE(namespace)], limit=FEW)
    if there < FEW:
        admit(there, more)
        if there + more < FEW:
            return
    remembered, at_most = await tx.lock(mark), there
    if there >= FEW and (not remembered or not _may(admit, at_most := int(remembered[0]["value"]), more)):
        (at_most,) = await tx.count([SCHEDULES_THERE(namespace)])
        admit(at_most, more)
    values = {"value": str(at_most + more)}
    await tx.put_if_absent(META, [] if remembered else [{"name": str(mark.keys[0][0]), **values}])
    await tx.change(META, [(row, values) for row in remembered])


def _may(admit: Admit, there: int, more: int) -> bool:
    try:
        admit(there, more)
    except UsageError:
        return False
    return True


async def _lock(tx: Transaction, namespace: Namespace, schedule_id: ScheduleId) -> Row | None:
    rows = await tx.lock(SCHEDULES.at(namespace, schedule_id))
    return rows[0] if rows else None


async def _put_code(
    tx: Transaction, codes: Mapping[Key, Mapping[str, Any]], rows: dict[Key, Row]
) -> dict[Key, Row]:
    """Record the spec that code applied, where it has changed."""
    changes = [
        (row, codes[key])
        for key, row in rows.items()
        if any(row[name] != value for name, value in codes[key].items())
    ]
    return rows | {owner_of(row): row for row in await tx.change(SCHEDULES, changes)}


def _of_code(one: DesiredSchedule, code_digest: str | None) -> Mapping[str, Any]:
    """The columns that say what code applied, without calendars, whose days come from the store; none where
    the author is not code."""
    assert code_digest is not None or one.code_spec is None, "code that gives its spec also gives its digest"
    if code_digest is None:
        return {}
    applied = replace(one.code_spec or one.spec, calendars={})
    return {"code_spec": schedule_to_text(applied), "code_digest": code_digest}


async def _stop(
    tx: Transaction, schedule: Row, state: str, reason: str, author: Author | None, action: Action
) -> None:
    key = owner_of(schedule)
    await close(tx, [schedule], {key: reason})
    changes = {"state": state, "updated_at": await tx.now()}
    (stopped,) = await tx.change(SCHEDULES, [(schedule, changes)])
    await _log(tx, author, action, {key: schedule}, {key: stopped})
    tx.hint(Topic.SCHEDULES)


async def _shown(tx: Transaction, schedule: Row) -> Schedule:
    (shown,) = await _all_shown(tx, [schedule])
    return shown


async def _all_shown(
    tx: Transaction, schedules: Sequence[Row], specs: Mapping[Key, ScheduleSpec] | None = None
) -> list[Schedule]:
    """Schedules, each with the mark of its latest version, and with its spec where that is known."""
    known: Mapping[Key, Any] = specs or {}
    rows = await tx.find(CURSORS.among(map(VERSIONS.key_of, schedules)))
    marks = {CURSORS.key_of(row): row["planned_through"] for row in rows}
    return [
        to_schedule(
            {
                **one,
                "spec": known.get(owner_of(one), one["spec"]),
                "planned_through": marks[VERSIONS.key_of(one)],
            }
        )
        for one in schedules
    ]


async def _log(
    tx: Transaction,
    author: Author | None,
    action: Action,
    before: Mapping[Key, Row],
    after: Mapping[Key, Row],
    specs: Mapping[Key, ScheduleSpec] | None = None,
) -> dict[Key, Schedule]:
    """Leave an entry for each of these schedules that has changed; returns all of them as they are."""
    shown = dict(zip(after, await _all_shown(tx, list(after.values()), specs), strict=True))
    changed = [key for key, row in after.items() if key not in before or _changed(before[key], row)]
    said = [Change(key[1], _logged(before.get(key)), _logged(after[key])) for key in changed]
    if said:
        await log_all(tx, author, changed[0][0], action, said)
    return shown


def _logged(row: Row | None) -> JsonObject:
    """What the audit log keeps of a schedule."""
    if row is None:
        return {}
    about = {column: row[column] for column in ("version", "state", "frozen")}
    return {**about, "spec": json.loads(row["spec"])}


def _is_expected(desired: Mapping[Key, DesiredSchedule], schedule: Row) -> bool:
    return desired[owner_of(schedule)].expected_version in (None, _visible_version(schedule))


def _differs(schedule: Row, spec: ScheduleSpec) -> bool:
    return schedule["state"] == REMOVED or bool(schedule["spec"] != schedule_to_text(spec))


def _changed(before: Row, after: Row) -> bool:
    return any(before[column] != after[column] for column in ("version", "state", "frozen"))


def _is_there(schedule: Row) -> bool:
    return bool(schedule["state"] != REMOVED)


def _visible_version(schedule: Row) -> int:
    return int(schedule["version"]) if _is_there(schedule) else 0


def _lasts_beyond(since: datetime | None, version: Row) -> bool:
    return since is None or version["in_force_until"] is None or version["in_force_until"] > since


def _matches(wanted: ScheduleFilter, schedule: Row) -> bool:
    key, value = wanted.label_terms
    labels = {} if key is None else json.loads(schedule["labels"])
    return (
        (_is_there(schedule) if wanted.state is None else schedule["state"] == wanted.state)
        and (wanted.text is None or wanted.text in schedule["schedule_id"] or wanted.text in schedule["job"])
        and (wanted.job is None or schedule["job"] == wanted.job)
        and (key is None or (key in labels and value in (None, labels[key])))
        and (wanted.frozen is None or schedule["frozen"] is wanted.frozen)
    )
