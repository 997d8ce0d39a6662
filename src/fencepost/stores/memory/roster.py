"""The fleet in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from fencepost.model.audit import Action, Author
from fencepost.model.clocks import StoreTime, is_from_the_future, later
from fencepost.model.identifiers import Namespace, NodeId
from fencepost.model.node import Node, NodeRecord, NodeReport
from fencepost.ports.signals import Topic
from fencepost.stores.memory.part import MemoryPart
from fencepost.stores.memory.tables import NodeRow


class MemoryRoster(MemoryPart):
    """See `ports.roster`."""

    async def beat(self, node: Node, report: NodeReport, alive_for_s: float) -> Sequence[NodeRecord]:
        now = self._tables.now()
        known = self._tables.nodes.get(node.node_id)
        fresh = NodeRow(node, now, later(now, alive_for_s), report, now)
        if known is not None:
            fresh = replace(fresh, started_at=known.started_at, draining=known.draining)
        self._tables.nodes[node.node_id] = fresh
        return await self.live()

    async def leave(self, node_id: NodeId) -> None:
        self._tables.nodes.pop(node_id, None)
        self._signals.hint(Topic.LEASES)

    async def live(self) -> Sequence[NodeRecord]:
        now = self._tables.now()
        rows = sorted(self._tables.nodes.items())
        return [_shown(row, now) for _, row in rows if row.is_alive(now)]

    async def from_future(self) -> Sequence[NodeRecord]:
        now = self._tables.now()
        rows = sorted(self._tables.nodes.items())
        return [_shown(row, now) for _, row in rows if is_from_the_future(row.reported_at, now)]

    async def drain(self, node_id: NodeId, draining: bool, namespace: Namespace, author: Author) -> bool:
        row = self._tables.nodes.get(node_id)
        if row is None or not row.is_alive(self._tables.now()):
            return False
        if row.draining != draining:
            row.draining = draining
            action = Action.NODE_DRAIN if draining else Action.NODE_UNDRAIN
            said = {"draining": not draining}, {"draining": draining}
            self._tables.log(author, namespace, action, node_id, *said)
            self._signals.hint(Topic.LEASES)
        return True

    async def sweep(self, dead_for_s: float) -> int:
        now = self._tables.now()
        for row in self._tables.nodes.values():
            if is_from_the_future(row.reported_at, now):
                row.reported_at = row.alive_until = now
        cutoff = now - timedelta(seconds=dead_for_s)
        dead = [key for key, row in self._tables.nodes.items() if row.alive_until < cutoff]
        for node_id in dead:
            del self._tables.nodes[node_id]
        return len(dead)


def _shown(row: NodeRow, now: StoreTime) -> NodeRecord:
    alive_for_s = (row.alive_until - now).total_seconds()
    return NodeRecord(row.node, row.started_at, alive_for_s, row.report, row.reported_at, row.draining)
