"""`Fencepost`: a registry of jobs and schedules over one store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from fencepost.app import deferred
from fencepost.app.definitions import Definitions
from fencepost.app.specs import job_name
from fencepost.clock import time_ordered_id
from fencepost.config import Settings, changed_settings, settings_from
from fencepost.executors.callable import plain_payload
from fencepost.model.driving import finish_now
from fencepost.model.identifiers import RunKey
from fencepost.model.json import JsonObject

if TYPE_CHECKING:
    from fencepost.model.audit import Author
    from fencepost.ports.leases import LeaseStore
    from fencepost.ports.store import Store
    from fencepost.services.calendars import CalendarDesk
    from fencepost.services.node import NodeRunner


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
        self._opener: Callable[[Settings], Awaitable[Store]] | None = None
        self._new_key: Callable[[], str] = time_ordered_id

    def configure(self, **overrides: Any) -> None:
        """Change settings from outside, before the store is opened; None leaves a setting as it is."""
        assert self._store is None, "the store is open"
        self.settings = changed_settings(self.settings, overrides)

    def outbox(self, name: str, deliver: Callable[..., Any], **words: Any) -> deferred.Outbox:
        """Messages written in transactions and delivered by this function; words as in `job`."""
        self.job(name, **words)(deliver)
        return deferred.Outbox(self, name, deliver)

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
        if works:
            beside = await deferred.broker_services(
                store, settings, self.jobs, self.intakes, node.node.node_id
            )
            if beside is not None:
                node.also(beside)
                node.also_drain(beside.drain)
                node.membership.broker = beside.link.report
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
