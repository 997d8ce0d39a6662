"""Who leads which shard, from when, and until when at most."""

from __future__ import annotations

import asyncio
import logging

import pytest

from fencepost.clock import SystemClock
from fencepost.errors import StoreUnavailable
from fencepost.model.identifiers import NodeId, Shard
from fencepost.model.lease import HeldBy
from fencepost.services.elector import Elector
from fencepost.services.leadership import Leadership
from tests.services.conftest import Lines
from tests.services.house import House, PlanningNode, until

ALL = {Shard(number) for number in range(8)}
TTL_S = 10.0
TRUST_S = 9.0


async def test_one_node_leads_everything() -> None:
    alone = PlanningNode(House(), "alice")
    await alone.elector.run_once()
    assert alone.shards == ALL


async def test_all_shards_of_a_start_are_not_more_than_one_line(lines: Lines) -> None:
    alone = PlanningNode(House(), "alice")
    await alone.elector.run_once()
    (told,) = [one for one in lines.about("leads") if "shards" in one]
    assert told["shards"] == "0-7"
    assert [level for level in lines.levels("leads") if level >= logging.INFO] == [logging.INFO]


async def test_two_nodes_share_and_never_lead_one_shard_together() -> None:
    house = House()
    alice, bob = PlanningNode(house, "alice"), PlanningNode(house, "bob")
    for _ in range(2):
        for node in (alice, bob):
            await node.elector.run_once()
            assert not alice.shards & bob.shards
    assert alice.shards | bob.shards == ALL
    assert len(alice.shards) == len(bob.shards) == 4


async def test_a_node_that_resigns_does_not_make_the_others_wait() -> None:
    house = House()
    alice, bob = PlanningNode(house, "alice"), PlanningNode(house, "bob")
    for node in (alice, bob, alice, bob):
        await node.elector.run_once()
    before = bob.epochs
    await bob.elector.resign()
    await bob.membership.leave()
    assert bob.shards == set()

    await alice.elector.run_once()
    assert alice.shards == ALL
    assert all(alice.epochs[shard] > epoch for shard, epoch in before.items())


async def test_a_node_that_dies_is_succeeded_once_its_leases_have_run_out() -> None:
    house = House()
    alice, bob = PlanningNode(house, "alice"), PlanningNode(house, "bob")
    for node in (alice, bob, alice, bob):
        await node.elector.run_once()
    died_with = bob.epochs

    for _ in range(3):
        house.clock.advance(3)
        await alice.elector.run_once()
        assert not alice.shards & died_with.keys()
    house.clock.advance(2)
    await alice.elector.run_once()
    assert alice.shards == ALL
    assert all(alice.epochs[shard] > epoch for shard, epoch in died_with.items())


async def test_the_loss_is_told_at_the_deadline_and_not_after() -> None:
    house = House()
    alice = PlanningNode(house, "alice")
    await alice.elector.run_once()
    (grant, *_) = alice.leadership.grants(house.clock.monotonic()).values()
    assert alice.leadership.next_deadline() == TRUST_S

    house.clock.advance(TRUST_S - 0.001)
    alice.leadership.expire(house.clock.monotonic())
    assert not grant.lost.is_set()
    house.clock.advance(0.001)
    alice.leadership.expire(house.clock.monotonic())
    assert grant.lost.is_set()
    assert alice.leadership.next_deadline() is None


async def test_trust_does_not_begin_with_the_answer() -> None:
    house = House()
    alice = PlanningNode(house, "alice")
    slow = house.store.hold_answer("leases.renew")
    electing = asyncio.create_task(alice.elector.run_once())
    await slow.reached.wait()
    house.clock.advance(8)
    slow.go.set()
    await electing
    assert alice.leadership.next_deadline() == TRUST_S
    house.clock.advance(1)
    assert alice.shards == set()


async def test_an_answer_after_the_deadline_makes_no_leader() -> None:
    house = House()
    alice = PlanningNode(house, "alice")
    slow = house.store.hold_answer("leases.renew")
    electing = asyncio.create_task(alice.elector.run_once())
    await slow.reached.wait()
    house.clock.advance(TRUST_S)
    slow.go.set()
    await electing
    assert alice.shards == set()


async def test_a_renewal_moves_the_deadline_on() -> None:
    house = House()
    alice = PlanningNode(house, "alice")
    await alice.elector.run_once()
    epochs = alice.epochs
    house.clock.advance(5)
    await alice.elector.run_once()
    assert alice.leadership.next_deadline() == 5 + TRUST_S
    assert alice.epochs == epochs


