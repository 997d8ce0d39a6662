"""When schedules fire next, for lists: many at a time, away from the loop, and none holds up the others.

A combination of triggers may have to be searched for a second; then a list says so, and the page of the
schedule looks longer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from fencepost.errors import UsageError
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import ScheduleId
from fencepost.model.schedule import Schedule, ScheduleState
from fencepost.operations.responses.triggers import described
from fencepost.services.offload import Offload
from fencepost.triggers import stored_trigger

AHEAD = 5


@dataclass(frozen=True)
class Coming:
    """When a schedule fires, in words, and when next; `why_not` where it does not."""

    words: str
    next_at: datetime | None
    why_not: str = ""
    then: Sequence[datetime] = ()
    """The ones after that, for a countdown that goes on."""


async def coming(
    schedules: Sequence[Schedule], now: datetime, offload_short: Offload
) -> Mapping[ScheduleId, Coming]:
    """What is to come of each: one thought for all of them."""
    return await offload_short(lambda: _all(schedules, now))


def _all(schedules: Sequence[Schedule], now: datetime) -> Mapping[ScheduleId, Coming]:
    return {one.schedule_id: next_of(one, now) for one in schedules}


def next_of(schedule: Schedule, now: datetime) -> Coming:
    """The next fire time of an active schedule."""
    words = described(schedule.spec, schedule.schedule_id)
    if schedule.state is not ScheduleState.ACTIVE:
        return Coming(words, None, str(schedule.state))
    try:
        found = stored_trigger(schedule.spec, schedule.schedule_id).next(now, AHEAD)
    except UsageError:
        return Coming(words, None, "not found yet")
    return Coming(words, found[0], then=found[1:]) if found else Coming(words, None, "never again")
