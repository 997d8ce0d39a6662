"""Where too many searches for fire times wait already, whoever asks is told so and comes again: no page calls
it a bug, and what says that nothing was done has done nothing."""

from __future__ import annotations

import asyncio
import logging

import pytest

from fencepost.model.identifiers import ScheduleId
from tests.services.house import NS
from tests.web.dashboard.furnished import furnished
from tests.web.dashboard.house import Dashboard, somebody, words_of
from tests.web.dashboard.test_posted import EDIT, EDITED, FRESH, NEW
from tests.web.few import FULL, Few

FRESH_ID = ScheduleId(FRESH["schedule_id"])
WHY = "/schedules/minutely/why?at=2026-03-01T12:02:00Z"
READERS = 100


async def board_with(thoughts: int) -> Dashboard:
    few = Few(thoughts)
    return Dashboard(await furnished(), somebody(), few, few)


@pytest.mark.parametrize("path", ["/schedules", "/schedules/minutely", WHY])
async def test_a_page_that_nobody_has_time_to_search_for_is_asked_for_later(
    path: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await (await board_with(0)).get(path)
    text = words_of(answer.content.decode())
    assert (answer.status, answer.headers["retry-after"]) == (503, "2")
    assert f"Too{FULL[3:]}" in text
    assert "bug" not in text
    assert [one for one in caplog.records if one.levelno >= logging.ERROR] == []


@pytest.mark.parametrize(("path", "fields"), [(NEW, FRESH), (EDIT, EDITED)])
async def test_nor_is_a_preview_a_bug(path: str, fields: dict[str, str]) -> None:
    answer = await (await board_with(0)).send(path, **fields)
    assert (answer.status, answer.headers["retry-after"]) == (503, "2")


@pytest.mark.parametrize("path", ["/schedules", "/schedules/minutely"])
async def test_readers_are_not_turned_away_by_who_searches_nor_by_their_number(path: str) -> None:
    """All tabs that hear of a change ask at once."""
    board = Dashboard(await furnished(), somebody(), offload=Few(0))
    answers = await asyncio.gather(*(board.get(path) for _ in range(READERS)))
    assert {one.status for one in answers} == {200}


async def test_a_list_of_schedules_is_one_thought() -> None:
    await (await board_with(1)).page("/schedules")


async def test_a_change_that_was_turned_away_is_not_done() -> None:
    board = await board_with(0)
    answer = await board.do("schedules.add", schedule_id="fresh", job="report", every="5m", back="/dead")
    assert f"Not done. {FULL}" in words_of(await board.after(answer))
    assert await board.house.memory.schedules.get(NS, FRESH_ID) is None


async def test_a_change_that_is_written_is_not_said_to_be_undone() -> None:
    """Looking for what may surprise comes after the writing."""
    board = await board_with(1)
    answer = await board.do("schedules.add", schedule_id="fresh", job="report", every="5m", back="/dead")
    said = words_of(await board.after(answer))
    assert "Not done" not in said
    assert "fresh: it plans from now on" in said
    assert await board.house.memory.schedules.get(NS, FRESH_ID) is not None
