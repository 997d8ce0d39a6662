"""What a schedule's trigger needs from the store before it can be written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from fencepost.errors import InvalidSpec
from fencepost.model.identifiers import Namespace, ScheduleId
from fencepost.model.json import JsonObject
from fencepost.model.schedule import ScheduleSpec
from fencepost.ports.store import Store
from fencepost.services.aside import Aside, on_the_spot
from fencepost.triggers import decode, stored_trigger


async def bound_spec(
    store: Store,
    namespace: Namespace,
    schedule_id: ScheduleId,
    spec: ScheduleSpec,
    aside: Aside = on_the_spot,
) -> ScheduleSpec:
    """The spec with the calendars that its trigger names, as they are now; refused where it cannot fire."""
    names = sorted(decode(spec.trigger).calendar_names())
    bound = replace(spec, calendars=await _calendars(store, namespace, names))
    # A combination that finds no fire time in a long search is refused here, by its own error.
    trigger, now = stored_trigger(bound, schedule_id), await store.now()
    await aside(lambda: trigger.next(now))
    return bound


async def _calendars(store: Store, namespace: Namespace, names: Iterable[str]) -> dict[str, JsonObject]:
    found: dict[str, JsonObject] = {}
    for name in names:
        record = await store.calendars.get(namespace, name)
        if record is None:
            raise InvalidSpec(f"calendar {name}: not in the store; use: fencepost calendars set {name}")
        found[name] = {**record.definition, "revision": record.revision}
    return found
