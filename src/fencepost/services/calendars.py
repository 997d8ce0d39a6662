"""Business calendars in the store: what people can do with them."""

from __future__ import annotations

from fencepost.errors import UsageError
from fencepost.model.json import JsonObject
from fencepost.triggers import Calendar


def defined(calendar: Calendar) -> JsonObject:
    """The form that a store keeps: the days, without a revision."""
    if calendar.is_reference:
        remedy = "give it a weekend, holidays or a region"
        raise UsageError(f"calendar {calendar.name}: is only a name; {remedy}")
    form = calendar.to_json()
    return {name: value for name, value in form.items() if name != "revision"}
