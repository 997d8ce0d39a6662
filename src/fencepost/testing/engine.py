"""The real services of a node, moved by hand through virtual time.

No service runs its loop here. At each moment the engine lets all of them pass, again and again, until nothing
is left to do at that moment: plan, beat, reap, claim, run, report. Then it looks when the next thing happens
(a run falls due, a tick comes within the planner's horizon, a sleeper wakes) and moves the clock there. So a
month in which little happens costs little, and the order of everything depends only on the program.

The node leads the only shard from its start. Its own clock stands still for leases, so no time passes in
which it could lose one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from fencepost.config import Settings, changed_settings
from fencepost.errors import FencepostError, SearchExhausted, UsageError
from fencepost.model.clocks import Monotonic
from fencepost.model.identifiers import JobName, NodeId, ScheduleId, Shard
from fencepost.model.node import Node
from fencepost.model.plan import Cursor
from fencepost.model.status import QueueDepth
from fencepost.ports.executor import Job
from fencepost.ports.signals import Topic
from fencepost.ports.store import Store
from fencepost.services.active import ActiveRun
from fencepost.services.heartbeat import Heartbeat
from fencepost.services.node import NodeRunner, Surroundings
from fencepost.services.planner import TriggerCache
from fencepost.services.reaper import Reaper
from fencepost.services.worker import LOCKED_REST_S
from fencepost.testing.clock import VirtualClock
from fencepost.testing.ground import SHARDS
from fencepost.testing.watching import Observer

HALF = 0.5
"""The dice of the bench: a retry waits half of its bound."""
POLL_S = 1e9
PASSES_MAX = 20_000
STEPS_MAX = 2_000_000
STUCK_REST_S = 1.0
OUTAGE_STEP_S = 30.0
QUICK_TURNS = 2
"""Work that waits for nothing has ended after this number of turns of the loop."""
RUNNING_MAX = 10_000
PAGE = 500


class BenchStuck(FencepostError):
    """The bench does not come to rest: work that never ends, or that makes ever more work."""


class Engine:
    """One node over one store, in virtual time."""

    def __init__(
        self,
        store: Store,
        clock: VirtualClock,
        settings: Settings,
        jobs: dict[JobName, Job],
        observer: Observer,
        patience_s: float,
    ) -> None:
        self.plans = self.works = self.reaps = True
        self.halts: Callable[[], bool] = lambda: False
        """Asked after each moment: whether time stands still there."""
        self._store = store
        self._clock = clock
        self._settings = bench_settings(settings, jobs)
        self._jobs = jobs
        self._observer = observer
        self._patience_s = patience_s
        self._shelf = TriggerCache()
        self._reaper = Reaper(store, self._settings)
        self._sweep_s = OUTAGE_STEP_S
        self._rest_s = 0.0
        self._lives = 0
        self._queues = dict.fromkeys(self._settings.queues)
        self._runner = self._new_runner()
        assert self._runner.planning is not None
        self._planning = self._runner.planning
        self._beaten_at: datetime | None = None
        self._has_news = False

    async def start(self) -> None:
        """Take the lead of the only shard, and hear of new schedules."""
        await self._planning.elector.run_once()
        await self._store.signals.listen(Topic.SCHEDULES, self._hear)
        await self._serve_schedules()

    async def crash(self) -> None:
        """The worker dies in the middle of its work, without leaving. A new one takes its place."""
        tasks = [one.task for one in self._runner.active if one.has_begun]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._runner = self._new_runner()

    async def advance_to(self, moment: datetime) -> None:
        """Let time pass until then, and do whatever falls due on the way, in order."""
        for _ in range(STEPS_MAX):
            await self.settle()
            if self.halts():
                return
            coming = await self._next_moment(moment)
            if coming is None:
                break
            self._clock.advance_to(coming)
        else:
            raise BenchStuck(f"still not at the end after {STEPS_MAX} steps; advance by less")
        if self._clock.wall() < moment:
            self._clock.advance_to(moment)
            await self.settle()

    async def advance_before(self, moment: datetime) -> None:
        """As `advance_to`, but what is to happen at that very moment has not."""
        await self.advance_to(moment - timedelta.resolution)
        self._clock.advance_to(moment)

    async def settle(self) -> None:
        """All that is due at this moment, until nothing is."""
        depth: QueueDepth | None = None
        await self._look_around()
        for _ in range(PASSES_MAX):
            before = self._progress()
            await self._pass()
            if before != self._progress():
                depth = None
            elif self._rest_s > LOCKED_REST_S or not self.works:
                return
            else:
                known, depth = depth, await self._store.ledger.depth(self._settings.namespace)
                if known == depth:
                    return
        raise BenchStuck(
            f"at {self._clock.wall():%Y-%m-%dT%H:%M:%SZ} there is always more to do; "
            "does a job enqueue itself without end?"
        )

    def _progress(self) -> tuple[int, int]:
        working = self._runner.working
        assert working is not None
        return len(self._observer.begun), working.reporter.settled

    async def _pass(self) -> None:
        working = self._runner.working
        assert working is not None
        if self._has_news:
            await self._plan()
        if self.works:
            self._rest_s = await working.worker.run_once()
            await self._quiet()
            while working.reporter.backlog:
                await working.reporter.run_once()

    async def _look_around(self) -> None:
        """Work that only time brings: once per moment is enough."""
        await self._plan()
        await self._beat()
        if self.reaps:
            self._sweep_s = await self._reaper.run_once()

    async def _plan(self) -> None:
        if self._has_news:
            await self._serve_schedules()
        self._has_news = False
        if self.plans:
            await self._planning.planner.run_once()
            await self._planning.backfiller.run_once()

    async def _serve_schedules(self) -> None:
        """A schedule may name a queue that no setting and no job does; from then on it is served."""
        after: ScheduleId | None = None
        while page := await self._store.schedules.page(self._settings.namespace, after, PAGE):
            self._queues |= dict.fromkeys(one.spec.queue for one in page if one.spec.queue is not None)
            after = page[-1].schedule_id
        self._serve(self._runner)

    def _serve(self, runner: NodeRunner) -> None:
        assert runner.working is not None
        runner.working.worker.serve(self._queues)

    def _hear(self) -> None:
        self._has_news = True

    async def _beat(self) -> None:
        """At most at the pace of a real heartbeat, of which an attempt has a limited number."""
        now, pace = self._clock.wall(), timedelta(seconds=self._settings.heartbeat_every_s)
        if len(self._runner.active) and (self._beaten_at is None or now - self._beaten_at >= pace):
            self._beaten_at = now
            await Heartbeat(self._store, self._runner.active, self._settings).run_once()

    async def _quiet(self) -> None:
        """Wait until all work has ended or sleeps by the virtual clock."""
        loop = asyncio.get_running_loop()
        for _ in range(QUICK_TURNS):
            await asyncio.sleep(0)
        while restless := self._restless():
            stirred: asyncio.Future[None] = loop.create_future()
            self._clock.on_sleep = partial(_stir, stirred)
            waiting = {*restless.values(), stirred}
            done, _ = await asyncio.wait(
                waiting, timeout=self._patience_s, return_when=asyncio.FIRST_COMPLETED
            )
            if not done:
                keys = ", ".join(restless)
                raise BenchStuck(
                    f"still at work after {self._patience_s:g} real seconds: {keys}; sleep by the bench's "
                    "clock, give a stand-in with bench.stub, or more time with Bench(app, patience=…)"
                )

    def _restless(self) -> dict[str, asyncio.Task[None]]:
        return {
            one.claim.run_key: one.task
            for one in self._runner.active
            if one.has_begun and not one.task.done() and not self._is_asleep(one)
        }

    def _is_asleep(self, one: ActiveRun) -> bool:
        return not one.task.cancelling() and self._clock.is_asleep(one.claim.run_key)

    async def _next_moment(self, until: datetime) -> datetime | None:
        """When something happens next, up to and including `until`; None where nothing does."""
        now = self._clock.wall()
        moments = [self._clock.next_wake(), await self._next_planning(now, until)]
        if self.works:
            rest_s = self._rest_s if self._rest_s > LOCKED_REST_S else STUCK_REST_S
            moments.append(now + timedelta(seconds=min(rest_s, _seconds(now, until) + 1)))
        if self.reaps and await self._has_orphans():
            moments.append(now + timedelta(seconds=self._sweep_s))
        elif self.reaps and not self.works:
            moments.append(now + timedelta(seconds=OUTAGE_STEP_S))
        coming = [one for one in moments if one is not None and one <= until]
        return min(coming, default=None)

    async def _next_planning(self, now: datetime, until: datetime) -> datetime | None:
        """When the next tick comes within the horizon."""
        horizon = timedelta(seconds=self._settings.horizon_s)
        if not self.plans:
            return None
        far_s = _seconds(now, until + horizon)
        window = await self._store.plans.window([Shard(0)], far_s, 1)
        if not window.cursors:
            return None
        return max(self._next_fire_time(window.cursors[0]) - horizon, now + timedelta(seconds=1))

    def _next_fire_time(self, cursor: Cursor) -> datetime:
        try:
            found = self._shelf.get(cursor).next_after(cursor.planned_through)
        except SearchExhausted as cut:
            found = cut.searched_through
        except UsageError:
            found = None
        return cursor.planned_through if found is None else found

    async def _has_orphans(self) -> bool:
        """Whether the ledger shows runs as running that no worker has any more."""
        if self._lives == 1:
            return False
        running = await self._store.ledger.running(self._settings.namespace, RUNNING_MAX)
        ours = {one.claim.run_key for one in self._runner.active}
        return any(one.run_key not in ours for one in running)

    def _new_runner(self) -> NodeRunner:
        self._lives += 1
        node = Node(NodeId(f"bench-{self._lives}"), "bench", self._lives, plans=True, works=True)
        around = Surroundings(
            store=self._store,
            leases=self._store.leases,
            clock=_Still(self._clock),
            dice=lambda: HALF,
            settings=self._settings,
            jobs=self._jobs,
        )
        runner = NodeRunner(node, around)
        runner.membership.clock_watch.hold_s = 0.0
        self._serve(runner)
        return runner


def bench_settings(settings: Settings, jobs: dict[JobName, Job]) -> Settings:
    """The application's settings, as a bench needs them: the queues of all jobs are served, outcomes reported
    one by one, no poll in between, and no runs prefetched by the pace of real time."""
    queues = dict.fromkeys([*settings.queues, *(job.spec.queue for job in jobs.values())])
    return changed_settings(
        settings,
        {"queues": list(queues), "finish_batch_max": 1, "poll_s": POLL_S, "shards": SHARDS, "prefetch": 0},
    )


class _Still:
    """The virtual clock with a monotonic side that stands still."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock

    def wall(self) -> datetime:
        return self._clock.wall()

    def monotonic(self) -> Monotonic:
        return Monotonic(0.0)

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)


def _seconds(since: datetime, until: datetime) -> float:
    return (until - since).total_seconds()


def _stir(stirred: asyncio.Future[None]) -> None:
    if not stirred.done():
        stirred.set_result(None)
