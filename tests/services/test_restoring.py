"""A lease store that outlived a restore of the ledger is asked also after the whole fleet has stopped."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.model.audit import Author
from fencepost.model.identifiers import Epoch, Lineage, NodeId, Shard
from fencepost.model.lease import Granted, LeaseRecord
from fencepost.services.restoring import check
from tests.services.house import NS, House, PlanningNode

ANNA = Author("anna", "cli")
ONE = Shard(0)


class Elsewhere:
    """A lease store in which nobody holds the one lease."""

    def __init__(self, epoch: int) -> None:
        self.epoch = Epoch(epoch)

    async def read(self) -> Sequence[LeaseRecord]:
        return [LeaseRecord(ONE, None, self.epoch, 0.0)]


async def led_from_elsewhere(epoch: int) -> House:
    house = House(shards=1)
    await house.memory.epochs.register({ONE: Granted(Epoch(epoch), Lineage("other"))}, NodeId("alice"))
    return house


async def test_a_free_lease_that_is_ahead_tells_of_an_older_ledger() -> None:
    house = await led_from_elsewhere(5)
    assert (await check(house.store, Elsewhere(5), None)).older == []
    (told,) = (await check(house.store, Elsewhere(6), None)).older
    assert "epoch 6, and the ledger knows 5" in told


async def test_a_ledger_that_was_lifted_is_not_called_older_before_a_node_starts() -> None:
    house = await led_from_elsewhere(5)
    house.clock.advance(60)
    await house.memory.epochs.restore(NS, ANNA)
    assert (await check(house.store, Elsewhere(6), None)).older == []


async def test_leases_that_were_left_behind_in_the_store_do_not_tell_of_an_older_ledger() -> None:
    house = House(shards=1)
    node = PlanningNode(house, "alice")
    for _ in range(3):
        await node.elector.run_once()
        await node.elector.resign()
    assert (await check(house.store, None, None)).older == []
    await house.memory.epochs.register({ONE: Granted(Epoch(1), Lineage("other"))}, NodeId("bob"))
    assert (await check(house.store, None, None)).older == []
