"""Who is alive. Membership decides only who *should* hold a shard; leases and epochs decide who does.

A node is alive until the end of what its last sign of life promised. Where the store can see that the node's
own session with it has ended, the node is not alive from that moment on. That is a hint that it was killed; a
wrong one costs only a change of leaders. A sign of life that lies more than a second in the future does not
count: the store's clock was set back, and the node counts as dead until it is heard again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from fencepost.model.audit import Author
from fencepost.model.identifiers import Namespace, NodeId
from fencepost.model.node import BeatResponse, Node, NodeRecord, NodeReport


class Nodes(Protocol):
    """The fleet."""

    async def beat(self, node: Node, report: NodeReport, alive_for_s: float) -> BeatResponse:
        """Announce the node for `alive_for_s`. The transaction whose commit this call awaits also read what
        it returns, so the high-water mark is durable (see `Epochs.high_water`)."""
        ...

    async def leave(self, node_id: NodeId) -> None:
        """Strike the node off; listeners for `leases` are told, so that others take over at once."""
        ...

    async def live(self) -> Sequence[NodeRecord]:
        """All live nodes, by id."""
        ...

    async def from_future(self) -> Sequence[NodeRecord]:
        """The nodes whose last sign of life lies in the future, by id; for people."""
        ...

    async def owners(self) -> Mapping[NodeId, Namespace]:
        """The namespace whose jobs each node runs or ran: of the announced nodes, and of the last `GONE_KEPT`
        that were struck off. At least one struck-off node of each namespace is kept."""
        ...

    async def drain(self, node_id: NodeId, draining: bool, namespace: Namespace, author: Author) -> bool:
        """Ask a live node to plan and start nothing more, or to go on; False where there is no such live
        node.

        The request is kept with the node through its signs of life. Listeners for `leases` are told, and the
        entry is written in the namespace's log; a request that changes nothing writes none.
        """
        ...

    async def sweep(self, dead_for_s: float) -> int:
        """Strike off nodes that have been dead for `dead_for_s`; returns how many. A node whose last sign of
        life lies in the future counts as dead from now on."""
        ...
