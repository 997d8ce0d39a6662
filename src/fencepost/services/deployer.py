"""The deployer: brings an application's jobs and schedules into the store when the application starts.

What `core.deployment` holds back, because newer code is alive, is looked at again now and then: after a
rollback it becomes due as soon as the last node of the newer code has gone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence

from fencepost.core.deployment import same_words, should_apply
from fencepost.core.quotas import room_for_schedules
from fencepost.errors import InvalidSpec, InvalidTrigger, QuotaExceeded, StoreUnavailable
from fencepost.model.audit import Author
from fencepost.model.codec import schedule_to_text
from fencepost.model.identifiers import Namespace, ScheduleId
from fencepost.model.job import JobSpec
from fencepost.model.json import JsonObject
from fencepost.model.quotas import UNLIMITED, Quotas
from fencepost.model.schedule import (
    AppliedSchedule,
    DesiredSchedule,
    Schedule,
    ScheduleChange,
    ScheduleSpec,
    ScheduleState,
)
from fencepost.ports.store import Store
from fencepost.services.binding import bound_specs
from fencepost.services.desks.schedules import BATCH_MAX
from fencepost.services.quotas import refusals_counted
from fencepost.services.service import Service
from fencepost.triggers import tzdata_version

LOOK_AGAIN_S = 30.0
IDLE_S = 3600.0
TOLD_MAX = 10
"""Of a batch, so many are told one by one."""


class Deployer(Service):
    """Belongs to one application in one process."""

    name = "deployer"

    def __init__(
        self,
        store: Store,
        namespace: Namespace,
        jobs: Mapping[str, JobSpec],
        schedules: Mapping[ScheduleId, ScheduleSpec],
        calendars: Mapping[str, JsonObject] | None = None,
        quotas: Quotas = UNLIMITED,
    ) -> None:
        super().__init__()
        self._store = store
        self._namespace = namespace
        self._jobs = jobs
        self._quotas = quotas
        self._calendars = dict(calendars or {})
        self._pending = dict(schedules)
        self._digest = code_digest(schedules)
        self._unopposed: set[ScheduleId] = set()
        self._newly_unopposed: set[ScheduleId] = set()

    async def start(self) -> None:
        """Register the jobs and the calendars, and apply the schedules."""
        await self._store.jobs.register(self._namespace, list(self._jobs.values()))
        for name, definition in self._calendars.items():
            await self._store.calendars.put(self._namespace, name, definition)
        await self.run_once()

    async def run_once(self) -> float:
        try:
            return await self._look()
        except StoreUnavailable:
            self._unopposed.clear()
            raise

    async def _look(self) -> float:
        live = {one.node.code_digest for one in await self._store.roster.live()} if self._pending else set()
        self._newly_unopposed.clear()
        pending = list(self._pending)
        for start in range(0, len(pending), BATCH_MAX):
            for schedule_id in await self._apply_readable(pending[start : start + BATCH_MAX], live):
                del self._pending[schedule_id]
        self._unopposed |= self._newly_unopposed
        return LOOK_AGAIN_S if self._pending else IDLE_S

    async def _apply_readable(self, some: Sequence[ScheduleId], live: set[str]) -> Sequence[ScheduleId]:
        """Those that need no further look. What newer code wrote and this release cannot read is left alone
        for as long as it is so, and a schedule waits for a calendar that is not there. The others of its
        batch do not wait for it."""
        try:
            return await self._apply(some, live)
        except (InvalidSpec, InvalidTrigger, QuotaExceeded) as error:
            if len(some) == 1:
                self._leave(some[0], error)
                return []
        half = len(some) // 2
        return [
            *await self._apply_readable(some[:half], live),
            *await self._apply_readable(some[half:], live),
        ]

    async def _apply(self, some: Sequence[ScheduleId], live: set[str]) -> Sequence[ScheduleId]:
        """Those that need no further look."""
        known = await self._store.schedules.get_many(self._namespace, some)
        applied = {one for one in some if one in known and _same(known[one].code_spec, self._pending[one])}
        edited = [one for one in some if one in known and one not in applied]
        histories = await self._store.schedules.histories(self._namespace, edited)
        past = {name: [one.spec for one in versions] for name, versions in histories.items()}
        settled: list[ScheduleId] = []
        due: list[ScheduleId] = []
        for name in some:
            spec, current = self._pending[name], known.get(name)
            if name not in applied and should_apply(spec, current, past.get(name, []), live):
                due += [name] if self._seen_twice(name, spec, past.get(name, [])) else []
                continue
            self._unopposed.discard(name)
            assert current is not None
            if self._may_vouch(current, spec):
                due.append(name)
            elif name in applied:
                settled.append(name)
        return [*settled, *await self._put(due, known)]

    def _seen_twice(
        self, schedule_id: ScheduleId, spec: ScheduleSpec, past: Collection[ScheduleSpec]
    ) -> bool:
        """New code needs no second look. Old code does: that no node of the newer code is alive may only mean
        that they have not come back yet, after an outage of the store or at their own start. What is tried
        again in smaller batches is still the same look."""
        if not any(_same(one, spec) for one in past) or schedule_id in self._unopposed:
            return True
        self._newly_unopposed.add(schedule_id)
        return False

    def _may_vouch(self, current: Schedule, spec: ScheduleSpec) -> bool:
        """This code brings the same spec as the code before it: from now on its nodes speak for it."""
        stands_in = current.state is ScheduleState.ACTIVE and current.code_digest != self._digest
        return stands_in and _same(current.code_spec, spec) and _same(current.spec, spec)

    async def _put(
        self, some: Sequence[ScheduleId], known: Mapping[ScheduleId, Schedule]
    ) -> Sequence[ScheduleId]:
        """Those that were written; where another was quicker, everything is looked at again."""
        wanted = {name: self._pending[name] for name in some}
        bound = await bound_specs(self._store, self._namespace, wanted, quotas=self._quotas)
        batch = []
        for name, spec in bound.items():
            if isinstance(spec, ScheduleSpec):
                batch.append(DesiredSchedule(name, spec, _visible_version(known.get(name)), wanted[name]))
            else:
                self._leave(name, spec)
        if not batch:
            return []
        with refusals_counted():
            put = await self._store.schedules.put_many(
                self._namespace,
                batch,
                tzdata=tzdata_version(),
                code_digest=self._digest,
                author=Author("deploy", f"code {self._digest}"),
                admit=room_for_schedules(self._namespace, self._quotas),
            )
        written = [one for one in put if one is not None]
        self._tell([one for one in written if one.change is not ScheduleChange.UNCHANGED])
        return [one.schedule.schedule_id for one in written]

    def _tell(self, applied: Sequence[AppliedSchedule]) -> None:
        for one in applied[:TOLD_MAX]:
            self.log.info("schedule applied", schedule=one.schedule.schedule_id, version=one.schedule.version)
        if len(applied) > TOLD_MAX:
            self.log.info("more schedules applied", schedules=len(applied) - TOLD_MAX)

    def _leave(self, schedule_id: ScheduleId, error: Exception) -> None:
        self.log.warning("schedule left alone", schedule=schedule_id, error=str(error))


def code_digest(schedules: Mapping[ScheduleId, ScheduleSpec]) -> str:
    """One short name for the schedules that an application's code brings."""
    hasher = hashlib.blake2b(digest_size=8)
    for schedule_id, spec in sorted(schedules.items()):
        hasher.update(f"{schedule_id}={schedule_to_text(spec)}\n".encode())
    return hasher.hexdigest()


def _same(one: ScheduleSpec | None, other: ScheduleSpec) -> bool:
    return one is not None and same_words(one, other)


def _visible_version(current: Schedule | None) -> int:
    return 0 if current is None or current.state is ScheduleState.REMOVED else current.version
