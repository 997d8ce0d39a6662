"""Freezes: what they mark, and how they end."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from fencepost.model.audit import Action, Author
from fencepost.model.freeze import Freeze, Scope, ScopeKind
from fencepost.model.identifiers import Namespace
from fencepost.model.run import Hold
from fencepost.model.table import Row
from fencepost.model.tables import (
    CURSORS,
    FREEZES,
    RUNS,
    RUNS_BEHIND,
    RUNS_OPEN,
    RUNS_RUNNING,
    RUNS_UNFINISHED,
    SCHEDULES,
)
from fencepost.ports.rows import Transaction
from fencepost.ports.signals import Topic
from fencepost.rules.audit_log import log
from fencepost.rules.desk_rows import to_freeze
from fencepost.rules.part import Part, reads, writes

EVERYTHING = (ScopeKind.ALL.value, "")


class FreezeRules(Part):
    """See `ports.freezes`."""

    @writes
    async def freeze(self, tx: Transaction, namespace: Namespace, scope: Scope, author: Author) -> bool:
        await tx.take_turn(_turn(namespace))
        new = {
            "namespace": namespace,
            "kind": scope.kind.value,
            "value": scope.value,
            "since": await tx.now(),
            "author": author.name,
            "source": author.source,
            "reason": author.reason,
        }
        if not await tx.put_if_absent(FREEZES, [new]):
            return False
        await _mark_covered(tx, namespace, scope)
        said = {"frozen": False}, {"frozen": True}
        await log(tx, author, namespace, Action.FREEZE, str(scope), *said)
        return True

    @writes
    async def thaw(self, tx: Transaction, namespace: Namespace, scope: Scope, author: Author) -> bool:
        await tx.take_turn(_turn(namespace))
        known = await tx.lock(FREEZES.at(namespace, scope.kind.value, scope.value))
        if not known:
            return False
        await tx.delete(FREEZES, known)
        await _mark_covered(tx, namespace, scope)
        said = {"frozen": True}, {"frozen": False}
        await log(tx, author, namespace, Action.THAW, str(scope), *said)
        tx.hint(Topic.RUNS)
        return True

    @reads
    async def all(self, tx: Transaction, namespace: Namespace) -> Sequence[Freeze]:
        return [to_freeze(row) for row in await tx.find(FREEZES.all(namespace))]


async def share_turn(tx: Transaction, namespace: Namespace) -> None:
    """Before a schedule's labels are written: they and a freeze of a label must not miss each other."""
    await tx.take_turn(_turn(namespace), shared=True)


def _turn(namespace: Namespace) -> str:
    return f"freezes {namespace}"


async def frozen_scopes(tx: Transaction, namespace: Namespace) -> frozenset[tuple[str, str]]:
    """The freezes of a namespace, each as its kind and value."""
    rows = await tx.find(FREEZES.all(namespace))
    return frozenset((row["kind"], row["value"]) for row in rows)


def is_frozen(scopes: frozenset[tuple[str, str]], schedule_id: str, labels: Mapping[str, str]) -> bool:
    """Whether a freeze of a label or of a schedule covers this schedule."""
    by_label = ((ScopeKind.LABEL.value, f"{key}={value}") in scopes for key, value in labels.items())
    return (ScopeKind.SCHEDULE.value, schedule_id) in scopes or any(by_label)


async def mark_frozen(tx: Transaction, schedule: Row, frozen: bool) -> Row:
    """Mark a schedule, its cursors, and its runs that have not ended. Its caller has the schedule's lock. A
    run that is in a transaction of its own is not waited for: `mark_left` comes for it."""
    if frozen == schedule["frozen"]:
        return schedule
    owner = schedule["namespace"], schedule["schedule_id"]
    (marked,) = await tx.change(SCHEDULES, [(schedule, {"frozen": frozen})])
    cursors = await tx.lock(CURSORS.all(*owner))
    await tx.change(CURSORS, [(cursor, {"frozen": frozen}) for cursor in cursors])
    waiting = [*await tx.find(RUNS_OPEN(*owner)), *await tx.find(RUNS_BEHIND(*owner))]
    locked = await tx.lock(RUNS.among(map(RUNS.key_of, waiting)))
    begun = await tx.take(RUNS_UNFINISHED(*owner))
    open_ = [run for run in (*locked, *begun) if run["finished_at"] is None]
    await tx.change(RUNS, [(run, {"held": _held(run["held"], frozen)}) for run in open_])
    return marked


async def mark_left(tx: Transaction, limit: int) -> None:
    """Mark what a freeze or a thaw had to leave because the run's own transaction had it locked."""
    running = await tx.find(RUNS_RUNNING())
    if not running:
        return
    owners = sorted({(run["namespace"], run["schedule_id"]) for run in running if run["schedule_id"]})
    frozen = {SCHEDULES.key_of(one): one["frozen"] for one in await tx.find(SCHEDULES.among(owners))}
    left = [run for run in running if frozen.get(_owner(run), False) != bool(run["held"] & Hold.FROZEN)]
    for schedule in await tx.take(SCHEDULES.among(sorted(map(_owner, left[:limit])))):
        mine = [RUNS.key_of(run) for run in left[:limit] if _owner(run) == SCHEDULES.key_of(schedule)]
        runs = [run for run in await tx.take(RUNS.among(mine)) if run["finished_at"] is None]
        await tx.change(RUNS, [(run, {"held": _held(run["held"], schedule["frozen"])}) for run in runs])


async def _mark_covered(tx: Transaction, namespace: Namespace, scope: Scope) -> None:
    """Every schedule that the scope covers is as the freezes in force say."""
    if scope.kind in (ScopeKind.ALL, ScopeKind.QUEUE):
        return
    scopes = await frozen_scopes(tx, namespace)
    only = frozenset({(scope.kind.value, scope.value)})
    if scope.kind is ScopeKind.SCHEDULE:
        schedules = await tx.lock(SCHEDULES.at(namespace, scope.value))
    else:
        schedules = await tx.lock(SCHEDULES.all(namespace))
    for schedule in schedules:
        labels = json.loads(schedule["labels"])
        if is_frozen(only, schedule["schedule_id"], labels):
            await mark_frozen(tx, schedule, is_frozen(scopes, schedule["schedule_id"], labels))


def _owner(run: Row) -> tuple[str, str]:
    return run["namespace"], run["schedule_id"]


def _held(held: int, frozen: bool) -> int:
    return held | Hold.FROZEN.value if frozen else held & ~Hold.FROZEN.value
