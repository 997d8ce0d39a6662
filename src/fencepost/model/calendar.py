"""Business calendars as a store keeps them, and which schedules were written with which revision."""

from __future__ import annotations

from typing import NamedTuple

from fencepost.model.clocks import StoreTime
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Namespace, ScheduleId
from fencepost.model.json import JsonObject
from fencepost.model.schedule import ScheduleSpec


@dataclass(frozen=True)
class CalendarRecord:
    """A calendar as the store holds it. Each change of its definition is the next revision."""

    namespace: Namespace
    name: str
    revision: int
    definition: JsonObject
    updated_at: StoreTime


class Behind(NamedTuple):
    """The version in force of a schedule that was written with an older revision of a calendar."""

    namespace: Namespace
    schedule_id: ScheduleId
    version: int


def calendar_revisions(spec: ScheduleSpec) -> dict[str, int]:
    """The revision of each calendar that a spec was written with; a calendar without one was never in a
    store."""
    revisions = {name: form.get("revision") for name, form in spec.calendars.items()}
    return {name: revision for name, revision in sorted(revisions.items()) if type(revision) is int}
