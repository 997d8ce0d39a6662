"""Split brain: nodes that believe they lead a shard that another node has taken over, by the ledger.

For a moment that is normal: a node may lose its lease before it notices, and the fence refuses what it still
writes. A node that says so in a report made *after* its successor was registered has not noticed. That is
worth an alarm: its nodes may keep their leases in different places, or a clock is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Epoch, NodeId, Shard
from fencepost.model.leader import LeaderRecord
from fencepost.model.node import NodeRecord


@dataclass(frozen=True, slots=True)
class Pretender:
    """A node that believes to lead a shard under an epoch which the ledger no longer accepts."""

    shard: Shard
    node_id: NodeId
    epoch: Epoch
    leader: NodeId | None


def pretenders(leaders: Iterable[LeaderRecord], nodes: Sequence[NodeRecord]) -> list[Pretender]:
    """Who believes wrongly, by shard and name."""
    known = {record.shard: record for record in leaders}
    found = [
        Pretender(led.shard, one.node.node_id, led.epoch, known[led.shard].holder)
        for one in nodes
        for led in one.report.leads
        if led.shard in known and _outlived(known[led.shard], one, led.epoch)
    ]
    return sorted(found, key=lambda each: (each.shard, each.node_id))


def _outlived(leader: LeaderRecord, node: NodeRecord, epoch: Epoch) -> bool:
    if leader.holder == node.node.node_id or epoch >= leader.epoch:
        return False
    return leader.since is not None and node.reported_at is not None and node.reported_at > leader.since
