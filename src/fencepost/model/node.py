"""A process of the fleet."""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import NodeId, Queue


@dataclass(frozen=True)
class Node:
    """What a process says of itself. Its name is made anew at each start and never used again."""

    node_id: NodeId
    host: str
    pid: int
    plans: bool
    works: bool
    queues: tuple[Queue, ...] = ()
    concurrency: int = 0
    code_digest: str = ""


@dataclass(frozen=True)
class NodeRecord:
    """A node as the store knows it. `skew_s` is the node's wall clock minus the store's."""

    node: Node
    started_at: StoreTime
    alive_for_s: float
    skew_s: float
