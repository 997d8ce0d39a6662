"""What is to come of a schedule, as the planner itself would find it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from fencepost.cli.schedule_views import Outlook
from fencepost.cli.trigger_views import changes_ahead
from fencepost.core.planning import Rules, plan
from fencepost.errors import UsageError
from fencepost.model.identifiers import DEFAULT_QUEUE, Epoch
from fencepost.model.job import PRIORITY_DEFAULT
from fencepost.model.plan import Cursor, Tick
from fencepost.model.schedule import Schedule, ScheduleState
from fencepost.triggers import Combinable, stored_trigger
from fencepost.triggers.narrow import LAST

if TYPE_CHECKING:
    from fencepost.services.control import Control

TICKS_SHOWN = 5
# A combination of triggers may cut a long search, of about a second; so many of them somebody can wait for.
SEARCHES_MAX = 3


async def look_ahead(control: Control, schedule_id: str) -> Outlook:
    """The schedule with its next ticks. One that is paused or cannot be read has none."""
    schedule = await control.schedules.get(schedule_id)
    tzdata = (await control.schedules.history(schedule_id))[-1].tzdata
    outlook = Outlook(schedule, tzdata)
    if schedule.state is not ScheduleState.ACTIVE:
        return outlook
    now = await control.store.now()
    try:
        trigger = stored_trigger(schedule.spec, schedule_id)
        ticks, cut = _next_ticks(schedule, trigger, now)
        changes = changes_ahead(trigger, now)
    except UsageError as error:
        return replace(outlook, trouble=str(error))
    return replace(outlook, ticks=ticks, changes=tuple(changes), trouble=cut)


def _next_ticks(
    schedule: Schedule, trigger: Combinable, now: datetime
) -> tuple[tuple[Tick, ...], str | None]:
    """The next ticks with their due times, and what to say where the search for them was cut."""
    cursor = Cursor(
        namespace=schedule.namespace,
        schedule_id=schedule.schedule_id,
        shard=schedule.shard,
        version=schedule.version,
        planned_through=now,
        spec=schedule.spec,
        queue=schedule.spec.queue or DEFAULT_QUEUE,
        priority=schedule.spec.priority or PRIORITY_DEFAULT,
    )
    ticks: tuple[Tick, ...] = ()
    for _ in range(SEARCHES_MAX):
        found = plan(cursor, trigger, LAST, Epoch(0), TICKS_SHOWN - len(ticks), Rules("", now))
        ticks += found.ticks
        if len(ticks) == TICKS_SHOWN or found.next_fire_at is None:
            return ticks, None
        cursor = replace(cursor, planned_through=found.planned_through)
    return ticks, f"none was found up to {cursor.planned_through:%Y-%m-%d}; it may never fire"
