"""The deployer: brings an application's jobs and schedules into the store when the application starts.

What `core.deployment` holds back, because newer code is alive, is looked at again now and then: after a
rollback it becomes due as soon as the last node of the newer code has gone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping

from fencepost.core.deployment import same_words, should_apply
from fencepost.core.quotas import room_for_schedules
from fencepost.errors import InvalidSpec, InvalidTrigger, QuotaExceeded, StoreUnavailable
from fencepost.model.audit import Author
from fencepost.model.codec import schedule_to_text
from fencepost.model.identifiers import Namespace, ScheduleId
from fencepost.model.job import JobSpec
from fencepost.model.json import JsonObject
from fencepost.model.quotas import UNLIMITED, Quotas
from fencepost.model.schedule import Schedule, ScheduleSpec, ScheduleState
from fencepost.ports.store import Store
from fencepost.services.binding import bound_spec
from fencepost.services.quotas import refusals_counted
from fencepost.services.service import Service
from fencepost.triggers import tzdata_version

LOOK_AGAIN_S = 30.0
IDLE_S = 3600.0


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
        for schedule_id, spec in list(self._pending.items()):
            if await self._apply_readable(schedule_id, spec, live):
                del self._pending[schedule_id]
        return LOOK_AGAIN_S if self._pending else IDLE_S

    async def _apply_readable(self, schedule_id: ScheduleId, spec: ScheduleSpec, live: set[str]) -> bool:
        """What newer code wrote and this release cannot read is left alone for as long as it is so, and a
        schedule waits for a calendar that is not there."""
        try:
            return await self._apply(schedule_id, spec, live)
        except (InvalidSpec, InvalidTrigger, QuotaExceeded) as error:
            self.log.warning("schedule left alone", schedule=schedule_id, error=str(error))
            return False

    async def _apply(self, schedule_id: ScheduleId, spec: ScheduleSpec, live: set[str]) -> bool:
        """True when this schedule needs no further look."""
        current = await self._store.schedules.get(self._namespace, schedule_id)
        history = await self._store.schedules.history(self._namespace, schedule_id) if current else []
        past = [one.spec for one in history]
        if should_apply(spec, current, past, live):
            if not self._seen_twice(schedule_id, spec, past):
                return False
            return await self._put(schedule_id, spec, current)
        self._unopposed.discard(schedule_id)
        assert current is not None
        if self._may_vouch(current, spec):
            return await self._put(schedule_id, spec, current)
        return _same(current.code_spec, spec)

    def _seen_twice(
        self, schedule_id: ScheduleId, spec: ScheduleSpec, past: Collection[ScheduleSpec]
    ) -> bool:
        """New code needs no second look. Old code does: that no node of the newer code is alive may only mean
        that they have not come back yet, after an outage of the store or at their own start."""
        if not any(_same(one, spec) for one in past) or schedule_id in self._unopposed:
            return True
        self._unopposed.add(schedule_id)
        return False

    def _may_vouch(self, current: Schedule, spec: ScheduleSpec) -> bool:
        """This code brings the same spec as the code before it: from now on its nodes speak for it."""
        unedited = _same(current.code_spec, spec) and _same(current.spec, spec)
        return unedited and current.state is ScheduleState.ACTIVE and current.code_digest != self._digest

    async def _put(self, schedule_id: ScheduleId, spec: ScheduleSpec, current: Schedule | None) -> bool:
        """False where somebody else was quicker: then everything is looked at again."""
        gone = current is None or current.state is ScheduleState.REMOVED
        bound = await bound_spec(self._store, self._namespace, schedule_id, spec, quotas=self._quotas)
        with refusals_counted():
            put = await self._store.schedules.put(
                self._namespace,
                schedule_id,
                bound,
                tzdata=tzdata_version(),
                expected_version=0 if current is None or gone else current.version,
                code_digest=self._digest,
                code_spec=spec,
                author=Author("deploy", f"code {self._digest}"),
                admit=room_for_schedules(self._namespace, self._quotas),
            )
        if put is not None and (current is None or put.version != current.version):
            self.log.info("schedule applied", schedule=schedule_id, version=put.version)
        return put is not None


def code_digest(schedules: Mapping[ScheduleId, ScheduleSpec]) -> str:
    """One short name for the schedules that an application's code brings."""
    hasher = hashlib.blake2b(digest_size=8)
    for schedule_id, spec in sorted(schedules.items()):
        hasher.update(f"{schedule_id}={schedule_to_text(spec)}\n".encode())
    return hasher.hexdigest()


def _same(one: ScheduleSpec | None, other: ScheduleSpec) -> bool:
    return one is not None and same_words(one, other)
