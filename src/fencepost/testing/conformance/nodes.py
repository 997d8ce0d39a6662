"""The behaviour of the list of nodes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from fencepost.model.audit import HOUSE, Action, Author, LogFilter
from fencepost.model.identifiers import Epoch, Namespace, NodeId, Queue, Shard
from fencepost.model.lease import Granted
from fencepost.model.node import GONE_KEPT, Led, Node, NodeReport
from fencepost.testing.conformance.builders import ALICE, BOB, NS, close_to
from fencepost.testing.conformance.harness import StoreHarness

ALIVE_S = 15.0
HOUR_S = 3600.0
CAROL, OTHERS = NodeId("carol"), Namespace("others")


class NodesContract:
    """Who is alive, by the store's clock."""

    async def test_no_node_is_there_at_first(self, harness: StoreHarness) -> None:
        assert list(await harness.store.nodes.live()) == []

    async def test_a_node_does_not_miss_itself(self, harness: StoreHarness) -> None:
        node = Node(ALICE, "host-a", 17, True, True, (Queue("default"), Queue("heavy")), 8, "d1")
        (record,) = (await harness.store.nodes.beat(node, NodeReport(-0.25), ALIVE_S)).live
        assert (record.node, record.skew_s, record.started_at) == (node, -0.25, harness.now)
        assert close_to(record.alive_for_s, ALIVE_S)

    async def test_a_beat_does_not_hide_how_far_the_ledger_has_come(self, harness: StoreHarness) -> None:
        epochs = harness.store.epochs
        await epochs.register({Shard(1): Granted(Epoch(7))}, ALICE)
        await epochs.reshard(harness.shards + 1, NS, HOUSE)
        await epochs.mark_older("fence 874 was seen")
        heard = await harness.store.nodes.beat(make_node(ALICE), NodeReport(), ALIVE_S)
        assert heard.high_water == await epochs.high_water()
        assert (heard.high_water.epochs, heard.high_water.older) == (8, "fence 874 was seen")
        assert heard.shards == harness.shards + 1

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
        await harness.store.nodes.beat(make_node(ALICE), NodeReport(0.5), ALIVE_S)
        (record,) = await harness.store.nodes.live()
        assert (record.started_at, record.skew_s) == (started_at, 0.5)
        assert close_to(record.alive_for_s, ALIVE_S)

    async def test_a_report_is_not_lost(self, harness: StoreHarness) -> None:
        led = Led(Shard(3), Epoch(7), 8.5, 2)
        said = NodeReport(skew_s=0.125, leads=(led, Led(Shard(5), Epoch(9), 1.0)), transitions=3, running=4)
        await harness.advance(3)
        await harness.store.nodes.beat(make_node(ALICE), said, ALIVE_S)
        await harness.advance(1)
        (record,) = await harness.store.nodes.live()
        assert record.report == said
        assert record.reported_at == harness.now - timedelta(seconds=1)

    async def test_whose_a_node_was_is_not_forgotten_when_it_is_gone(self, harness: StoreHarness) -> None:
        nodes = harness.store.nodes
        for node_id, namespace in ((ALICE, NS), (BOB, OTHERS), (CAROL, OTHERS)):
            await nodes.beat(replace(make_node(node_id), namespace=namespace), NodeReport(), ALIVE_S)
        owners = {ALICE: NS, BOB: OTHERS, CAROL: OTHERS}
        assert await nodes.owners() == owners
        await nodes.leave(BOB)
        await harness.advance(HOUR_S)
        assert await nodes.owners() == owners
        assert await nodes.sweep(60) == 2
        assert await nodes.owners() == owners

    async def test_the_memory_of_nodes_is_bounded_and_has_one_of_each_namespace(
        self, harness: StoreHarness
    ) -> None:
        nodes = harness.store.nodes
        names = [BOB, *(NodeId(f"node-{number}") for number in range(GONE_KEPT))]
        for node_id in names:
            namespace = OTHERS if node_id == BOB else NS
            await nodes.beat(replace(make_node(node_id), namespace=namespace), NodeReport(), ALIVE_S)
            await nodes.leave(node_id)
        owners = await nodes.owners()
        assert (owners[BOB], len(owners)) == (OTHERS, GONE_KEPT + 1)
        await nodes.beat(make_node(ALICE), NodeReport(), ALIVE_S)
        await nodes.leave(ALICE)
        assert (await nodes.owners()).keys() == {*names[2:], BOB, ALICE}

    async def test_a_node_that_left_is_not_live(self, harness: StoreHarness) -> None:
        await beat(harness, ALICE)
        await beat(harness, BOB)
        await harness.store.nodes.leave(ALICE)
        await harness.store.nodes.leave(ALICE)
        assert await live(harness) == [BOB]

    async def test_a_clock_set_back_does_not_keep_a_dead_node_alive(self, harness: StoreHarness) -> None:
        await beat(harness, ALICE)
        await harness.set_back(HOUR_S)
        assert await beat(harness, BOB) == [BOB]
        assert await live(harness) == [BOB]
        assert [one.node.node_id for one in await harness.store.nodes.from_future()] == [ALICE]
        assert not await harness.store.nodes.drain(ALICE, True, NS, HOUSE)

    async def test_a_clock_set_back_does_not_cost_a_living_node_its_drain(
        self, harness: StoreHarness
    ) -> None:
        await beat(harness, ALICE)
        await harness.store.nodes.drain(ALICE, True, NS, HOUSE)
        await harness.set_back(HOUR_S)
        assert await harness.store.nodes.sweep(60) == 0
        assert await beat(harness, ALICE) == [ALICE]
        assert list(await harness.store.nodes.from_future()) == []
        assert await draining(harness) == {ALICE: True}

    async def test_a_dead_node_does_not_come_back_when_the_clock_has_caught_up(
        self, harness: StoreHarness
    ) -> None:
        await beat(harness, ALICE)
        await harness.set_back(HOUR_S)
        assert await harness.store.nodes.sweep(60) == 0
        assert list(await harness.store.nodes.from_future()) == []
        await harness.advance(61)
        assert await harness.store.nodes.sweep(60) == 1
        await harness.advance(HOUR_S - 60)
        assert await live(harness) == []

    async def test_a_clock_set_back_by_less_than_a_second_does_not_cost_a_node_its_life(
        self, harness: StoreHarness
    ) -> None:
        await beat(harness, ALICE)
        await harness.set_back(0.9)
        assert await live(harness) == [ALICE]
        assert list(await harness.store.nodes.from_future()) == []

    async def test_sweep_does_not_strike_off_the_living_or_the_newly_dead(
        self, harness: StoreHarness
    ) -> None:
        await beat(harness, ALICE)
        await harness.advance(ALIVE_S + 50)
        assert await harness.store.nodes.sweep(60) == 0
        await beat(harness, BOB)
        await harness.advance(11)
        assert await harness.store.nodes.sweep(60) == 1
        assert await harness.store.nodes.sweep(60) == 0
        assert await live(harness) == [BOB]


