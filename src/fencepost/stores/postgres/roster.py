"""The fleet in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.model.identifiers import NodeId
from fencepost.model.node import Node, NodeRecord
from fencepost.stores.postgres.connection import Database
from fencepost.stores.queries import load_queries
from fencepost.stores.rows import node_to_text, to_node_record

QUERIES = load_queries(__package__, "roster.sql")


class PostgresRoster:
    """See `ports.roster`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def beat(self, node: Node, skew_s: float, alive_for_s: float) -> Sequence[NodeRecord]:
        about = node_to_text(node)
        rows = await self._database.fetch(QUERIES["beat"], node.node_id, about, skew_s, alive_for_s)
        return [to_node_record(row) for row in rows]

    async def leave(self, node_id: NodeId) -> None:
        await self._database.fetch(QUERIES["leave"], node_id)

    async def live(self) -> Sequence[NodeRecord]:
        return [to_node_record(row) for row in await self._database.fetch(QUERIES["live"])]

    async def sweep(self, dead_for_s: float) -> int:
        return int(await self._database.fetch_value(QUERIES["sweep"], dead_for_s))
