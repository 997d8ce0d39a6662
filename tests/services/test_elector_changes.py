"""The elector when the world around its leases changes: lease stores, shards, and its own retirement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pytest

from fencepost.errors import LeaseStoreUnavailable, StoreUnavailable
from fencepost.model.audit import HOUSE
from fencepost.model.identifiers import DEFAULT_NAMESPACE, Epoch, Lineage, NodeId, Shard
from fencepost.model.lease import (
    OWN_LINEAGE,
    Acquisition,
    Granted,
    HeldBy,
    LeaseRecord,
    Release,
    Renewal,
    Unknown,
)
from fencepost.model.node import Node
from fencepost.ports.leases import LeaseStore
from fencepost.services.node import NodeRunner, Surroundings
from fencepost.stores.memory import MemoryStore
from fencepost.telemetry.events import ClockSetBack, Event, listen
from fencepost.testing.conformance.builders import register
from tests.services.conftest import Lines
from tests.services.house import House, PlanningNode

ONE = Shard(0)


class Elsewhere:
    """The leases of another store, which can doubt some shards and have a lineage of their own."""

    caveats: Sequence[str] = ()

    def __init__(self, inner: LeaseStore, lineage: str = "elsewhere") -> None:
        self.inner = inner
        self.lineage = Lineage(lineage)
        self.doubts: set[Shard] = set()
        self.is_away = False
        self.loses_releases = False

    async def acquire(
        self, shards: Sequence[Shard], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Acquisition]:
        return self._told({} if self.is_away else await self.inner.acquire(shards, holder, ttl_s), shards)

    async def renew(
        self, held: Mapping[Shard, Epoch], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Renewal]:
        return self._told({} if self.is_away else await self.inner.renew(held, holder, ttl_s), held)

    async def release(self, held: Mapping[Shard, Epoch], holder: NodeId) -> Mapping[Shard, Release]:
        if self.loses_releases:
            return dict.fromkeys(held, Unknown("on its way"))
        return await self.inner.release(held, holder)

    async def read(self) -> Sequence[LeaseRecord]:
        if self.is_away:
            raise LeaseStoreUnavailable("the line is dead")
        return await self.inner.read()

    def _told(self, answers: Mapping[Shard, Any], asked: Iterable[Shard]) -> Mapping[Shard, Any]:
        def told(shard: Shard, answer: Any) -> Any:
            if self.is_away or shard in self.doubts:
                return Unknown("the line is bad")
            return Granted(answer.epoch, self.lineage) if isinstance(answer, Granted) else answer

        return {shard: told(shard, answers.get(shard)) for shard in asked}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method: Callable[..., Any] = getattr(self.inner, name)
        return method


def everything() -> frozenset[Shard]:
    """What a node wants that does not see the others."""
    return frozenset({ONE})


def at(house: House, name: str, leases: LeaseStore) -> PlanningNode:
    """A node whose leases live elsewhere."""
    node = PlanningNode(house, name)
    node.elector._leases = leases
    return node


async def test_a_grant_that_the_ledger_refuses_makes_no_leader_and_is_given_back(lines: Lines) -> None:
    house = House(shards=1)
    alice = PlanningNode(house, "alice")
    await register(house.memory, ONE, 3, NodeId("bob"))
    await alice.elector.run_once()
    assert alice.shards == set()
    (line,) = lines.about("the lease store has fallen back")
    assert (line["shard"], line["epoch"], line["known"]) == (0, 1, 3)
    (lease,) = await house.memory.leases.read()
    assert lease.holder is None


async def test_a_lease_store_that_fell_back_a_little_is_not_waited_for_long() -> None:
    house = House(shards=1)
    alice = PlanningNode(house, "alice")
    await register(house.memory, ONE, 3, NodeId("bob"))
    for _ in range(4):
        assert alice.shards == set()
        await alice.elector.run_once()
        house.clock.advance(house.settings.lease_retry_period_s)
    assert alice.epochs == {ONE: 4}


async def test_a_lease_store_that_fell_back_far_is_not_hammered(lines: Lines) -> None:
    """Its own release wakes the elector at once, and it must not ask again before the next beat."""
    house = House(shards=1)
    alice = PlanningNode(house, "alice")
    await register(house.memory, ONE, 1_000, NodeId("bob"))
    for _ in range(50):
        await alice.elector.run_once()
    assert house.store.names().count("leases.acquire") == 1
    house.clock.advance(house.settings.lease_retry_period_s)
    await alice.elector.run_once()
    assert house.store.names().count("leases.acquire") == 2
    assert len(lines.about("the lease store has fallen back")) == 1


async def test_a_new_lease_store_does_not_bring_epochs_down(lines: Lines) -> None:
    house = House(shards=1)
    await register(house.memory, ONE, 57, NodeId("bob"))
    alice = at(house, "alice", Elsewhere(house.store.leases))
    await alice.elector.run_once()
    assert alice.epochs == {ONE: 58}
    (line,) = lines.about("leases come from another place than before")
    assert (line["before"], line["lineage"], line["lease_epoch"]) == (OWN_LINEAGE, "elsewhere", 1)


async def test_a_leader_renews_under_its_leases_epoch_although_the_ledgers_is_another() -> None:
    house = House(shards=1)
    await register(house.memory, ONE, 57, NodeId("bob"))
    alice = at(house, "alice", Elsewhere(house.store.leases))
    await alice.elector.run_once()
    for _ in range(5):
        house.clock.advance(3)
        await alice.elector.run_once()
    assert alice.epochs == {ONE: 58}
    await alice.elector.resign()
    assert [lease.holder for lease in await house.memory.leases.read()] == [None]


async def test_two_lease_stores_at_once_do_not_let_two_lead_and_are_told_of(lines: Lines) -> None:
    house = House(shards=1)
    other = MemoryStore(house.clock, 1)
    alice, bob = PlanningNode(house, "alice"), at(house, "bob", Elsewhere(other.leases))
    for node in (alice, bob):
        node.elector._wanted = everything  # type: ignore[method-assign]
    await house.put("beat")
    await alice.elector.run_once()
    house.clock.advance(1)
    await bob.elector.run_once()
    assert alice.shards == bob.shards == {ONE}
    house.clock.advance(1)
    await alice.elector.run_once()
    (line,) = lines.about("more than one node believes to lead a shard")
    assert (line["node"], line["leader"], line["shard"]) == ("alice", "bob", 0)

    await alice.planner.run_once()
    assert alice.shards == set()
    assert lines.about("write refused: the epoch is stale")
    await bob.planner.run_once()
    assert {one.epoch for one in await house.runs("beat")} == {bob.epochs[ONE]}


async def test_doubt_about_one_shard_does_not_cost_another() -> None:
    house = House(shards=4)
    leases = Elsewhere(house.store.leases)
    alice = at(house, "alice", leases)
    leases.doubts = {Shard(2)}
    with pytest.raises(LeaseStoreUnavailable, match="the line is bad"):
        await alice.elector.run_once()
    assert alice.shards == {0, 1, 3}
    leases.doubts = {Shard(1)}
    house.clock.advance(5)
    with pytest.raises(LeaseStoreUnavailable):
        await alice.elector.run_once()
    assert alice.shards == {0, 1, 2, 3}
    house.clock.advance(4)
    assert alice.shards == {0, 2, 3}
    (record,) = await house.memory.nodes.live()
    assert [(led.shard, led.renewals_failed) for led in record.report.leads if led.shard == 1] == [(1, 1)]


async def test_a_lease_store_that_is_away_does_not_keep_the_node_from_its_sign_of_life() -> None:
    house = House(shards=1)
    alice = PlanningNode(house, "alice")
    await alice.elector.run_once()
    for _ in range(4):
        house.clock.advance(5)
        house.store.fail_before("leases.renew")
        house.store.fail_before("leases.acquire")
        with pytest.raises(StoreUnavailable):
            await alice.elector.run_once()
    assert [one.node.node_id for one in await house.memory.nodes.live()] == ["alice"]


async def test_a_request_that_arrives_late_is_not_believed_from_a_later_answer() -> None:
    """Sent, given up, refused when asked again, and then carried out after all: the lease is old when it is
    met."""
    house = House(shards=1)
    leases = Elsewhere(house.memory.leases)
    alice = at(house, "alice", leases)
    leases.doubts = {ONE}
    await house.memory.leases.acquire([ONE], NodeId("bob"), 30)
    with pytest.raises(LeaseStoreUnavailable):
        await alice.elector.run_once()
    leases.doubts = set()
    await alice.elector.run_once()
    await house.memory.leases.release({ONE: Epoch(1)}, NodeId("bob"))
    await house.memory.leases.acquire([ONE], alice.node_id, 10)
    house.clock.advance(8)
    await alice.elector.run_once()
    (lease,) = await house.memory.leases.read()
    (led,) = alice.leadership.led(house.clock.monotonic())
    assert led.trusted_for_s < lease.expires_in_s


async def test_a_renewal_that_is_not_answered_makes_a_lease_no_younger() -> None:
    house = House(shards=1)
    leases = Elsewhere(house.memory.leases)
    alice = at(house, "alice", leases)
    ages = []
    for doubts in (set(), {ONE}, set()):
        leases.doubts = doubts
        with suppress(LeaseStoreUnavailable):
            await alice.elector.run_once()
        house.clock.advance(3)
        (led,) = alice.leadership.led(house.clock.monotonic())
        ages.append((led.renewed_ago_s, led.ttl_s))
    assert ages == [(3, 10), (6, 10), (3, 10)]


async def test_a_lease_whose_release_is_in_doubt_is_not_taken_up_again() -> None:
    """The release may arrive when the node leads again, and free the lease under it."""
    house = House(shards=1)
    leases = Elsewhere(house.memory.leases)
    alice = at(house, "alice", leases)
    await alice.elector.run_once()
    leases.loses_releases = True
    await alice.elector.resign()
    leases.loses_releases = False
    with pytest.raises(LeaseStoreUnavailable, match="may yet arrive"):
        await alice.elector.run_once()
    assert alice.shards == set()
    await alice.elector.run_once()
    assert alice.epochs == {ONE: 2}
    await house.memory.leases.release({ONE: Epoch(1)}, alice.node_id)
    (lease,) = await house.memory.leases.read()
    assert lease.holder == alice.node_id


async def test_a_refused_plan_does_not_make_the_elector_spin() -> None:
    house = House(shards=1)
    alice = PlanningNode(house, "alice")
    for woken in (True, False):
        alice.elector.hurry()
        assert alice.elector.wakeup._event.is_set() is woken
        alice.elector.wakeup._event.clear()
    house.clock.advance(house.settings.lease_retry_period_s)
    alice.elector.hurry()
    assert alice.elector.wakeup._event.is_set()


async def test_a_leader_that_is_cut_off_from_its_leases_alone_does_not_keep_its_shards_from_others() -> None:
    """The list of nodes still sees it, so it has to say so; meanwhile it leads on until its own deadline."""
    house = House()
    cut = Elsewhere(house.memory.leases)
    alice, bob = at(house, "alice", cut), at(house, "bob", Elsewhere(house.memory.leases))
    for node in (alice, bob, alice, bob):
        await node.elector.run_once()
    held = alice.shards
    assert len(held) == 4
    cut.is_away = True
    for _ in range(4):
        house.clock.advance(2)
        with pytest.raises(LeaseStoreUnavailable):
            await alice.elector.run_once()
        await bob.elector.run_once()
        assert alice.shards == held
    house.clock.advance(1)
    assert alice.shards == set()
    house.clock.advance(1.5)
    with pytest.raises(LeaseStoreUnavailable):
        await alice.elector.run_once()
    await bob.elector.run_once()
    assert len(bob.shards) == 8

    cut.is_away = False
    for node in (alice, bob, alice):
        await node.elector.run_once()
    assert len(alice.shards) == 4


async def test_a_lease_that_is_about_to_run_out_is_not_asked_for_only_at_the_next_beat() -> None:
    house = House(shards=1)
    alice = PlanningNode(house, "alice")
    assert isinstance((await house.memory.leases.acquire([ONE], NodeId("dead"), 1.5))[ONE], Granted | HeldBy)
    assert await alice.elector.run_once() == pytest.approx(1.7)


async def test_a_node_that_drains_leads_nothing_and_others_take_over_at_once() -> None:
    house = House()
    alice, bob = PlanningNode(house, "alice"), PlanningNode(house, "bob")
    for node in (alice, bob, alice, bob):
        await node.elector.run_once()
    assert await house.memory.nodes.drain(alice.node_id, True, DEFAULT_NAMESPACE, HOUSE)
    await alice.elector.run_once()
    assert alice.shards == set()
    reports = {one.node.node_id: one.report for one in await house.memory.nodes.live()}
    assert reports[alice.node_id].leads == ()
    await bob.elector.run_once()
    assert len(bob.shards) == 8

    await house.memory.nodes.drain(alice.node_id, False, DEFAULT_NAMESPACE, HOUSE)
    for node in (alice, bob, alice):
        await node.elector.run_once()
    assert len(alice.shards) == 4


async def test_a_new_cut_of_the_shards_does_not_need_a_restart() -> None:
    house = House(shards=3)
    alice = PlanningNode(house, "alice")
    for number in range(10):
        await house.put(f"schedule-{number}")
    await alice.elector.run_once()
    await alice.planner.run_once()
    for shards in (8, 2):
        await house.memory.epochs.reshard(shards, DEFAULT_NAMESPACE, HOUSE)
        house.clock.advance(20)
        await alice.elector.run_once()
        await alice.planner.run_once()
        await alice.elector.run_once()
        await alice.planner.run_once()
        assert alice.shards == set(range(shards))
    for number in range(10):
        fire_times = [one.fire_time for one in await house.runs(f"schedule-{number}")]
        assert len(fire_times) == len(set(fire_times)) == 10


async def test_a_node_whose_plan_was_refused_does_not_wait_for_its_next_beat() -> None:
    house = House(shards=1)
    node = Node(NodeId("alice"), "host", 1, plans=True, works=False)
    around = Surroundings(house.store, house.store.leases, house.clock, lambda: 0.0, house.settings)
    planning = NodeRunner(node, around).planning
    assert planning is not None
    await planning.elector.run_once()
    planning.leadership.refused(ONE, Epoch(1))
    assert planning.elector.wakeup._event.is_set()


async def test_a_clock_set_back_beside_a_dead_leader_does_not_stop_planning(lines: Lines) -> None:
    """Also where the dead node is still on the list of nodes when the clock is set."""
    house = House(shards=2)
    dead, alive = PlanningNode(house, "alice"), PlanningNode(house, "bob")
    for _ in range(2):
        await dead.elector.run_once()
        await alive.elector.run_once()
        house.clock.advance(1)
    led = dead.epochs
    assert led
    assert dead.shards | alive.shards == {Shard(0), Shard(1)}
    house.clock.set_back(3600)
    for _ in range(5):
        await alive.elector.run_once()
        house.clock.advance(3)
    assert alive.shards == {Shard(0), Shard(1)}
    assert all(alive.epochs[shard] > epoch for shard, epoch in led.items())
    told = lines.about("the clock of the lease store was set back")
    assert {line["by_s"] for line in told} <= {3599.0, 3600.0}
    assert 1 <= len(told) <= 2, "one for what it kept, one for what it took over"
    await dead.elector.run_once()
    assert not dead.shards & alive.shards


async def test_a_clock_set_back_beside_a_living_leader_does_not_change_leaders(lines: Lines) -> None:
    house = House(shards=2)
    alice = PlanningNode(house, "alice")
    await alice.elector.run_once()
    before, heard = alice.epochs, list[Event]()
    house.clock.set_back(3600)
    unlisten = listen(heard.append)
    for _ in range(3):
        await alice.elector.run_once()
        house.clock.advance(3)
    unlisten()
    assert alice.epochs == before
    assert heard.count(ClockSetBack("leases", 3600.0)) == 1
    (line,) = lines.about("the clock of the lease store was set back")
    assert (line["by_s"], line["leases"]) == (3600.0, 2)
