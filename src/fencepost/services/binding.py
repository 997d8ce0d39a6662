"""What a schedule's trigger needs from the store before it can be written."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from fencepost.core.quotas import LOOKED_AT, check_interval
from fencepost.errors import InvalidSpec, SearchExhausted
from fencepost.model.identifiers import Namespace, ScheduleId
from fencepost.model.json import JsonObject
from fencepost.model.quotas import Quotas
from fencepost.model.schedule import ScheduleSpec
from fencepost.ports.store import Store
from fencepost.services.aside import Aside, on_the_spot
from fencepost.services.quotas import refusals_counted
from fencepost.triggers import Combinable, decode, stored_trigger
from fencepost.triggers.series import TICK


async def bound_spec(
    store: Store,
    namespace: Namespace,
    schedule_id: ScheduleId,
    spec: ScheduleSpec,
    aside: Aside = on_the_spot,
    quotas: Quotas | None = None,
) -> ScheduleSpec:
    """The spec with the calendars that its trigger names, as they are now; refused where it cannot fire, or
    fires more often than it may."""
    names = sorted(decode(spec.trigger).calendar_names())
    bound = replace(spec, calendars=await _calendars(store, namespace, names))
    # A combination that finds no fire time in a long search is refused here, by its own error.
    trigger, now = stored_trigger(bound, schedule_id), await store.now()
    if quotas is None:
        await aside(lambda: trigger.next(now))
    else:
        looked_at = await aside(lambda: _stretches(trigger, now))
        with refusals_counted():
            check_interval(namespace, quotas, looked_at)
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


async def _calendars(store: Store, namespace: Namespace, names: Iterable[str]) -> dict[str, JsonObject]:
    found: dict[str, JsonObject] = {}
    for name in names:
        record = await store.calendars.get(namespace, name)
        if record is None:
            raise InvalidSpec(f"calendar {name}: not in the store; use: fencepost calendars set {name}")
        found[name] = {**record.definition, "revision": record.revision}
    return found
