"""What is shown of a schedule."""

from __future__ import annotations

from dataclasses import fields, replace

from fencepost.manifest.entries import SAID
from fencepost.model.codec import schedule_to_json
from fencepost.model.identifiers import JobName
from fencepost.model.schedule import Absent, ScheduleSpec
from fencepost.model.stretch import parse_stretch
from fencepost.operations import schedules as schedule_operations
from fencepost.operations.applying import ScheduleEntry
from fencepost.operations.responses.schedules import ScheduleResponse, SpecResponse, spec_behind
from fencepost.operations.schedules import (
    ListSchedulesRequest,
    ListVersionsRequest,
    ScheduleRequest,
    list_schedules,
    list_versions,
    show_schedule,
)
from fencepost.triggers import Every
from tests.operations.asking import asked
from tests.services.house import House
from tests.services.verbs_work import open_control

EVERYTHING = ScheduleSpec(
    JobName("report"),
    Every(60).to_json(),
    spread=parse_stretch("5m"),
    jitter=parse_stretch("2s"),
    calendars={"days": {}},
    absent=Absent.PAUSE,
)
"""All that is written only where it says something."""


async def test_nothing_that_a_spec_says_is_unknown_to_who_reads_it() -> None:
    said = schedule_to_json(EVERYTHING).keys() - {"v"}
    assert said == {one.name for one in fields(ScheduleSpec)}
    assert said == set(SpecResponse.__struct_fields__)
    assert said <= set(ScheduleResponse.__struct_fields__)


async def test_a_schedule_of_code_that_says_what_becomes_of_it_can_be_shown() -> None:
    control = await open_control(House())
    spec = replace(EVERYTHING, calendars={})
    await schedule_operations.add(control, "fading", spec)
    shown = await asked(control, show_schedule, ScheduleRequest(schedule_id="fading"))
    assert (shown.absent, spec_behind(shown)) == ("pause", spec)
    (version,) = (await asked(control, list_versions, ListVersionsRequest(schedule_id="fading"))).items
    assert version.spec.absent == "pause"
    listed = await asked(control, list_schedules, ListSchedulesRequest())
    assert "fading" in [one.schedule_id for one in listed.items]


def test_all_that_a_list_shows_of_a_schedule_can_be_applied_or_is_left_out() -> None:
    assert set(ScheduleEntry.__struct_fields__) >= SAID
