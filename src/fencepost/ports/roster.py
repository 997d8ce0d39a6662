"""Who is alive. Membership decides only who *should* hold a shard; leases and epochs decide who does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fencepost.model.identifiers import NodeId
from fencepost.model.node import Node, NodeRecord


class Roster(Protocol):
    """The fleet."""

    async def beat(self, node: Node, skew_s: float, alive_for_s: float) -> Sequence[NodeRecord]:
        """Announce the node for so long, and return all live nodes, this one included, by id."""
        ...

    async def leave(self, node_id: NodeId) -> None:
        """Strike the node off; listeners for `leases` are told, so that others take over at once."""
        ...

    async def live(self) -> Sequence[NodeRecord]:
        """All live nodes, by id."""
        ...

    async def sweep(self, dead_for_s: float) -> int:
        """Strike off nodes that have been dead for so long; returns how many."""
        ...
