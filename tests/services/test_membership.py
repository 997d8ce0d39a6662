"""Who is alive, and whose clock is wrong."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import NodeId
from fencepost.model.node import Node
from fencepost.services.membership import BEATS_PER_SKEW_MEASURE, Membership
from fencepost.testing.clock import VirtualClock
from tests.services.conftest import Lines
from tests.services.house import START, House


def member(house: House, ahead_s: float = 0.0, name: str = "alice") -> Membership:
    """A node whose wall clock is ahead of the store's by so much."""
    clock = VirtualClock(START + timedelta(seconds=ahead_s))
    node = Node(NodeId(name), name, 1, plans=True, works=True)
    return Membership(house.store, node, house.settings, clock)


@pytest.mark.parametrize("ahead_s", [5.0, -5.0, 1.5])
async def test_a_clock_that_differs_is_measured_reported_and_warned_of(ahead_s: float, lines: Lines) -> None:
    house = House()
    alice = member(house, ahead_s)
    await alice.run_once()
    assert alice.skew_s == ahead_s
    (record,) = await house.memory.nodes.live()
    assert record.skew_s == ahead_s
    assert len(lines.about("this host's clock differs from the store's")) == 1


async def test_a_small_difference_is_not_warned_of(lines: Lines) -> None:
    house = House()
    await member(house, 0.9).run_once()
    assert lines.about("this host's clock differs from the store's") == []


async def test_a_slow_answer_is_not_taken_for_skew() -> None:
    house = House()
    alice = member(house)
    clock = alice._clock
    assert isinstance(clock, VirtualClock)

    async def slow_now() -> StoreTime:
        clock.advance(2)
        middle = StoreTime(clock.wall())
        clock.advance(2)
        return middle

    house.store.now = slow_now  # type: ignore[method-assign]
    await alice.run_once()
    assert alice.skew_s == 0


async def test_skew_is_measured_now_and_then_and_not_with_every_beat() -> None:
    house = House()
    alice = member(house, 3)
    await alice.run_once()
    house.clock.advance(3)
    for _ in range(BEATS_PER_SKEW_MEASURE - 1):
        await alice.run_once()
    assert alice.skew_s == 3
    await alice.run_once()
    assert alice.skew_s == 0


async def test_all_live_nodes_are_seen_and_no_others() -> None:
    house = House()
    alice, bob = member(house), member(house, name="bob")
    await bob.run_once()
    await alice.run_once()
    assert [one.node.node_id for one in alice.live] == ["alice", "bob"]
    house.clock.advance(house.settings.lease_ttl_s)
    await alice.run_once()
    assert [one.node.node_id for one in alice.live] == ["alice"]
    await alice.leave()
    assert await house.memory.nodes.live() == []