class DrainContract:
    """Nodes under maintenance."""

    async def test_a_node_is_not_drained_unasked(self, harness: StoreHarness) -> None:
        await beat(harness, ALICE)
        assert await draining(harness) == {}

    async def test_a_beat_does_not_end_a_drain(self, harness: StoreHarness) -> None:
        await beat(harness, ALICE)
        await beat(harness, BOB)
        assert await harness.store.nodes.drain(ALICE, True, NS, HOUSE)
        await beat(harness, ALICE)
        assert await draining(harness) == {ALICE: True}

    async def test_a_drain_that_was_taken_back_does_not_last(self, harness: StoreHarness) -> None:
        await beat(harness, ALICE)
        assert await harness.store.nodes.drain(ALICE, True, NS, HOUSE)
        assert await harness.store.nodes.drain(ALICE, False, NS, HOUSE)
        assert await draining(harness) == {}

    async def test_a_node_that_is_not_there_is_not_drained(self, harness: StoreHarness) -> None:
        assert not await harness.store.nodes.drain(ALICE, True, NS, HOUSE)
        await beat(harness, ALICE)
        await harness.advance(ALIVE_S + 1)
        assert not await harness.store.nodes.drain(ALICE, True, NS, HOUSE)

    async def test_a_drain_does_not_go_unlogged(self, harness: StoreHarness) -> None:
        await beat(harness, ALICE)
        anna = Author("anna", "cli", "new kernel")
        for wanted in (True, True, False):
            assert await harness.store.nodes.drain(ALICE, wanted, NS, anna)
        entries = await harness.store.audit_log.list(NS, LogFilter(subject=ALICE))
        assert [(one.action, one.author, one.after) for one in entries] == [
            (Action.NODE_UNDRAIN, anna, {"draining": False}),
            (Action.NODE_DRAIN, anna, {"draining": True}),
        ]


async def draining(harness: StoreHarness) -> dict[NodeId, bool]:
    """Which live nodes are being drained."""
    return {one.node.node_id: True for one in await harness.store.nodes.live() if one.draining}


def make_node(node_id: NodeId) -> Node:
    """A node that plans and works."""
    return Node(node_id, "host", 1, plans=True, works=True)


async def beat(harness: StoreHarness, node_id: NodeId) -> list[NodeId]:
    """Announce a node; who lives."""
    heard = await harness.store.nodes.beat(make_node(node_id), NodeReport(), ALIVE_S)
    return [record.node.node_id for record in heard.live]


async def live(harness: StoreHarness) -> list[NodeId]:
    """Who lives."""
    return [record.node.node_id for record in await harness.store.nodes.live()]
