"""Freezes: what they mark, and how they end."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial

from fencepost.model.audit import Action, Author
from fencepost.model.freeze import Freeze, Scope, ScopeKind
from fencepost.model.identifiers import Namespace
from fencepost.model.run import Hold, RunState
from fencepost.model.table import Row
from fencepost.model.tables import CURSORS, FREEZES, RUNS, RUNS_BEHIND, RUNS_OPEN, RUNS_UNFINISHED, SCHEDULES
from fencepost.ports.rows import Transaction
from fencepost.ports.signals import Topic
from fencepost.rules.audit_log import log, to_author, written_by
from fencepost.rules.part import Part, reads, search, writes

_owner = SCHEDULES.key_of
EVERYTHING = (ScopeKind.ALL.value, "")


class FreezeRules(Part):
    """See `ports.freezes`."""

    @writes
    async def freeze(self, tx: Transaction, namespace: Namespace, scope: Scope, author: Author) -> bool:
        await tx.take_turn(_turn(namespace))
        name = {"namespace": namespace, "kind": scope.kind.value, "value": scope.value}
        new = {**name, "since": await tx.now(), **written_by(author)}
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
        return [_freeze(row) for row in await tx.find(FREEZES.all(namespace))]


async def share_turn(tx: Transaction, namespace: Namespace) -> None:
    """Before a schedule's labels are written: that write and a freeze of a label must not miss each other."""
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


async def mark_frozen(tx: Transaction, schedules: Sequence[Row], frozen: bool) -> list[Row]:
    """Mark schedules, their cursors, and their runs that have not ended. The caller has the schedules' locks.
    It does not wait for a run in a transaction of its own: `mark_left` marks that later."""
    owners = [SCHEDULES.key_of(one) for one in schedules if one["frozen"] != frozen]
    marked = await tx.change(SCHEDULES, [(one, {"frozen": frozen}) for one in schedules])
    cursors = await tx.lock(CURSORS.among(map(CURSORS.key_of, await tx.find(CURSORS.each(owners)))))
    await tx.change(CURSORS, [(cursor, {"frozen": frozen}) for cursor in cursors])
    waiting = [*await tx.find(RUNS_OPEN.each(owners)), *await tx.find(RUNS_BEHIND.each(owners))]
    begun = await tx.find(RUNS_UNFINISHED.each(owners))
    running = [RUNS.key_of(run) for run in begun if run["state"] == RunState.RUNNING]
    others = [RUNS.key_of(run) for run in (*waiting, *begun) if run["state"] != RunState.RUNNING]
    locked = [*await tx.lock(RUNS.among(others)), *await tx.take(RUNS.among(running))]
    open_ = [run for run in locked if run["finished_at"] is None]
    await tx.change(RUNS, [(run, {"held": _held(run["held"], frozen)}) for run in open_])
    return marked


async def mark_left(tx: Transaction, limit: int) -> None:
    """Mark the runs that a freeze or a thaw had to leave because the run's own transaction had them
    locked."""
    begun = await tx.find(RUNS_UNFINISHED())
    if not begun:
        return
    owners = sorted(set(map(_owner, begun)))
    frozen = {_owner(one): one["frozen"] for one in await tx.find(SCHEDULES.among(owners))}
    left = [run for run in begun if frozen.get(_owner(run), False) != bool(run["held"] & Hold.FROZEN)][:limit]
    locked = await tx.take(SCHEDULES.among(sorted(set(map(_owner, left)))))
    frozen = {_owner(one): one["frozen"] for one in locked}
    runs = await tx.take(RUNS.among(RUNS.key_of(run) for run in left if _owner(run) in frozen))
    open_ = [run for run in runs if run["finished_at"] is None]
    await tx.change(RUNS, [(run, {"held": _held(run["held"], frozen[_owner(run)])}) for run in open_])


async def _mark_covered(tx: Transaction, namespace: Namespace, scope: Scope) -> None:
    """Every schedule that the scope covers is as the freezes in force say."""
    if scope.kind in (ScopeKind.ALL, ScopeKind.QUEUE):
        return
    scopes = await frozen_scopes(tx, namespace)
    only = frozenset({(scope.kind.value, scope.value)})
    if scope.kind is ScopeKind.SCHEDULE:
        found = await tx.find(SCHEDULES.at(namespace, scope.value))
    else:
        found = await search(tx, SCHEDULES.all(namespace), partial(_is_covered, only))
    covered: dict[bool, list[Row]] = {True: [], False: []}
    for schedule in await tx.lock(SCHEDULES.among(map(SCHEDULES.key_of, found))):
        covered[_is_covered(scopes, schedule)].append(schedule)
    for frozen, some in covered.items():
        await mark_frozen(tx, some, frozen)


def _is_covered(scopes: frozenset[tuple[str, str]], schedule: Row) -> bool:
    return is_frozen(scopes, schedule["schedule_id"], json.loads(schedule["labels"]))


def _held(held: int, frozen: bool) -> int:
    return held | Hold.FROZEN.value if frozen else held & ~Hold.FROZEN.value


def _freeze(row: Row) -> Freeze:
    scope = Scope(ScopeKind(row["kind"]), row["value"])
    return Freeze(row["namespace"], scope, row["since"], to_author(row))
