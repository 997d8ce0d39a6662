"""What is to come of a schedule, as the planner itself would find it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from fencepost.core.planning import Rules, plan
from fencepost.errors import UsageError
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import DEFAULT_QUEUE, Epoch
from fencepost.model.job import PRIORITY_DEFAULT
from fencepost.model.plan import Cursor, Tick
from fencepost.model.schedule import Schedule, ScheduleState
from fencepost.operations.policies import policies_in_words
from fencepost.operations.responses.schedules import OutlookResponse, schedule_fields
from fencepost.operations.responses.triggers import ChangeResponse, changes_ahead, policy_of
from fencepost.operations.words import moment
from fencepost.triggers import Combinable, stored_trigger
from fencepost.triggers.narrow import LAST

TICKS_SHOWN = 5
# A combination of triggers may cut a long search, of about a second; so many of them somebody can wait for.
SEARCHES_MAX = 3


@dataclass(frozen=True)
class Ahead:
    """The next ticks of a schedule, and what changes of the clocks do to them. One that is paused has none;
    `trouble` says why there are none where that is not the schedule's own will."""

    ticks: tuple[Tick, ...] = ()
    changes: tuple[ChangeResponse, ...] = ()
    policies: tuple[str, ...] = ()
    trouble: str | None = None


def look_ahead(schedule: Schedule, now: datetime) -> Ahead:
    """What is to come from now on. It may take seconds, and waits for nothing."""
    is_active = schedule.state is ScheduleState.ACTIVE
    try:
        trigger = stored_trigger(schedule.spec, schedule.schedule_id)
    except UsageError as error:
        policies = policies_in_words(schedule.spec, None)
        return Ahead(policies=tuple(policies), trouble=str(error) if is_active else None)
    ahead = Ahead(policies=tuple(policies_in_words(schedule.spec, policy_of(trigger))))
    if not is_active:
        return ahead
    try:
        ticks, cut = _next_ticks(schedule, trigger, now)
        changes = changes_ahead(trigger, now)
    except UsageError as error:
        return replace(ahead, trouble=str(error))
    return replace(ahead, ticks=ticks, changes=tuple(changes), trouble=cut)


def outlook_response(schedule: Schedule, tzdata: str, ahead: Ahead) -> OutlookResponse:
    """The schedule with all that."""
    return OutlookResponse(
        **schedule_fields(schedule),
        tzdata=tzdata,
        next=[moment(one.fire_time) for one in ahead.ticks],
        next_run_at=[moment(one.run_at) for one in ahead.ticks],
        changes=list(ahead.changes),
        trouble=ahead.trouble,
        policies=list(ahead.policies),
    )


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
