"""The fleet in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.model.audit import Action, Author
from fencepost.model.clocks import STEP_MIN_S
from fencepost.model.identifiers import Namespace, NodeId
from fencepost.model.node import Node, NodeRecord, NodeReport
from fencepost.rules.fleet_rows import node_to_text, report_to_text, to_node_record
from fencepost.stores.postgres.audit_log import Change, log
from fencepost.stores.postgres.connection import Database
from fencepost.stores.postgres.signals import PostgresSignals
from fencepost.stores.queries import load_queries

QUERIES = load_queries(__package__, "roster.sql")


class PostgresRoster:
    """See `ports.roster`."""

    def __init__(self, database: Database, signals: PostgresSignals) -> None:
        self._database = database
        self._signals = signals

    async def beat(self, node: Node, report: NodeReport, alive_for_s: float) -> Sequence[NodeRecord]:
        said = node.node_id, node_to_text(node), report.skew_s, alive_for_s, report_to_text(report)
        rows = await self._database.fetch(QUERIES["beat"], *said, self._signals.session_key, STEP_MIN_S)
        return [to_node_record(row) for row in rows]

    async def leave(self, node_id: NodeId) -> None:
        await self._database.fetch(QUERIES["leave"], node_id)

    async def live(self) -> Sequence[NodeRecord]:
        return [to_node_record(row) for row in await self._database.fetch(QUERIES["live"], STEP_MIN_S)]

    async def from_future(self) -> Sequence[NodeRecord]:
        return [to_node_record(row) for row in await self._database.fetch(QUERIES["from_future"], STEP_MIN_S)]

    async def drain(self, node_id: NodeId, draining: bool, namespace: Namespace, author: Author) -> bool:
        async with self._database.transaction() as session:
            was = await session.fetchval(QUERIES["is_draining"], node_id, STEP_MIN_S)
            if was is None or was == draining:
                return was is not None
            await session.fetch(QUERIES["drain"], node_id, draining)
            action = Action.NODE_DRAIN if draining else Action.NODE_UNDRAIN
            change = Change(node_id, {"draining": not draining}, {"draining": draining})
            await log(session, namespace, author, action, change)
            return True

    async def sweep(self, dead_for_s: float) -> int:
        await self._database.fetch(QUERIES["end_from_future"], STEP_MIN_S)
        return int(await self._database.fetch_value(QUERIES["sweep"], dead_for_s))