async def test_a_renewal_does_not_count_from_its_answer() -> None:
    house = House()
    alice = PlanningNode(house, "alice")
    await alice.elector.run_once()
    house.clock.advance(3)
    slow = house.store.hold_answer("leases.renew")
    renewing = asyncio.create_task(alice.elector.run_once())
    await slow.reached.wait()
    house.clock.advance(4)
    slow.go.set()
    await renewing
    assert alice.leadership.next_deadline() == 3 + TRUST_S


@pytest.mark.parametrize("lost", ["before", "after"])
async def test_an_unanswered_renewal_leaves_the_old_deadline(lost: str) -> None:
    house = House()
    alice = PlanningNode(house, "alice")
    await alice.elector.run_once()
    house.clock.advance(5)
    fail = house.store.fail_before if lost == "before" else house.store.fail_after
    fail("leases.renew")
    with pytest.raises(StoreUnavailable):
        await alice.elector.run_once()
    assert alice.shards == ALL
    assert alice.leadership.next_deadline() == TRUST_S
    house.clock.advance(4)
    assert alice.shards == set()


async def test_a_refused_renewal_ends_the_belief_at_once(lines: Lines) -> None:
    house = House()
    alice = PlanningNode(house, "alice")
    await alice.elector.run_once()
    grants = alice.leadership.grants(house.clock.monotonic())
    await house.memory.leases.release({Shard(3): grants[Shard(3)].epoch}, alice.node_id)
    await house.memory.leases.acquire([Shard(3)], NodeId("bob"), TTL_S)
    await alice.elector.run_once()
    assert alice.shards == ALL - {Shard(3)}
    assert grants[Shard(3)].lost.is_set()
    assert not grants[Shard(4)].lost.is_set()
    assert [line["shards"] for line in lines.about("stepped down")] == ["3"]


@pytest.mark.parametrize("lost", ["before", "after"])
async def test_an_unanswered_request_makes_no_leader_until_it_is_asked_again(lost: str) -> None:
    house = House()
    alice = PlanningNode(house, "alice")
    fail = house.store.fail_before if lost == "before" else house.store.fail_after
    fail("leases.acquire")
    with pytest.raises(StoreUnavailable):
        await alice.elector.run_once()
    assert alice.shards == set()
    await alice.elector.run_once()
    assert alice.shards == ALL
    assert set(alice.epochs.values()) == {1}


@pytest.mark.parametrize("lost", ["leases.acquire", "epochs.register"])
async def test_a_grant_whose_answer_was_lost_is_not_believed_beyond_its_lease(lost: str) -> None:
    house = House(shards=1)
    alice, bob = PlanningNode(house, "alice"), PlanningNode(house, "bob")
    house.store.fail_after(lost)
    with pytest.raises(StoreUnavailable):
        await alice.elector.run_once()
    house.clock.advance(8)
    await alice.elector.run_once()
    assert alice.shards == {Shard(0)}

    house.clock.advance(3)
    await house.memory.leases.acquire([Shard(0)], bob.node_id, TTL_S)
    (lease,) = await house.memory.leases.read()
    assert alice.shards == set() or lease.holder == alice.node_id


async def test_an_epoch_is_registered_before_it_is_believed() -> None:
    house = House(shards=1)
    alice = PlanningNode(house, "alice")
    registering = house.store.hold("epochs.register")
    electing = asyncio.create_task(alice.elector.run_once())
    await registering.reached.wait()
    assert alice.shards == set()
    registering.go.set()
    await electing
    assert alice.shards == {Shard(0)}


async def test_a_lease_is_not_released_while_a_write_is_in_flight() -> None:
    house = House()
    alice = PlanningNode(house, "alice")
    await alice.elector.run_once()
    async with alice.leadership.writing:
        resigning = asyncio.create_task(alice.elector.resign())
        for _ in range(10):
            await asyncio.sleep(0)
        assert "leases.release" not in house.store.names()
        assert alice.shards == ALL
    await resigning
    assert alice.shards == set()
    assert all(lease.holder is None for lease in await house.memory.leases.read())


async def test_a_shard_is_given_up_before_its_lease_is_released() -> None:
    house = House()
    alice = PlanningNode(house, "alice")
    await alice.elector.run_once()
    releasing = house.store.hold("leases.release")
    resigning = asyncio.create_task(alice.elector.resign())
    await releasing.reached.wait()
    assert alice.shards == set()
    releasing.go.set()
    await resigning


