"""Leases that are ahead of the ledger tell that it is older than it was, whether they are held or free."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from fencepost.core.restoring import ahead
from fencepost.model.clocks import StoreTime, later
from fencepost.model.high_water import lifted
from fencepost.model.identifiers import Epoch, Lineage, NodeId, Shard
from fencepost.model.leader import LeaderRecord
from fencepost.model.lease import OWN_LINEAGE, LeaseRecord

NOW = StoreTime(datetime(2026, 3, 1, 12, tzinfo=UTC))
ALICE = NodeId("alice")
ELSEWHERE = Lineage("kubernetes:fleet")
SHARD = Shard(3)
LEADER = LeaderRecord(SHARD, Epoch(5), ALICE, ELSEWHERE, Epoch(5), NOW, 1)


def lease(epoch: int, holder: NodeId | None = None) -> LeaseRecord:
    return LeaseRecord(SHARD, holder, Epoch(epoch), 0.0 if holder is None else 8.0)


@pytest.mark.parametrize("holder", [ALICE, None])
def test_a_lease_that_is_ahead_of_the_ledger_does_not_go_untold(holder: NodeId | None) -> None:
    (told,) = ahead([lease(6, holder)], [LEADER])
    assert told.startswith("the lease of shard 3 was granted under epoch 6, and the ledger knows 5;")


@pytest.mark.parametrize("holder", [ALICE, None])
@pytest.mark.parametrize("epoch", [0, 4, 5])
def test_a_lease_that_the_ledger_knows_tells_nothing(epoch: int, holder: NodeId | None) -> None:
    assert list(ahead([lease(epoch, holder)], [LEADER])) == []


@pytest.mark.parametrize("holder", [ALICE, None])
def test_a_ledger_that_never_heard_of_a_shard_knows_epoch_0(holder: NodeId | None) -> None:
    other = replace(LEADER, shard=Shard(4))
    (told,) = ahead([lease(1, holder)], [other])
    assert "epoch 1, and the ledger knows 0" in told
    assert list(ahead([lease(0, holder)], [other])) == []


def test_epochs_that_are_counted_apart_are_not_compared() -> None:
    assert list(ahead([lease(6)], [LEADER], OWN_LINEAGE)) == []
    assert len(list(ahead([lease(6)], [LEADER], ELSEWHERE))) == 1
    assert len(list(ahead([lease(6)], [], OWN_LINEAGE))) == 1


def test_a_ledger_that_was_lifted_is_not_told_again_until_it_has_another_leader() -> None:
    lift = lifted(LEADER.epoch, later(NOW, 60))
    restored = replace(LEADER, epoch=Epoch(lift))
    assert list(ahead([lease(6)], [restored])) == []
    led_again = replace(restored, epoch=Epoch(lift + 1), lease_epoch=Epoch(7), since=later(NOW, 61))
    assert list(ahead([lease(7)], [led_again])) == []
    assert len(list(ahead([lease(8)], [led_again]))) == 1
