"""What the loops of an idle process ask of its store, counted in passes and in the rests that they take."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from fencepost.clock import SystemClock
from fencepost.config import Settings
from fencepost.errors import StoreUnavailable
from fencepost.model.identifiers import NodeId
from fencepost.model.node import Node
from fencepost.ports.store import Store
from fencepost.services.node import NodeRunner, Surroundings
from fencepost.services.service import Service
from fencepost.services.worker import Worker
from tests.services.house import make_job

SETTINGS = Settings()
PASSES = 20
TRIES = 5


def runner(store: Store, *, plans: bool = True, works: bool = True) -> NodeRunner:
    job = make_job(lambda: None)
    node = Node(NodeId("alice"), "host", 1, plans, works)
    around = Surroundings(store, store.leases, SystemClock(), lambda: 0.5, SETTINGS, {job.spec.name: job})
    return NodeRunner(node, around)


def loops(of: NodeRunner) -> list[Service]:
    """What asks by itself: the reporter and the heart only speak of runs."""
    return [one for one in of._services() if isinstance(one, Service) and one.name != "reporter"]


async def passes(asked: list[Any], one: Service, count: int = PASSES) -> tuple[float, float]:
    """How many transactions a pass needs that comes after its whole rest, and how long it rests then."""
    asked.clear()
    rests = []
    for _ in range(count):
        if isinstance(one, Worker):
            one._idle_until_s = 0.0
        rests.append(await one.run_once())
    return len(asked) / count, sum(rests) / count


async def settled(of: NodeRunner) -> list[Service]:
    """The loops after two passes of each. A server of a busy machine may leave one without an answer."""
    every = loops(of)
    for one in sorted(every, key=lambda one: one.name != "elector"):
        for _ in range(2):
            await _passed(one)
    return every


async def _passed(one: Service) -> None:
    for _ in range(TRIES - 1):
        with suppress(StoreUnavailable):
            await one.run_once()
            return
    await one.run_once()


async def costs(asked: list[Any], of: NodeRunner) -> dict[str, tuple[float, float]]:
    """What a pass of each loop costs, and its rest."""
    return {one.name: await passes(asked, one) for one in await settled(of)}


def per_second(cost: dict[str, tuple[float, float]]) -> float:
    return sum(count / rest_s for count, rest_s in cost.values())
