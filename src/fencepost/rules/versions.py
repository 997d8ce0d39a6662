"""Versions of schedules: how the next one begins, and the last one ends. The caller has the schedules'
locks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fencepost.model.calendar import calendar_revisions
from fencepost.model.clocks import StoreTime, later
from fencepost.model.codec import schedule_to_text
from fencepost.model.identifiers import shard_of
from fencepost.model.json import canonical
from fencepost.model.run import Hold, Origin, RunState
from fencepost.model.schedule import ScheduleSpec, ScheduleState
from fencepost.model.table import Key, Ranges, Row
from fencepost.model.tables import CURSORS, RUNS, RUNS_BEHIND, RUNS_OPEN, SCHEDULES, VERSIONS
from fencepost.ports.rows import Transaction
from fencepost.rules.calendars import drop_calendars, use_calendars
from fencepost.rules.epochs import read_shards
from fencepost.rules.freezes import frozen_scopes, is_frozen, mark_frozen
from fencepost.rules.runs import Freed, end

ACTIVE, PAUSED, REMOVED = (one.value for one in ScheduleState)
owner_of = SCHEDULES.key_of


async def create(
    tx: Transaction, specs: Mapping[Key, ScheduleSpec], tzdata: str, more: Mapping[Key, Mapping[str, Any]]
) -> dict[Key, Row]:
    """Write the first versions, each with more columns; those that another caller wrote meanwhile are left
    out."""
    if not specs:
        return {}
    shards, now = await read_shards(tx), await tx.now()
    scopes = await frozen_scopes(tx, next(iter(specs))[0])
    same = {"version": 1, "state": ACTIVE, "updated_at": now}
    new = [
        {
            "namespace": namespace,
            "schedule_id": schedule_id,
            "shard": shard_of(namespace, schedule_id, shards),
            "frozen": is_frozen(scopes, schedule_id, spec.labels),
            **same,
            **_spoken(spec),
            **more[namespace, schedule_id],
        }
        for (namespace, schedule_id), spec in specs.items()
    ]
    fresh = {owner_of(row): row for row in await tx.put_if_absent(SCHEDULES, new)}
    await _put_versions(tx, [(row, specs[key], now) for key, row in fresh.items()], tzdata)
    return fresh


async def edit(
    tx: Transaction,
    edits: Sequence[tuple[Row, ScheduleSpec]],
    tzdata: str,
    reason: str | None = None,
    back_s: float = 0.0,
) -> dict[Key, Row]:
    """Write the next version of each, from its boundary on."""
    if not edits:
        return {}
    said = {owner_of(row): reason or f"replaced by version {row['version'] + 1}" for row, _ in edits}
    boundaries = await close(tx, [row for row, _ in edits], said, back_s, spared=Hold.OPERATOR)
    now, scopes = await tx.now(), await frozen_scopes(tx, edits[0][0]["namespace"])
    changes = [
        (
            row,
            {
                "version": row["version"] + 1,
                "state": ACTIVE if row["state"] == REMOVED else row["state"],
                "updated_at": now,
                **_spoken(spec),
            },
        )
        for row, spec in edits
    ]
    edited = await tx.change(SCHEDULES, changes)
    versions = [(row, spec, boundaries[owner_of(row)]) for row, (_, spec) in zip(edited, edits, strict=True)]
    await drop_calendars(tx, boundaries)
    await _put_versions(tx, versions, tzdata)
    after = {owner_of(row): row for row in edited}
    turned: dict[bool, list[Row]] = {True: [], False: []}
    for row, spec, _ in versions:
        turned[is_frozen(scopes, row["schedule_id"], spec.labels)].append(row)
    for frozen, some in turned.items():
        wrong = [row for row in some if row["frozen"] != frozen]
        after |= {owner_of(row): row for row in await mark_frozen(tx, wrong, frozen)} if wrong else {}
    return after


async def _put_versions(
    tx: Transaction, written: Sequence[tuple[Row, ScheduleSpec, StoreTime]], tzdata: str
) -> None:
    """Write the versions that the schedules' rows name, each in force from a boundary on, their cursors, and
    the calendars of each. The version of a paused schedule is closed at once."""
    versions, cursors = [], []
    for row, spec, since in written:
        owner = {column: row[column] for column in ("namespace", "schedule_id", "version")}
        until = since if row["state"] == PAUSED else None
        version = {**owner, "spec": row["spec"], "job": spec.job, "tzdata": tzdata}
        versions.append({**version, "in_force_from": since, "in_force_until": until})
        cursor = {**owner, "shard": row["shard"], "tzdata": tzdata, "frozen": row["frozen"]}
        planned = {"planned_through": since, "until": until, "next_fire_at": None if until else since}
        cursors.append({**cursor, **planned})
    await tx.put_if_absent(VERSIONS, versions)
    await tx.put_if_absent(CURSORS, cursors)
    await use_calendars(tx, {owner_of(row): calendar_revisions(spec) for row, spec, _ in written})


async def close(
    tx: Transaction,
    schedules: Sequence[Row],
    reasons: Mapping[Key, str],
    back_s: float = 0.0,
    spared: Hold = Hold.NONE,
) -> dict[Key, StoreTime]:
    """End the last version of each, and withdraw what was planned beyond its end. Returns the boundary, from
    which on the next version is in force: now, or earlier, but not before the last version's end."""
    last = {owner_of(row): row for row in await tx.lock(VERSIONS.among(map(VERSIONS.key_of, schedules)))}
    wanted = later(await tx.now(), -back_s)
    boundaries = {
        key: StoreTime(max(wanted, row["in_force_until"] or row["in_force_from"]))
        for key, row in last.items()
    }
    cursors = await tx.lock(CURSORS.among(map(CURSORS.key_of, await tx.find(CURSORS.each(last)))))
    beyond = [
        kind(*key).after(moment) for kind in (RUNS_OPEN, RUNS_BEHIND) for key, moment in boundaries.items()
    ]
    waiting = filter(_is_planned, await tx.find(Ranges(RUNS, tuple(beyond))))
    freed = Freed()
    for run in filter(_is_planned, await tx.lock(RUNS.among(map(RUNS.key_of, waiting)))):
        if run["held"] & spared:
            await tx.change(RUNS, [(run, {"origin": Origin.MANUAL.value})])
        else:
            await end(tx, freed, run, RunState.WITHDRAWN, reasons[owner_of(run)])
    ends = {
        VERSIONS.key_of(row): boundaries[key] for key, row in last.items() if row["in_force_until"] is None
    }
    open_ = [row for row in last.values() if row["in_force_until"] is None]
    await tx.change(VERSIONS, [(row, {"in_force_until": boundaries[owner_of(row)]}) for row in open_])
    for cursor in cursors:
        if (until := ends.get(CURSORS.key_of(cursor))) is not None:
            done = {"next_fire_at": None} if cursor["planned_through"] >= until else {}
            await tx.change(CURSORS, [(cursor, {"until": until, **done})])
    return boundaries


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
