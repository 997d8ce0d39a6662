"""`app.schedules`: the verbs on schedules, for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from itertools import islice
from typing import Any, Protocol

from fencepost.app.specs import schedule_spec
from fencepost.config import Settings
from fencepost.errors import InvalidSpec, UsageError
from fencepost.model.backfill import Backfill, FillMode, NewBackfill
from fencepost.model.freeze import Scope, ScopeKind
from fencepost.model.identifiers import JobName, RunKey, ScheduleId
from fencepost.model.job import JobSpec
from fencepost.model.run import RunRecord
from fencepost.model.schedule import Schedule, ScheduleChange, ScheduleSpec
from fencepost.model.trigger import Trigger
from fencepost.operations import backfills as backfill_operations
from fencepost.operations import pausing, schedule_writing, ticks
from fencepost.operations import schedules as schedule_operations
from fencepost.operations.control import Control
from fencepost.operations.schedule_writing import BATCH_MAX
from fencepost.ports.executor import Job
from fencepost.ports.store import Store
from fencepost.wiring import borrow_store


class ScheduleOwner(Protocol):
    """What the verbs need of their application."""

    settings: Settings
    registered: object

    @property
    def jobs(self) -> Mapping[JobName, Job]: ...

    def specs(self) -> Mapping[str, JobSpec]: ...

    async def open(self) -> Store: ...

    async def control(self) -> Control: ...


class Schedules:
    """`app.schedules`: the verbs on schedules, with triggers instead of their JSON form."""

    def __init__(self, app: ScheduleOwner, connection: object = None) -> None:
        self._app = app
        self._connection = connection

    def within(self, connection: object) -> Schedules:
        """The same verbs in the caller's own transaction: seen when the caller commits, and not otherwise.

        Over a connection that blocks nothing waits, so that `finish_now(app.schedules.within(c).pause("x"))`
        needs no event loop."""
        return Schedules(self._app, connection)

    async def add(
        self, schedule_id: str, *, job: str | Callable[..., Any], trigger: Trigger, **options: Any
    ) -> Schedule:
        """A new schedule in the store; options as in `Fencepost.add_schedule`."""
        spec = self._spec(job=job, trigger=trigger, **options)
        return await schedule_operations.add(await self._control(), schedule_id, spec)

    async def add_many(
        self, schedules: Iterable[tuple[str, Mapping[str, Any]]]
    ) -> Mapping[ScheduleId, ScheduleChange]:
        """Create or replace many schedules, a thousand in one transaction; what became of each.

        Each is an id and the arguments of `add`. One that is there already gets what is given, and stays as
        it is where that is the same, so the call may be repeated. A thousand in which one is refused is not
        written; those before it are."""
        control, became, given = await self._control(), dict[ScheduleId, ScheduleChange](), iter(schedules)
        while batch := list(islice(given, BATCH_MAX)):
            specs: dict[ScheduleId, ScheduleSpec] = {}
            for given_id, options in batch:
                name = ScheduleId(given_id)
                if name in specs or name in became:
                    raise InvalidSpec(f"schedule {name}: given twice; give each id once")
                specs[name] = self._spec_of(name, options)
            became |= {
                one.schedule.schedule_id: one.change for one in await schedule_writing.apply(control, specs)
            }
        return became

    async def pause(self, schedule_id: str) -> None:
        """Stop planning."""
        await pausing.pause(await self._control(), schedule_id)

    async def resume(self, schedule_id: str, *, catch_up: bool = True) -> None:
        """Plan again; of the pause only what the schedule catches up, or nothing."""
        await pausing.resume(await self._control(), schedule_id, catch_up=catch_up)

    async def remove(self, schedule_id: str) -> None:
        """Stop for good."""
        await schedule_operations.remove(await self._control(), schedule_id)

    async def trigger(self, schedule_id: str) -> RunKey:
        """One extra tick, now."""
        return await schedule_operations.trigger(await self._control(), schedule_id)

    async def skip(self, schedule_id: str, fire_time: datetime) -> RunRecord:
        """Call off one tick, also one that is not planned yet."""
        return await ticks.skip(await self._control(), schedule_id, fire_time)

    async def hold(self, schedule_id: str, fire_time: datetime) -> RunRecord:
        """Keep one tick from starting until it is released."""
        return await ticks.hold(await self._control(), schedule_id, fire_time)

    async def release(self, schedule_id: str, fire_time: datetime) -> RunRecord:
        """Take the hold of one tick away again."""
        return await ticks.release(await self._control(), schedule_id, fire_time)

    async def freeze(self, schedule_id: str) -> bool:
        """Start nothing of a schedule until it thaws."""
        control = await self._control()
        scope = Scope(ScopeKind.SCHEDULE, schedule_id)
        return await control.store.freezes.freeze(control.namespace, scope, control.author)

    async def thaw(self, schedule_id: str) -> bool:
        """End that freeze."""
        control = await self._control()
        scope = Scope(ScopeKind.SCHEDULE, schedule_id)
        return await control.store.freezes.thaw(control.namespace, scope, control.author)

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
        request = NewBackfill(ScheduleId(schedule_id), since, until, FillMode.MISSING, at_once_max, every_s)
        return await backfill_operations.start(await self._control(), request)

    async def get(self, schedule_id: str) -> Schedule:
        """One schedule."""
        return await (await self._control()).schedule(schedule_id)

    def _spec(self, **options: Any) -> ScheduleSpec:
        spec = schedule_spec(**options)
        known = self._app.jobs.get(spec.job)
        if known is not None:
            known.executor.check(spec.payload)
        return spec

    def _spec_of(self, schedule_id: str, options: Mapping[str, Any]) -> ScheduleSpec:
        """The same for one of many, whose refusal names it."""
        try:
            return self._spec(**options)
        except (UsageError, TypeError) as error:
            raise InvalidSpec(f"schedule {schedule_id}: {error}") from error

    async def _control(self) -> Control:
        settings = self._app.settings
        return Control(await self._store(), settings.namespace, settings=settings)

    async def _store(self) -> Store:
        """The store, with the program's jobs registered: once, and again when they change. In the caller's
        transaction that would lock them for as long as it is open, so there it is left out."""
        app = self._app
        if self._connection is not None:
            return await borrow_store(self._connection, app.settings)
        store, specs = await app.open(), list(app.specs().values())
        known = store, app.settings.namespace, specs
        if app.registered != known:
            await store.jobs.register(app.settings.namespace, specs)
            app.registered = known
        return store
