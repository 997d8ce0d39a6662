"""`Fencepost`: a registry of jobs and schedules over one store."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from fencepost.app import deferred
from fencepost.app.definitions import Definitions
from fencepost.app.jobs import JobCall, JobFunction, Verb, run_names
from fencepost.app.specs import job_name
from fencepost.clock import time_ordered_id
from fencepost.config import Settings, changed_settings, settings_from
from fencepost.errors import UsageError
from fencepost.executors.callable import plain_payload
from fencepost.model.driving import Finished, finish_now, then
from fencepost.model.durations import Duration
from fencepost.model.enqueue_options import OPTION_WORDS, EnqueueOptions
from fencepost.model.enqueueing import Entered, Expires, UniqueLike
from fencepost.model.identifiers import RunKey
from fencepost.model.json import JsonObject

if TYPE_CHECKING:
    from fencepost.model.audit import Author
    from fencepost.model.run import NewRun
    from fencepost.ports.leases import LeaseStore
    from fencepost.ports.store import Store
    from fencepost.services.node import NodeRunner

T = TypeVar("T")


class Ground(Protocol):
    """A store that a test puts an application on, and that it can be asked without an event loop."""

    async def open(self, settings: Settings) -> Store: ...

    def read(self, question: Callable[[Store], Awaitable[T]]) -> T: ...


class Fencepost(Definitions):
    """A registry of jobs and schedules over one store.

    The store is opened when it is first needed. Use the application as `async with app:` in a program of
    your own, or hand it to `fencepost run module:app`.
    """

    def __init__(
        self, store: str | None = None, *, settings: Settings | None = None, **overrides: Any
    ) -> None:
        super().__init__(lambda: self.settings)
        self.settings = settings or settings_from(overrides={"store": store, **overrides})
        self._store: Store | None = None
        self.registered: object = None
        """The store and the namespace in which jobs were last registered, and those jobs."""
        self._leases: LeaseStore | None = None
        self._opening = asyncio.Lock()
        self._home: asyncio.AbstractEventLoop | None = None
        """The loop in which the store was opened, in the process of this number."""
        self._process = 0
        self._ground: Ground | None = None
        self._new_key: Callable[[], str] = time_ordered_id

    def configure(self, **overrides: Any) -> None:
        """Change settings from outside, before the store is opened; None leaves a setting as it is."""
        assert self._store is None, "the store is open"
        self.settings = changed_settings(self.settings, overrides)

    def outbox(self, name: str, deliver: Callable[..., Any], **words: Any) -> deferred.Outbox:
        """Messages written in transactions and delivered by this function; words as in `job`."""
        self.job(name, **words)(deliver)
        return deferred.Outbox(self, name, deliver)

    def enqueue(
        self,
        job: str | Callable[..., Any],
        /,
        *,
        key: str | None = None,
        at: datetime | None = None,
        unique: UniqueLike = None,
        expires: Expires = None,
        connection: object = None,
        **payload: Any,
    ) -> Coroutine[Any, Any, RunKey]:
        """One run by hand; returns the key of the run that is there. With a key, a second call of the same
        key changes nothing, for ever. With `unique` ("queued", "unfinished", or a period such as "1h") one of
        this job and payload is enough for so long (guide: runs by hand). With `expires`, an instant or so
        long after it is due, it ends as missed unless it has begun by then.

        With a connection it is written in the caller's own transaction: it is there when the caller commits,
        and leaves nothing when the caller rolls back. In a plain function see `enqueue_in`.

        Where no event loop runs it is done when this returns, awaited or not: plain code says `job.delay(…)`.
        """
        options = EnqueueOptions(key, at, unique=unique, expires=expires, connection=connection)
        self._refuse_to_guess(job, options, payload)
        return then(self.begin_enqueue(job, [payload], options), lambda made: made[0].run_key)

    def job_named(self, name: str) -> JobCall[..., Any]:
        """A job by its name, of any kind of work: `app.job_named("backup").options(delay="5m").delay()`."""
        return JobCall(self, self._job(name).spec.name, _any_payload)

    def enqueue_in(
        self,
        connection: object,
        job: str | Callable[..., Any],
        /,
        *,
        key: str | None = None,
        at: datetime | None = None,
        unique: UniqueLike = None,
        expires: Expires = None,
        **payload: Any,
    ) -> RunKey:
        """The same over a connection that blocks, without an event loop: in a view, a script, a plain job."""
        options = EnqueueOptions(key, at, unique=unique, expires=expires, connection=connection)
        self._refuse_to_guess(job, options, payload)
        return self.enqueue_plainly(job, [payload], options)[0].run_key

    def enqueue_many(
        self,
        job: str | Callable[..., Any],
        payloads: Iterable[Mapping[str, Any]],
        keys: Sequence[str] | None = None,
        *,
        at: datetime | None = None,
        delay: Duration | None = None,
        queue: str | None = None,
        priority: int | None = None,
        unique: UniqueLike = None,
        expires: Expires = None,
        connection: object = None,
    ) -> Coroutine[Any, Any, list[RunKey]]:
        """Many runs of one job with the same options, a thousand in one write; of each the key of the run
        that is there. `keys` has one for each."""
        options = EnqueueOptions(None, at, delay, queue, priority, unique, expires, connection).checked()
        made = self.begin_enqueue(job, [dict(one) for one in payloads], options, keys)
        return then(made, lambda made: [one.run_key for one in made])

    def begin_enqueue(
        self,
        job: str | Callable[..., Any],
        payloads: Sequence[JsonObject],
        options: EnqueueOptions,
        keys: Sequence[str] | None = None,
    ) -> Coroutine[Any, Any, list[Entered]]:
        """Enqueue runs of one job. Without a running event loop it is done at once, because the caller
        cannot await it; but for an awaited connection, which only an event loop can use."""
        awaited = options.connection is not None and deferred.is_awaited(options.connection)
        if self._ground is None and not awaited and _running_loop() is None:
            return Finished(self.enqueue_plainly(job, payloads, options, keys))
        return self._enqueue(job, payloads, options, keys)

    def enqueue_plainly(
        self,
        job: str | Callable[..., Any],
        payloads: Sequence[JsonObject],
        options: EnqueueOptions,
        keys: Sequence[str] | None = None,
    ) -> list[Entered]:
        """The same in plain code, at its end when this returns."""
        connection = options.connection
        if connection is None:
            return self.serve_plainly(self._writing(job, payloads, options, keys))
        if isinstance(connection, deferred.ServedTransaction):
            inner = replace(options, connection=connection.inner)
            return connection.serve(self._enqueue(job, payloads, inner, keys))
        deferred.check_blocking(connection)
        return finish_now(self._enqueue(job, payloads, options, keys))

    async def _enqueue(
        self,
        job: str | Callable[..., Any],
        payloads: Sequence[JsonObject],
        options: EnqueueOptions,
        keys: Sequence[str] | None,
    ) -> list[Entered]:
        write = self._writing(job, payloads, options, keys)
        if options.connection is None:
            return await self.serve(write)
        return await write(await deferred.borrow_store(options.connection, self.settings))

    def _writing(
        self,
        job: str | Callable[..., Any],
        payloads: Sequence[JsonObject],
        options: EnqueueOptions,
        keys: Sequence[str] | None,
    ) -> Verb[list[Entered]]:
        """What writes the runs, all of which have been checked."""
        known = self._job(job_name(job))
        plain = [plain_payload(payload) for payload in payloads]
        for payload in plain:
            known.executor.check(payload)
        spec, named = self._told(known.spec), run_names(len(plain), options.key, keys, self._new_key)
        runs = [deferred.new_run(spec, one, key, options) for one, key in zip(plain, named, strict=True)]
        return partial(self._write, runs)

    async def _write(self, runs: list[NewRun], store: Store) -> list[Entered]:
        size, entered = deferred.ENQUEUE_BATCH_MAX, list[Entered]()
        for start in range(0, len(runs), size):
            batch = runs[start : start + size]
            entered += await deferred.enqueue(store.ledger, self.settings.namespace, batch)
        return entered

    def _refuse_to_guess(
        self, job: str | Callable[..., Any], options: EnqueueOptions, payload: JsonObject
    ) -> None:
        """A word of this call that is also a parameter of the job could mean either, and so could an option
        that only `options` takes, where the job takes any payload."""
        name = job_name(job)
        parameters = {one.name for one in self._job(name).spec.parameters}
        said = {word for word in OPTION_WORDS & parameters if getattr(options, word) is not None}
        said |= (OPTION_WORDS & payload.keys()) - parameters
        for word in sorted(said):
            raise UsageError(
                f"app.enqueue: {word} is an option of the call, or of the payload of job {name}; say "
                f"app.job_named({name!r}).options({word}=…).enqueue(…) for the one, without .options for "
                "the other"
            )

    async def serve(self, verb: Verb[T]) -> T:
        """Ask the store: in this loop where the application is open in it, else over the bridge, so that it
        works in a loop that is soon gone, or that another one's store does not belong to."""
        if self._ground is not None or self._is_open_here:
            return await verb(await self.open())
        return await deferred.bridge().awaited(self._behind_the_bridge(verb))

    def serve_plainly(self, verb: Verb[T], *, waits: bool = False) -> T:
        """The same in plain code. One that `waits` would stop the loop in which the application works."""
        if self._ground is not None:
            return self._ground.read(verb)
        if waits and self._is_open_here:
            raise UsageError(
                "a plain wait() or result() would stop the event loop in which the application is open; "
                "use the handle of job.enqueue: await handle.result()"
            )
        return deferred.bridge().call(self._behind_the_bridge(verb))

    async def _behind_the_bridge(self, verb: Verb[T]) -> T:
        settings = self.settings
        store = await deferred.bridge().store((id(self), settings), lambda: deferred.open_store(settings))
        return await verb(store)

    @property
    def _is_open_here(self) -> bool:
        return self._store is not None and self._home is not None and self._home is _running_loop()

    def _job_function(self, name: str, function: Callable[..., Any]) -> JobFunction[..., Any, ..., Any]:
        return JobFunction(self, name, function)

    @property
    def schedules(self) -> deferred.Schedules:
        """Schedules in the store."""
        return deferred.Schedules(self)

    @property
    def runs(self) -> deferred.Runs:
        """Runs in the store."""
        return deferred.Runs(self.control)

    async def calendars(self) -> deferred.Calendars:
        """Calendars in the store."""
        return deferred.Calendars(await self.control())

    async def control(self, author: Author | None = None) -> deferred.Control:
        """All the verbs, in the name of this program unless an author is given."""
        by = author or deferred.PROGRAM
        return deferred.Control(await self.open(), self.settings.namespace, by, self._leases)

    async def open(self) -> Store:
        """The store, opened at the first call."""
        self._leave_a_loop_that_is_gone()
        async with self._opening:
            if self._store is None:
                opener = deferred.open_store if self._ground is None else self._ground.open
                self._store = await opener(self.settings)
                self._home, self._process = asyncio.get_running_loop(), os.getpid()
            return self._store

    def _leave_a_loop_that_is_gone(self) -> None:
        """A store belongs to the loop that opened it: one of a loop that has ended, or of the process that
        this one was forked from, is not ours to use."""
        if self._store is None or self._ground is not None or self._home is asyncio.get_running_loop():
            return
        if self._process != os.getpid():
            deferred.keep_for_good((self._store, self._leases))
        elif self._home is not None and not self._home.is_closed():
            raise UsageError(
                "the application is open in another event loop; close it there first (async with app:), or "
                "use job.enqueue and app.enqueue, which work in any"
            )
        self._store = self._leases = None
        self._opening = asyncio.Lock()

    def stand_on(self, ground: Ground, new_key: Callable[[], str]) -> Callable[[], None]:
        """Use this store instead of that of the settings, and keys of this making for runs that have none, as
        a test does; returns the way back."""
        before = self._ground, self._store, self._home, self._new_key
        self._ground, self._store, self._home, self._new_key = ground, None, None, new_key

        def go_back() -> None:
            self._ground, self._store, self._home, self._new_key = before

        return go_back

    async def close(self) -> None:
        """Give the store and the leases back, and let child processes and connections of jobs go."""
        await self._workshop.close()
        for job in self.jobs.values():
            await job.close()
        if self._store is not None and self._home is not None and self._home.is_closed():
            # Nothing can be closed any more in the loop that it belongs to.
            self._store = self._leases = None
        opened, self._leases, self._store = (self._leases, self._store), None, None
        for one in opened:
            if one is not None:
                await one.close()
        if (open_bridge := deferred.open_bridge()) is not None:
            await open_bridge.awaited(open_bridge.release((id(self), self.settings)))

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
        jobs = self.jobs_by_every_name | deferred.delivery_jobs(store, settings, self.secrets)
        node = deferred.build_node(
            store, leases, settings, jobs, plans=plans, works=works, code_digest=digest
        )
        deployer = deferred.Deployer(
            store,
            self.settings.namespace,
            self.specs() | deferred.delivery_specs(self.code_targets.values(), settings),
            self.code_schedules,
            self.code_calendars,
            settings.quotas(settings.namespace),
            works=works,
            targets=list(self.code_targets.values()),
        )
        await deployer.start()
        node.also(deployer)
        if works:
            beside = await deferred.broker_services(
                store, settings, self.jobs, self.intakes, node.node.node_id
            )
            if beside is not None:
                node.also_over_broker(beside)
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


def _any_payload(**payload: Any) -> Any:
    """For a job of which only the name is known: what it takes and returns."""


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
