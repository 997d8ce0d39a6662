"""Trends of duration and lateness, and leaders that need no look."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from fencepost.core.fleet import ShardView
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Epoch, NodeId, Shard
from fencepost.model.tables import RUNS
from fencepost.rules.rows import to_run_record
from fencepost.services.fleet import FleetView
from fencepost.web.dashboard.pages.overview import led_words
from fencepost.web.dashboard.trends import STRETCHES, durations_of, lateness_of
from tests.services.house import House
from tests.web.dashboard.house import Dashboard, somebody, words_of

NOW = StoreTime(datetime(2026, 3, 1, 12, tzinfo=UTC))
DONE = {
    "namespace": "default",
    "run_key": "a#1",
    "job": "a",
    "state": "succeeded",
    "queue": "default",
    "fire_time": NOW,
    "run_at": NOW,
    "priority": 3,
    "payload": "{}",
    "attempt": 1,
    "fence": 1,
}


async def test_the_trend_of_a_schedule_has_its_longest_and_its_latest_run(board: Dashboard) -> None:
    text = words_of(await board.page("/schedules/minutely"))
    assert "Duration over the same time at most" in text
    assert "Lateness over the same time at most" in text
    assert "Recent runs" in text


async def test_recent_runs_are_there_however_old_the_time_that_is_looked_at(board: Dashboard) -> None:
    old = await board.page("/schedules/minutely?span=1h&until=2020-01-01T00:00:00Z")
    assert "No run yet" not in words_of(old)
    assert "Duration over the same time no run" in words_of(old)


async def test_the_overview_has_trends_of_duration_and_lateness(board: Dashboard) -> None:
    text = await board.page("/")
    for words in ("How long runs took, in the last hour", "How late runs began, in the last hour"):
        assert words in text


def test_a_trend_leaves_out_no_run_at_its_edges() -> None:
    first = to_run_record(RUNS.row(DONE))
    step = timedelta(minutes=1)
    runs = [
        replace(
            first,
            fire_time=NOW + step * number,
            run_at=NOW + step * number,
            first_started_at=StoreTime(NOW + step * number + timedelta(seconds=number)),
            started_at=StoreTime(NOW + step * number),
            finished_at=StoreTime(NOW + step * number + timedelta(seconds=number)),
        )
        for number in range(STRETCHES + 1)
    ]
    for made in (durations_of, lateness_of):
        found = made(runs, NOW, runs[-1].fire_time, lambda one: f"{one:%H:%M}")
        assert str(found.chart).count("all within") == STRETCHES
        assert found.worst_s == STRETCHES


def test_leaders_are_folded_only_where_all_is_well() -> None:
    view = FleetView(NOW, [shard(0), shard(1)], [], [], 1.0)
    assert led_words(view) == "All 2 shards are led by one node"
    assert led_words(replace(view, shards=[shard(0), shard(1, holder=None)])) is None
    assert led_words(replace(view, shards=[shard(0, expires_in_s=0.0)])) is None
    assert led_words(replace(view, shards=[shard(0, expires_in_s=None)])) is None
    assert led_words(replace(view, trouble="the leases could not be read")) is None
    assert led_words(replace(view, shards=[])) is None


def shard(number: int, *, holder: str | None = "node", expires_in_s: float | None = 5.0) -> ShardView:
    known = None if holder is None else NodeId(holder)
    return ShardView(Shard(number), known, Epoch(1), expires_in_s, NOW, 1, 0, 5.0, None)


async def test_a_schedule_that_never_ran_has_an_empty_trend() -> None:
    house = House()
    await house.put("fresh", 60)
    text = words_of(await Dashboard(house, somebody()).page("/schedules/fresh"))
    assert "Duration over the same time no run" in text
    assert "No run yet" in text
