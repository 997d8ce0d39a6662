"""The forecast is made beside the pages, kept for a while, and nobody waits for it."""

import asyncio
import threading
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from fencepost.core.forecast import Forecast
from fencepost.errors import StoreUnavailable
from fencepost.model.identifiers import JobName, Namespace
from fencepost.model.schedule import Schedule, ScheduleSpec
from fencepost.model.stretch import parse_stretch
from fencepost.triggers import Cron
from fencepost.web.dashboard import forecasts
from fencepost.web.dashboard.forecasts import KEPT, Forecasts, alike, compute
from tests.services.house import NS, House
from tests.web.dashboard.house import Dashboard, somebody, words_of
from tests.web.dashboard.reading import faults


async def herd(house: House, count: int = 60) -> None:
    for number in range(count):
        spread = parse_stretch("10m") if number >= 55 else None
        spec = ScheduleSpec(JobName("report"), Cron("0 2 * * *").to_json(), spread=spread)
        await house.put_spec(f"nightly-{number:02}", spec)


class Held:
    """A computation that waits until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.let_go = threading.Event()
        self.times = 0
        monkeypatch.setattr(forecasts, "compute", self._compute)

    def _compute(self, schedules: Sequence[Schedule], namespace: Namespace, now: datetime) -> Forecast:
        self.times += 1
        assert self.let_go.wait(30)
        return compute(schedules, namespace, now)


async def until_there(board: Dashboard) -> str:
    for _ in range(500):
        text = await board.page("/forecast")
        if "is being computed" not in text:
            return text
        await asyncio.sleep(0.02)
    raise AssertionError("no forecast")


async def test_a_herd_is_named_with_what_would_scatter_it() -> None:
    house = House()
    await herd(house)
    text = await until_there(Dashboard(house, somebody()))
    words = words_of(text)
    assert "nightly-00" in words
    assert 'spread = "1m"' in text
    assert "without spread 60" in words
    assert faults(text) == []


async def test_while_it_is_being_computed_the_page_says_so_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    held, house = Held(monkeypatch), House()
    await herd(house)
    board = Dashboard(house, somebody())
    try:
        for _ in range(3):
            text = await board.page("/forecast")
            assert "is being computed" in words_of(text)
            assert "data-refresh" in text
        assert held.times == 1
    finally:
        held.let_go.set()
    assert "nightly-00" in await until_there(board)


async def test_what_is_known_is_shown_while_it_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    house, kept = House(), Forecasts()
    await herd(house)
    now = await house.memory.now()
    first = None
    while first is None:
        first = await kept.of(house.store, NS, now)
    held = Held(monkeypatch)
    try:
        later = now + KEPT + timedelta(minutes=1)
        assert await kept.of(house.store, NS, later) is first
    finally:
        held.let_go.set()
    again: Any = first
    while again is first:
        again = await kept.of(house.store, NS, later)
        await asyncio.sleep(0)
    assert again.start > first.start


async def test_it_is_not_made_anew_within_some_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    house, kept = House(), Forecasts()
    now = await house.memory.now()
    await until_known(kept, house, now)
    house.store.calls.clear()
    assert await kept.of(house.store, NS, now + KEPT - timedelta(minutes=1)) is not None
    for _ in range(5):
        await asyncio.sleep(0)
    assert house.store.calls == []


async def until_known(kept: Forecasts, house: House, now: datetime) -> None:
    while await kept.of(house.store, NS, now) is None:
        pass


async def test_a_store_that_is_away_is_told_and_asked_again() -> None:
    house, kept = House(), Forecasts()
    now = await house.memory.now()
    house.store.fail_before("schedules.page")
    with pytest.raises(StoreUnavailable):
        await until_known(kept, house, now)
    await until_known(kept, house, now)


async def test_another_namespace_has_a_forecast_of_its_own() -> None:
    house = House()
    await herd(house)
    board = Dashboard(house, somebody())
    await until_there(board)
    board.principal = somebody(namespace="other")
    assert "No schedule is active" in words_of(await until_there(board))


async def test_schedules_that_say_the_same_share_one_trigger() -> None:
    house = House()
    await herd(house, 10)
    await house.put_spec("hashed-1", ScheduleSpec(JobName("report"), Cron("H * * * *").to_json()))
    await house.put_spec("hashed-2", ScheduleSpec(JobName("report"), Cron("H * * * *").to_json()))
    found = await house.memory.schedules.page(NS, None, 100)
    groups, unread = alike(found)
    assert sorted(len(one.schedules) for one in groups) == [1, 1, 10]
    assert unread == 0
