"""The bench: an application's jobs and schedules, run by the real services in virtual time.

`async with Bench(app) as bench:` puts the application on a store in memory. What the program enqueues and
schedules goes there, and nothing happens until the test lets it: `await bench.drain()` does what is due now,
`await bench.advance("3h")` lets time pass and does everything that falls due on the way, in order.

Async functions run on the test's own loop. Other functions run in one real thread, one after the other, so
that their order is certain and what blocks does not block the test. Work of other kinds (commands, HTTP
calls, processes) is not done unless the test names it: `real=["backup"]`, or gives a stand-in:
`bench.stub("backup")`.

Time is virtual for schedules, retries, timeouts and `bench.clock.sleep`. `asyncio.sleep` and the calendar of
`datetime` are the machine's own: a job takes its time from `run.fire_time`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from fencepost.app.specs import job_name
from fencepost.app.work import JobThreads
from fencepost.errors import UnknownJob, UnknownRun, UsageError
from fencepost.model.durations import Duration, parse_duration
from fencepost.model.identifiers import JobName, RunKey, ScheduleId
from fencepost.model.quoting import quoted
from fencepost.model.run import Attempt, RunFilter, RunRecord, RunState
from fencepost.model.times import read_time, to_utc_text
from fencepost.services.deployer import Deployer
from fencepost.testing.clock import EPOCH, VirtualClock
from fencepost.testing.engine import Engine
from fencepost.testing.enqueued import Wanted, complaint
from fencepost.testing.ground import MEMORY, ground_of
from fencepost.testing.watching import Failure, Observer, Stub, watched_jobs

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from fencepost.app import Fencepost

RUNS_MAX = 1_000_000
PATIENCE = "60s"


class Bench:
    """An application's jobs and schedules, run by the real services in virtual time: `async with Bench(app)`.

    The application's store is one in memory; `store="sqlite"` is a file of its own, for jobs that use
    `run.transaction()`. `now` is where the clock begins. With `raises` the exception of a failing job comes
    out of the call in which it failed; otherwise it is only kept in `failures`. `patience` is how long, in
    real time, work may take that does not come to rest. Nothing happens until `drain` or `advance`."""

    def __init__(
        self,
        app: Fencepost,
        *,
        now: datetime | str = EPOCH,
        clock: VirtualClock | None = None,
        store: str = MEMORY,
        raises: bool = True,
        real: Collection[str] = (),
        patience: Duration = PATIENCE,
    ) -> None:
        self.app = app
        self.clock = clock or VirtualClock(read_time(now, UTC))
        self.failures: list[Failure] = []
        """Every attempt that failed, with its exception."""
        self._ground = ground_of(store, self.clock)
        self._raises = raises
        self._real = frozenset(self._known(one) for one in real)
        self._patience_s = parse_duration(patience).total_seconds()
        self._observer = Observer(failures=self.failures)
        self._threads = JobThreads(1, thread_name_prefix="fencepost-bench")
        self._threads.around = app.thread_surroundings
        self._engine: Engine | None = None
        self._go_back: Callable[[], None] | None = None
        self._closed = False
        self._told = 0

    @property
    def now(self) -> datetime:
        """The time on the bench."""
        return self.clock.wall()

    def stub(
        self,
        job: str | Callable[..., Any],
        result: Any = None,
        *,
        raises: BaseException | None = None,
        takes: Duration = 0,
    ) -> Stub:
        """Replace a job's work by something else: return `result`, or what `result` returns when it is called
        with the run, or raise; after `takes` by the virtual clock. `.calls` has the payloads of the calls."""
        stub = Stub(result, raises, parse_duration(takes).total_seconds())
        self._observer.stubs[self._known(job)] = stub
        return stub

    async def drain(self) -> list[RunRecord]:
        """Do everything that is due now, until nothing is; returns the runs that began, in order."""
        return await self._seen(lambda engine: engine.settle())

    async def advance(self, by: Duration) -> list[RunRecord]:
        """Let time pass, and do everything that falls due on the way, in order; returns the runs that began.

        Where a job fails and the bench `raises`, time stands at that moment, and a further call goes on."""
        until = self.now + parse_duration(by)
        return await self.advance_to(until)

    async def advance_to(self, moment: datetime | str) -> list[RunRecord]:
        """As `advance`, until a moment."""
        until = read_time(moment, UTC)
        if until < self.now:
            raise UsageError(f"bench: {to_utc_text(until)} has passed; time does not go back")
        return await self._seen(lambda engine: engine.advance_to(until))

    def runs(
        self,
        job: str | Callable[..., Any] | None = None,
        *,
        schedule: str | None = None,
        state: str | None = None,
    ) -> list[RunRecord]:
        """The runs in the ledger, oldest first; those of a job, of a schedule or in a state."""
        wanted = RunFilter(
            job=None if job is None else self._known(job),
            schedule_id=None if schedule is None else ScheduleId(schedule),
            state=None if state is None else RunState(state),
            limit=RUNS_MAX,
        )
        namespace = self.app.settings.namespace
        found = self._ground.read(lambda store: store.ledger.list(namespace, wanted))
        return list(reversed(found))

    def run(self, key: str) -> RunRecord:
        """One run by its key."""
        namespace = self.app.settings.namespace
        found = self._ground.read(lambda store: store.ledger.get(namespace, RunKey(key)))
        if found is None:
            known = ", ".join(one.run_key for one in self.runs()[-10:]) or "none at all"
            raise UnknownRun(f"run {quoted(key)}: not on the bench; there are: {known}")
        return found

    def attempts(self, key: str) -> list[Attempt]:
        """The attempts of a run that failed or left output, first to last."""
        namespace = self.app.settings.namespace
        return list(self._ground.read(lambda store: store.ledger.attempts(namespace, RunKey(key))))

    def output(self, key: str) -> str | None:
        """The ledger's copy of what a run's last attempt returned."""
        kept = self.attempts(key)
        return kept[-1].output if kept else None

    def assert_enqueued(
        self,
        job: str | Callable[..., Any],
        *,
        key: str | None = None,
        payload: Mapping[str, Any] | None = None,
        at: datetime | str | None = None,
        state: str | None = None,
        count: int | None = None,
    ) -> None:
        """Fail unless such a run was enqueued: at least one, or exactly `count`. It may have run by now.

        `payload` names what must be in the payload; more may be."""
        wanted = Wanted.of(self._known(job), key, payload, at, state)
        there = self.runs(job)
        complain = complaint(wanted, there, count)
        if complain is not None:
            raise AssertionError(complain)

    def assert_not_enqueued(
        self,
        job: str | Callable[..., Any],
        *,
        key: str | None = None,
        payload: Mapping[str, Any] | None = None,
        at: datetime | str | None = None,
        state: str | None = None,
    ) -> None:
        """Fail if such a run was enqueued."""
        self.assert_enqueued(job, key=key, payload=payload, at=at, state=state, count=0)

    def stand(self) -> None:
        """From now on the application's store is the bench's."""
        if self._closed:
            raise UsageError("bench: it is closed; make a new one")
        if self._go_back is None:
            # Runs that fall due at one moment come in the order of their keys.
            numbers = count(1)
            self._go_back = self.app.stand_on(self._ground, lambda: f"bench-{next(numbers):08}")

    async def start(self) -> Self:
        """Bring the application's jobs and schedules onto the bench; `drain` and `advance` do it too."""
        await self._started()
        return self

    async def close(self) -> None:
        """Stop what still runs, and give the application its own store back."""
        if self._engine is not None:
            await self._engine.crash()
        await self._ground.close()
        self.leave()

    def leave(self) -> None:
        """The part of `close` that does not wait."""
        if self._go_back is not None:
            self._go_back()
        self._closed, self._go_back = True, None
        # A function that never ends must not keep the test from ending.
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._ground.leave()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _started(self) -> Engine:
        self.stand()
        if self._engine is None:
            app, store = self.app, await self._ground.open()
            jobs = watched_jobs(app.jobs, self._observer, self.clock, self._threads, self._real)
            specs = {str(name): job.spec for name, job in app.jobs.items()}
            namespace = app.settings.namespace
            await Deployer(store, namespace, specs, app.code_schedules, app.code_calendars).start()
            self._engine = Engine(store, self.clock, app.settings, jobs, self._observer, self._patience_s)
            self._engine.halts = self._has_news
            await self._engine.start()
        return self._engine

    async def _seen(self, move: Callable[[Engine], Awaitable[None]]) -> list[RunRecord]:
        """Move, and return the runs that began."""
        engine = await self._started()
        first = len(self._observer.begun)
        await move(engine)
        self._tell_of_failures()
        keys = dict.fromkeys(self._observer.begun[first:])
        store, namespace = await self._ground.open(), self.app.settings.namespace
        found = [await store.ledger.get(namespace, key) for key in keys]
        return [one for one in found if one is not None]

    def _has_news(self) -> bool:
        return self._raises and len(self.failures) > self._told

    def _tell_of_failures(self) -> None:
        """Raise the first failure that the test has not been told of, where the test waits."""
        if self._has_news():
            first, self._told = self.failures[self._told], len(self.failures)
            first.error.add_note(f"in run {first.run_key}, attempt {first.attempt}, on the bench")
            raise first.error

    def _known(self, job: str | Callable[..., Any]) -> JobName:
        name = JobName(job_name(job))
        if name not in self.app.jobs:
            known = ", ".join(self.app.jobs) or "none"
            raise UnknownJob(f"bench: job {quoted(name)} is not defined in the application; it has: {known}")
        return name
