"""`app.calendars()`: the verbs on calendars, for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fencepost.model.calendar import CalendarRecord
from fencepost.model.identifiers import ScheduleId
from fencepost.operations import calendars as calendar_operations
from fencepost.operations.control import Control
from fencepost.triggers import Calendar


class Calendars:
    """The calendars of one namespace."""

    def __init__(self, control: Control) -> None:
        self._control = control

    async def set(self, calendar: Calendar, expected_revision: int | None = None) -> CalendarRecord:
        """Write a calendar; the schedules that use it are planned anew, as far as they have not fired."""
        return await calendar_operations.write(self._control, calendar, expected_revision)

    async def get(self, name: str) -> CalendarRecord:
        """One calendar."""
        return await calendar_operations.get(self._control, name)

    async def all(self) -> Sequence[CalendarRecord]:
        """All calendars, by name."""
        return await self._control.store.calendars.all(self._control.namespace)

    async def users(self, names: Sequence[str], limit: int) -> Mapping[str, Sequence[ScheduleId]]:
        """The schedules that use each of these calendars."""
        return await self._control.store.calendars.users(self._control.namespace, names, limit)

    async def remove(self, name: str, expected_revision: int | None = None) -> None:
        """Take a calendar away that no schedule uses."""
        await calendar_operations.remove(self._control, name, expected_revision)
