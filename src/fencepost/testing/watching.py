"""What the bench sees of the work: what began, what failed, and what replaces the real work."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any

from fencepost.errors import TimedOut, UsageError
from fencepost.executors.binding import kept_result
from fencepost.executors.callable import CallableExecutor
from fencepost.model.identifiers import JobName, RunKey
from fencepost.model.json import JsonObject
from fencepost.ports.executor import Executor, Job
from fencepost.ports.run import Run
from fencepost.testing.clock import SLEEPER, VirtualClock


class NotOnTheBench(UsageError):
    """Work that a test does not do by itself: a command, a call to another system, another process."""


@dataclass(frozen=True)
class Failure:
    """An attempt that failed, with the exception itself."""

    run_key: RunKey
    job: JobName
    attempt: int
    error: BaseException


@dataclass
class Stub:
    """Replaces a job's work: takes this long by the virtual clock, then returns or raises."""

    result: Any = None
    raises: BaseException | None = None
    takes_s: float = 0.0
    calls: list[JsonObject] = field(default_factory=list)
    """The payloads that it was called with."""

    async def work(self, run: Run, clock: VirtualClock) -> str | None:
        """Do one attempt: record the payload, take the time, then return or raise."""
        self.calls.append(run.payload)
        if self.takes_s:
            await clock.sleep(self.takes_s)
        if self.raises is not None:
            raise self.raises
        result = self.result(run) if callable(self.result) else self.result
        return kept_result(await result if inspect.isawaitable(result) else result)


@dataclass
class Observer:
    """Everything that was seen."""

    begun: list[RunKey] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    stubs: dict[JobName, Stub] = field(default_factory=dict)


class Watched:
    """A job's executor, watched by the bench; other attributes come from the real one."""

    def __init__(self, job: Job, inner: Executor | None, observer: Observer, clock: VirtualClock) -> None:
        self._job = job
        self._inner = inner
        self._observer = observer
        self._clock = clock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._job.executor, name)

    @property
    def stoppable(self) -> bool:
        return True

    @property
    def queues(self) -> bool:
        return False

    def check(self, payload: JsonObject) -> None:
        self._job.executor.check(payload)

    async def execute(self, run: Run) -> str | None:
        self._observer.begun.append(run.key)
        SLEEPER.set(run.key)
        try:
            return await self._in_time(run)
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self._observer.failures.append(Failure(run.key, run.job, run.attempt, error))
            raise

    async def _in_time(self, run: Run) -> str | None:
        """The job's timeout counts by the virtual clock too, in addition to the real one."""
        timeout = self._job.spec.timeout
        if timeout is None:
            return await self._work(run)
        work = asyncio.create_task(self._work(run))
        alarm = asyncio.create_task(self._alarm(run.key, timeout.total_seconds()), context=Context())
        try:
            await asyncio.wait({work, alarm}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            run.ask_to_stop()
            raise TimedOut(f"longer than {timeout.total_seconds():g}s")
        finally:
            alarm.cancel()
            work.cancel()
            await asyncio.wait({work, alarm})

    async def _alarm(self, run_key: RunKey, seconds: float) -> None:
        await self._clock.sleep(seconds)
        self._clock.rouse(run_key)

    async def _work(self, run: Run) -> str | None:
        stub = self._observer.stubs.get(run.job)
        if stub is not None:
            return await stub.work(run, self._clock)
        if self._inner is not None:
            return await self._inner.execute(run)
        raise NotOnTheBench(
            f"job {run.job}: a test does not run this kind of work by itself; give the bench a stand-in with "
            f"bench.stub({run.job!r}, …), or let it be done in earnest with Bench(app, real=[{run.job!r}])"
        )


def watched_jobs(
    jobs: Mapping[JobName, Job],
    observer: Observer,
    clock: VirtualClock,
    threads: ThreadPoolExecutor,
    real: Collection[str],
) -> dict[JobName, Job]:
    """The same jobs, watched. Functions run as they are, those that are not async one after the other in one
    thread; other kinds of work run only where they are named in `real`."""
    return {
        name: Job(job.spec, Watched(job, _inner(job, threads, name in real), observer, clock))
        for name, job in jobs.items()
    }


def _inner(job: Job, threads: ThreadPoolExecutor, real: bool) -> Executor | None:
    if isinstance(job.executor, CallableExecutor):
        return job.executor.in_threads(threads)
    return job.executor if real else None
