"""One schedule through stalls, outages and runs by hand: the real planner and worker in virtual time.

Time counts in seconds from `START`. The schedule fires every `every_s` seconds, and its ticks take `takes_s`;
a run by hand takes as long as it is told to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from fencepost.config import Settings
from fencepost.core.accounts import Account
from fencepost.model.clocks import since
from fencepost.model.identifiers import DEFAULT_NAMESPACE, JobName, ScheduleId
from fencepost.model.job import JobSpec
from fencepost.model.json import JsonObject
from fencepost.model.policies import CatchUp, Overlap
from fencepost.model.run import Origin, RunFilter, RunRecord
from fencepost.model.schedule import ScheduleSpec
from fencepost.ports.executor import Job
from fencepost.services.accounting import Auditor
from fencepost.stores.memory import MemoryStore
from fencepost.testing.clock import VirtualClock
from fencepost.testing.engine import Engine
from fencepost.testing.watching import Observer, Stub, Watched
from fencepost.triggers import Every, tzdata_version
from tests.history.model import History
from tests.rows import versions_of
from tests.simulation.recording import RecordedRows, Recorder

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
NS, SCHEDULE, JOB = DEFAULT_NAMESPACE, ScheduleId("beat"), JobName("work")
PATIENCE_S = 60.0
HEARTBEAT = timedelta(seconds=1)
SETTINGS = Settings(heartbeat_every_s=HEARTBEAT.total_seconds())
RUNS_MAX = 10_000


class Course:
    """See the module. The planner writes 60 s ahead, as by default."""

    def __init__(self, overlap: Overlap, catch_up: CatchUp, every_s: float, takes_s: float) -> None:
        self.clock = VirtualClock(START)
        rows = RecordedRows(self.clock)
        self._recorder = rows.recorder = Recorder(SETTINGS, rows.now)
        self.store = MemoryStore(self.clock, 1, rows)
        self.takes_s = takes_s
        self.by_hand: dict[datetime, float] = {}
        trigger = Every(every_s).to_json()
        self._spec = ScheduleSpec(JOB, trigger=trigger, overlap=overlap, catch_up=catch_up)
        observer = Observer()
        observer.stubs[JOB] = Stub(self._work)
        job = JobSpec(JOB)
        jobs = {JOB: Job(job, Watched(Job(job, _Nothing()), None, observer, self.clock))}
        self.engine = Engine(self.store, self.clock, SETTINGS, jobs, observer, PATIENCE_S)

    async def start(self) -> None:
        await self.store.jobs.register(NS, [JobSpec(JOB)])
        await self.store.schedules.put(NS, SCHEDULE, self._spec, tzdata=tzdata_version(), expected_version=0)
        await self.engine.start()

    async def go_to(self, second: float, *, plans: bool = True, works: bool = True) -> None:
        """Let time pass until then, a heartbeat at a time; who does not plan or work is away meanwhile."""
        self.engine.plans, self.engine.works, self.engine.reaps = plans, works, plans or works
        while (await self.store.now()) + HEARTBEAT < moment(second):
            await self.engine.advance_to((await self.store.now()) + HEARTBEAT)
        await self.engine.advance_to(moment(second))

    async def trigger(self, takes_s: float) -> None:
        """One run by hand, now."""
        now = await self.store.now()
        self.by_hand[now] = takes_s
        assert await self.store.ledger.trigger(NS, SCHEDULE, now, author=None) is not None

    async def ticks(self, first: float, last: float) -> list[RunRecord]:
        """The ticks that fire from the one second to the other, runs by hand left out."""
        return [
            one
            for one in await self._runs()
            if one.origin is not Origin.MANUAL and moment(first) <= one.fire_time <= moment(last)
        ]

    async def counts(self, first: float, last: float) -> dict[str, int]:
        """What became of those ticks, rows and ranges."""
        counted = Counter(str(one.state) for one in await self.ticks(first, last))
        ends = moment(first) - timedelta.resolution, moment(last)
        for gone in await self.store.ledger.missed_ranges(NS, SCHEDULE, *ends):
            counted["missed"] += gone.count
        return dict(counted)

    async def manual_states(self) -> list[str]:
        return [str(one.state) for one in await self._runs() if one.origin is Origin.MANUAL]

    async def account(self, last: float) -> Account:
        """The audit of all ticks up to then."""
        report = await Auditor(self.store, NS).audit(SCHEDULE, START, moment(last))
        return report.accounts[0]

    def history(self) -> History:
        """All that happened to the runs, for the checkers."""
        history = self._recorder.history
        history.versions = versions_of(self.store.memory)
        return history

    async def _runs(self) -> Sequence[RunRecord]:
        return list(reversed(await self.store.ledger.list(NS, RunFilter(limit=RUNS_MAX))))

    async def _work(self, run: object) -> None:
        fire_time: datetime = run.fire_time  # type: ignore[attr-defined]
        await self.clock.sleep(self.by_hand.get(fire_time, self.takes_s))


class _Nothing:
    stoppable = True

    def check(self, payload: JsonObject) -> None:
        return None

    async def execute(self, run: object) -> str | None:
        return None


def moment(second: float) -> datetime:
    return START + timedelta(seconds=second)


def late_s(run: RunRecord) -> float:
    """How long after it was due a run began."""
    assert run.first_started_at is not None
    return since(run.run_at, run.first_started_at).total_seconds()
