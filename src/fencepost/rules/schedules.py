"""Schedules and their versions."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from fencepost.model.audit import Action, Author
from fencepost.model.calendar import calendar_revisions
from fencepost.model.clocks import StoreTime, later
from fencepost.model.codec import schedule_from_text, schedule_to_text
from fencepost.model.identifiers import Namespace, ScheduleId, shard_of
from fencepost.model.json import canonical
from fencepost.model.run import Hold, Origin, RunState
from fencepost.model.schedule import Schedule, ScheduleFilter, ScheduleSpec, ScheduleState, ScheduleVersion
from fencepost.model.table import Row
from fencepost.model.tables import CURSORS, RUNS, RUNS_BEHIND, RUNS_OPEN, SCHEDULES, SCHEDULES_THERE, VERSIONS
from fencepost.model.views import COUNTED_MAX
from fencepost.ports.rows import Transaction
from fencepost.ports.signals import Topic
from fencepost.rules.audit_log import log
from fencepost.rules.calendars import use_calendars
from fencepost.rules.desk_rows import logged_schedule
from fencepost.rules.epochs import SHARDS_TURN, read_shards
from fencepost.rules.freezes import frozen_scopes, is_frozen, mark_frozen, share_turn
from fencepost.rules.part import Part, reads, search, writes
from fencepost.rules.rows import to_schedule, to_schedule_version
from fencepost.rules.runs import Bells, end
from fencepost.rules.specs import applied_by_code

_ALL = SCHEDULES.all
_VERSIONS = VERSIONS.all
_CURSORS = CURSORS.all
ACTIVE, PAUSED, REMOVED = (one.value for one in ScheduleState)


class ScheduleRules(Part):
    """See `ports.schedules`."""

    @writes
    async def put(
        self,
        tx: Transaction,
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
        await _share_turns(tx, namespace)
        if admit is not None:
            await _admit_one(tx, namespace, schedule_id, admit)
        fresh = await _create(tx, namespace, schedule_id, spec, tzdata) if not expected_version else None
        rows = [fresh] if fresh else await tx.lock(SCHEDULES.at(namespace, schedule_id))
        seen = 0 if fresh or not rows else _visible_version(rows[0])
        if not rows or expected_version not in (None, seen):
            return None
        (schedule,) = rows
        before = None if fresh else await _shown(tx, schedule)
        if not fresh and (schedule["state"] == REMOVED or schedule["spec"] != schedule_to_text(spec)):
            schedule = await _edit(tx, schedule, spec, tzdata)
        applied = applied_by_code(spec, code_spec, code_digest)
        if applied is not None:
            code = {"code_spec": schedule_to_text(applied), "code_digest": code_digest}
            (schedule,) = await tx.change(SCHEDULES, [(schedule, code)])
        after = await _log(tx, author, Action.SCHEDULE_PUT, before, schedule)
        tx.hint(Topic.SCHEDULES)
        return after

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
        before = await _shown(tx, schedule)
        stopped = await _stop(tx, schedule, PAUSED, reason)
        await _log(tx, author, Action.SCHEDULE_PAUSE, before, stopped)
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
        before = await _shown(tx, schedule)
        (schedule,) = await tx.change(SCHEDULES, [(schedule, {"state": ACTIVE})])
        rules = (await _last_version(tx, schedule))["tzdata"] if tzdata is None else tzdata
        spec = schedule_from_text(schedule["spec"])
        edited = await _edit(tx, schedule, spec, rules, back_s=back_s)
        await _log(tx, author, Action.SCHEDULE_RESUME, before, edited)
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
        edited = await _edit(tx, schedule, spec, tzdata, reason)
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
        before = await _shown(tx, schedule)
        stopped = await _stop(tx, schedule, REMOVED, "the schedule was removed")
        await use_calendars(tx, namespace, schedule_id, {})
        await _log(tx, author, Action.SCHEDULE_REMOVE, before, stopped)
        return True

    @reads
    async def get(self, tx: Transaction, namespace: Namespace, schedule_id: ScheduleId) -> Schedule | None:
        rows = await tx.find(SCHEDULES.at(namespace, schedule_id))
        return await _shown(tx, rows[0]) if rows else None

    @reads
    async def page(
        self, tx: Transaction, namespace: Namespace, after: ScheduleId | None, limit: int
    ) -> Sequence[Schedule]:
        everything = _ALL(namespace) if after is None else _ALL(namespace).after(after)
        return await _all_shown(tx, await search(tx, everything, _is_there, limit))

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
            tx, _VERSIONS(namespace, schedule_id).after(after), partial(_lasts_beyond, since), limit
        )
        return [to_schedule_version(row) for row in rows]

    @reads
    async def find(self, tx: Transaction, namespace: Namespace, wanted: ScheduleFilter) -> Sequence[Schedule]:
        everything = _ALL(namespace) if wanted.after is None else _ALL(namespace).after(wanted.after)
        return await _all_shown(tx, await search(tx, everything, partial(_matches, wanted), wanted.limit))

    @reads
    async def count(self, tx: Transaction, namespace: Namespace, wanted: ScheduleFilter) -> int:
        return len(await search(tx, _ALL(namespace), partial(_matches, wanted), COUNTED_MAX))

    @reads
    async def labels(self, tx: Transaction, namespace: Namespace, limit: int) -> Sequence[str]:
        rows = await search(tx, _ALL(namespace), _is_there)
        every = {f"{key}={value}" for row in rows for key, value in json.loads(row["labels"]).items()}
        return sorted(every)[:limit]


async def _share_turns(tx: Transaction, namespace: Namespace) -> None:
    """Before a version is written: what freezes say of its labels, and its shard, stay until it is."""
    await share_turn(tx, namespace)
    await tx.take_turn(SHARDS_TURN, shared=True)


async def _admit_one(
    tx: Transaction, namespace: Namespace, schedule_id: ScheduleId, admit: Callable[[int], None]
) -> None:
    """Where one more schedule would be there, ask whether it may, while no other is made."""
    await tx.take_turn(f"schedules {namespace}")
    rows = await tx.find(SCHEDULES.at(namespace, schedule_id))
    if not rows or not _visible_version(rows[0]):
        (there,) = await tx.count([SCHEDULES_THERE(namespace)])
        admit(there)


async def _lock(tx: Transaction, namespace: Namespace, schedule_id: ScheduleId) -> Row | None:
    rows = await tx.lock(SCHEDULES.at(namespace, schedule_id))
    return rows[0] if rows else None


async def _create(
    tx: Transaction, namespace: Namespace, schedule_id: ScheduleId, spec: ScheduleSpec, tzdata: str
) -> Row | None:
    """Write the first version; None where there is the schedule already."""
    shard = shard_of(namespace, schedule_id, await read_shards(tx))
    now = await tx.now()
    owner = {"namespace": namespace, "schedule_id": schedule_id}
    new = {**owner, "shard": shard, "version": 1, "state": ACTIVE, "updated_at": now, **_spoken(spec)}
    scopes = await frozen_scopes(tx, namespace)
    new["frozen"] = is_frozen(scopes, schedule_id, spec.labels)
    written = await tx.put_if_absent(SCHEDULES, [new])
    if not written:
        return None
    await _put_version(tx, written[0], spec, tzdata, now, None)
    return written[0]


async def _edit(
    tx: Transaction,
    schedule: Row,
    spec: ScheduleSpec,
    tzdata: str,
    reason: str | None = None,
    back_s: float = 0.0,
) -> Row:
    """Write the next version, from the boundary on."""
    boundary = await _boundary(tx, schedule, back_s)
    version = schedule["version"] + 1
    await _close(tx, schedule, boundary, reason or f"replaced by version {version}", spared=Hold.OPERATOR)
    state = ACTIVE if schedule["state"] == REMOVED else schedule["state"]
    values = {"version": version, "state": state, "updated_at": await tx.now(), **_spoken(spec)}
    (edited,) = await tx.change(SCHEDULES, [(schedule, values)])
    await _put_version(tx, edited, spec, tzdata, boundary, boundary if state == PAUSED else None)
    scopes = await frozen_scopes(tx, schedule["namespace"])
    frozen = is_frozen(scopes, schedule["schedule_id"], spec.labels)
    return (await mark_frozen(tx, [edited], frozen))[0] if frozen != edited["frozen"] else edited


async def _put_version(
    tx: Transaction,
    schedule: Row,
    spec: ScheduleSpec,
    tzdata: str,
    since: StoreTime,
    until: StoreTime | None,
) -> None:
    """The version that the schedule's row names, its cursor, and what it was written with."""
    owner = {column: schedule[column] for column in ("namespace", "schedule_id", "version")}
    version = {**owner, "spec": schedule["spec"], "job": spec.job, "tzdata": tzdata}
    await tx.put_if_absent(VERSIONS, [{**version, "in_force_from": since, "in_force_until": until}])
    cursor = {**owner, "shard": schedule["shard"], "tzdata": tzdata, "frozen": schedule["frozen"]}
    planned = {"planned_through": since, "until": until, "next_fire_at": None if until else since}
    await tx.put_if_absent(CURSORS, [{**cursor, **planned}])
    await use_calendars(tx, schedule["namespace"], schedule["schedule_id"], calendar_revisions(spec))


