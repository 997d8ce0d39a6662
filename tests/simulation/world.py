"""A small world: five machines, a ledger, perhaps a lease store of its own, operators, and bad luck.

Everything that decides in it is the real code: elector, planner, worker, reaper, janitor, deployer, on a
virtual loop over the store in memory. All chance comes from one seed.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from fencepost.errors import StoreUnavailable
from fencepost.model.codec import job_from_text
from fencepost.model.identifiers import DEFAULT_NAMESPACE as NS
from fencepost.model.identifiers import JobName, NodeId
from fencepost.model.plan import Plan
from fencepost.model.table import Row
from fencepost.model.tables import JOBS, MISSED_RANGES, RUNS
from fencepost.operations import schedules as schedule_operations
from fencepost.operations.control import Control
from fencepost.rules.rows import to_missed_range
from fencepost.services.enqueueing import new_run
from fencepost.stores.memory import MemoryStore
from tests.history.model import History
from tests.rows import versions_of
from tests.simulation.ban import nothing_real
from tests.simulation.clocks import HostClock
from tests.simulation.far import Far, FarStore
from tests.simulation.faults import Faults, Trouble
from tests.simulation.hosts import Ground, Host
from tests.simulation.jobs import LATE_EFFECT_S, QUICK, Kind, jobs_of, kinds_of
from tests.simulation.lease_server import ForgetfulLeases, held_by
from tests.simulation.loop import run_world, the_loop
from tests.simulation.network import Line, Network, Server
from tests.simulation.operator import ARRIVES_WITHIN_S, Operator
from tests.simulation.recording import RecordedRows, Recorder
from tests.simulation.workload import Workload, draw_terms
from tests.virtual_loop import LoopClock

ROLES = [(True, False), (True, False), (True, True), (False, True), (False, True)]
"""Who plans and who works."""

PACES = (4,)
SHARDS = 8
GIVES_UP_S = 4.0
REPEATS_WITHIN_S = 20.0
SETTLE_S = 180.0
SETTLES_MAX = 6
"""What lines up behind slow work may take its time, but not for ever."""
CLIENT_EVERY_S = 60.0
CHECKPOINT_S = 3600.0
BURIAL_S = 3600.0


@dataclass(frozen=True)
class Outcome:
    """What one world came to."""

    seed: int
    pace: int
    start: datetime
    history: History
    trace: str
    checkpoint: str
    """The trace of its first hour: a shorter replay comes by it too."""
    counted: Counter[str]


class World:
    """See the module."""

    def __init__(self, seed: int, paces: Sequence[int] = PACES) -> None:
        self.seed = seed
        self.dice = dice = random.Random(seed)
        self.terms = draw_terms(dice, paces)
        clock = LoopClock(self.terms.start)
        rows = RecordedRows(clock)
        self.store = MemoryStore(clock, SHARDS, rows)
        self.recorder = rows.recorder = Recorder(self.terms.settings, rows.now)
        self.recorder.watch(self.store)
        self.network = Network(dice, self.terms.s(GIVES_UP_S), self.terms.s(REPEATS_WITHIN_S))
        self.leases = ForgetfulLeases(clock) if dice.random() < 0.5 else None
        self.workload = Workload(self.terms, dice)
        self.kinds = self._kinds()
        self.failures: list[BaseException] = []
        servers = Server("ledger"), Server("leases")
        self._ledger, self._lease_server = servers if self.leases else (servers[0], servers[0])
        ground = self._ground(seed)
        self.hosts = [self._host(ground, number, *role) for number, role in enumerate(ROLES)]
        self.operator = Operator(
            self.store, self._far_store(), self.terms, self.workload, dice, self.recorder
        )
        self.faults = Faults(
            self.terms,
            self.hosts,
            self.store,
            (self._ledger, self._lease_server),
            self.leases,
            self.network,
            self.operator,
            self.recorder,
            dice,
        )
        self._checkpoint = self._trace = ""

    async def run(self, seconds: float, settles: bool) -> Outcome:
        """Trouble for so long, then quiet in which all is settled, then the end."""
        await self._found()
        for host in self.hosts:
            host.start()
        self.faults.begin()
        trouble = [asyncio.create_task(one) for one in self._troubles()]
        await self._pass(seconds)
        for task in trouble:
            task.cancel()
        ended = await asyncio.gather(*trouble, return_exceptions=True)
        self.failures += [one for one in ended if isinstance(one, Exception)]
        if settles:
            await self._calm_down()
        self._close()
        await self._bury()
        if self.failures:
            raise self.failures[0]
        return self._outcome()

    def _kinds(self) -> Mapping[JobName, Kind]:
        return kinds_of(self.terms.pace)

    def _ground(self, seed: int) -> Ground:
        return Ground(
            terms=self.terms,
            store=self.store,
            leases=self.leases or self.store.leases,
            network=self.network,
            jobs=jobs_of(self.kinds, seed, self.network, self.recorder, self.terms.s(LATE_EFFECT_S)),
            dice=self.dice.random,
            releases=self.workload.releases,
            on_plans=self._saw_plans_sent,
            failures=self.failures,
        )

    def _host(self, ground: Ground, number: int, plans: bool, works: bool) -> Host:
        to_ledger = Line(self.network, self._ledger)
        to_leases = Line(self.network, self._lease_server) if self.leases else to_ledger
        clock = HostClock(self.terms.start, self.dice)
        return Host(ground, number, clock, (to_ledger, to_leases), plans=plans, works=works)

    def _far_store(self) -> FarStore:
        """As operators see it: over a line of their own."""
        return FarStore(self.store, Line(self.network, self._ledger), self.network, lambda _: None)

    async def _found(self) -> None:
        await self.store.jobs.register(NS, [kind.spec for kind in self.kinds.values()])
        verbs = Control(self.store, NS)
        first, *others = self.workload.ids
        await schedule_operations.add(verbs, first, self.workload.beat())
        for schedule_id in others:
            await schedule_operations.add(verbs, schedule_id, self.workload.spec())

    def _troubles(self) -> list[Coroutine[Any, Any, None]]:
        often = [self._often(every_s, trouble) for every_s, trouble in self.faults.troubles()]
        return [*often, self._enqueue_now_and_then()]

    async def _often(self, every_s: float, trouble: Trouble) -> None:
        while True:
            await asyncio.sleep(self.terms.s(self.dice.expovariate(1 / every_s)))
            await trouble()

    async def _enqueue_now_and_then(self) -> None:
        """A client that asks again until it is told that its run was taken."""
        ledger = Far(self.store.ledger, Line(self.network, self._ledger))
        number = 0
        while True:
            await asyncio.sleep(self.terms.s(self.dice.expovariate(1 / CLIENT_EVERY_S)))
            number += 1
            run = new_run(self.kinds[QUICK].spec, {}, f"order-{number}")
            for _ in range(3):
                try:
                    await ledger.enqueue(NS, [run])
                except StoreUnavailable:
                    continue
                self.recorder.history.acknowledged.append(run.run_key)
                break

    async def _pass(self, seconds: float) -> None:
        """With a look at the trace on the way."""
        await asyncio.sleep(min(seconds, CHECKPOINT_S))
        self._checkpoint = self.recorder.trace
        await asyncio.sleep(max(seconds - CHECKPOINT_S, 0.0))

    async def _calm_down(self) -> None:
        """Everything is mended, the operators let go, and what is left runs its course."""
        self.faults.remedy()
        for host in self.hosts:
            host.start()
        await asyncio.sleep(self.terms.s(ARRIVES_WITHIN_S))  # What operators asked for last arrives first.
        await self.operator.let_go()
        await self.faults.let_go()
        history = self.recorder.history
        history.quiet_since = history.through = self.store.memory.now()
        for number in range(SETTLES_MAX):
            await asyncio.sleep(self.terms.s(SETTLE_S))
            await self.operator.decide_on_gates()
            left = self._unsettled()
            if not left:
                return
            if number == SETTLES_MAX // 2:
                await self.operator.make_room(left)

    def _unsettled(self) -> list[Row]:
        through = self.recorder.history.through
        runs = self.store.memory.all(RUNS)
        return [run for run in runs if run["finished_at"] is None and run["fire_time"] <= through]

    def _close(self) -> None:
        """The history is complete: nothing that follows belongs to it."""
        history, rows = self.recorder.history, self.store.memory
        history.ended_at = rows.now()
        history.effects_seen_through = history.ended_at - timedelta(seconds=self.terms.s(LATE_EFFECT_S))
        history.versions = versions_of(rows)
        history.ranges = [to_missed_range(one) for one in rows.all(MISSED_RANGES)]
        history.jobs = {one["name"]: job_from_text(one["spec"]) for one in rows.all(JOBS)}
        self._trace = self.recorder.trace
        self.network.closed = True

    async def _bury(self) -> None:
        """Every process that ever was runs out, with no store to talk to."""
        failures = list(self.failures)
        for host in self.hosts:
            host.unfreeze_the_dead()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=BURIAL_S)
        assert all(task.done() for task in left), "a process did not end"
        self.failures[:] = failures

    def _outcome(self) -> Outcome:
        return Outcome(
            seed=self.seed,
            pace=self.terms.pace,
            start=self.terms.start,
            history=self.recorder.history,
            trace=self._trace,
            checkpoint=self._checkpoint,
            counted=self.network.counted,
        )

    def _saw_plans_sent(self, host: Host, plans: Sequence[Plan]) -> None:
        rows = self.leases.rows if self.leases else self.store.memory
        held = held_by(rows, NodeId(host.name), self.store.memory.now())
        since = the_loop().time() - 2 * self.terms.settings.lease_ttl_s
        excused = self.faults.last_fall > since or host.overslept_at > since
        self.recorder.saw_plan_sent(host.name, plans, held, excused)


Make: TypeAlias = Callable[[int, Sequence[int]], World]
"""How a world of a kind is made of its seed."""


def simulate(
    seed: int,
    hours: float = 1.0,
    paces: Sequence[int] = PACES,
    *,
    settles: bool = True,
    make: Make = World,
) -> Outcome:
    """One world from its seed."""
    with nothing_real():
        return run_world(_simulate(make, seed, hours, paces, settles), random.Random(f"order/{seed}"))


async def _simulate(make: Make, seed: int, hours: float, paces: Sequence[int], settles: bool) -> Outcome:
    return await make(seed, paces).run(timedelta(hours=hours).total_seconds(), settles)
