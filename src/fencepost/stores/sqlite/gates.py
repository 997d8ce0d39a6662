"""Catch-up gates in SQLite."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import apsw

from fencepost.model.audit import HOUSE, Action, Author
from fencepost.model.clocks import StoreTime
from fencepost.model.gate import ClosedGate, GateDecision
from fencepost.model.identifiers import Namespace, ScheduleId
from fencepost.model.json import JsonObject
from fencepost.ports.signals import Topic
from fencepost.stores.desk_rows import to_closed_gate
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.audit_log import note
from fencepost.stores.sqlite.connection import Database
from fencepost.stores.sqlite.moments import fetch, to_us
from fencepost.stores.sqlite.parking import ring
from fencepost.stores.sqlite.runs import TYPICAL_OF
from fencepost.stores.sqlite.signals import SqliteSignals

QUERIES = load_queries("fencepost.stores.sqlite", "gates.sql")
ACTIONS = {
    GateDecision.OPEN: Action.GATE_OPEN,
    GateDecision.LATEST: Action.GATE_LATEST,
    GateDecision.DROP: Action.GATE_DROP,
}


class SqliteGates:
    """See `ports.gates`."""

    def __init__(self, database: Database, signals: SqliteSignals) -> None:
        self._database = database
        self._signals = signals

    async def closed(self, namespace: Namespace) -> Sequence[ClosedGate]:
        def work(connection: apsw.Connection, _: StoreTime) -> list[ClosedGate]:
            terms = {"namespace": namespace, "typical_of": TYPICAL_OF}
            return [to_closed_gate(row) for row in fetch(connection.execute(QUERIES["closed"], terms))]

        return await self._database.read(work)

    async def decide(
        self, namespace: Namespace, schedule_id: ScheduleId, decision: GateDecision, author: Author
    ) -> int | None:
        work = partial(_decide, namespace, schedule_id, decision, author)
        released = await self._database.transact(work)
        if released is not None:
            self._signals.hint(Topic.RUNS)
        return released


def close(
    connection: apsw.Connection,
    now: StoreTime,
    namespace: Namespace,
    schedule_id: ScheduleId,
    reason: str,
) -> None:
    """Hold back all catch-up of a schedule that nobody has started; a closed gate stays as it is."""
    name = {"namespace": namespace, "schedule_id": schedule_id}
    terms = {**name, "reason": reason, "now": to_us(now)}
    if connection.execute(QUERIES["close"], terms).get is None:
        return
    held = sum(1 for _ in connection.execute(QUERIES["hold_back"], name))
    before: JsonObject = {"closed": False}
    after: JsonObject = {"closed": True, "reason": reason, "held": held}
    note(connection, now, namespace, HOUSE, Action.GATE_CLOSE, schedule_id, before, after)


def _decide(
    namespace: Namespace,
    schedule_id: ScheduleId,
    decision: GateDecision,
    author: Author,
    connection: apsw.Connection,
    now: StoreTime,
) -> int | None:
    name = {"namespace": namespace, "schedule_id": schedule_id}
    if connection.execute(QUERIES["is_closed"], name).get is None:
        return None
    held = list(connection.execute(QUERIES["held_back"], name))
    released = _released(decision, held)
    missed = held[: len(held) - len(released)]
    connection.execute(QUERIES["let_go"], {"rows": _row_ids(released)})
    why = {"reason": _why_missed(decision, author), "now": to_us(now)}
    connection.execute(QUERIES["miss"], {**why, "rows": _row_ids(missed)})
    let_through = max((fire_time for _, fire_time in released), default=None)
    connection.execute(QUERIES["open"], {**name, "now": to_us(now), "let_through": let_through})
    if missed:
        ring(connection, [(namespace, schedule_id)])
    before: JsonObject = {"closed": True, "held": len(held)}
    after: JsonObject = {"closed": False, "released": len(released), "missed": len(missed)}
    note(connection, now, namespace, author, ACTIONS[decision], schedule_id, before, after)
    return len(released)


def _released(decision: GateDecision, held: Sequence[Any]) -> Sequence[Any]:
    """What may run: always the newest of what is held, by fire time."""
    match decision:
        case GateDecision.OPEN:
            return held
        case GateDecision.LATEST:
            return held[-1:]
        case GateDecision.DROP:
            return []


def _why_missed(decision: GateDecision, author: Author) -> str:
    why = f"gate: {decision}, by {author.name}"
    return why if author.reason is None else f"{why}: {author.reason}"


def _row_ids(rows: Sequence[Any]) -> str:
    return json.dumps([row_id for row_id, _ in rows])