async def _stop(tx: Transaction, schedule: Row, state: str, reason: str) -> Row:
    boundary = await _boundary(tx, schedule)
    await _close(tx, schedule, boundary, reason)
    changes = {"state": state, "updated_at": await tx.now()}
    (stopped,) = await tx.change(SCHEDULES, [(schedule, changes)])
    tx.hint(Topic.SCHEDULES)
    return stopped


async def _boundary(tx: Transaction, schedule: Row, back_s: float = 0.0) -> StoreTime:
    """From when the next version is in force: now, or earlier, but not before the last one's end."""
    last = await _last_version(tx, schedule)
    wanted = later(await tx.now(), -back_s)
    return StoreTime(max(wanted, last["in_force_until"] or last["in_force_from"]))


async def _last_version(tx: Transaction, schedule: Row) -> Row:
    key = schedule["namespace"], schedule["schedule_id"], schedule["version"]
    (last,) = await tx.lock(VERSIONS.at(*key))
    return last


async def _close(
    tx: Transaction, schedule: Row, boundary: StoreTime, reason: str, spared: Hold = Hold.NONE
) -> None:
    """End the last version at the boundary, and withdraw what was planned beyond it."""
    owner, bells = (schedule["namespace"], schedule["schedule_id"]), Bells()
    cursors = await tx.lock(_CURSORS(*owner))
    waiting = [
        run for kind in (RUNS_OPEN, RUNS_BEHIND) for run in await tx.find(kind(*owner).after(boundary))
    ]
    for run in await tx.lock(RUNS.among(map(RUNS.key_of, filter(_is_planned, waiting)))):
        if not _is_planned(run):
            continue
        if run["held"] & spared:
            await tx.change(RUNS, [(run, {"origin": Origin.MANUAL.value})])
        else:
            await end(tx, bells, run, RunState.WITHDRAWN, reason)
    last = await _last_version(tx, schedule)
    if last["in_force_until"] is None:
        await tx.change(VERSIONS, [(last, {"in_force_until": boundary})])
        cursor = next(one for one in cursors if one["version"] == schedule["version"])
        done = {"next_fire_at": None} if cursor["planned_through"] >= boundary else {}
        await tx.change(CURSORS, [(cursor, {"until": boundary, **done})])


