"""From what the ledger keeps of a schedule to the trigger that it means."""

from __future__ import annotations

from collections.abc import Mapping

from fencepost.model.json import JsonObject
from fencepost.model.schedule import ScheduleSpec
from fencepost.triggers.business.calendar import Calendar
from fencepost.triggers.codec import decode
from fencepost.triggers.combine import Combinable
from fencepost.triggers.series import Binding


def stored_trigger(spec: ScheduleSpec, schedule_id: str) -> Combinable:
    """The trigger of one schedule: hashed by its id, with the days of the calendars kept beside it."""
    return bind(decode(spec.trigger), spec.calendars, schedule_id)


def bind(trigger: Combinable, calendars: Mapping[str, JsonObject], schedule_id: str) -> Combinable:
    """The same for a trigger that has been decoded before."""
    days = {name: Calendar.from_json(form) for name, form in calendars.items()}
    return trigger.bound(Binding(schedule_id, days))
