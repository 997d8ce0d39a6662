"""The application: jobs and schedules in code, and the way to run and steer them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import uuid4

from fencepost.config import Settings, changed_settings, settings_from
from fencepost.core.payload import check_payload
from fencepost.errors import InvalidSpec, UnknownJob
from fencepost.executors.callable import CallableExecutor, plain_payload
from fencepost.model.audit import Author
from fencepost.model.backfill import Backfill, FillMode, NewBackfill
from fencepost.model.durations import Duration, parse_duration
from fencepost.model.freeze import Scope, ScopeKind
from fencepost.model.identifiers import DEFAULT_QUEUE, JobName, Queue, RunKey, ScheduleId, checked_name
from fencepost.model.job import PRIORITY_DEFAULT, JobSpec, Retry
from fencepost.model.json import JsonObject
from fencepost.model.policies import CatchUp, parse_overlap
from fencepost.model.run import RunRecord
from fencepost.model.schedule import Schedule, ScheduleSpec
from fencepost.model.stretch import StretchLike, parse_stretch
from fencepost.model.trigger import Trigger
from fencepost.ports.executor import Executor, Job
from fencepost.ports.leases import LeaseStore
from fencepost.ports.store import Store
from fencepost.services.calendars import CalendarDesk, defined
from fencepost.services.control import ENQUEUE_BATCH_MAX, PROGRAM, Control, ScheduleDesk, new_run
from fencepost.services.deployer import Deployer, code_digest
from fencepost.services.node import NodeRunner
from fencepost.triggers import Calendar
from fencepost.wiring import build_node, open_leases, open_store

F = TypeVar("F", bound=Callable[..., Any])
JOB_MARK = "__fencepost_job__"
JOB_THREAD = "fencepost-job"

# A thread is started only when none is idle, so the worker's concurrency is what bounds them; the surplus
# is for functions that outlived their timeout.
THREADS_MAX = 1_000


class Fencepost:
    """A registry of jobs and schedules over one store.

    The store is opened when it is first needed. Use the application as `async with app:` in a program of
    your own, or hand it to `fencepost run module:app`.
    """

    def __init__(
        self, store: str | None = None, *, settings: Settings | None = None, **overrides: Any
    ) -> None:
        self.settings = settings or settings_from(overrides={"store": store, **overrides})
        self.jobs: dict[JobName, Job] = {}
        self.code_schedules: dict[ScheduleId, ScheduleSpec] = {}
        self.code_calendars: dict[str, JsonObject] = {}
        self._threads = ThreadPoolExecutor(THREADS_MAX, thread_name_prefix=JOB_THREAD)
        self._store: Store | None = None
        self._leases: LeaseStore | None = None
        self._opening = asyncio.Lock()

    def configure(self, **overrides: Any) -> None:
        """Change settings from outside, before the store is opened; None leaves a setting as it is."""
        assert self._store is None, "the store is open"
        self.settings = changed_settings(self.settings, overrides)

    def job(
        self,
        name: str | None = None,
        *,
        schedule: Trigger | None = None,
        overlap: str = "skip",
        catch_up: CatchUp | str | None = None,
        payload: Mapping[str, Any] | None = None,
        spread: StretchLike | None = None,
        jitter: StretchLike | None = None,
        retry: Retry | None = None,
        timeout: Duration | None = None,
        queue: str = DEFAULT_QUEUE,
        priority: int = PRIORITY_DEFAULT,
        at_most_once: bool = False,
        labels: Mapping[str, str] | None = None,
    ) -> Callable[[F], F]:
        """Make a function a job, and with `schedule` also a schedule of the same name."""
        if name is not None and not isinstance(name, str):
            raise InvalidSpec("job: write @app.job() with parentheses")

        def register(function: F) -> F:
            executor = CallableExecutor(function, self._threads)
            job_name = JobName(name or function.__name__)
            spec = JobSpec(
                name=job_name,
                queue=Queue(queue),
                priority=priority,
                retry=retry or Retry(),
                timeout=_timeout(timeout),
                at_most_once=at_most_once,
                parameters=executor.parameters,
                open_payload=executor.open_payload,
            )
            self.add_job(spec, executor)
            setattr(function, JOB_MARK, job_name)
            if schedule is not None:
                self.add_schedule(
                    job_name,
                    job=job_name,
                    trigger=schedule,
                    payload=payload,
                    overlap=overlap,
                    catch_up=catch_up,
                    spread=spread,
                    jitter=jitter,
                    labels=labels,
                )
            return function

        return register

    def add_job(self, spec: JobSpec, executor: Executor) -> None:
        """Register a job of any kind."""
        if spec.name in self.jobs:
            raise InvalidSpec(f"job {spec.name}: defined twice")
        self.jobs[spec.name] = Job(spec, executor)

    def add_schedule(
        self,
        schedule_id: str,
        *,
        job: str | Callable[..., Any],
        trigger: Trigger,
        payload: Mapping[str, Any] | None = None,
        overlap: str = "skip",
        catch_up: CatchUp | str | None = None,
        spread: StretchLike | None = None,
        jitter: StretchLike | None = None,
        queue: str | None = None,
        priority: int | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        """A schedule in code: applied to the store when the application starts."""
        checked_name("schedule", schedule_id)
        if schedule_id in self.code_schedules:
            raise InvalidSpec(f"schedule {schedule_id}: defined twice")
        spec = schedule_spec(
            job=job,
            trigger=trigger,
            payload=payload,
            overlap=overlap,
            catch_up=catch_up,
            spread=spread,
            jitter=jitter,
            queue=queue,
            priority=priority,
            labels=labels,
        )
        known = self._job(spec.job)
        check_payload(known.spec, spec.payload)
        known.executor.check(spec.payload)
        self.code_schedules[ScheduleId(schedule_id)] = spec

    def add_calendar(self, calendar: Calendar) -> None:
        """A calendar in code: written to the store when the application starts."""
        if calendar.name in self.code_calendars:
            raise InvalidSpec(f"calendar {calendar.name}: defined twice")
        self.code_calendars[calendar.name] = defined(calendar)

    async def enqueue(
        self,
        job: str | Callable[..., Any],
        /,
        *,
        key: str | None = None,
        at: datetime | None = None,
        **payload: Any,
    ) -> RunKey:
        """One run by hand. With a key, a second call of the same key changes nothing."""
        known = self._job(_job_name(job))
        plain = plain_payload(payload)
        known.executor.check(plain)
        run = new_run(known.spec, plain, key, at)
        store = await self.open()
        await store.ledger.enqueue(self.settings.namespace, [run])
        return run.run_key

    async def enqueue_many(
        self, job: str | Callable[..., Any], payloads: list[JsonObject], keys: list[str] | None = None
    ) -> list[RunKey]:
        """Many runs of one job, a thousand in one write."""
        known = self._job(_job_name(job))
        payloads = [plain_payload(payload) for payload in payloads]
        for payload in payloads:
            known.executor.check(payload)
        stem = uuid4().hex
        named = keys if keys is not None else [f"{stem}-{number}" for number in range(len(payloads))]
        runs = [new_run(known.spec, one, key, None) for one, key in zip(payloads, named, strict=True)]
        store = await self.open()
        for start in range(0, len(runs), ENQUEUE_BATCH_MAX):
            await store.ledger.enqueue(self.settings.namespace, runs[start : start + ENQUEUE_BATCH_MAX])
        return [run.run_key for run in runs]

    @property
    def schedules(self) -> Schedules:
        """Schedules in the store."""
        return Schedules(self)

    async def calendars(self) -> CalendarDesk:
        """Calendars in the store."""
        return (await self.control()).calendars

    async def control(self, author: Author = PROGRAM) -> Control:
        """All the verbs, in the name of this program unless an author is given."""
        return Control(await self.open(), self.settings.namespace, author, self._leases)

    async def open(self) -> Store:
        """The store, opened at the first call."""
        async with self._opening:
            if self._store is None:
                self._store = await open_store(self.settings)
            return self._store

    async def close(self) -> None:
        """Give the store and the leases back."""
        opened, self._leases, self._store = (self._leases, self._store), None, None
        for one in opened:
            if one is not None:
                await one.close()

    async def _open_leases(self, store: Store) -> LeaseStore:
        async with self._opening:
            if self._leases is None:
                self._leases = await open_leases(self.settings, store)
            return self._leases

    def retire(self) -> None:
        """Let the idle threads go, because the process is about to end; busy ones go on."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def node(self, *, plans: bool = True, works: bool = True) -> NodeRunner:
        """Bring jobs and schedules into the store and build this process's node."""
        store = await self.open()
        leases = await self._open_leases(store) if plans else store.leases
        digest, settings = code_digest(self.code_schedules), self.settings
        node = build_node(store, leases, settings, self.jobs, plans=plans, works=works, code_digest=digest)
        deployer = Deployer(
            store,
            self.settings.namespace,
            {name: job.spec for name, job in self.jobs.items()},
            self.code_schedules,
            self.code_calendars,
        )
        await deployer.start()
        node.also(deployer)
        return node

    @asynccontextmanager
    async def running(self, *, plans: bool = True, works: bool = True) -> AsyncIterator[Self]:
        """Plan and work in the background of a program of your own."""
        node = await self.node(plans=plans, works=works)
        stop = asyncio.Event()
        task = asyncio.create_task(node.run(stop))
        try:
            yield self
        finally:
            stop.set()
            await task

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _job(self, name: str) -> Job:
        found = self.jobs.get(JobName(name))
        if found is None:
            raise UnknownJob(f"job {name}: not defined in this application")
        return found


