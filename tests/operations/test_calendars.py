"""Calendars, listed, written and removed."""

from __future__ import annotations

import pytest
from msgspec import UNSET

from fencepost.errors import CalendarChanged, UnknownCalendar
from fencepost.model.identifiers import Namespace
from fencepost.operations import calendars as calendar_operations
from fencepost.operations import schedules as schedule_operations
from fencepost.operations.calendars import (
    CalendarRequest,
    ListCalendarsRequest,
    RemoveCalendarRequest,
    SetCalendarRequest,
    list_calendars,
    remove_calendar,
    set_calendar,
    show_calendar,
)
from fencepost.operations.control import Control
from fencepost.operations.schedules import AddScheduleRequest, add_schedule
from tests.operations.asking import asked, refused
from tests.services.house import House
from tests.services.verbs_work import ANNA, open_control

DE = SetCalendarRequest(name="de", holidays=["2026-12-25", "2026-12-26"], workdays=["2026-12-27"])


@pytest.fixture
async def control() -> Control:
    return await open_control(House())


async def test_a_calendar_is_written_and_says_what_is_different(control: Control) -> None:
    first = await asked(control, set_calendar, DE)
    assert (first.revision, first.written, first.changed, first.known_through) == (1, True, True, 2026)
    assert (first.added.holidays, first.weekend_before) == (DE.holidays, UNSET)
    again = await asked(control, set_calendar, DE)
    assert (again.revision, again.changed, again.added.holidays) == (1, False, [])
    other = SetCalendarRequest(name="de", weekend="none", holidays=["2026-12-25"])
    changed = await asked(control, set_calendar, other)
    assert (changed.revision, changed.removed.holidays, changed.removed.workdays) == (
        2,
        ["2026-12-26"],
        ["2026-12-27"],
    )
    assert (changed.weekend, changed.weekend_before) == ([], ["SAT", "SUN"])


async def test_a_dry_run_writes_nothing(control: Control) -> None:
    told = await asked(control, set_calendar, SetCalendarRequest(name="de", weekend=["SUN"], dry_run=True))
    assert (told.revision, told.written, told.changed, told.weekend) == (1, False, True, ["SUN"])
    with pytest.raises(UnknownCalendar):
        await calendar_operations.get(control, "de")


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize("expected", [1, 3])
async def test_a_calendar_that_was_changed_meanwhile_is_not_overwritten(
    control: Control, expected: int, dry_run: bool
) -> None:
    await asked(control, set_calendar, DE)
    await asked(control, set_calendar, SetCalendarRequest(name="de", weekend="SUN", expected_version=1))
    stale = SetCalendarRequest(name="de", weekend="MON", expected_version=expected, dry_run=dry_run)
    with pytest.raises(CalendarChanged, match="calendar de: was changed meanwhile; look at it"):
        await asked(control, set_calendar, stale)
    with pytest.raises(CalendarChanged):
        await asked(control, remove_calendar, RemoveCalendarRequest(name="de", expected_version=expected))
    assert (await asked(control, show_calendar, CalendarRequest(name="de"))).weekend == ["SUN"]
    removed = await asked(control, remove_calendar, RemoveCalendarRequest(name="de", expected_version=2))
    assert removed.removed


async def test_a_calendar_that_is_gone_is_not_changed_but_unknown(control: Control) -> None:
    gone = RemoveCalendarRequest(name="de", expected_version=1)
    with pytest.raises(UnknownCalendar):
        await asked(control, remove_calendar, gone)
    with pytest.raises(CalendarChanged):
        await asked(control, set_calendar, SetCalendarRequest(name="de", weekend="MON", expected_version=1))


async def test_a_calendar_names_the_schedules_that_use_it_and_is_kept_for_them(control: Control) -> None:
    await asked(control, set_calendar, DE)
    closing = AddScheduleRequest(
        schedule_id="closing", job="report", business_day=-1, time="18:00", calendar="de"
    )
    await asked(control, add_schedule, closing)
    shown = await asked(control, show_calendar, CalendarRequest(name="de"))
    assert (shown.schedules, shown.holidays, shown.trouble) == (["closing"], DE.holidays, UNSET)
    assert "is used by closing" in await refused(control, remove_calendar, RemoveCalendarRequest(name="de"))
    await schedule_operations.remove(control, "closing")
    assert (await asked(control, remove_calendar, RemoveCalendarRequest(name="de"))).removed
    assert "not found" in await refused(control, show_calendar, CalendarRequest(name="de"))


async def test_what_a_newer_release_wrote_is_listed_with_its_trouble(control: Control) -> None:
    await control.store.calendars.put(control.namespace, "new", {"name": "new", "moons": 2})
    (found,) = (await asked(control, list_calendars, ListCalendarsRequest())).items
    assert (found.name, found.holidays) == ("new", UNSET)
    assert found.trouble


async def test_calendars_come_in_pages(control: Control) -> None:
    for name in ("c", "a", "b"):
        await asked(control, set_calendar, SetCalendarRequest(name=name, weekend="SUN"))
    first = await asked(control, list_calendars, ListCalendarsRequest(limit=2))
    assert [one.name for one in first.items] == ["a", "b"]
    last = await asked(control, list_calendars, ListCalendarsRequest(limit=2, after=first.next))
    assert ([one.name for one in last.items], last.next) == (["c"], None)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (
            SetCalendarRequest(name="de"),
            "has no days; give at least one of weekend, holidays, workdays, region",
        ),
        (SetCalendarRequest(name="de", years="2026"), "years: has no meaning without region"),
        (SetCalendarRequest(name="de", region="DE"), "region: needs the years to look up; add years"),
        (SetCalendarRequest(name="de", region="DE", years="soon"), "years: "),
        (SetCalendarRequest(name="de", holidays=["2026-13-01"]), "2026-13-01"),
    ],
)
async def test_a_refusal_names_the_word(control: Control, question: SetCalendarRequest, said: str) -> None:
    assert said in await refused(control, set_calendar, question)
    assert (await asked(control, list_calendars, ListCalendarsRequest())).items == []


async def test_another_namespaces_calendar_is_not_there(control: Control) -> None:
    await asked(control, set_calendar, DE)
    other = Control(control.store, Namespace("billing"), ANNA)
    assert (await asked(other, list_calendars, ListCalendarsRequest())).items == []
    assert "not found" in await refused(other, show_calendar, CalendarRequest(name="de"))
    assert "not found" in await refused(other, remove_calendar, RemoveCalendarRequest(name="de"))
