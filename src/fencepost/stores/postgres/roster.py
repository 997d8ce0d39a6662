"""The fleet in PostgreSQL: a node whose session with the server has ended counts as gone."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.model.clocks import STEP_MIN_S
from fencepost.model.node import BeatResponse, Node, NodeRecord, NodeReport
from fencepost.rules.roster import RosterRules, node_to_text, report_to_text, to_node_record
from fencepost.stores.postgres.epochs import to_high_water
from fencepost.stores.postgres.part import Accelerated
from fencepost.stores.postgres.rows import PostgresRows
from fencepost.stores.postgres.signals import PostgresSignals
from fencepost.stores.queries import load_queries

QUERIES = load_queries(__package__, "roster.sql")


class PostgresRoster(Accelerated, RosterRules):
    """See `ports.roster`."""

    def __init__(self, rows: PostgresRows, signals: PostgresSignals) -> None:
        super().__init__(rows)
        self._signals = signals

    async def beat(self, node: Node, report: NodeReport, alive_for_s: float) -> BeatResponse:
        said = node.node_id, node_to_text(node), report.skew_s, alive_for_s, report_to_text(report)
        rows = await self._database.fetch(QUERIES["beat"], *said, self._signals.session_key, STEP_MIN_S)
        live = tuple(to_node_record(row) for row in rows)
        return BeatResponse(live, to_high_water(rows[0]), rows[0]["shards"])

    async def live(self) -> Sequence[NodeRecord]:
        return [to_node_record(row) for row in await self._database.fetch(QUERIES["live"], STEP_MIN_S)]
