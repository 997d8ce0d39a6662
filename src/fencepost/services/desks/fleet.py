"""What can be done with the fleet: a node drained and taken back, the schedules cut into other shards."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.core.draining import left_undone
from fencepost.errors import UsageError
from fencepost.model.audit import Author
from fencepost.model.identifiers import Namespace, NodeId
from fencepost.model.leader import Resharding
from fencepost.model.node import NodeRecord
from fencepost.model.quoting import quoted
from fencepost.ports.store import Store
from fencepost.services.desks.desk import PROGRAM, Desk

SHARDS_MAX = 1_024
NAMED_MAX = 8


class FleetDesk(Desk):
    """The nodes and the shards. They serve all namespaces; the entry is written in this one's log. `only` is
    the namespace of those who see no nodes of another."""

    def __init__(
        self, store: Store, namespace: Namespace, author: Author = PROGRAM, only: Namespace | None = None
    ) -> None:
        super().__init__(store, namespace, author)
        self._only = only

    async def find(self, name: str) -> NodeRecord | None:
        """The live node of this id, or the only one whose id begins so; refused where several do."""
        if not name:
            raise UsageError("node: expected an id or the beginning of one; see: fencepost status")
        live = await self.all()
        exact = [one for one in live if one.node.node_id == name]
        found = exact or [one for one in live if one.node.node_id.startswith(name)]
        if len(found) > 1:
            raise UsageError(f"node {quoted(name)}: which one? {_names(found)}")
        return found[0] if found else None

    async def all(self) -> Sequence[NodeRecord]:
        """The live nodes, by id."""
        live = await self._store.roster.live()
        return [one for one in live if self._only in (None, one.node.namespace)]

    async def get(self, node_id: NodeId) -> NodeRecord | None:
        """The live node of this very id."""
        live = await self._store.roster.live()
        return next((one for one in live if one.node.node_id == node_id), None)

    async def drain(self, node_id: NodeId) -> bool:
        """Ask a node to plan and start nothing more; False where it is not alive."""
        return await self._store.roster.drain(node_id, True, self._namespace, self._author)

    async def undrain(self, node_id: NodeId) -> bool:
        """Ask a node to go on; False where it is not alive."""
        return await self._store.roster.drain(node_id, False, self._namespace, self._author)

    async def left_undone(self, record: NodeRecord) -> list[str]:
        """What nobody does while this node drains: `plans`, `works`."""
        return left_undone(record, await self._store.roster.live())

    async def reshard(self, shards: int) -> Resharding:
        """Cut the schedules into so many shards, while nodes run."""
        if not 1 <= shards <= SHARDS_MAX:
            raise UsageError(f"shards {shards}: expected 1 to {SHARDS_MAX}")
        older = [one for one in await self._store.roster.live() if one.reported_at is None]
        if older:
            raise UsageError(
                f"shards {shards}: {_names(older)} would go on by the old number; "
                "upgrade every process, applications too, before the first reshard"
            )
        return await self._store.epochs.reshard(shards, self._namespace, self._author)


def _names(found: Sequence[NodeRecord]) -> str:
    left = len(found) - NAMED_MAX
    names = ", ".join(one.node.node_id for one in found[:NAMED_MAX])
    return f"{names} and {left} more" if left > 0 else names
