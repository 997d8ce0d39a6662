"""A small world: three planning nodes, two workers, fifty schedules, an operator, and bad luck.

Everything in it is the real code, on a virtual loop over the store in memory. All chance comes from one seed.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from fencepost.config import Settings
from fencepost.errors import UsageError
from fencepost.model.identifiers import DEFAULT_NAMESPACE, JobName, NodeId, ScheduleId
from fencepost.model.node import Node
from fencepost.model.plan import Plan, PlanReceipt
from fencepost.model.policies import CatchUp, GateTerms, parse_overlap
from fencepost.model.run import Outcome, Receipt
from fencepost.model.schedule import ScheduleSpec
from fencepost.model.trigger import Trigger
from fencepost.ports.executor import Job
from fencepost.services.control import ScheduleDesk
from fencepost.services.heartbeat import Heartbeat
from fencepost.services.node import NodeRunner, Surroundings
from fencepost.stores.memory import MemoryStore
from fencepost.testing.loop import LoopClock, run_virtually
from fencepost.triggers import Cron, Every
from tests.simulation.faults import FarLeases, FarStore, Weather
from tests.simulation.fleet import FleetTrouble, ForgetfulLeases
from tests.simulation.jobs import JOBS, SimulatedJob
from tests.simulation.operator import TEAMS, Operator
from tests.simulation.witness import WatchedTables, Witness

START = datetime(2026, 3, 29, 0, 20, tzinfo=UTC)
"""Forty minutes before clocks change in Europe."""

OVERLAPS = [
    *map(parse_overlap, ("skip", "skip", "allow", "allow(2)", "buffer_one", "buffer_all(5)")),
    *map(parse_overlap, ("cancel_other", "terminate_other")),
]
GATE = GateTerms(waiting_max=15, failed_share=0.2, of_last=3)
CATCH_UPS = [
    CatchUp("none", "20s"),
    CatchUp("none"),
    CatchUp("latest", "10m"),
    CatchUp("sequential", "2m", GATE),
    CatchUp("parallel(3)", "2m", GATE),
]

PLANNERS, WORKERS, SCHEDULES = 3, 2, 50
SETTLE_S = 240.0
SETTLES_MAX = 60
"""What lines up behind slow work may take its time, but not for ever."""
SETTINGS = Settings(heartbeat_timeout_s=20, heartbeat_every_s=5, concurrency=200, grace_s=5)


@dataclass(frozen=True)
class Report:
    """What one world came to."""

    expected: int
    trace: str
    refused_writes: int
    refused_reports: int
    rescues: int
    crashes: int
    stalls: int
    replays: int
    gates_seen: int
    missed_ranges: int
    origins: frozenset[str]
    states: dict[str, int]
    cuts: int
    drains: int
    falls: int


class Process:
    """One node that can crash, stall and come back under a new name."""

    def __init__(self, world: World, number: int, plans: bool) -> None:
        self._world = world
        self._number = number
        self.plans = plans
        self._lives = 0
        self._task: asyncio.Task[None] | None = None
        self.weather = Weather(world.dice, world.lost_share)

    def start(self) -> None:
        self._lives += 1
        self.weather = Weather(self._world.dice, self._world.lost_share)
        self._task = asyncio.create_task(self._live_or_tell(self.weather))

    async def crash(self) -> None:
        """Nothing that the dying process still tries reaches the store."""
        assert self._task is not None
        self.weather.dead = True
        self.weather.resume()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _live_or_tell(self, weather: Weather) -> None:
        """A node ends by being crashed; whatever else ends it is what we are looking for."""
        try:
            await self._live(weather)
        except Exception as failure:
            self._world.failures.append(failure)

    async def _live(self, weather: Weather) -> None:
        dice = self._world.dice
        store = FarStore(self._world.store, weather)
        clock = LoopClock(START, skew_s=dice.uniform(-30, 30), rate=dice.uniform(0.99, 1.01))
        node = Node(
            node_id=NodeId(f"node-{self._number}-{self._lives}"),
            host="simulated",
            pid=self._number,
            plans=self.plans,
            works=not self.plans,
        )
        jobs = {
            name: Job(spec, SimulatedJob(self._world.seed, weather, longest_s, failing))
            for name, (spec, longest_s, failing) in JOBS.items()
        }
        around = Surroundings(
            store=store,
            leases=FarLeases(self._world.fleet.leases, weather),
            clock=clock,
            dice=dice.random,
            settings=SETTINGS,
            jobs=jobs,
            heart=lambda active: Heartbeat(store, active, SETTINGS),
        )
        await NodeRunner(node, around).run(asyncio.Event())


class World:
    """See the module."""

    def __init__(self, seed: int, lost_share: float = 0.01) -> None:
        self.seed = seed
        self.lost_share = lost_share
        self.dice = random.Random(seed)
        self.witness = Witness()
        clock = LoopClock(START)
        self.store = MemoryStore(clock, tables=WatchedTables(clock, 8, witness=self.witness))
        self._watch_plans()
        self._watch_reports()
        self.processes = [Process(self, n, plans=n < PLANNERS) for n in range(PLANNERS + WORKERS)]
        self.crashes = self.stalls = self.blackouts = 0
        self._operator = Operator(self.store, self.dice, [f"schedule-{n}" for n in range(SCHEDULES)])
        self.fleet = FleetTrouble(self.store, ForgetfulLeases(clock) if seed % 2 else None, self.dice)
        self._until = START
        self.failures: list[Exception] = []

    async def run(self, seconds: float) -> Report:
        """Trouble for so long, then quiet, then the accounting."""
        await self._found()
        for process in self.processes:
            process.start()
        trouble = [asyncio.create_task(one) for one in self._troubles()]
        await asyncio.sleep(seconds)
        for task in trouble:
            task.cancel()
        ended = await asyncio.gather(*trouble, return_exceptions=True)
        self.failures += [one for one in ended if isinstance(one, Exception)]
        await self._calm_down()
        return self._account()

    async def _found(self) -> None:
        await self.store.jobs.register(DEFAULT_NAMESPACE, [spec for spec, _, _ in JOBS.values()])
        desk = ScheduleDesk(self.store, DEFAULT_NAMESPACE)
        beat = ScheduleSpec(JobName("quick"), Every(1).to_json(), catch_up=CATCH_UPS[0])
        await desk.add("schedule-0", beat)
        for number in range(1, SCHEDULES):
            await desk.add(f"schedule-{number}", self._spec())

    def _spec(self) -> ScheduleSpec:
        dice = self.dice
        triggers: list[Callable[[], Trigger]] = [
            lambda: Every(dice.randint(1, 90)),
            lambda: Every(dice.randint(5, 30)),
            lambda: Cron("* * * * *"),
            lambda: Cron(f"{dice.randint(0, 59)} {dice.randint(1, 3)} * * *", tz="Europe/Berlin"),
            lambda: Cron(f"*/{dice.randint(2, 30)} * * * * *", tz="Europe/London"),
        ]
        return ScheduleSpec(
            job=dice.choice(list(JOBS)),
            trigger=dice.choice(triggers)().to_json(),
            overlap=dice.choice(OVERLAPS),
            catch_up=dice.choice(CATCH_UPS),
            labels={"team": dice.choice(TEAMS)},
        )

    def _troubles(self) -> list[Coroutine[Any, Any, None]]:
        return [
            self._often(240, self._crash_one),
            self._often(200, self._stall_one),
            self._often(60, self._edit),
            self._often(45, self._operator.act),
            self._often(150, self.fleet.act),
            self._often(700, self._black_out),
        ]

    async def _often(self, every_s: float, trouble: Callable[[], Coroutine[Any, Any, None]]) -> None:
        while True:
            await asyncio.sleep(self.dice.expovariate(1 / every_s))
            await trouble()

    async def _crash_one(self) -> None:
        process = self.dice.choice(self.processes)
        self.crashes += 1
        await process.crash()
        try:
            await asyncio.sleep(self.dice.choice([0.5, 5, 30, 90]))
        finally:
            process.start()

    async def _black_out(self) -> None:
        """All planners away, or all workers, for longer than the horizon: what was due is late."""
        plans = self.dice.random() < 0.5
        self.blackouts += 1
        gone = [one for one in self.processes if one.plans is plans]
        for one in gone:
            one.weather.stall()
        try:
            await asyncio.sleep(self.dice.uniform(1.2, 8) * SETTINGS.horizon_s)
        finally:
            for one in gone:
                one.weather.resume()

    async def _stall_one(self) -> None:
        """Past the lease's end and past the heartbeat's timeout, then on as if nothing had been."""
        process = self.dice.choice(self.processes)
        weather = process.weather
        self.stalls += 1
        try:
            if process.plans and self.dice.random() < 0.7:
                await self._stall_in_mid_write(weather)
            else:
                weather.stall()
            await asyncio.sleep(self.dice.uniform(1, 4) * SETTINGS.lease_ttl_s)
        finally:
            weather.resume()

    async def _stall_in_mid_write(self, weather: Weather) -> None:
        """The hard case: the planner believed in its lease when it sent the write."""
        weather.trap = "write"
        with suppress(TimeoutError):
            async with asyncio.timeout(60):
                await weather.trapped.wait()

    async def _edit(self) -> None:
        desk = ScheduleDesk(self.store, DEFAULT_NAMESPACE)
        schedule_id = f"schedule-{self.dice.randrange(SCHEDULES)}"
        try:
            match self.dice.randrange(7):
                case 0:
                    await desk.pause(schedule_id)
                case 1:
                    await desk.resume(schedule_id)
                case 2:
                    await desk.remove(schedule_id)
                case 3:
                    await desk.add(schedule_id, self._spec())
                case 4:
                    await desk.trigger(schedule_id)
                case 5:
                    await self._cancel_one(schedule_id)
                case _:
                    current = await desk.get(schedule_id)
                    await desk.edit(schedule_id, self._spec(), current.version)
        except UsageError:
            return

    async def _cancel_one(self, schedule_id: str) -> None:
        """Any run of the schedule that has not ended: planned, waiting or running."""
        lane = self.store.tables.lane(DEFAULT_NAMESPACE, ScheduleId(schedule_id))
        if lane.open:
            key = self.dice.choice(sorted(lane.open))
            await self.store.ledger.cancel(DEFAULT_NAMESPACE, key, "not this one")

    async def _calm_down(self) -> None:
        """The weather clears, the operator lets go of everything, and what is left runs its course."""
        for process in self.processes:
            process.weather.resume()
            process.weather.lost_share = 0.0
        await self._operator.let_go()
        await self.fleet.let_go()
        self._until = self.store.tables.now()
        for _ in range(SETTLES_MAX):
            await asyncio.sleep(SETTLE_S)
            await self._operator.decide_on_gates()
            if not self._unsettled():
                return

    def _unsettled(self) -> bool:
        tables = self.store.tables
        unended = [*tables.waiting.values(), *tables.running.values()]
        return any(row.record.fire_time <= self._until for row in unended)

    def _account(self) -> Report:
        tables = self.store.tables
        if self.failures:
            raise self.failures[0]
        self.witness.check_order()
        expected = self.witness.check_complete(tables, self._until)
        states: dict[str, int] = {}
        for row in tables.runs.values():
            states[row.record.state] = states.get(row.record.state, 0) + 1
        return Report(
            expected,
            self.witness.trace.hexdigest(),
            self.witness.refused_writes,
            self.witness.refused_reports,
            self.witness.rescues,
            self.crashes,
            self.stalls,
            self.witness.replays,
            self._operator.gates_seen,
            sum(map(len, tables.missed.values())),
            frozenset(self.witness.origins),
            states,
            *self.fleet.counted,
        )

    def _watch_plans(self) -> None:
        book = self.store.planbook
        write = book.write

        async def watched(plans: list[Plan]) -> PlanReceipt:
            receipt = await write(plans)
            self.witness.saw_plans(plans, receipt)
            return receipt

        book.write = watched  # type: ignore[assignment,method-assign]

    def _watch_reports(self) -> None:
        ledger = self.store.ledger
        finish = ledger.finish

        async def watched(outcomes: Sequence[Outcome]) -> Sequence[Receipt]:
            rows = [
                self.store.tables.runs.get((one.ticket.namespace, one.ticket.run_key)) for one in outcomes
            ]
            before = [None if row is None else row.record for row in rows]
            receipts = await finish(outcomes)
            for outcome, receipt, record in zip(outcomes, receipts, before, strict=True):
                self.witness.saw_report(outcome, receipt, record)
            return receipts

        ledger.finish = watched  # type: ignore[method-assign]


def simulate(seed: int, seconds: float = 3600.0) -> Report:
    """One world from its seed."""
    return run_virtually(_simulate(seed, seconds))


async def _simulate(seed: int, seconds: float) -> Report:
    return await World(seed).run(seconds)