class Schedules:
    """`app.schedules`: the verbs on schedules, with triggers instead of their JSON form."""

    def __init__(self, app: Fencepost) -> None:
        self._app = app

    async def add(
        self, schedule_id: str, *, job: str | Callable[..., Any], trigger: Trigger, **options: Any
    ) -> Schedule:
        """A new schedule in the store; options as in `Fencepost.add_schedule`."""
        return await (await self._desk()).add(schedule_id, schedule_spec(job=job, trigger=trigger, **options))

    async def pause(self, schedule_id: str) -> None:
        """Stop planning."""
        await (await self._desk()).pause(schedule_id)

    async def resume(self, schedule_id: str, *, catch_up: bool = True) -> None:
        """Plan again; of the pause only what the schedule catches up, or nothing."""
        await (await self._desk()).resume(schedule_id, catch_up=catch_up)

    async def remove(self, schedule_id: str) -> None:
        """Stop for good."""
        await (await self._desk()).remove(schedule_id)

    async def trigger(self, schedule_id: str) -> RunKey:
        """One extra tick, now."""
        return await (await self._desk()).trigger(schedule_id)

    async def skip(self, schedule_id: str, fire_time: datetime) -> RunRecord:
        """Call off one tick, also one that is not planned yet."""
        return await (await self._desk()).skip(schedule_id, fire_time)

    async def hold(self, schedule_id: str, fire_time: datetime) -> RunRecord:
        """Let nobody start one tick until it is released."""
        return await (await self._desk()).hold(schedule_id, fire_time)

    async def release(self, schedule_id: str, fire_time: datetime) -> RunRecord:
        """Take the hold of one tick away again."""
        return await (await self._desk()).release(schedule_id, fire_time)

    async def freeze(self, schedule_id: str) -> bool:
        """Start nothing of a schedule until it thaws."""
        return await (await self._app.control()).freezes.freeze(Scope(ScopeKind.SCHEDULE, schedule_id))

    async def thaw(self, schedule_id: str) -> bool:
        """End that freeze."""
        return await (await self._app.control()).freezes.thaw(Scope(ScopeKind.SCHEDULE, schedule_id))

    async def backfill(
        self,
        schedule_id: str,
        since: datetime,
        until: datetime,
        *,
        at_once_max: int = 1,
        every_s: float = 0.0,
    ) -> Backfill:
        """Run the fire times in (since, until] that nothing accounts for; nodes that plan see to it."""
        asked = NewBackfill(ScheduleId(schedule_id), since, until, FillMode.MISSING, at_once_max, every_s)
        return await (await self._app.control()).backfills.start(asked)

    async def get(self, schedule_id: str) -> Schedule:
        """One schedule."""
        return await (await self._desk()).get(schedule_id)

    async def _desk(self) -> ScheduleDesk:
        app = self._app
        store = await app.open()
        await store.jobs.register(app.settings.namespace, [job.spec for job in app.jobs.values()])
        return ScheduleDesk(store, app.settings.namespace)


