"""One tick by name: the run of a schedule at one fire time, written ahead of the planner if need be.

A tick that is called off or held before the planner comes to it gets its row here, with its fate on it from
the first moment: there is no instant at which it merely waits, and could be started or withdrawn. The planner
finds a run at that fire time and leaves it alone, also under a later version.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fencepost.core import remedies
from fencepost.core.expectation import tick_of, version_at
from fencepost.errors import UsageError
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import RunKey
from fencepost.model.plan import Fate, Tick
from fencepost.model.run import RunRecord, RunState
from fencepost.model.schedule import Schedule, ScheduleState, ScheduleVersion
from fencepost.model.times import to_utc_text
from fencepost.operations.control import Control
from fencepost.triggers import Combinable, stored_trigger
from fencepost.triggers.series import TICK

RUNS_OF_A_TICK_MAX = 100


@dataclass(frozen=True)
class Occurrence:
    """A fire time of a schedule, and the versions that say whether it is one."""

    control: Control
    schedule: Schedule
    versions: Sequence[ScheduleVersion]
    fire_time: datetime

    async def seal(self, fate: Fate) -> RunRecord | None:
        """Write its run with that fate, in one call; None where it has a run already."""
        if await self._standing() is not None:
            return None
        version, tick = await self._expected()
        namespace, schedule_id = self.schedule.namespace, self.schedule.schedule_id
        self.control.run_quota.take(1)
        written = await self.control.store.ledger.plan_by_name(
            namespace, schedule_id, version, [tick], self.control.author, fate=fate
        )
        # Where nothing was written somebody may have been quicker: the planner, or another operator.
        self.control.run_quota.give_back(1 - len(written))
        return await self.control.store.ledger.get(namespace, written[0]) if written else None

    async def run_key(self) -> RunKey:
        """The key of its run; refused where there is none, in words that say why."""
        found = await self._standing()
        if found is None:
            await self._expected()
            raise self._refusal(await self._why_none())
        return found.run_key

    async def _standing(self) -> RunRecord | None:
        """The run that stands for the tick: of several the one of the latest version."""
        standing = [one for one in await self._recorded() if one.state is not RunState.WITHDRAWN]
        return max(standing, key=lambda one: one.version, default=None)

    async def _recorded(self) -> Sequence[RunRecord]:
        return await self.control.store.ledger.ticks(
            self.schedule.namespace,
            self.schedule.schedule_id,
            self.fire_time - TICK,
            self.fire_time,
            None,
            RUNS_OF_A_TICK_MAX,
        )

    async def _why_none(self) -> str:
        """Its key may have been withdrawn, and a key comes only once."""
        withdrawn = await self._recorded()
        if withdrawn:
            return f"was withdrawn: {withdrawn[-1].reason}"
        return f"has no run; see: fencepost why {self.schedule.schedule_id} {to_utc_text(self.fire_time)}"

    async def _expected(self) -> tuple[int, Tick]:
        """The version in force and the tick as the planner would write it."""
        schedule_id, fire_time = self.schedule.schedule_id, self.fire_time
        forgotten = await self.control.store.ledger.forgotten_before()
        if forgotten is not None and fire_time < forgotten:
            remedy = remedies.backfill_forgotten(schedule_id, fire_time)
            raise self._refusal(f"is older than what retention keeps; {remedy}")
        version = version_at(self.versions, fire_time)
        if version is None:
            raise self._refusal(await self._why_not_in_force())
        return version.version, await self.control.offload(lambda: self._tick(version))

    def _tick(self, version: ScheduleVersion) -> Tick:
        """The tick by that version; refused where it has none then, with those around it."""
        schedule_id, fire_time = self.schedule.schedule_id, self.fire_time
        trigger = stored_trigger(version.spec, schedule_id)
        tick = tick_of(self.schedule.namespace, schedule_id, version, trigger, fire_time)
        if tick is None:
            raise self._refusal(f"is no fire time{_nearest(trigger, fire_time)}")
        return tick

    async def _why_not_in_force(self) -> str:
        """The future belongs to the version in force now, which a paused schedule does not have."""
        schedule_id, fire_time = self.schedule.schedule_id, self.fire_time
        if self.schedule.state is ScheduleState.PAUSED and fire_time > await self.control.store.now():
            return f"the schedule is paused, so nothing fires then; {remedies.resume(schedule_id)}"
        return f"no version was in force then, so nothing fired; {remedies.backfill(schedule_id, fire_time)}"

    def _refusal(self, why: str) -> UsageError:
        return UsageError(f"schedule {self.schedule.schedule_id} at {to_utc_text(self.fire_time)}: {why}")


def _nearest(trigger: Combinable, moment: datetime) -> str:
    """The fire times around an instant, as far as they can be found."""
    try:
        around = [trigger.previous(moment), *trigger.next(moment)]
    except UsageError:
        return ""
    shown = [to_utc_text(one) for one in around if one is not None]
    return f"; the nearest {'is' if len(shown) == 1 else 'are'} {' and '.join(shown)}" if shown else ""
