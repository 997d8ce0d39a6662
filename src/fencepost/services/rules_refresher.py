"""The rules refresher: brings what is planned up to newer zone rules and newer calendars.

A planner plans a tick by the rules that it knows. When a release brings newer zone rules, or an operator
changes a calendar, what has not fired yet may be wrong: ticks that are planned ahead, and the time at which
the planner means to look again, which can be months away. The rules refresher looks once at every version in
force that was last planned by older rules. Where the newer ones give the same times it only notes that. Where
they differ the schedule gets its next version from this moment on: ticks ahead are withdrawn and planned
anew, and what has fired stays as it is.

Only the leader of a shard refreshes it, and only towards newer rules: an old node in a rolling deploy leaves
alone what a newer one has planned.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple

from fencepost.clock import Clock
from fencepost.core.planning import next_look
from fencepost.errors import UsageError
from fencepost.model.calendar import Behind
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Shard
from fencepost.model.plan import Cursor, Outlived
from fencepost.model.schedule import Schedule
from fencepost.ports.store import Store
from fencepost.services.binding import bound_spec
from fencepost.services.leadership import Leadership
from fencepost.services.offload import Offload, inline
from fencepost.services.service import Service
from fencepost.triggers import stored_trigger, tzdata_version

REST_S = 60.0
BATCH_MAX = 500
ROUNDS_MAX = 20
STUCK_KEPT_MAX = 1_000
RULES_CHANGED = "newer zone rules moved its fire times"
CALENDAR_CHANGED = "a calendar that it uses was changed"


class Comparison(NamedTuple):
    """Whether the planned ticks are those of these rules, and the fire time after them."""

    same: bool
    upcoming: datetime | None


class RulesRefresher(Service):
    """Runs on every node that plans; without a grant it does nothing."""

    name = "rules_refresher"

    def __init__(self, store: Store, leadership: Leadership, clock: Clock, offload: Offload = inline) -> None:
        super().__init__()
        self._offload = offload
        self._store = store
        self._leadership = leadership
        self._clock = clock
        self._stuck: set[Behind] = set()

    def reconsider(self) -> None:
        """Something was changed: schedules that were set aside may be tried again."""
        self._stuck.clear()
        self.wakeup.wake()

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
        limit = BATCH_MAX + len(self._stuck)
        outlived = await self._store.plans.outlived(shards, tzdata_version(), limit)
        fresh = [one for one in outlived if _name(one.cursor) not in self._stuck]
        if not fresh:
            return False
        # Later than the reading, so that a tick that came due in between is in neither of the two lists.
        now = await self._store.now()
        confirmed: list[tuple[Cursor, datetime | None]] = []
        for one in fresh:
            found = await self._offload(partial(self._compare, one, now))
            if found is None:
                self._set_aside(_name(one.cursor))
            elif found.same:
                confirmed.append((one.cursor, found.upcoming))
            else:
                await self._renew(_name(one.cursor), RULES_CHANGED)
        await self._store.plans.confirm(confirmed, tzdata_version())
        return len(outlived) == limit

    def _compare(self, one: Outlived, now: StoreTime) -> Comparison | None:
        """The version by these rules; None where it cannot be read, and is left to a node that can."""
        cursor = one.cursor
        if cursor.spec is None:
            return None
        try:
            trigger = stored_trigger(cursor.spec, cursor.schedule_id)
            expected = list(trigger.fire_times(now, cursor.planned_through))
        except UsageError as error:
            self.log.error("schedule cannot be refreshed", schedule=cursor.schedule_id, error=str(error))
            return None
        planned = [moment for moment in one.planned if moment > now]
        return Comparison(expected == planned, next_look(trigger, cursor.planned_through))

    async def _look_at_calendars(self, shards: Sequence[Shard]) -> bool:
        limit = BATCH_MAX + len(self._stuck)
        behind = await self._store.calendars.behind(shards, limit)
        fresh = [one for one in behind if one not in self._stuck]
        for one in fresh:
            await self._renew(one, CALENDAR_CHANGED)
        return bool(fresh) and len(behind) == limit

    async def _renew(self, name: Behind, reason: str) -> None:
        """The next version of a schedule, unless it has got another one meanwhile."""
        try:
            renewed = await self._renewed(name, reason)
        except UsageError as error:
            self.log.error("schedule cannot be refreshed", schedule=name.schedule_id, error=str(error))
            self._set_aside(name)
            return
        if renewed is not None:
            self.log.info(
                "schedule refreshed", schedule=name.schedule_id, version=renewed.version, reason=reason
            )

    async def _renewed(self, name: Behind, reason: str) -> Schedule | None:
        current = await self._store.schedules.get(name.namespace, name.schedule_id)
        if current is None or current.version != name.version:
            return None
        spec = await bound_spec(self._store, name.namespace, name.schedule_id, current.spec, self._offload)
        return await self._store.schedules.renew(
            name.namespace,
            name.schedule_id,
            spec,
            tzdata=tzdata_version(),
            expected_version=name.version,
            reason=reason,
        )

    def _set_aside(self, name: Behind) -> None:
        """A schedule that cannot be renewed does not hold up others, and is not tried at every look."""
        if len(self._stuck) == STUCK_KEPT_MAX:
            self._stuck.clear()
        self._stuck.add(name)


def _name(cursor: Cursor) -> Behind:
    return Behind(cursor.namespace, cursor.schedule_id, cursor.version)
