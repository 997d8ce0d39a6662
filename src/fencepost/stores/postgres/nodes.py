"""The fleet in PostgreSQL: a node whose session with the server has ended counts as gone."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.model.clocks import STEP_MIN_S
from fencepost.model.high_water import HighWater
from fencepost.model.identifiers import Fence
from fencepost.model.node import BeatResponse, Node, NodeRecord, NodeReport
from fencepost.model.node_codec import node_to_text, report_to_text
from fencepost.rules.nodes import NodeRules, to_node_record
from fencepost.stores.postgres.part import Accelerated
from fencepost.stores.postgres.rows import PostgresRows
from fencepost.stores.postgres.signals import PostgresSignals
from fencepost.stores.queries import load_queries

QUERIES = load_queries(__package__, "nodes.sql")


class PostgresNodes(Accelerated, NodeRules):
    """See `ports.nodes`."""

    def __init__(self, rows: PostgresRows, signals: PostgresSignals) -> None:
        super().__init__(rows)
        self._signals = signals

    async def beat(self, node: Node, report: NodeReport, alive_for_s: float) -> BeatResponse:
        terms = node.node_id, node_to_text(node), report.skew_s, alive_for_s, report_to_text(report)
        rows = await self._database.fetch(QUERIES["beat"], *terms, self._signals.session_key, STEP_MIN_S)
        live, said = tuple(to_node_record(row) for row in rows), rows[0]
        high_water = HighWater(said["incarnation"], Fence(said["fence"]), said["epochs"], said["older"])
        return BeatResponse(live, high_water, said["shards"])

    async def live(self) -> Sequence[NodeRecord]:
        return [to_node_record(row) for row in await self._database.fetch(QUERIES["live"], STEP_MIN_S)]
