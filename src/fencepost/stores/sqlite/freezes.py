"""Freezes in SQLite.

A freeze of everything, or of a queue, is looked up by each claim. Any other marks what it covers: schedules,
their cursors, for the planner, and their runs. Which freezes cover a schedule is said in one place, `covers`;
labels are few and people freeze seldom, so they are compared here and not in SQL.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import apsw

from fencepost.model.audit import Action, Author
from fencepost.model.clocks import StoreTime
from fencepost.model.freeze import Freeze, Scope, ScopeKind
from fencepost.model.identifiers import Namespace, Queue, ScheduleId
from fencepost.model.json import JsonObject
from fencepost.ports.signals import Topic
from fencepost.stores.desk_rows import to_freeze
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.audit_log import note
from fencepost.stores.sqlite.connection import Database
from fencepost.stores.sqlite.moments import fetch, to_us
from fencepost.stores.sqlite.signals import SqliteSignals

QUERIES = load_queries("fencepost.stores.sqlite", "freezes.sql")


class SqliteFreezes:
    """See `ports.freezes`."""

    def __init__(self, database: Database, signals: SqliteSignals) -> None:
        self._database = database
        self._signals = signals

    async def freeze(self, namespace: Namespace, scope: Scope, author: Author) -> bool:
        return await self._database.transact(partial(_freeze, namespace, scope, author))

    async def thaw(self, namespace: Namespace, scope: Scope, author: Author) -> bool:
        thawed = await self._database.transact(partial(_thaw, namespace, scope, author))
        if thawed:
            self._signals.hint(Topic.RUNS)
        return thawed

    async def all(self, namespace: Namespace) -> Sequence[Freeze]:
        return await self._database.read(lambda connection, _: _all(connection, namespace))


def stopped_queues(connection: apsw.Connection, namespace: Namespace) -> frozenset[Queue | None]:
    """The queues of which nothing may start; None among them is all of them."""
    rows = connection.execute(QUERIES["stopped_queues"], {"namespace": namespace})
    return frozenset(queue for (queue,) in rows)


def is_frozen(
    connection: apsw.Connection,
    namespace: Namespace,
    schedule_id: ScheduleId,
    labels: Mapping[str, str],
) -> bool:
    """Whether a freeze in force covers a schedule with these labels."""
    return any(covers(one.scope, schedule_id, labels) for one in _all(connection, namespace))


def covers(scope: Scope, schedule_id: ScheduleId, labels: Mapping[str, str]) -> bool:
    """Whether the scope marks that schedule; those of everything and of a queue mark none."""
    match scope.kind:
        case ScopeKind.ALL | ScopeKind.QUEUE:
            return False
        case ScopeKind.SCHEDULE:
            return scope.value == schedule_id
        case ScopeKind.LABEL:
            key, value = scope.label
            return labels.get(key) == value


def mark(
    connection: apsw.Connection, namespace: Namespace, schedules: Sequence[ScheduleId], frozen: bool
) -> None:
    """Write down that these schedules are frozen or not, wherever somebody looks for it."""
    terms = {"namespace": namespace, "schedules": json.dumps(schedules), "frozen": int(frozen)}
    connection.execute(QUERIES["mark_schedules"], terms)
    connection.execute(QUERIES["mark_cursors"], terms)
    connection.execute(QUERIES["hold" if frozen else "let_go"], terms)


def _freeze(
    namespace: Namespace, scope: Scope, author: Author, connection: apsw.Connection, now: StoreTime
) -> bool:
    terms = {
        **_named(namespace, scope),
        "now": to_us(now),
        "author": author.name,
        "source": author.source,
        "reason": author.reason,
    }
    if connection.execute(QUERIES["freeze"], terms).get is None:
        return False
    covered = [schedule_id for schedule_id, _ in _covered(connection, namespace, scope)]
    mark(connection, namespace, covered, frozen=True)
    before: JsonObject = {"frozen": False}
    note(connection, now, namespace, author, Action.FREEZE, str(scope), before, {"frozen": True})
    return True


def _thaw(
    namespace: Namespace, scope: Scope, author: Author, connection: apsw.Connection, now: StoreTime
) -> bool:
    if connection.execute(QUERIES["thaw"], _named(namespace, scope)).get is None:
        return False
    others = [one.scope for one in _all(connection, namespace)]
    free = [
        schedule_id
        for schedule_id, labels in _covered(connection, namespace, scope)
        if not any(covers(other, schedule_id, labels) for other in others)
    ]
    mark(connection, namespace, free, frozen=False)
    before: JsonObject = {"frozen": True}
    note(connection, now, namespace, author, Action.THAW, str(scope), before, {"frozen": False})
    return True


def _covered(
    connection: apsw.Connection, namespace: Namespace, scope: Scope
) -> Iterator[tuple[ScheduleId, Mapping[str, str]]]:
    name = {"namespace": namespace, "schedule_id": scope.value}
    query = QUERIES["labels_of" if scope.kind is ScopeKind.SCHEDULE else "labels"]
    for schedule_id, text in list(connection.execute(query, name)):
        labels = json.loads(text)
        if covers(scope, schedule_id, labels):
            yield schedule_id, labels


def _all(connection: apsw.Connection, namespace: Namespace) -> list[Freeze]:
    return [to_freeze(row) for row in fetch(connection.execute(QUERIES["all"], {"namespace": namespace}))]


def _named(namespace: Namespace, scope: Scope) -> dict[str, str | int | None]:
    return {"namespace": namespace, "kind": scope.kind, "value": scope.value}
