"""How long a process stood still is measured, kept for a day and told in its signs of life."""

from __future__ import annotations

import asyncio

import pytest

from fencepost.config import Settings
from fencepost.model.identifiers import NodeId
from fencepost.model.node import Node
from fencepost.services.membership import Membership
from fencepost.services.stall_watch import EVERY_S, StallWatch
from fencepost.testing.clock import VirtualClock
from tests.services.house import START, House


async def slept(clock: VirtualClock, watch: StallWatch, for_s: float) -> None:
    """One look, which ends after so long."""
    looking = asyncio.create_task(watch.run_once())
    await asyncio.sleep(0)
    clock.advance(for_s)
    await looking


async def test_a_sleep_that_ends_in_time_is_no_stall() -> None:
    clock = VirtualClock(START)
    watch = StallWatch(clock, 10.0)
    await slept(clock, watch, EVERY_S)
    assert watch.worst_s() == 0.0


async def test_a_short_stall_does_not_hide_a_longer_one() -> None:
    clock = VirtualClock(START)
    watch = StallWatch(clock, 10.0)
    for for_s in (1.5, 4.5, 2.5):
        await slept(clock, watch, for_s)
    assert watch.worst_s() == 4.0


async def test_a_stall_is_forgotten_after_a_day() -> None:
    clock = VirtualClock(START)
    watch = StallWatch(clock, 10.0)
    await slept(clock, watch, 4.5)
    clock.advance(23 * 3600)
    await slept(clock, watch, 1.5)
    assert watch.worst_s() == 4.0
    clock.advance(2 * 3600)
    assert watch.worst_s() == 1.0


async def test_only_a_stall_that_endangers_leases_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    clock = VirtualClock(START)
    watch = StallWatch(clock, 9.0)
    await slept(clock, watch, 3.5)
    assert "stood still" not in caplog.text
    await slept(clock, watch, 3.6)
    assert "stood still" in caplog.text


async def test_a_node_does_not_keep_its_stalls_to_itself() -> None:
    house = House()
    node = Node(NodeId("web-1"), "web", 1, plans=False, works=True)
    membership = Membership(house.store, node, Settings(), house.clock)
    membership.stall_s = lambda: 4.5
    await membership.run_once()
    (seen,) = await house.memory.nodes.live()
    assert seen.report.stall_s == 4.5
