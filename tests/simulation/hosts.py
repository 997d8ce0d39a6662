"""Machines, and the processes that live and die on them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.errors import StoreUnavailable
from fencepost.model.identifiers import DEFAULT_NAMESPACE, NodeId, ScheduleId
from fencepost.model.node import Node
from fencepost.model.plan import Plan
from fencepost.model.schedule import ScheduleSpec
from fencepost.ports.executor import Job
from fencepost.services.active import ActiveRuns
from fencepost.services.broker_link import BrokerServices
from fencepost.services.deployer import Deployer, code_digest
from fencepost.services.heartbeat import Heartbeat
from fencepost.services.node import NodeRunner, Surroundings
from fencepost.stores.memory import MemoryStore
from tests.simulation.clocks import HostClock
from tests.simulation.far import FarLeases, FarStore
from tests.simulation.loop import Life, context_of, the_loop
from tests.simulation.network import Line, Network
from tests.simulation.workload import Terms

BEGIN_AGAIN_S = 1.0


@dataclass(frozen=True)
class Ground:
    """What every host stands on."""

    terms: Terms
    store: MemoryStore
    leases: Any
    network: Network
    jobs: Mapping[Any, Job]
    dice: Callable[[], float]
    releases: Sequence[Mapping[ScheduleId, ScheduleSpec]]
    on_plans: Callable[[Host, Sequence[Plan]], None]
    failures: list[BaseException]


class Host:
    """One machine: its clock, its lines, and the process of the moment."""

    def __init__(
        self,
        ground: Ground,
        number: int,
        clock: HostClock,
        lines: tuple[Line, Line],
        *,
        plans: bool,
        works: bool,
    ) -> None:
        self._ground = ground
        self._number = number
        self.plans = plans
        self.works = works
        self.clock = clock
        self.to_ledger, self.to_leases = lines
        self.release = 0
        self.lives = 0
        self.overslept_at = float("-inf")
        """When its monotonic clock last stood still."""
        self._asleep_since: float | None = None
        self._life = Life("unborn")
        self._heart = Life("unborn")
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._dead: list[Life] = []

    @property
    def name(self) -> str:
        return f"node-{self._number}-{self.lives}"

    @property
    def lines(self) -> tuple[Line, ...]:
        apart = self.to_leases is not self.to_ledger
        return (self.to_ledger, self.to_leases) if apart else (self.to_ledger,)

    def start(self) -> None:
        """A new process, under a new name, unless there is one."""
        if self.is_up or self.asleep:
            return
        self.lives += 1
        self._life, self._heart = Life(self.name), Life(f"{self.name}'s heart")
        self._stop = asyncio.Event()
        self._task = the_loop().create_task(self._live_or_tell(), context=context_of(self._life))

    def kill(self) -> None:
        """Not one more line of it runs; what it has sent is on its way."""
        if self._task is not None:
            self.freeze()
            self._life.dead = self._heart.dead = True
            self._dead += [self._life, self._heart]
            self._task = None

    async def stop(self) -> None:
        """A clean stop, which takes as long as it takes, within reason."""
        task = self._task
        if task is None:
            return
        self._stop.set()
        await asyncio.wait([task], timeout=10 * self._ground.terms.settings.grace_s)
        if task is self._task and not task.done():
            self.kill()

    @property
    def is_up(self) -> bool:
        return self._task is not None and not self._task.done()

    def freeze(self) -> None:
        """All of the process, as by SIGSTOP."""
        the_loop().freeze(self._life)
        the_loop().freeze(self._heart)

    def block(self) -> None:
        """The event loop is busy with something; the heart beats in a thread of its own."""
        the_loop().freeze(self._life)

    def thaw(self) -> None:
        """The process of the moment goes on as if nothing had been."""
        if self._task is not None and not self.asleep:
            the_loop().thaw(self._life)
            the_loop().thaw(self._heart)

    def fall_asleep(self) -> None:
        """The machine, with all that is on it; nothing is started or goes on before it wakes up."""
        self.freeze()
        self._asleep_since = the_loop().time()

    def wake_up(self) -> None:
        """Its monotonic clock knows nothing of the time that has passed."""
        if self._asleep_since is not None:
            self.overslept_at = the_loop().time()
            self.clock.lose(self.overslept_at - self._asleep_since)
            self._asleep_since = None
        self.thaw()
        self.start()

    @property
    def asleep(self) -> bool:
        return self._asleep_since is not None

    def unfreeze_the_dead(self) -> None:
        """After the end of the world: every process that ever was may run out."""
        for life in [*self._dead, self._life, self._heart]:
            the_loop().thaw(life)

    async def _live_or_tell(self) -> None:
        """A process ends by being killed or stopped; whatever else ends it is what we are looking for."""
        try:
            await self._live()
        except Exception as failure:
            self._ground.failures.append(failure)

    async def _live(self) -> None:
        ground = self._ground
        store = FarStore(
            ground.store, self.to_ledger, ground.network, lambda plans: ground.on_plans(self, plans)
        )
        schedules = ground.releases[self.release]
        deployer = Deployer(
            store, DEFAULT_NAMESPACE, {name: job.spec for name, job in ground.jobs.items()}, schedules
        )
        node = Node(
            node_id=NodeId(self.name),
            host=f"host-{self._number}",
            pid=self.lives,
            plans=self.plans,
            works=self.works,
            code_digest=code_digest(schedules),
        )
        await self._deploy(deployer)
        runner = NodeRunner(node, self._surroundings(store))
        runner.also(deployer)
        if (beside := self._over_broker(store)) is not None:
            runner.also_over_broker(beside)
        await runner.run(self._stop)

    def _over_broker(self, store: FarStore) -> BrokerServices | None:
        """The loops of the process over a message broker."""
        return None

    async def _deploy(self, deployer: Deployer) -> None:
        """Until it has worked, as a supervisor would try."""
        while not self._stop.is_set():
            try:
                await deployer.start()
                return
            except StoreUnavailable:
                await asyncio.sleep(self._ground.terms.s(BEGIN_AGAIN_S))

    def _surroundings(self, store: FarStore) -> Surroundings:
        ground, settings = self._ground, self._ground.terms.settings
        return Surroundings(
            store=store,
            leases=FarLeases(ground.leases, self.to_leases),
            clock=self.clock,
            dice=ground.dice,
            settings=settings,
            jobs=ground.jobs,
            heart=lambda active: _Heart(store, active, self._heart, self._ground),
        )


class _Heart:
    """The heartbeat in a thread of its own, which in this world is a process of its own."""

    def __init__(self, store: FarStore, active: ActiveRuns, life: Life, ground: Ground) -> None:
        self._beating = Heartbeat(store, active, ground.terms.settings)
        self._life = life

    async def run(self) -> None:
        task = the_loop().create_task(self._beating.run(), context=context_of(self._life))
        try:
            await task
        finally:
            task.cancel()
