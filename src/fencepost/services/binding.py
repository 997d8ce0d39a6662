"""What a schedule's trigger needs from the store before it can be written."""

from __future__ import annotations

from collections.abc import Iterable
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
        fire_times = await aside(lambda: _next_times(trigger, now))
        with refusals_counted():
            check_interval(namespace, quotas, fire_times)
    return bound


def _next_times(trigger: Combinable, now: datetime) -> list[datetime]:
    try:
        return trigger.next(now, LOOKED_AT)
    except SearchExhausted:
        return trigger.next(now)


async def _calendars(store: Store, namespace: Namespace, names: Iterable[str]) -> dict[str, JsonObject]:
    found: dict[str, JsonObject] = {}
    for name in names:
        record = await store.calendars.get(namespace, name)
        if record is None:
            raise InvalidSpec(f"calendar {name}: not in the store; use: fencepost calendars set {name}")
        found[name] = {**record.definition, "revision": record.revision}
    return found
