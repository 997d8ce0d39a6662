"""What can be done with freezes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fencepost.model.freeze import Freeze, Scope, ScopeKind
from fencepost.model.identifiers import DEFAULT_QUEUE, JobName, ScheduleId
from fencepost.model.job import JobSpec
from fencepost.model.schedule import Schedule
from fencepost.services.desks.desk import Desk

PAGE = 500


class FreezeDesk(Desk):
    """The freezes of one namespace."""

    async def freeze(self, scope: Scope) -> bool:
        """Start nothing of a scope until it thaws; False where that very scope is frozen already."""
        return await self._store.freezes.freeze(self._namespace, scope, self._author)

    async def thaw(self, scope: Scope) -> bool:
        """End a freeze; False where there is none of that scope."""
        return await self._store.freezes.thaw(self._namespace, scope, self._author)

    async def all(self) -> Sequence[Freeze]:
        """The freezes in force, by scope."""
        return await self._store.freezes.all(self._namespace)

    async def covered(self, scope: Scope) -> int:
        """How many schedules a scope has at this moment."""
        count, after = 0, None
        jobs = await self._store.jobs.all(self._namespace)
        while page := await self._store.schedules.page(self._namespace, after, PAGE):
            count += sum(_covers(scope, one, jobs) for one in page)
            after = page[-1].schedule_id
        return count


def _covers(scope: Scope, schedule: Schedule, jobs: Mapping[JobName, JobSpec]) -> bool:
    match scope.kind:
        case ScopeKind.ALL:
            return True
        case ScopeKind.SCHEDULE:
            return schedule.schedule_id == ScheduleId(scope.value)
        case ScopeKind.LABEL:
            key, value = scope.label
            return schedule.spec.labels.get(key) == value
        case ScopeKind.QUEUE:
            job = jobs.get(schedule.spec.job)
            return (schedule.spec.queue or (job.queue if job else DEFAULT_QUEUE)) == scope.value
