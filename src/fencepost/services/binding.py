"""What a schedule's trigger needs from the store before it can be written."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial

from fencepost.core.quotas import LOOKED_AT, check_interval
from fencepost.errors import InvalidSpec, InvalidTrigger, QuotaExceeded, SearchExhausted, UsageError
from fencepost.model.calendar import CalendarRecord
from fencepost.model.identifiers import Namespace, ScheduleId
from fencepost.model.json import JsonObject
from fencepost.model.quotas import Quotas
from fencepost.model.schedule import ScheduleSpec
from fencepost.ports.store import Store
from fencepost.services.offload import Offload, inline
from fencepost.services.quotas import count_refusal
from fencepost.triggers import Combinable, decode
from fencepost.triggers.localtime.times import WallTrigger
from fencepost.triggers.series import TICK
from fencepost.triggers.stored import bind


async def bound_spec(
    store: Store,
    namespace: Namespace,
    schedule_id: ScheduleId,
    spec: ScheduleSpec,
    offload: Offload = inline,
    quotas: Quotas | None = None,
) -> ScheduleSpec:
    """The spec with the calendars that its trigger names, as they are now; refused where it cannot fire, or
    fires more often than it may."""
    found = (await bound_specs(store, namespace, {schedule_id: spec}, offload, quotas))[schedule_id]
    if isinstance(found, UsageError):
        raise found
    return found


async def bound_specs(
    store: Store,
    namespace: Namespace,
    specs: Mapping[ScheduleId, ScheduleSpec],
    offload: Offload = inline,
    quotas: Quotas | None = None,
) -> Mapping[ScheduleId, ScheduleSpec | UsageError]:
    """The same for many at once, each with its calendars or with its refusal."""
    triggers = {name: _trigger(spec) for name, spec in specs.items()}
    needed = {one for trigger in triggers.values() if trigger is not None for one in trigger.calendar_names()}
    calendars = {name: await store.calendars.get(namespace, name) for name in sorted(needed)}
    check = partial(_bound, namespace, calendars, await store.now(), quotas)
    found = await offload(lambda: {name: check(name, spec, triggers[name]) for name, spec in specs.items()})
    for one in found.values():
        if isinstance(one, QuotaExceeded):
            count_refusal(one)
    return found


def _bound(
    namespace: Namespace,
    calendars: Mapping[str, CalendarRecord | None],
    now: datetime,
    quotas: Quotas | None,
    schedule_id: ScheduleId,
    spec: ScheduleSpec,
    read: Combinable | None,
) -> ScheduleSpec | UsageError:
    try:
        trigger = read or decode(spec.trigger)
        names = sorted(trigger.calendar_names())
        bound = replace(spec, calendars={name: _definition(name, calendars[name]) for name in names})
        # A combination that finds no fire time in a long search is refused here, by its own error.
        trigger = bind(trigger, bound.calendars, schedule_id)
        if isinstance(trigger, WallTrigger) and trigger.is_barren(now):
            raise InvalidTrigger(
                f"{trigger.describe()}: never fires, the clocks of {trigger.tz} skip each of its times and "
                f"gap is {trigger.times.policy.gap}; fix: gap shift, or another time"
            )
        if quotas is None or trigger.spacing_min_s >= quotas.interval_s:
            trigger.next(now)
        else:
            check_interval(namespace, quotas, _stretches(trigger, now))
    except UsageError as error:
        return error
    return bound


def _stretches(trigger: Combinable, now: datetime) -> list[list[datetime]]:
    """The next fire times, and those at which a part of the trigger begins to fire often."""
    dense = dict.fromkeys(trigger.dense_after(now))
    return [_next_times(trigger, now), *(_next_two(trigger, moment - TICK) for moment in dense)]


def _next_times(trigger: Combinable, now: datetime) -> list[datetime]:
    try:
        return trigger.next(now, LOOKED_AT)
    except SearchExhausted:
        return trigger.next(now)


def _next_two(trigger: Combinable, after: datetime) -> list[datetime]:
    """With no more patience than a planner has: there may be many parts to look at."""
    found: list[datetime] = []
    with suppress(SearchExhausted):
        while len(found) < 2 and (after_that := trigger.next_after(found[-1] if found else after)):
            found.append(after_that)
    return found


def _trigger(spec: ScheduleSpec) -> Combinable | None:
    """None where it cannot be read: it is refused later."""
    try:
        return decode(spec.trigger)
    except UsageError:
        return None


def _definition(name: str, record: CalendarRecord | None) -> JsonObject:
    if record is None:
        raise InvalidSpec(f"calendar {name}: not in the store; use: fencepost calendars set {name}")
    return {**record.definition, "revision": record.revision}
