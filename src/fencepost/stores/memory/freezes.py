"""Freezes in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fencepost.model.audit import Action, Author
from fencepost.model.freeze import Freeze, Scope, ScopeKind
from fencepost.model.identifiers import Namespace
from fencepost.model.run import Hold
from fencepost.model.schedule import Schedule
from fencepost.ports.signals import Topic
from fencepost.stores.memory.part import MemoryPart
from fencepost.stores.memory.tables import ScheduleRow, Tables


class MemoryFreezes(MemoryPart):
    """See `ports.freezes`."""

    async def freeze(self, namespace: Namespace, scope: Scope, author: Author) -> bool:
        if (namespace, scope) in self._tables.freezes:
            return False
        by = replace(author, credential=None)
        self._tables.freezes[namespace, scope] = Freeze(namespace, scope, self._tables.now(), by)
        self._mark_all(namespace)
        before, after = {"frozen": False}, {"frozen": True}
        self._tables.log(author, namespace, Action.FREEZE, str(scope), before, after)
        return True

    async def thaw(self, namespace: Namespace, scope: Scope, author: Author) -> bool:
        if self._tables.freezes.pop((namespace, scope), None) is None:
            return False
        self._mark_all(namespace)
        before, after = {"frozen": True}, {"frozen": False}
        self._tables.log(author, namespace, Action.THAW, str(scope), before, after)
        self._signals.hint(Topic.RUNS)
        return True

    async def all(self, namespace: Namespace) -> Sequence[Freeze]:
        return [one for (owner, _), one in sorted(self._tables.freezes.items()) if owner == namespace]

    def _mark_all(self, namespace: Namespace) -> None:
        for (owner, _), row in self._tables.schedules.items():
            if owner == namespace:
                mark_frozen(self._tables, row)


def mark_frozen(tables: Tables, row: ScheduleRow) -> None:
    """Mark a schedule and its open runs as the freezes in force say."""
    schedule = row.schedule
    frozen = any(_covers(scope, schedule) for owner, scope in tables.freezes if owner == schedule.namespace)
    if frozen == schedule.frozen:
        return
    row.schedule = replace(schedule, frozen=frozen)
    for run in list(tables.lane(schedule.namespace, schedule.schedule_id).open.values()):
        held = run.record.held
        tables.change(run, held=held | Hold.FROZEN if frozen else held & ~Hold.FROZEN)


def _covers(scope: Scope, schedule: Schedule) -> bool:
    match scope.kind:
        case ScopeKind.SCHEDULE:
            return scope.value == schedule.schedule_id
        case ScopeKind.LABEL:
            key, value = scope.label
            return schedule.spec.labels.get(key) == value
        case ScopeKind.ALL | ScopeKind.QUEUE:
            return False
