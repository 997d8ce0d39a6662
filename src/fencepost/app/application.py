"""`Fencepost`: a registry of jobs and schedules over one store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import replace
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from fencepost.app import deferred
from fencepost.app.specs import JOB_MARK, job_name, name_of, schedule_spec
from fencepost.app.words import FunctionWords, JobWords, job_spec, own_words
from fencepost.app.work import JobThreads, Workshop
from fencepost.clock import time_ordered_id
from fencepost.config import Settings, changed_settings, settings_from
from fencepost.core.payload import check_payload
from fencepost.errors import InvalidSpec, UnknownJob
from fencepost.executors.callable import plain_payload
from fencepost.executors.secrets import Secrets
from fencepost.model.driving import finish_now
from fencepost.model.identifiers import JobName, RunKey, ScheduleId, checked_name
from fencepost.model.job import JobSpec
from fencepost.model.json import JsonObject
from fencepost.model.policies import CatchUp
from fencepost.model.schedule import ScheduleSpec
from fencepost.model.secret import SECRET_KINDS
from fencepost.model.stretch import StretchLike
from fencepost.model.trigger import Trigger
from fencepost.ports.executor import Executor, Job

if TYPE_CHECKING:
    from fencepost.app.commands import CommandWords
    from fencepost.app.http import HttpWords
    from fencepost.model.audit import Author
    from fencepost.ports.leases import LeaseStore
    from fencepost.ports.store import Store
    from fencepost.services.calendars import CalendarDesk
    from fencepost.services.node import NodeRunner
    from fencepost.triggers import Calendar

F = TypeVar("F", bound=Callable[..., Any])
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
        self._threads = JobThreads(THREADS_MAX, thread_name_prefix=JOB_THREAD)
        self._workshop = Workshop(self._threads, lambda: self.settings)
        self._store: Store | None = None
        self.registered: object = None
        """The store and the namespace in which jobs were last registered, and those jobs."""
        self._leases: LeaseStore | None = None
        self._opening = asyncio.Lock()
        self._opener: Callable[[Settings], Awaitable[Store]] | None = None
        self._new_key: Callable[[], str] = time_ordered_id

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
        labels: Mapping[str, str] | None = None,
        **words: Unpack[FunctionWords],
    ) -> Callable[[F], F]:
        """Make a function a job, and with `schedule` also a schedule of the same name.

        An attempt that does not call `run.heartbeat` for `progress_deadline` is stuck: stopped, and failed.
        With `executor="process"` the function runs in a child process, which may use `memory_limit` and is
        replaced after `recycle_after` runs. `delivery` says what becomes of an attempt of which nobody knows
        how far it came: `at_least_once` is tried again, `at_most_once` never by itself. `concurrency`, of
        each `concurrency_key` of the payload, and `rate`, such as "100/m", are limits across the fleet.
        """
        if name is not None and not isinstance(name, str):
            raise InvalidSpec("job: write @app.job() with parentheses")

        def register(function: F) -> F:
            known_as = name or name_of(function)
            executor = self._workshop.executor(function, **own_words(known_as, FunctionWords, words))
            spec = job_spec(
                known_as, words, parameters=executor.parameters, open_payload=executor.open_payload
            )
            self.add_job(spec, executor)
            setattr(function, JOB_MARK, known_as)
            if schedule is not None:
                self.add_schedule(
                    known_as,
                    job=known_as,
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

    def surround_threads(self, around: Callable[[], AbstractContextManager[object]]) -> None:
        """Call each plain function within `around()`, in its thread: a framework may have to tidy there."""
        self._threads.around = around

    def thread_surroundings(self) -> AbstractContextManager[object]:
        """What plain functions are called within at this moment."""
        return self._threads.around()

    def outbox(self, name: str, deliver: Callable[..., Any], **words: Any) -> deferred.Outbox:
        """Messages written in transactions and delivered by this function; words as in `job`."""
        self.job(name, **words)(deliver)
        return deferred.Outbox(self, name, deliver)

    def add_job(self, spec: JobSpec, executor: Executor) -> None:
        """Register a job of any kind."""
        if spec.name in self.jobs:
            raise InvalidSpec(f"job {spec.name}: defined twice")
        self.jobs[spec.name] = Job(spec, executor)

    def add_command(self, name: str, argv: Sequence[str], **words: Unpack[CommandWords]) -> None:
        """Make an argv a job: no shell reads it (guide: kinds of work, for `limits` and the other words)."""
        self.add_job(*deferred.command_work(name, argv, self.allowed_commands, words, self.secrets))

    @property
    def allowed_commands(self) -> deferred.AllowList:
        """Which programs commands may start."""
        return self._workshop.allowed

    def add_http(self, name: str, url: str, **words: Unpack[HttpWords]) -> None:
        """Make a call of a URL a job (guide: HTTP jobs, for `body`, `secret` and the other words)."""
        self.add_job(*deferred.http_job(name, url, words))

    def add_external(
        self, name: str, parameters: Mapping[str, str] | None = None, **words: Unpack[JobWords]
    ) -> None:
        """A job that is done by workers outside of this program, in any language, which claim its runs over
        HTTP. `parameters` are names with JSON types, `{"image_id": "integer", "width": "integer?"}`; without
        them any payload will do."""
        self.add_job(deferred.external_spec(name, parameters, words), deferred.ExternalExecutor())

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
        check_payload(self._told(known.spec), spec.payload)
        known.executor.check(spec.payload)
        self.code_schedules[ScheduleId(schedule_id)] = spec

    def add_calendar(self, calendar: Calendar) -> None:
        """A calendar in code: written to the store when the application starts."""
        if calendar.name in self.code_calendars:
            raise InvalidSpec(f"calendar {calendar.name}: defined twice")
        self.code_calendars[calendar.name] = deferred.defined(calendar)

    @property
    def secrets(self) -> Secrets:
        """The secrets that payloads and commands may name."""
        return self._workshop.secrets

    def specs(self) -> dict[str, JobSpec]:
        """What the store is told of the jobs; of those that take secrets also which there are, so that a
        server without the code can refuse a payload that names another."""
        return {name: self._told(job.spec) for name, job in self.jobs.items()}

    def _told(self, spec: JobSpec) -> JobSpec:
        takes_secrets = any(one.kind in SECRET_KINDS for one in spec.parameters)
        return replace(spec, secrets=self.secrets.names) if takes_secrets else spec

    def secret(self, name: str, source: str) -> None:
        """Let payloads name a secret, as `secret:NAME`, for parameters that are annotated `Secret`.

        `source` is where it is kept, "env:STRIPE_KEY" or "file:/run/secrets/stripe": it is read in the
        worker, right before each call."""
        self.secrets.register(name, source)

    async def enqueue(
        self,
        job: str | Callable[..., Any],
        /,
        *,
        key: str | None = None,
        at: datetime | None = None,
        connection: object = None,
        **payload: Any,
    ) -> RunKey:
        """One run by hand. With a key, a second call of the same key changes nothing.

        With a connection it is written in the caller's own transaction: it is there when the caller commits,
        and leaves nothing when the caller rolls back. In a plain function see `enqueue_in`.
        """
        known = self._job(job_name(job))
        plain = plain_payload(payload)
        known.executor.check(plain)
        run = deferred.new_run(self._told(known.spec), plain, self._new_key() if key is None else key, at)
        store = (
            await self.open()
            if connection is None
            else await deferred.borrow_store(connection, self.settings)
        )
        await deferred.enqueue(store.ledger, self.settings.namespace, [run])
        return run.run_key

    def enqueue_in(
        self,
        connection: object,
        job: str | Callable[..., Any],
        /,
        *,
        key: str | None = None,
        at: datetime | None = None,
        **payload: Any,
    ) -> RunKey:
        """The same over a connection that blocks, without an event loop: in a view, a script, a plain job."""
        if isinstance(connection, deferred.ServedTransaction):
            inner = connection.inner
            return connection.serve(self.enqueue(job, key=key, at=at, connection=inner, **payload))
        deferred.check_blocking(connection)
        return finish_now(self.enqueue(job, key=key, at=at, connection=connection, **payload))

    async def enqueue_many(
        self, job: str | Callable[..., Any], payloads: list[JsonObject], keys: list[str] | None = None
    ) -> list[RunKey]:
        """Many runs of one job, a thousand in one write."""
        known = self._job(job_name(job))
        payloads = [plain_payload(payload) for payload in payloads]
        for payload in payloads:
            known.executor.check(payload)
        stem = self._new_key()
        named = keys if keys is not None else [f"{stem}-{number:06}" for number in range(len(payloads))]
        spec = self._told(known.spec)
        runs = [deferred.new_run(spec, one, key, None) for one, key in zip(payloads, named, strict=True)]
        store = await self.open()
        batch_max = deferred.ENQUEUE_BATCH_MAX
        for start in range(0, len(runs), batch_max):
            await deferred.enqueue(store.ledger, self.settings.namespace, runs[start : start + batch_max])
        return [run.run_key for run in runs]

    @property
    def schedules(self) -> deferred.Schedules:
        """Schedules in the store."""
        return deferred.Schedules(self)

    async def calendars(self) -> CalendarDesk:
        """Calendars in the store."""
        return (await self.control()).calendars

    async def control(self, author: Author | None = None) -> deferred.Control:
        """All the verbs, in the name of this program unless an author is given."""
        chosen = author or deferred.PROGRAM
        return deferred.Control(await self.open(), self.settings.namespace, chosen, self._leases)

    async def open(self) -> Store:
        """The store, opened at the first call."""
        async with self._opening:
            if self._store is None:
                opener = self._opener or deferred.open_store
                self._store = await opener(self.settings)
            return self._store

    def stand_on(
        self, opener: Callable[[Settings], Awaitable[Store]], new_key: Callable[[], str]
    ) -> Callable[[], None]:
        """Use the store that this opens instead of that of the settings, and keys of this making for runs
        that have none, as a test does; returns the way back."""
        before = self._opener, self._store, self._new_key
        self._opener, self._store, self._new_key = opener, None, new_key

        def go_back() -> None:
            self._opener, self._store, self._new_key = before

        return go_back

    async def close(self) -> None:
        """Give the store and the leases back, and let the child processes go."""
        await self._workshop.close()
        opened, self._leases, self._store = (self._leases, self._store), None, None
        for one in opened:
            if one is not None:
                await one.close()

    async def _open_leases(self, store: Store) -> LeaseStore:
        async with self._opening:
            if self._leases is None:
                self._leases = await deferred.open_leases(self.settings, store)
            return self._leases

    def retire(self) -> None:
        """Let the idle threads go, because the process is about to end; busy ones go on, children do not."""
        self._workshop.kill()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def node(self, *, plans: bool = True, works: bool = True) -> NodeRunner:
        """Bring jobs and schedules into the store and build this process's node."""
        store = await self.open()
        leases = await self._open_leases(store) if plans else store.leases
        digest, settings = deferred.code_digest(self.code_schedules), self.settings
        node = deferred.build_node(
            store, leases, settings, self.jobs, plans=plans, works=works, code_digest=digest
        )
        deployer = deferred.Deployer(
            store,
            self.settings.namespace,
            self.specs(),
            self.code_schedules,
            self.code_calendars,
            settings.quotas(settings.namespace),
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