def schedule_spec(
    *,
    job: str | Callable[..., Any],
    trigger: Trigger,
    payload: Mapping[str, Any] | None = None,
    overlap: str = "skip",
    catch_up: CatchUp | str | None = None,
    spread: StretchLike | None = None,
    jitter: StretchLike | None = None,
    queue: str | None = None,
    priority: int | None = None,
    labels: Mapping[str, str] | None = None,
) -> ScheduleSpec:
    """A spec from the words people use."""
    if not hasattr(trigger, "to_json"):
        raise InvalidSpec(
            f"trigger {trigger!r}: expected a trigger, such as Cron('0 6 * * *') or Every('5m')"
        )
    chosen = catch_up if isinstance(catch_up, CatchUp) else CatchUp(catch_up or "none")
    return ScheduleSpec(
        job=JobName(_job_name(job)),
        trigger=trigger.to_json(),
        payload=plain_payload(dict(payload or {})),
        overlap=parse_overlap(overlap),
        catch_up=chosen,
        queue=Queue(queue) if queue is not None else None,
        priority=priority,
        labels=dict(labels or {}),
        spread=None if spread is None else parse_stretch(spread),
        jitter=None if jitter is None else parse_stretch(jitter),
    )


def _job_name(job: str | Callable[..., Any]) -> str:
    """A function knows the name under which it was registered."""
    return job if isinstance(job, str) else getattr(job, JOB_MARK, job.__name__)


def _timeout(timeout: Duration | None) -> timedelta | None:
    return None if timeout is None else parse_duration(timeout)
