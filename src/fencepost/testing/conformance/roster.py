"""The behaviour of the roster."""

from __future__ import annotations

from fencepost.model.identifiers import NodeId, Queue
from fencepost.model.node import Node
from fencepost.testing.conformance.builders import ALICE, BOB, close_to
from fencepost.testing.conformance.harness import StoreHarness

ALIVE_S = 15.0


class RosterContract:
    """Who is alive, by the store's clock."""

    async def test_nobody_is_there_at_first(self, harness: StoreHarness) -> None:
        assert list(await harness.store.roster.live()) == []

    async def test_a_node_does_not_miss_itself(self, harness: StoreHarness) -> None:
        node = Node(ALICE, "host-a", 17, True, True, (Queue("default"), Queue("heavy")), 8, "d1")
        (record,) = await harness.store.roster.beat(node, -0.25, ALIVE_S)
        assert (record.node, record.skew_s, record.started_at) == (node, -0.25, harness.now)
        assert close_to(record.alive_for_s, ALIVE_S)

    async def test_nodes_come_by_id(self, harness: StoreHarness) -> None:
        await beat(harness, BOB)
        assert await beat(harness, ALICE) == [ALICE, BOB]
        assert await live(harness) == [ALICE, BOB]

    async def test_a_silent_node_is_not_live(self, harness: StoreHarness) -> None:
        await beat(harness, ALICE)
        await harness.advance(ALIVE_S - 1)
        assert await beat(harness, BOB) == [ALICE, BOB]
        await harness.advance(2)
        assert await live(harness) == [BOB]

    async def test_a_beat_does_not_move_the_start(self, harness: StoreHarness) -> None:
        started_at = harness.now
        await beat(harness, ALICE)
        await harness.advance(5)
        await harness.store.roster.beat(make_node(ALICE), 0.5, ALIVE_S)
        (record,) = await harness.store.roster.live()
        assert (record.started_at, record.skew_s) == (started_at, 0.5)
        assert close_to(record.alive_for_s, ALIVE_S)

    async def test_a_node_that_left_is_not_live(self, harness: StoreHarness) -> None:
        await beat(harness, ALICE)
        await beat(harness, BOB)
        await harness.store.roster.leave(ALICE)
        await harness.store.roster.leave(ALICE)
        assert await live(harness) == [BOB]

    async def test_sweep_does_not_strike_off_the_living_or_the_newly_dead(
        self, harness: StoreHarness
    ) -> None:
        await beat(harness, ALICE)
        await harness.advance(ALIVE_S + 50)
        assert await harness.store.roster.sweep(60) == 0
        await beat(harness, BOB)
        await harness.advance(11)
        assert await harness.store.roster.sweep(60) == 1
        assert await harness.store.roster.sweep(60) == 0
        assert await live(harness) == [BOB]


def make_node(node_id: NodeId) -> Node:
    """A node that plans and works."""
    return Node(node_id, "host", 1, plans=True, works=True)


async def beat(harness: StoreHarness, node_id: NodeId) -> list[NodeId]:
    """Announce a node; who lives."""
    records = await harness.store.roster.beat(make_node(node_id), 0.0, ALIVE_S)
    return [record.node.node_id for record in records]


async def live(harness: StoreHarness) -> list[NodeId]:
    """Who lives."""
    return [record.node.node_id for record in await harness.store.roster.live()]
