"""Who believes wrongly to lead."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from fencepost.core.split_brain import Pretender, pretenders
from fencepost.model.clocks import StoreTime, later
from fencepost.model.identifiers import Epoch, NodeId, Shard
from fencepost.model.leader import LeaderRecord
from fencepost.model.lease import OWN_LINEAGE
from fencepost.model.node import Led, Node, NodeRecord, NodeReport

NOW = StoreTime(datetime(2026, 3, 1, 12, tzinfo=UTC))
ALICE, BOB = NodeId("alice"), NodeId("bob")
SHARD = Shard(3)
BOB_LEADS = LeaderRecord(SHARD, Epoch(8), BOB, OWN_LINEAGE, Epoch(8), NOW, 2)


def says(node_id: NodeId, epoch: int, after_s: float) -> NodeRecord:
    """A node that reported to lead the shard, so long after bob was registered."""
    report = NodeReport(leads=(Led(SHARD, Epoch(epoch), 5.0),))
    return NodeRecord(Node(node_id, "host", 1, True, True), NOW, 10.0, report, later(NOW, after_s))


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(says(BOB, 8, 1), id="the leader itself"),
        pytest.param(says(BOB, 7, 1), id="the leader, whose epoch rose with a new cut of the shards"),
        pytest.param(says(ALICE, 7, -1), id="who led before"),
        pytest.param(says(ALICE, 7, 0), id="who led up to that moment"),
        pytest.param(says(ALICE, 9, 1), id="who leads since, which was read too early"),
    ],
)
def test_normal_life_is_no_alarm(record: NodeRecord) -> None:
    assert pretenders([BOB_LEADS], [record]) == []


def test_a_node_that_has_not_noticed_its_successor_is_named() -> None:
    found = pretenders([BOB_LEADS], [says(BOB, 8, 1), says(ALICE, 7, 1)])
    assert found == [Pretender(SHARD, ALICE, Epoch(7), BOB)]


def test_a_shard_without_a_registration_has_no_pretender() -> None:
    assert pretenders([], [says(ALICE, 7, 1)]) == []
