"""The verbs of calendars: which days are business days."""

from __future__ import annotations

import asyncio
from difflib import get_close_matches
from typing import Annotated

from msgspec import Meta

from fencepost.errors import CalendarChanged, UnknownCalendar, UsageError
from fencepost.model.access import Role
from fencepost.model.audit import Action
from fencepost.model.calendar import CalendarRecord
from fencepost.operations.control import Control
from fencepost.operations.operation import ChangeRequest, Request, operation
from fencepost.operations.paging import LIMIT_DEFAULT, Cursor, Limit, sliced
from fencepost.operations.responses.calendars import (
    CalendarChange,
    CalendarPage,
    CalendarResponse,
    RemovedCalendar,
    Rewritten,
    calendar_response,
    change_of_calendar,
)
from fencepost.operations.specs import WordVoice
from fencepost.operations.words import INTEGER_MAX, Name
from fencepost.services.calendars import defined
from fencepost.triggers import Calendar
from fencepost.triggers.business.calendar import DATES_MAX
from fencepost.triggers.business.wording import CalendarWords, build_calendar
from fencepost.triggers.wording import Voice

USERS_MAX = 10_000
NONE = "none"

CalendarName = Annotated[Name, Meta(description="The calendar's name.", examples=["de"])]
DateText = Annotated[str, Meta(min_length=1, max_length=64, examples=["2026-12-25"])]
WeekdayText = Annotated[str, Meta(min_length=1, max_length=16, examples=["SAT"])]
Dates = Annotated[list[DateText], Meta(max_length=DATES_MAX)]
Revision = Annotated[int, Meta(ge=1, le=INTEGER_MAX)]


class ListCalendarsRequest(Request, frozen=True, kw_only=True):
    """Which calendars to list."""

    limit: Limit = LIMIT_DEFAULT
    after: Cursor | None = None


class CalendarRequest(Request, frozen=True, kw_only=True):
    """One calendar, by its name."""

    name: CalendarName


class SetCalendarRequest(ChangeRequest, frozen=True, kw_only=True):
    """All of a calendar's days; single holidays and workdays win over the region."""

    name: CalendarName
    weekend: Annotated[
        Annotated[str, Meta(max_length=64)] | Annotated[list[WeekdayText], Meta(max_length=7)] | None,
        Meta(description="Days without work, SAT,SUN unless given; or none.", examples=["SAT,SUN"]),
    ] = None
    holidays: Annotated[Dates | None, Meta(description="A day without work.")] = None
    workdays: Annotated[Dates | None, Meta(description="A day that is worked all the same.")] = None
    region: (
        Annotated[
            str,
            Meta(
                max_length=64,
                description="The holidays of a country, a part or a market, such as DE-BY or XNYS.",
                examples=["DE-BY", "XNYS"],
            ),
        ]
        | None
    ) = None
    years: (
        Annotated[
            str,
            Meta(
                max_length=16,
                description="For which years to look the region up, such as 2026-2030.",
                examples=["2026-2030"],
            ),
        ]
        | None
    ) = None
    expected_version: Revision | None = None
    dry_run: Annotated[bool, Meta(description="Say what would change, and write nothing.")] = False


class RemoveCalendarRequest(ChangeRequest, frozen=True, kw_only=True):
    """One calendar, by its name."""

    name: CalendarName
    expected_version: Revision | None = None


@operation("calendars.list", "GET /calendars", Role.VIEWER)
async def list_calendars(control: Control, request: ListCalendarsRequest) -> CalendarPage:
    """List calendars by name: their revision, their days, and which schedules use them."""
    found = await control.store.calendars.all(control.namespace)
    page, after = sliced(found, lambda one: (one.name,), tuple[str], request.limit, request.after)
    users = await control.store.calendars.users(control.namespace, [one.name for one in page], USERS_MAX)
    return CalendarPage(items=[calendar_response(one, users[one.name]) for one in page], next=after)


@operation("calendars.show", "GET /calendars/{name}", Role.VIEWER, versioned="revision")
async def show_calendar(control: Control, request: CalendarRequest) -> CalendarResponse:
    """Show one calendar: its weekend, its days, and the schedules that use it."""
    record = await get(control, request.name)
    users = await control.store.calendars.users(control.namespace, [request.name], USERS_MAX)
    return calendar_response(record, users[request.name])