async def _shown(tx: Transaction, schedule: Row) -> Schedule:
    (shown,) = await _all_shown(tx, [schedule])
    return shown


async def _all_shown(tx: Transaction, schedules: Sequence[Row]) -> list[Schedule]:
    """Schedules, each with the mark of its latest version."""
    rows = await tx.find(CURSORS.among(map(VERSIONS.key_of, schedules)))
    marks = {CURSORS.key_of(row): row["planned_through"] for row in rows}
    return [to_schedule({**one, "planned_through": marks[VERSIONS.key_of(one)]}) for one in schedules]


async def _log(
    tx: Transaction, author: Author | None, action: Action, before: Schedule | None, schedule: Row
) -> Schedule:
    after = await _shown(tx, schedule)
    was, now = logged_schedule(before), logged_schedule(after)
    if was != now:
        await log(tx, author, after.namespace, action, after.schedule_id, was, now)
    return after


def _spoken(spec: ScheduleSpec) -> dict[str, Any]:
    """The columns that say what a spec says."""
    return {
        "spec": schedule_to_text(spec),
        "job": spec.job,
        "queue": spec.queue,
        "priority": spec.priority,
        "labels": canonical(dict(spec.labels)),
    }


def _is_planned(run: Row) -> bool:
    return bool(run["state"] == RunState.PLANNED)


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
