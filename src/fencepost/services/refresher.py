"""The refresher: brings what is planned up to newer zone rules and newer calendars.

A tick is planned by the rules that its planner knows. When a release brings newer zone rules, or an operator
changes a calendar, what has not fired yet may be wrong: ticks that are planned ahead, and the time at which
the planner means to look again, which can be months away. The refresher looks once at every version in force
that was last planned by older rules. Where the newer ones say the same it only notes that; where they differ
the schedule gets its next version from this moment on: ticks ahead are withdrawn and planned anew, and what
has fired stays as it is.

Only the leader of a shard refreshes it, and only towards newer rules: an old node in a rolling deploy leaves
alone what a newer one has planned.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fencepost.clock import Clock
from fencepost.core.planning import next_look
from fencepost.errors import UsageError
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace, ScheduleId, Shard
from fencepost.model.plan import Cursor, Outlived
from fencepost.ports.store import Store
from fencepost.services.binding import bound_spec
from fencepost.services.leadership import Leadership
from fencepost.services.service import Service
from fencepost.triggers import stored_trigger, tzdata_version

REST_S = 60.0
BATCH_MAX = 500
ROUNDS_MAX = 20
STUCK_KEPT_MAX = 1_000
RULES_CHANGED = "newer zone rules moved its fire times"
CALENDAR_CHANGED = "a calendar that it uses was changed"


class Refresher(Service):
    """Runs on every node that plans; without a grant it does nothing."""

    name = "refresher"

    def __init__(self, store: Store, leadership: Leadership, clock: Clock) -> None:
        super().__init__()
        self._store = store
        self._leadership = leadership
        self._clock = clock
        self._stuck: set[tuple[Namespace, ScheduleId, int]] = set()

    async def run_once(self) -> float:
        for _ in range(ROUNDS_MAX):
            shards = list(self._leadership.grants(self._clock.monotonic()))
            if not shards or not await self._round(shards):
                return REST_S
        return 0.0

    async def _round(self, shards: Sequence[Shard]) -> bool:
        """True where there is more to do at once."""
        moved = await self._look_at_rules(shards)
        return await self._look_at_calendars(shards) or moved

    async def _look_at_rules(self, shards: Sequence[Shard]) -> bool:
        outlived = await self._store.planbook.outlived(shards, tzdata_version(), BATCH_MAX)
        if not outlived:
            return False
        # Later than the reading, so that a tick that came due in between is in neither of the two lists.
        now = await self._store.now()
        confirmed: list[tuple[Cursor, datetime | None]] = []
        for one in outlived:
            same, upcoming = self._compare(one, now)
            if same or not await self._renew(one.cursor.namespace, one.cursor.schedule_id, RULES_CHANGED):
                confirmed.append((one.cursor, upcoming))
        await self._store.planbook.confirm(confirmed, tzdata_version())
        return len(outlived) == BATCH_MAX

    def _compare(self, one: Outlived, now: StoreTime) -> tuple[bool, datetime | None]:
        """Whether what is planned ahead is what these rules say, and what comes after it."""
        cursor = one.cursor
        if cursor.spec is None:
            return True, one.next_fire_at
        try:
            trigger = stored_trigger(cursor.spec, cursor.schedule_id)
            expected = list(trigger.fire_times(now, cursor.planned_through))
        except UsageError as error:
            self.log.error("schedule cannot be refreshed", schedule=cursor.schedule_id, error=str(error))
            return True, one.next_fire_at
        planned = [moment for moment in one.planned if moment > now]
        return expected == planned, next_look(trigger, cursor.planned_through)

    async def _look_at_calendars(self, shards: Sequence[Shard]) -> bool:
        behind = await self._store.calendars.behind(shards, BATCH_MAX)
        fresh = [one for one in behind if one not in self._stuck]
        for namespace, schedule_id, version in fresh:
            if not await self._renew(namespace, schedule_id, CALENDAR_CHANGED):
                self._set_aside((namespace, schedule_id, version))
        return bool(fresh) and len(behind) == BATCH_MAX

    def _set_aside(self, version: tuple[Namespace, ScheduleId, int]) -> None:
        """What cannot be renewed does not keep others from it, and is not tried at every look."""
        if len(self._stuck) == STUCK_KEPT_MAX:
            self._stuck.clear()
        self._stuck.add(version)

    async def _renew(self, namespace: Namespace, schedule_id: ScheduleId, reason: str) -> bool:
        """The next version of a schedule; False where it cannot have one."""
        current = await self._store.schedules.get(namespace, schedule_id)
        if current is None:
            return False
        try:
            spec = await bound_spec(self._store, namespace, schedule_id, current.spec)
        except UsageError as error:
            self.log.error("schedule cannot be refreshed", schedule=schedule_id, error=str(error))
            return False
        renewed = await self._store.schedules.renew(
            namespace,
            schedule_id,
            spec,
            tzdata=tzdata_version(),
            expected_version=current.version,
            reason=reason,
        )
        if renewed is not None:
            self.log.info("schedule refreshed", schedule=schedule_id, version=renewed.version, reason=reason)
        return renewed is not None
