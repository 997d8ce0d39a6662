"""The fleet in memory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from fencepost.model.clocks import later
from fencepost.model.identifiers import NodeId
from fencepost.model.node import Node, NodeRecord
from fencepost.ports.signals import Topic
from fencepost.stores.memory.part import MemoryPart
from fencepost.stores.memory.tables import NodeRow


class MemoryRoster(MemoryPart):
    """See `ports.roster`."""

    async def beat(self, node: Node, skew_s: float, alive_for_s: float) -> Sequence[NodeRecord]:
        now = self._tables.now()
        known = self._tables.nodes.get(node.node_id)
        started_at = now if known is None else known.started_at
        self._tables.nodes[node.node_id] = NodeRow(node, started_at, later(now, alive_for_s), skew_s)
        return await self.live()

    async def leave(self, node_id: NodeId) -> None:
        self._tables.nodes.pop(node_id, None)
        self._signals.hint(Topic.LEASES)

    async def live(self) -> Sequence[NodeRecord]:
        now = self._tables.now()
        return [
            NodeRecord(row.node, row.started_at, (row.alive_until - now).total_seconds(), row.skew_s)
            for _, row in sorted(self._tables.nodes.items())
            if row.alive_until > now
        ]

    async def sweep(self, dead_for_s: float) -> int:
        cutoff = self._tables.now() - timedelta(seconds=dead_for_s)
        dead = [key for key, row in self._tables.nodes.items() if row.alive_until < cutoff]
        for node_id in dead:
            del self._tables.nodes[node_id]
        return len(dead)
