"""A ledger that is older than a node has seen it: nothing is begun on it, by this node or by the next."""

from __future__ import annotations

import asyncio

import pytest

from fencepost.errors import StoreReplaced, StoreUnavailable
from fencepost.model.audit import Author
from fencepost.model.caveat import Caveat
from fencepost.model.identifiers import NodeId
from fencepost.model.node import Node
from fencepost.model.tables import META
from fencepost.services.ledger_watch import LedgerWatch
from fencepost.services.node import NodeRunner, Surroundings
from fencepost.stores.memory import MemoryStore
from fencepost.testing.clock import VirtualClock
from fencepost.testing.conformance.builders import NS
from tests.rows import put
from tests.services.conftest import Lines
from tests.services.house import START, House, PlanningNode, WorkingNode, make_job

ANNA = Author("anna", "cli")


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(VirtualClock(START), 4)


@pytest.fixture
def house() -> House:
    return House()


def watch(store: MemoryStore, name: str = "node-1") -> LedgerWatch:
    return LedgerWatch(store, NodeId(name))


async def seen(store: MemoryStore, fence: int) -> LedgerWatch:
    """A watch that knows the ledger at this fence."""
    store.memory.fence = fence
    known = watch(store)
    await known.remember(await store.epochs.high_water())
    return known


async def test_a_ledger_whose_fences_fell_is_refused_by_all(store: MemoryStore) -> None:
    known = await seen(store, 874)
    store.memory.fence = 274
    with pytest.raises(StoreReplaced, match=r"last fence is 274, and fence 874 .* migrate --restored"):
        await known.look()
    with pytest.raises(StoreReplaced, match="node node-1 found that its last fence is 274"):
        await watch(store, "a node that starts").look()


async def test_a_restored_ledger_is_worked_on_by_a_new_node_only(store: MemoryStore) -> None:
    known = await seen(store, 874)
    store.memory.fence = 274
    await store.epochs.mark_older("a node found so")
    assert (await store.epochs.restore(NS, ANNA)).fence > 874
    with pytest.raises(StoreReplaced, match="start this process again"):
        await known.look()
    await watch(store, "a node that starts").look()


async def test_another_ledger_in_its_place_is_not_taken_for_it(store: MemoryStore) -> None:
    known = await seen(store, 3)
    put(store, META, name="incarnation", value="1-another")
    with pytest.raises(StoreReplaced, match="incarnation 1-another"):
        await known.look()


async def test_what_no_write_has_confirmed_is_not_held_against_the_ledger(store: MemoryStore) -> None:
    store.memory.fence = 900
    known = watch(store)
    await known.look()
    store.memory.fence = 896
    await known.look()


async def test_a_worker_begins_nothing_under_a_fence_that_is_not_later(house: House) -> None:
    began: list[str] = []
    worker = WorkingNode(house, make_job(lambda: began.append("began")))
    await worker.register()
    await house.enqueue("one")
    await worker.work()
    house.memory.memory.fence = 0
    await house.enqueue("two")
    with pytest.raises(StoreReplaced, match="it gave out fence 1, after fence 1"):
        await worker.work()
    assert began == ["began"]
    assert (await house.memory.epochs.high_water()).older is not None


async def started(house: House) -> None:
    """A node that is told to stop at once."""
    around = Surroundings(house.store, house.store.leases, house.clock, lambda: 0.0, house.settings)
    stop = asyncio.Event()
    stop.set()
    await NodeRunner(Node(NodeId("bob"), "host", 1, plans=False, works=True), around).run(stop)


async def test_a_node_does_not_start_on_a_marked_ledger(house: House, lines: Lines) -> None:
    await house.memory.epochs.mark_older("node node-1 found so")
    with pytest.raises(StoreReplaced, match="node node-1 found so"):
        await started(house)
    assert not lines.about("started")


async def test_what_the_server_does_not_promise_is_not_left_unsaid(house: House, lines: Lines) -> None:
    house.store.caveats = (Caveat("PostgreSQL runs with fsync=off", "set fsync = on"),)
    await started(house)
    assert lines.about("PostgreSQL runs with fsync=off") == [{"remedy": "set fsync = on"}]


async def test_a_beat_without_an_answer_confirms_nothing(house: House) -> None:
    node = PlanningNode(house, "node-1")
    house.memory.memory.fence = 900
    house.store.fail_before("nodes.beat")
    with pytest.raises(StoreUnavailable):
        await node.membership.run_once()
    house.memory.memory.fence = 896
    await node.membership.run_once()
