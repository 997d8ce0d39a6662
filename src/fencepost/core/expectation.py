"""Expectation: which fire times a schedule's history asks for, whatever the ledger says.

A version governs the fire times in (in_force_from, in_force_until]; so an instant has one version at most,
and a fire time counts once. If the intervals of two versions overlap all the same, the older one governs.

What is expected is computed from the versions as they were written and walked one fire time at a time, so
that a range of a million ticks costs time and not memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from heapq import merge
from typing import NamedTuple, TypeAlias

from fencepost.core.planning import Rules, plan
from fencepost.errors import SearchExhausted
from fencepost.model.identifiers import DEFAULT_QUEUE, Epoch, Namespace, ScheduleId, Shard
from fencepost.model.job import PRIORITY_DEFAULT
from fencepost.model.plan import Cursor, Tick
from fencepost.model.schedule import ScheduleVersion
from fencepost.model.trigger import Trigger

TriggerOf: TypeAlias = Callable[[ScheduleVersion], Trigger]


class Expected(NamedTuple):
    """A fire time, and the number of the version that asks for it."""

    fire_time: datetime
    version: int


def expected(
    versions: Sequence[ScheduleVersion], trigger_of: TriggerOf, since: datetime, until: datetime
) -> Iterator[Expected]:
    """The fire times in (since, until] that the versions ask for, ascending, each once."""
    walks = [_walk(one, trigger_of, since, until) for one in versions if _reaches_into(one, since, until)]
    last: datetime | None = None
    for one in merge(*walks):
        if one.fire_time != last:
            yield one
        last = one.fire_time


def version_at(versions: Sequence[ScheduleVersion], moment: datetime) -> ScheduleVersion | None:
    """The version that governs an instant, if any does."""
    return next((one for one in versions if _governs(one, moment)), None)


def tick_of(
    namespace: Namespace,
    schedule_id: ScheduleId,
    version: ScheduleVersion,
    trigger: Trigger,
    moment: datetime,
) -> Tick | None:
    """The tick of a fire time as the planner would write it, with its due time; None where it is no fire
    time of the trigger."""
    cursor = Cursor(
        namespace=namespace,
        schedule_id=schedule_id,
        shard=Shard(0),
        version=version.version,
        planned_through=moment - datetime.resolution,
        spec=version.spec,
        queue=version.spec.queue or DEFAULT_QUEUE,
        priority=version.spec.priority or PRIORITY_DEFAULT,
    )
    found = plan(cursor, trigger, moment, Epoch(0), 1, Rules(version.tzdata, moment))
    return found.ticks[0] if found.ticks else None


def _walk(
    version: ScheduleVersion, trigger_of: TriggerOf, since: datetime, until: datetime
) -> Iterator[Expected]:
    after: datetime = max(since, version.in_force_from)
    through: datetime = until if version.in_force_until is None else min(until, version.in_force_until)
    for moment in _fire_times(trigger_of(version), after, through):
        yield Expected(moment, version.version)


def _fire_times(trigger: Trigger, after: datetime, through: datetime) -> Iterator[datetime]:
    """All fire times. Where a combination of triggers cuts a long search, the search goes on from the cut."""
    while after < through:
        try:
            for moment in trigger.fire_times(after, through):
                yield moment
                after = moment
        except SearchExhausted as cut:
            if cut.searched_through <= after:
                raise
            after = cut.searched_through
        else:
            return


def _reaches_into(version: ScheduleVersion, since: datetime, until: datetime) -> bool:
    ends_later = version.in_force_until is None or version.in_force_until > since
    return ends_later and version.in_force_from < until and version.in_force_from != version.in_force_until


def _governs(version: ScheduleVersion, moment: datetime) -> bool:
    return version.in_force_from < moment and (
        version.in_force_until is None or moment <= version.in_force_until
    )
