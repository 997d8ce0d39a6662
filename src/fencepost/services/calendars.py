"""Business calendars in the store: what people can do with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from fencepost.errors import CalendarChanged, UnknownCalendar, UsageError
from fencepost.model.calendar import CalendarRecord
from fencepost.model.identifiers import ScheduleId
from fencepost.model.json import JsonObject
from fencepost.services.verbs.verbs import Verbs
from fencepost.triggers import Calendar


class CalendarVerbs(Verbs):
    """The calendars of one namespace."""

    async def set(self, calendar: Calendar, expected_revision: int | None = None) -> CalendarRecord:
        """Write a calendar, unless it no longer has the expected revision. The schedules that use it are
        planned anew, as far as they have not fired."""
        written = await self._store.calendars.put(
            self._namespace,
            calendar.name,
            defined(calendar),
            expected_revision=expected_revision,
            author=self._author,
        )
        if written is None:
            raise self.changed(calendar.name)
        return written

    async def get(self, name: str) -> CalendarRecord:
        """One calendar, or a refusal that names near ones."""
        found = await self._store.calendars.get(self._namespace, name)
        if found is None:
            raise await self._unknown(name)
        return found

    async def all(self) -> Sequence[CalendarRecord]:
        """All calendars, by name."""
        return await self._store.calendars.all(self._namespace)

    async def users(self, names: Sequence[str], limit: int) -> Mapping[str, Sequence[ScheduleId]]:
        """The schedules that use each of these calendars."""
        return await self._store.calendars.users(self._namespace, names, limit)

    async def remove(self, name: str, expected_revision: int | None = None) -> None:
        """Remove a calendar that no schedule uses, unless it no longer has the expected revision."""
        users = await self._store.calendars.remove(
            self._namespace, name, expected_revision=expected_revision, author=self._author
        )
        if users is None:
            await self.get(name)
            raise self.changed(name)
        if users:
            raise UsageError(f"calendar {name}: is used by {', '.join(users)}; edit or remove them first")

    def changed(self, name: str) -> CalendarChanged:
        """The refusal for a caller that read another revision."""
        return CalendarChanged(f"calendar {name}: was changed meanwhile; look at it and write it again")

    async def _unknown(self, name: str) -> UnknownCalendar:
        names = [one.name for one in await self.all()]
        near = get_close_matches(name, names, n=1)
        hint = f"; did you mean {near[0]}?" if near else "; see: fencepost calendars list"
        return UnknownCalendar(f"calendar {name}: not found{hint}")


def defined(calendar: Calendar) -> JsonObject:
    """The form that a store keeps: the days, without a revision."""
    if calendar.is_reference:
        remedy = "give it a weekend, holidays or a region"
        raise UsageError(f"calendar {calendar.name}: is only a name; {remedy}")
    form = calendar.to_json()
    return {name: value for name, value in form.items() if name != "revision"}
