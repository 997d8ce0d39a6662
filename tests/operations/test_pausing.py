"""Schedules stopped and let go on, one or many, and single ticks of them."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost.model.schedule import ScheduleState
from fencepost.operations.control import Control
from fencepost.operations.pausing import (
    ChangeSchedulesRequest,
    ResumeScheduleRequest,
    ResumeSchedulesRequest,
    pause_schedule,
    pause_schedules,
    resume_schedule,
    resume_schedules,
)
from fencepost.operations.schedules import (
    AddScheduleRequest,
    ChangeScheduleRequest,
    ScheduleChoice,
    add_schedule,
)
from fencepost.operations.ticks import ChangeTickRequest, hold_tick, release_tick, skip_tick
from tests.operations.asking import asked, refused
from tests.services.house import House
from tests.services.verbs_work import open_control

FIRE_TIME = "2026-12-24T18:00:00Z"


@pytest.fixture
async def control() -> Control:
    return await open_control(House(), labels={"team": "billing"})


async def add(control: Control, schedule_id: str, **words: Any) -> None:
    question = AddScheduleRequest(schedule_id=schedule_id, job="report", every="1h", **words)
    await asked(control, add_schedule, question)


async def test_a_schedule_pauses_and_resumes_once(control: Control) -> None:
    await add(control, "nightly", catch_up="latest")
    one = ChangeScheduleRequest(schedule_id="nightly")
    assert (await asked(control, pause_schedule, one)).state == "paused"
    assert "is not active" in await refused(control, pause_schedule, one)
    resumed = await asked(
        control, resume_schedule, ResumeScheduleRequest(schedule_id="nightly", catch_up=False)
    )
    assert (resumed.state, resumed.caught_up) == ("active", None)
    assert "is not paused" in await refused(
        control, resume_schedule, ResumeScheduleRequest(schedule_id="nightly")
    )


async def test_many_are_paused_and_resumed_and_each_is_told_of(control: Control) -> None:
    for name in ("a", "b"):
        await add(control, name, labels={"team": "ops"})
    by_id = ChangeSchedulesRequest(schedule_ids=["a", "nobody", "a"])
    told = await asked(control, pause_schedules, by_id)
    assert [(one.schedule_id, one.done) for one in told.items] == [("a", True), ("nobody", False)]
    assert "not found" in (told.items[1].trouble or "")
    by_label = ScheduleChoice(label="team=ops")
    told = await asked(control, pause_schedules, ChangeSchedulesRequest(filter=by_label))
    assert ([one.schedule_id for one in told.items], told.more) == (["b"], False)
    told = await asked(control, resume_schedules, ResumeSchedulesRequest(filter=by_label))
    assert [(one.schedule_id, one.done) for one in told.items] == [("a", True), ("b", True)]
    assert (await control.schedule("invoices")).state is ScheduleState.ACTIVE


async def test_a_filter_that_finds_more_than_are_changed_at_a_time_says_so(
    control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fencepost.operations.pausing.MANY_MAX", 2)
    for name in ("a", "b"):
        await add(control, name)
    question = ChangeSchedulesRequest(filter=ScheduleChoice())
    told = await asked(control, pause_schedules, question)
    assert ([one.schedule_id for one in told.items], told.more) == (["a", "b"], True)
    told = await asked(control, pause_schedules, question)
    assert ([one.schedule_id for one in told.items], told.more) == (["invoices"], False)


@pytest.mark.parametrize(
    "question",
    [ChangeSchedulesRequest(), ChangeSchedulesRequest(schedule_ids=["invoices"], filter=ScheduleChoice())],
)
async def test_many_are_chosen_in_exactly_one_way(control: Control, question: ChangeSchedulesRequest) -> None:
    assert await refused(control, pause_schedules, question) == "give either schedule_ids or filter"
    assert (await control.schedule("invoices")).state is ScheduleState.ACTIVE


async def test_a_tick_is_held_released_and_skipped_by_its_fire_time(control: Control) -> None:
    await asked(
        control,
        add_schedule,
        AddScheduleRequest(schedule_id="eve", job="report", at=["2026-12-24T18:00", "2027-01-01"]),
    )
    tick = ChangeTickRequest(schedule_id="eve", fire_time=FIRE_TIME)
    assert (await asked(control, hold_tick, tick)).held == ["operator"]
    assert (await asked(control, release_tick, tick)).held == []
    assert (await asked(control, skip_tick, tick)).state == "skipped"
    wrong = ChangeTickRequest(schedule_id="eve", fire_time="tomorrow")
    assert "fire_time: " in await refused(control, skip_tick, wrong)
