"""A node: the services of one process, started together and stopped in the right order.

A clean stop claims nothing more, lets running work finish within the grace, hands back what is left, waits
for the last reports, resigns the leases and strikes the node off the list of nodes. A second request to stop
skips the waiting. An unexpected error in any service stops the whole process in the same order: a node that
has lost one of its loops would only look alive. Where the store is no longer the one that the node began
with, it waits for nothing: its runs may be running elsewhere already.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from fencepost.clock import Clock
from fencepost.config import Settings
from fencepost.errors import StoreReplaced, StoreUnavailable
from fencepost.model.identifiers import JobName, Shard
from fencepost.model.node import Node
from fencepost.ports.executor import Job
from fencepost.ports.leases import LeaseStore
from fencepost.ports.signals import Topic
from fencepost.ports.store import Store
from fencepost.services.active import ActiveRuns
from fencepost.services.backfiller import Backfiller
from fencepost.services.broker_link import BrokerServices
from fencepost.services.elector import Elector
from fencepost.services.gauges import Gauges
from fencepost.services.janitor import Janitor
from fencepost.services.leadership import Leadership
from fencepost.services.membership import Membership
from fencepost.services.notifier import Notifier
from fencepost.services.offload import OffloadThreads, inline
from fencepost.services.planner import Planner
from fencepost.services.reaper import Reaper
from fencepost.services.reporter import Reporter
from fencepost.services.rules_refresher import RulesRefresher
from fencepost.services.worker import Worker
from fencepost.telemetry.events import JobsServed, emit
from fencepost.telemetry.logs import Log

FAREWELL_S = 5.0
FIRST_SHARD = Shard(0)
SERVICES_THAT_THINK = 3
"""Planner, rules refresher and backfiller; each has one search at a time."""


class Runnable(Protocol):
    """Anything with a loop."""

    async def run(self) -> None: ...


@dataclass
class Surroundings:
    """What a node gets from outside: its clock, its random numbers and its threads."""

    store: Store
    leases: LeaseStore
    clock: Clock
    dice: Callable[[], float]
    settings: Settings
    jobs: Mapping[JobName, Job] = field(default_factory=dict)
    heart: Callable[[ActiveRuns], Runnable] | None = None
    thinkers: OffloadThreads | None = None
    """The threads in which its planning searches; None: in the loop itself. They are closed with the node."""


class NodeRunner:
    """One process of the fleet."""

    def __init__(self, node: Node, around: Surroundings) -> None:
        self.node = node
        self.log = Log("node")
        self.active = ActiveRuns()
        self._around = around
        self._settings = around.settings
        self.membership = Membership(around.store, node, around.settings, around.clock)
        self.planning = _Planning(self.membership, around) if node.plans else None
        self.working = _Working(node, self.active, around) if node.works else None
        if self.working is not None:
            worker = self.working.worker
            self.membership.running = lambda: worker.busy
            self.membership.on_drain = worker.drain
        self._hurry = asyncio.Event()
        self._further: list[Runnable] = []

    def also(self, service: Runnable) -> None:
        """Run one more loop beside the node's own."""
        self._further.append(service)

    def also_over_broker(self, services: BrokerServices) -> None:
        """Run the loops over a message broker beside the node's own: they are drained with it, and the node
        reports how it stands to the broker."""
        own = self.membership.on_drain

        def each(draining: bool) -> None:
            own(draining)
            services.drain(draining)

        self.also(services)
        self.membership.on_drain = each
        self.membership.broker = services.link.report

    async def run(self, stop: asyncio.Event) -> None:
        """Work until asked to stop, then stop cleanly."""
        await self._check_ledger()
        for caveat in self._around.store.caveats:
            self.log.warning(caveat.what, remedy=caveat.remedy)
        unlisten = [await self._listen(topic, wake) for topic, wake in self._wakes()]
        unlisten += await self._watch_leases()
        services = [asyncio.create_task(one.run(), name=type(one).__name__) for one in self._services()]
        waiting = asyncio.create_task(stop.wait())
        if self.node.works:
            emit(JobsServed(tuple(self._around.jobs)))
        self.log.info("started", node=self.node.node_id, plans=self.node.plans, works=self.node.works)
        try:
            done, _ = await asyncio.wait({waiting, *services}, return_when=asyncio.FIRST_COMPLETED)
            self._tell_of_the_broken(done - {waiting})
            await self._stop_working()
        finally:
            for task in (waiting, *services):
                task.cancel()
            await asyncio.gather(waiting, *services, return_exceptions=True)
            await self._say_goodbye()
            for one in unlisten:
                one()
            if self._around.thinkers is not None:
                self._around.thinkers.close()
            self.log.info("stopped", node=self.node.node_id)
        for task in done - {waiting}:
            await task

    async def _check_ledger(self) -> None:
        """Start nothing on a ledger that is known to be older than what was seen. Where the store does not
        answer, the first sign of life checks it."""
        try:
            await self.membership.watch.look()
        except StoreReplaced:
            raise
        except StoreUnavailable:
            return

    def _tell_of_the_broken(self, services: Set[asyncio.Task[Any]]) -> None:
        """Log at once, because the stop may take its time."""
        for one in services:
            error = None if one.cancelled() else one.exception()
            ended = "a service has ended, and so does the node"
            self.log.error(ended, service=one.get_name(), error=repr(error))
            if isinstance(error, StoreReplaced):
                self.hurry()

    def hurry(self) -> None:
        """Asked a second time: wait for nothing more."""
        self._hurry.set()
        if self.working is not None:
            self.working.worker.interrupt()

    def _services(self) -> list[Runnable]:
        services: list[Runnable] = [Reaper(self._around.store, self._settings), *self._further]
        if self.node.plans or not self.node.works:
            services.append(Gauges(self._around.store, self._settings, self._around.clock))
        if self.planning is not None:
            services += [self.planning.elector, self.planning.planner, self.planning.rules_refresher]
            services += [self.planning.backfiller, Janitor(self._around.store, self._settings)]
            services.append(self.planning.notifier)
        else:
            services.append(self.membership)
        if self.working is not None:
            services += [self.working.reporter, self.working.worker]
            if self._around.heart is not None:
                services.append(self._around.heart(self.active))
        return services

    def _wakes(self) -> list[tuple[Topic, Callable[[], None]]]:
        wakes: list[tuple[Topic, Callable[[], None]]] = []
        if self.planning is not None:
            wakes.append((Topic.SCHEDULES, self.planning.planner.wakeup.wake))
            wakes.append((Topic.SCHEDULES, self.planning.rules_refresher.wakeup.wake))
            wakes.append((Topic.SCHEDULES, self.planning.backfiller.wakeup.wake))
            wakes.append((Topic.CALENDARS, self.planning.rules_refresher.reconsider))
            wakes.append((Topic.LEASES, self.planning.elector.wakeup.wake))
        else:
            wakes.append((Topic.LEASES, self.membership.wakeup.wake))
        if self.working is not None:
            wakes.append((Topic.RUNS, self.working.worker.wakeup.wake))
        return wakes

    async def _listen(self, topic: Topic, wake: Callable[[], None]) -> Callable[[], None]:
        return await self._around.store.signals.listen(topic, wake)

    async def _watch_leases(self) -> list[Callable[[], None]]:
        """Where the leases live elsewhere, take hints from there too, and log what that store cannot
        promise."""
        if self.planning is None:
            return []
        for caveat in self._around.leases.caveats:
            self.log.warning(caveat)
        return [await self._around.leases.watch(self.planning.elector.wakeup.wake)]

    async def _stop_working(self) -> None:
        if self.working is None:
            return
        await self._unless_hurried(self.working.worker.stop(self._settings.grace_s))
        await self._unless_hurried(self._reported(self.working.reporter))

    async def _reported(self, reporter: Reporter) -> None:
        """Until the ledger has confirmed every outcome, or for a while."""
        with suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL_S):
                await reporter.done()

    async def _unless_hurried(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        hurried = asyncio.create_task(self._hurry.wait())
        await asyncio.wait({task, hurried}, return_when=asyncio.FIRST_COMPLETED)
        hurried.cancel()
        if not task.done():
            task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    async def _say_goodbye(self) -> None:
        """Resign and leave; where the store is away, the leases run out by themselves."""
        if self.planning is not None:
            await _briefly(self.planning.elector.resign())
        await _briefly(self.membership.leave())


async def _briefly(farewell: Awaitable[None]) -> None:
    """A farewell that takes too long is given up."""
    with suppress(StoreUnavailable, TimeoutError):
        async with asyncio.timeout(FAREWELL_S):
            await farewell


class _Planning:
    """The planning half of a node."""

    def __init__(self, membership: Membership, around: Surroundings) -> None:
        settings = around.settings
        self._clock = around.clock
        self.leadership = Leadership(settings.lease_terms)
        self.elector = Elector(
            around.store, around.leases, membership, self.leadership, settings, around.clock, around.dice
        )
        node_id = membership.node.node_id
        offload = around.thinkers or inline
        self.planner = Planner(
            around.store, self.leadership, settings, around.clock, node_id, offload, membership.clock_watch
        )
        self.rules_refresher = RulesRefresher(around.store, self.leadership, around.clock, offload)
        self.backfiller = Backfiller(around.store, settings, around.clock, offload)
        self.notifier = Notifier(around.store, settings, around.clock, self._leads_first)
        self.leadership.on_granted = self._wake
        self.leadership.on_refused = self.elector.hurry

    def _wake(self) -> None:
        self.planner.wakeup.wake()
        self.rules_refresher.wakeup.wake()
        self.notifier.wakeup.wake()

    def _leads_first(self) -> bool:
        return FIRST_SHARD in self.leadership.grants(self._clock.monotonic())


class _Working:
    """The working half of a node."""

    def __init__(self, node: Node, active: ActiveRuns, around: Surroundings) -> None:
        self.reporter = Reporter(around.store, active, around.settings)
        self.worker = Worker(
            around.store, around.jobs, active, self.reporter, around.settings, node.node_id, around.dice
        )
