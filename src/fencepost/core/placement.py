"""Placement: which node should hold which shard.

Rendezvous hashing: each shard goes to the live node with the highest score for it. Every node computes the
same answer from the same list, and a node that comes or goes moves few shards but those that it gains or
loses. To keep the load even with few shards, a node takes at most its fair share, rounded up; a shard whose
favourite is full goes to its next choice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from fencepost.model.identifiers import NodeId, Shard


def assign(shards: int, nodes: Sequence[NodeId]) -> dict[Shard, NodeId]:
    """The holder that each shard should have; empty when there is no node."""
    if not nodes:
        return {}
    room = dict.fromkeys(sorted(nodes), -(-shards // len(nodes)))
    placed: dict[Shard, NodeId] = {}
    for shard in map(Shard, range(shards)):
        candidates = [node for node, left in room.items() if left > 0]
        chosen = max(candidates, key=lambda node: _score(shard, node))
        room[chosen] -= 1
        placed[shard] = chosen
    return placed


def shards_of(node: NodeId, shards: int, nodes: Sequence[NodeId]) -> frozenset[Shard]:
    """The shards that one node should hold."""
    return frozenset(shard for shard, holder in assign(shards, nodes).items() if holder == node)


def _score(shard: Shard, node: NodeId) -> bytes:
    return hashlib.blake2b(f"{shard}@{node}".encode(), digest_size=8).digest()
