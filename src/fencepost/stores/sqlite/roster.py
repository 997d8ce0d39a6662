"""The fleet in SQLite."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import apsw

from fencepost.model.audit import Action, Author
from fencepost.model.clocks import STEP_MIN_S, StoreTime
from fencepost.model.identifiers import Namespace, NodeId
from fencepost.model.json import JsonObject
from fencepost.model.node import Node, NodeRecord, NodeReport
from fencepost.ports.signals import Topic
from fencepost.stores.fleet_rows import node_to_text, report_to_text, to_node_record
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.audit_log import note
from fencepost.stores.sqlite.connection import Database
from fencepost.stores.sqlite.moments import fetch, span_us, to_us
from fencepost.stores.sqlite.signals import SqliteSignals

QUERIES = load_queries("fencepost.stores.sqlite", "roster.sql")


class SqliteRoster:
    """See `ports.roster`."""

    def __init__(self, database: Database, signals: SqliteSignals) -> None:
        self._database = database
        self._signals = signals

    async def beat(self, node: Node, report: NodeReport, alive_for_s: float) -> Sequence[NodeRecord]:
        def work(connection: apsw.Connection, now: StoreTime) -> Sequence[NodeRecord]:
            connection.execute(
                QUERIES["beat"],
                {
                    "node_id": node.node_id,
                    "about": node_to_text(node),
                    "now": to_us(now),
                    "alive_until": to_us(now) + span_us(alive_for_s),
                    "skew_s": report.skew_s,
                    "report": report_to_text(report),
                },
            )
            return _found("live", connection, now)

        return await self._database.transact(work)

    async def leave(self, node_id: NodeId) -> None:
        def work(connection: apsw.Connection, _: StoreTime) -> None:
            connection.execute(QUERIES["leave"], {"node_id": node_id})

        await self._database.transact(work)
        self._signals.hint(Topic.LEASES)

    async def live(self) -> Sequence[NodeRecord]:
        return await self._database.read(partial(_found, "live"))

    async def from_future(self) -> Sequence[NodeRecord]:
        return await self._database.read(partial(_found, "from_future"))

    async def drain(self, node_id: NodeId, draining: bool, namespace: Namespace, author: Author) -> bool:
        known, changed = await self._database.transact(partial(_drain, node_id, draining, namespace, author))
        if changed:
            self._signals.hint(Topic.LEASES)
        return known

    async def sweep(self, dead_for_s: float) -> int:
        def work(connection: apsw.Connection, now: StoreTime) -> int:
            connection.execute(QUERIES["end_from_future"], _moments(now))
            connection.execute(QUERIES["sweep"], {"cutoff": to_us(now) - span_us(dead_for_s)})
            return connection.changes()

        return await self._database.transact(work)


def _found(query: str, connection: apsw.Connection, now: StoreTime) -> Sequence[NodeRecord]:
    return [to_node_record(row) for row in fetch(connection.execute(QUERIES[query], _moments(now)))]


def _moments(now: StoreTime) -> dict[str, int]:
    """Now, and the latest that a sign of life may be from."""
    return {"now": to_us(now), "latest": to_us(now) + span_us(STEP_MIN_S)}


def _drain(
    node_id: NodeId,
    draining: bool,
    namespace: Namespace,
    author: Author,
    connection: apsw.Connection,
    now: StoreTime,
) -> tuple[bool, bool]:
    """Whether there is such a live node, and whether it was otherwise before."""
    terms = {"node_id": node_id, "draining": draining, **_moments(now)}
    was = connection.execute(QUERIES["is_draining"], terms).get
    if was is None or bool(was) == draining:
        return was is not None, False
    connection.execute(QUERIES["drain"], terms)
    action = Action.NODE_DRAIN if draining else Action.NODE_UNDRAIN
    before: JsonObject = {"draining": not draining}
    note(connection, now, namespace, author, action, node_id, before, {"draining": draining})
    return True, True
