"""A schedule whose fire times take long to find holds up neither the leases of its node nor anything else."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from datetime import datetime

import pytest

from fencepost.assembly import build_node
from fencepost.model.identifiers import DEFAULT_QUEUE, Epoch, ScheduleId, Shard
from fencepost.model.plan import Cursor, Plan
from fencepost.services import rules_refresher
from fencepost.services.offload import OffloadThreads
from fencepost.services.planner import THOUGHT_MAX_S, Planner, _batches
from fencepost.services.rules_refresher import RulesRefresher
from fencepost.stores.memory import MemoryStore
from fencepost.testing.clock import VirtualClock
from fencepost.triggers import Every
from tests.services.house import NS, START, House, PlanningNode, until

WAIT_S = 30.0


class Search:
    """Every search for fire times waits until it may end; who makes it is noted."""

    def __init__(self) -> None:
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.threads: set[str] = set()

    def wait(self) -> None:
        self.threads.add(threading.current_thread().name)
        self.begun.set()
        # On the thread of the loop nobody could end it.
        if threading.current_thread() is not threading.main_thread():
            assert self.may_end.wait(WAIT_S)


@pytest.fixture
def search(monkeypatch: pytest.MonkeyPatch) -> Iterator[Search]:
    search, next_after = Search(), Every.next_after

    def waiting(trigger: Every, after: datetime) -> datetime | None:
        search.wait()
        return next_after(trigger, after)

    monkeypatch.setattr(Every, "next_after", waiting)
    yield search
    search.may_end.set()


class World(House):
    """A node that leads everything and thinks aside."""

    def __init__(self) -> None:
        super().__init__()
        self.node = PlanningNode(self, "node-1")
        self.thinkers = OffloadThreads(1)
        self.planner = Planner(
            self.store, self.node.leadership, self.settings, self.clock, self.node.node_id, self.thinkers
        )

    async def lead(self) -> None:
        await self.node.membership.run_once()
        await self.node.elector.run_once()


async def test_leases_are_renewed_while_fire_times_are_looked_for(search: Search) -> None:
    world = World()
    await world.put("beat")
    await world.lead()
    epochs = world.node.epochs
    planning = asyncio.create_task(world.planner.run_once())
    await until(search.begun.is_set)
    for _ in range(10):
        world.clock.advance(world.settings.lease_retry_period_s)
        await world.node.elector.run_once()
    assert world.node.epochs == epochs != {}
    assert not planning.done()
    assert await world.states() == []
    search.may_end.set()
    await planning
    assert await world.states() != []
    assert threading.main_thread().name not in search.threads


async def test_what_was_found_after_the_lease_was_lost_is_not_written(search: Search) -> None:
    world = World()
    await world.put("beat")
    await world.lead()
    planning = asyncio.create_task(world.planner.run_once())
    await until(search.begun.is_set)
    world.clock.advance(world.settings.lease_ttl_s + 1)
    search.may_end.set()
    await planning
    assert await world.states() == []


async def test_newer_zone_rules_are_compared_aside(search: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    search.may_end.set()
    world = World()
    await world.put("beat")
    await world.lead()
    await world.planner.run_once()
    monkeypatch.setattr(rules_refresher, "tzdata_version", lambda: "2099a")
    search.threads.clear()
    await RulesRefresher(world.store, world.node.leadership, world.clock, world.thinkers).run_once()
    assert search.threads
    assert threading.main_thread().name not in search.threads


async def test_a_real_node_thinks_aside() -> None:
    clock = VirtualClock(START)
    store = MemoryStore(clock, 1)
    house = House()
    runner = build_node(store, store.leases, house.settings, {}, plans=True, works=False, clock=clock)
    assert runner.planning is not None
    for service in (runner.planning.planner, runner.planning.rules_refresher, runner.planning.backfiller):
        thread = await service._offload(threading.current_thread)
        assert thread is not threading.current_thread()


async def test_no_backfill_holds_up_the_planner() -> None:
    clock = VirtualClock(START)
    store = MemoryStore(clock, 1)
    runner = build_node(store, store.leases, House().settings, {}, plans=True, works=False, clock=clock)
    assert runner.planning is not None
    may_end = threading.Event()
    slow = [
        asyncio.create_task(one._offload(lambda: may_end.wait(WAIT_S)))
        for one in (runner.planning.rules_refresher, runner.planning.backfiller)
    ]
    await asyncio.sleep(0)
    assert await runner.planning.planner._offload(lambda: "planned") == "planned"
    may_end.set()
    assert await asyncio.gather(*slow) == [True, True]


def test_what_was_found_does_not_wait_long_for_others() -> None:
    """Whether they are found in the end, or not."""
    clock = VirtualClock(START)
    plans = [a_plan(f"s{number}") for number in range(6)]

    def found() -> Iterator[Plan | None]:
        for number, one in enumerate(plans):
            clock.advance(THOUGHT_MAX_S if number in (2, 3) else 0.1)
            yield None if number in (2, 3) else one

    assert list(_batches(found(), 1_000, clock)) == [plans[:2], plans[4:]]
    assert list(_batches(iter(plans), 1_000, clock)) == [plans]


def a_plan(schedule_id: str) -> Plan:
    cursor = Cursor(NS, ScheduleId(schedule_id), Shard(0), 1, START, None, DEFAULT_QUEUE, 2)
    return Plan(cursor, Epoch(1), (), START, None, "2026a")
