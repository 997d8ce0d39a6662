"""One store in memory under a clock that stands still, and the services of a node around it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from fencepost.config import Settings, settings_from
from fencepost.executors.callable import CallableExecutor
from fencepost.model.identifiers import (
    DEFAULT_NAMESPACE,
    JobName,
    NodeId,
    RunKey,
    ScheduleId,
    Shard,
    job_key,
    shard_of,
)
from fencepost.model.job import JobSpec, Retry
from fencepost.model.json import JsonObject
from fencepost.model.limits import JobLimit
from fencepost.model.node import Node
from fencepost.model.policies import CatchUp
from fencepost.model.run import NewRun, RunFilter, RunRecord, RunState
from fencepost.model.schedule import Schedule, ScheduleSpec
from fencepost.ports.executor import Executor, Job
from fencepost.services.active import ActiveRuns
from fencepost.services.elector import Elector
from fencepost.services.heartbeat import Heartbeat
from fencepost.services.leadership import Leadership
from fencepost.services.membership import Membership
from fencepost.services.planner import Planner
from fencepost.services.reaper import Reaper
from fencepost.services.reporter import Reporter
from fencepost.services.rules_refresher import RulesRefresher
from fencepost.services.worker import Worker
from fencepost.stores.memory import MemoryStore
from fencepost.testing.clock import VirtualClock
from fencepost.triggers import Every
from tests.rows import shards_of
from tests.services.faults import FaultyStore

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
NS = DEFAULT_NAMESPACE
PATIENCE_S = 10.0


class House:
    """The world of one test."""

    def __init__(self, shards: int = 8, **settings: Any) -> None:
        self.clock = VirtualClock(START)
        self.memory = MemoryStore(self.clock, shards)
        self.store = FaultyStore(self.memory)
        self.settings: Settings = settings_from({}, overrides=settings)

    async def put(self, schedule_id: str, every_s: float = 10, **spec: Any) -> Schedule:
        """A schedule, created or edited."""
        wanted = ScheduleSpec(JobName("report"), trigger=Every(every_s).to_json(), **spec)
        return await self.put_spec(schedule_id, wanted)

    async def put_spec(self, schedule_id: str, spec: ScheduleSpec) -> Schedule:
        put = await self.memory.schedules.put(
            NS, ScheduleId(schedule_id), spec, tzdata="2026a", expected_version=None
        )
        assert put is not None
        return put

    async def enqueue(self, key: str, job: str = "report", priority: int = 2, **payload: Any) -> RunKey:
        """A run by hand, due at once."""
        run = NewRun(job_key(JobName(job), key), JobName(job), payload, self.settings.queues[0], priority)
        await self.memory.ledger.enqueue(NS, [run])
        return run.run_key

    async def run(self, run_key: str) -> RunRecord:
        found = await self.memory.ledger.get(NS, RunKey(run_key))
        assert found is not None
        return found

    async def states(self, schedule_id: str | None = None) -> list[RunState]:
        """The states of all runs, oldest fire time first."""
        return [one.state for one in await self.runs(schedule_id)]

    async def runs(self, schedule_id: str | None = None) -> list[RunRecord]:
        wanted = RunFilter(
            schedule_id=None if schedule_id is None else ScheduleId(schedule_id), limit=100_000
        )
        return list(reversed(await self.memory.ledger.list(NS, wanted)))

    def shard_of(self, schedule_id: str) -> Shard:
        return shard_of(NS, ScheduleId(schedule_id), shards_of(self.memory))


class PlanningNode:
    """The planning half of a node, moved by hand."""

    def __init__(self, house: House, name: str, code_digest: str = "") -> None:
        store, settings, clock = house.store, house.settings, house.clock
        node = Node(NodeId(name), name, 1, plans=True, works=False, code_digest=code_digest)
        self._clock = clock
        self.node_id = node.node_id
        self.membership = Membership(store, node, settings, clock)
        self.leadership = Leadership(settings.lease_terms)
        self.elector = Elector(
            store, store.leases, self.membership, self.leadership, settings, clock, lambda: 0.0
        )
        self.planner = Planner(
            store, self.leadership, settings, clock, node.node_id, clock_watch=self.membership.clock_watch
        )
        self.rules_refresher = RulesRefresher(house.store, self.leadership, house.clock)

    @property
    def shards(self) -> set[Shard]:
        """What this node believes to lead at this moment."""
        return set(self.leadership.grants(self._clock.monotonic()))

    @property
    def epochs(self) -> dict[Shard, int]:
        grants = self.leadership.grants(self._clock.monotonic())
        return {shard: grant.epoch for shard, grant in grants.items()}


class WorkingNode:
    """The working half of a node, moved by hand."""

    def __init__(self, house: House, *jobs: Job, name: str = "worker-1") -> None:
        self.house = house
        self.active = ActiveRuns()
        self.reporter = Reporter(house.store, self.active, house.settings)
        self.heartbeat = Heartbeat(house.store, self.active, house.settings)
        self.reaper = Reaper(house.store, house.settings)
        self.worker = Worker(
            house.store,
            {job.spec.name: job for job in jobs},
            self.active,
            self.reporter,
            house.settings,
            NodeId(name),
            lambda: 0.5,
        )

    async def register(self) -> None:
        """Let the store know the jobs, as a deployer would."""
        specs = [job.spec for job in self.worker._jobs.values()]
        await self.house.memory.jobs.register(NS, specs)

    async def work(self) -> None:
        """Claim, do and report all that is due."""
        await self.worker.run_once()
        await self.reported(0)

    async def reported(self, still_running: int) -> None:
        """Wait until no more than so many attempts go on, and report the others."""
        await until(lambda: len(self.worker._tasks) <= still_running)
        while self.reporter.backlog:
            await self.reporter.run_once()


def make_job(
    work: Callable[..., Any] | Executor,
    name: str = "report",
    *,
    attempts: int = 3,
    timeout_s: float | None = None,
    at_most_once: bool = False,
    limit: JobLimit | None = None,
) -> Job:
    """A job of a function, or of an executor."""
    executor: Executor = CallableExecutor(work) if callable(work) else work
    return Job(
        JobSpec(
            JobName(name),
            retry=Retry(max_attempts=attempts, base="10s"),
            timeout=None if timeout_s is None else timedelta(seconds=timeout_s),
            at_most_once=at_most_once,
            limit=limit,
        ),
        executor,
    )


class Bench:
    """Work that goes on until it is told to end; it counts how many of it there are."""

    def __init__(self, stoppable: bool = True) -> None:
        self.stoppable = stoppable
        self.begun: list[str] = []
        self.stopped: list[str] = []
        self.finish = asyncio.Event()
        self.now = 0
        self.most = 0

    def check(self, payload: JsonObject) -> None: ...

    async def execute(self, run: Any) -> str | None:
        self.begun.append(run.key)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await self.finish.wait()
        except asyncio.CancelledError:
            self.stopped.append(run.key)
            raise
        finally:
            self.now -= 1
        return None


async def until(holds: Callable[[], bool]) -> None:
    """Let the loop go on until it holds, within reason."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110 - what is waited for has no event of its own
            await asyncio.sleep(0)


LATEST = CatchUp("latest", "1h")