async def test_the_rest_between_passes_is_stretched_by_the_dice_alone() -> None:
    house = House()
    alice = PlanningNode(house, "alice")
    assert await alice.elector.run_once() == house.settings.lease_retry_period_s
    alice.elector._dice = lambda: 0.5
    assert await alice.elector.run_once() == pytest.approx(house.settings.lease_retry_period_s * 1.1)


def quick_house() -> House:
    """Leases in real time that may be trusted for a fifth of a second."""
    return House(
        shards=1,
        lease_ttl_s=1.2,
        lease_margin_s=1.0,
        lease_renew_deadline_s=0.1,
        lease_retry_period_s=0.05,
    )


def quick(house: House) -> tuple[Elector, Leadership]:
    membership = PlanningNode(house, "alice").membership
    leadership = Leadership(house.settings.lease_terms)
    clock = SystemClock()
    return Elector(
        house.store, house.store.leases, membership, leadership, house.settings, clock, lambda: 0.0
    ), leadership


async def test_a_renewal_that_hangs_is_given_up_at_its_deadline() -> None:
    house = quick_house()
    elector, _ = quick(house)
    await elector.run_once()
    house.store.hold("leases.renew")
    async with asyncio.timeout(5):
        with pytest.raises(StoreUnavailable, match="renew deadline"):
            await elector.run_once()


async def test_the_loss_is_told_although_the_store_hangs() -> None:
    house = quick_house()
    elector, leadership = quick(house)
    await elector.run_once()
    (grant,) = leadership.grants(SystemClock().monotonic()).values()
    running = asyncio.create_task(elector.run())
    for _ in range(20):
        house.store.hold("leases.renew")
    async with asyncio.timeout(5):
        await grant.lost.wait()
    running.cancel()
    await asyncio.wait({running})


async def test_the_watch_learns_of_a_grant_that_came_while_it_rested() -> None:
    house = quick_house()
    elector, leadership = quick(house)
    running = asyncio.create_task(elector.run())
    await until(lambda: leadership.next_deadline() is not None)
    (grant,) = leadership.grants(SystemClock().monotonic()).values()
    house.store.fail_before("leases.renew", times=1_000)
    async with asyncio.timeout(5):
        await grant.lost.wait()
    running.cancel()
    await asyncio.wait({running})


async def test_a_stop_in_mid_acquire_does_not_leave_a_lease_behind() -> None:
    house = House()
    node = PlanningNode(house, "a")
    held = house.store.hold_answer("leases.acquire")
    passing = asyncio.create_task(node.elector.run_once())
    await held.reached.wait()
    passing.cancel()
    await asyncio.gather(passing, return_exceptions=True)

    await node.elector.resign()

    assert {record.holder for record in await house.memory.leases.read()} == {None}


async def test_a_lease_that_was_given_up_is_not_believed_beyond_its_end_when_it_is_granted_again() -> None:
    """Its own old lease has half a second left: the answer to an acquire extends nothing."""
    house = House(shards=1)
    node = PlanningNode(house, "a")
    await node.elector.run_once()
    house.clock.advance(9.5)
    assert node.shards == set()
    await node.elector.run_once()
    house.clock.advance(0.6)
    answers = await house.memory.leases.acquire([Shard(0)], NodeId("b"), 10)
    assert isinstance(answers[Shard(0)], HeldBy)
    assert node.shards == {Shard(0)}


async def test_a_grant_is_not_told_of_only_after_all_others(lines: Lines) -> None:
    """The deadline of what is led is watched, also while the ledger hangs over something else."""
    house = quick_house()
    elector, leadership = quick(house)
    running = asyncio.create_task(elector.run())
    await until(lambda: leadership.next_deadline() is not None)
    (grant,) = leadership.grants(SystemClock().monotonic()).values()
    for _ in range(20):
        house.store.hold("nodes.beat")
        house.store.hold("leases.renew")
    async with asyncio.timeout(5):
        await grant.lost.wait()
    running.cancel()
    await asyncio.wait({running})


async def test_planning_does_not_wait_for_a_slow_release() -> None:
    house = House()
    alice = PlanningNode(house, "alice")
    await alice.elector.run_once()
    slow = house.store.hold("leases.release")
    resigning = asyncio.create_task(alice.elector.resign())
    await slow.reached.wait()
    async with asyncio.timeout(5), alice.leadership.writing:
        pass
    slow.go.set()
    await resigning