@operation(
    "calendars.set",
    "PUT /calendars/{name}",
    Role.OPERATOR,
    versioned="revision",
    example={"holidays": ["2026-12-25"], "dry_run": True},
)
async def set_calendar(control: Control, request: SetCalendarRequest) -> CalendarChange:
    """Write a calendar: all of its days, in place of those that it has.

    The schedules that use it are planned anew, as far as they have not fired. A dry run says what would be
    different. With `If-Match: *` it is written whatever is there, also where nothing is."""
    calendar = await asyncio.to_thread(calendar_of, request)
    before = await control.store.calendars.get(control.namespace, calendar.name)
    if request.dry_run and request.expected_version not in (None, before.revision if before else 0):
        raise changed(calendar.name)
    after = None if request.dry_run else await _written(control, calendar, request.expected_version)
    users = await control.store.calendars.users(control.namespace, [calendar.name], USERS_MAX)
    return change_of_calendar(Rewritten(calendar, before, after, users[calendar.name]))


@operation("calendars.remove", "DELETE /calendars/{name}", Role.OPERATOR)
async def remove_calendar(control: Control, request: RemoveCalendarRequest) -> RemovedCalendar:
    """Take a calendar away that no schedule uses."""
    try:
        await remove(control, request.name, request.expected_version)
    except (UnknownCalendar, CalendarChanged):
        if not await control.done_before(Action.CALENDAR_REMOVE, request.name):
            raise
    return RemovedCalendar(name=request.name, removed=True)


def calendar_of(request: SetCalendarRequest, voice: Voice | None = None) -> Calendar:
    """The calendar that the words mean."""
    words = CalendarWords(
        weekend="" if request.weekend == NONE else request.weekend,
        holidays=request.holidays,
        workdays=request.workdays,
        region=request.region,
        years=request.years,
    )
    return build_calendar(request.name, words, voice or WordVoice())


async def _written(control: Control, calendar: Calendar, expected: int | None) -> CalendarRecord:
    """The calendar as it was written, also where this call wrote it so before and its answer was lost."""
    try:
        return await write(control, calendar, expected)
    except CalendarChanged:
        if not await control.done_before(Action.CALENDAR_PUT, calendar.name):
            raise
        standing = await get(control, calendar.name)
        if standing.definition != defined(calendar):
            raise
        return standing


async def write(control: Control, calendar: Calendar, expected_revision: int | None = None) -> CalendarRecord:
    """Write a calendar, unless it is not the expected one any more. The schedules that use it are planned
    anew, as far as they have not fired."""
    written = await control.store.calendars.put(
        control.namespace,
        calendar.name,
        defined(calendar),
        expected_revision=expected_revision,
        author=control.author,
    )
    if written is None:
        raise changed(calendar.name)
    return written


async def get(control: Control, name: str) -> CalendarRecord:
    """One calendar, or a refusal that names near ones."""
    found = await control.store.calendars.get(control.namespace, name)
    if found is None:
        raise await _unknown(control, name)
    return found


async def remove(control: Control, name: str, expected_revision: int | None = None) -> None:
    """Take a calendar away that no schedule uses, unless it is not the expected one any more."""
    users = await control.store.calendars.remove(
        control.namespace, name, expected_revision=expected_revision, author=control.author
    )
    if users is None:
        await get(control, name)
        raise changed(name)
    if users:
        raise UsageError(f"calendar {name}: is used by {', '.join(users)}; edit or remove them first")


def changed(name: str) -> CalendarChanged:
    """The refusal of a caller that read another revision."""
    return CalendarChanged(f"calendar {name}: was changed meanwhile; look at it and write it again")


async def _unknown(control: Control, name: str) -> UnknownCalendar:
    names = [one.name for one in await control.store.calendars.all(control.namespace)]
    near = get_close_matches(name, names, n=1)
    hint = f"; did you mean {near[0]}?" if near else "; see: fencepost calendars list"
    return UnknownCalendar(f"calendar {name}: not found{hint}")
