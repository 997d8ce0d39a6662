"""Business calendars in the store: what people can do with them."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from fencepost.errors import UnknownCalendar, UsageError
from fencepost.model.calendar import CalendarRecord
from fencepost.model.json import JsonObject
from fencepost.services.desks.desk import Desk
from fencepost.triggers import Calendar


class CalendarDesk(Desk):
    """The calendars of one namespace."""

    async def set(self, calendar: Calendar) -> CalendarRecord:
        """Write a calendar. The schedules that use it are planned anew, as far as they have not fired."""
        return await self._store.calendars.put(
            self._namespace, calendar.name, defined(calendar), author=self._author
        )

    async def get(self, name: str) -> CalendarRecord:
        """One calendar, or a refusal that names near ones."""
        found = await self._store.calendars.get(self._namespace, name)
        if found is None:
            raise await self._unknown(name)
        return found

    async def all(self) -> Sequence[CalendarRecord]:
        """All calendars, by name."""
        return await self._store.calendars.all(self._namespace)

    async def remove(self, name: str) -> None:
        """Take a calendar away that no schedule uses."""
        users = await self._store.calendars.remove(self._namespace, name, author=self._author)
        if users is None:
            raise await self._unknown(name)
        if users:
            raise UsageError(f"calendar {name}: is used by {', '.join(users)}; edit or remove them first")

    async def _unknown(self, name: str) -> UnknownCalendar:
        names = [one.name for one in await self.all()]
        near = get_close_matches(name, names, n=1)
        hint = f"; did you mean {near[0]}?" if near else "; see: fencepost calendars list"
        return UnknownCalendar(f"calendar {name}: not found{hint}")


def defined(calendar: Calendar) -> JsonObject:
    """The form that a store keeps: the days, without a revision."""
    if calendar.is_reference:
        mend = "give it a weekend, holidays or a region"
        raise UsageError(f"calendar {calendar.name}: is only a name; {mend}")
    form = calendar.to_json()
    return {name: value for name, value in form.items() if name != "revision"}
