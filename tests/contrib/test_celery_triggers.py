"""Celery's schedules as triggers: Celery itself says when each is due."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from celery import Celery
from celery.schedules import BaseSchedule, crontab, schedule
from hypothesis import given
from hypothesis import strategies as st

from fencepost import At, Cron, Every, Solar
from fencepost.clock import SystemClock
from fencepost.contrib.celery.triggers import cron_expression, trigger_of
from fencepost.errors import InvalidTrigger

FIXED = timezone(timedelta(hours=1), "CET")
NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def project(**conf: Any) -> Celery:
    app = Celery("project", set_as_current=False)
    app.conf.update(conf)
    return app


@pytest.mark.parametrize(
    ("said", "expression"),
    [
        ({}, "* * * * *"),
        ({"minute": 0, "hour": "*/3"}, "0 */3 * * *"),
        ({"minute": "*/15", "hour": "0,8-17/2"}, "*/15 0,8-17/2 * * *"),
        ({"minute": [0, 30], "hour": {6, 18}}, "0,30 6,18 * * *"),
        ({"minute": "0", "hour": "22-2"}, "0 0,1,2,22,23 * * *"),
        ({"minute": 5, "hour": 4, "day_of_week": "sunday"}, "5 4 * * 0"),
        ({"minute": 5, "hour": 4, "day_of_week": "mon-fri"}, "5 4 * * mon-fri"),
        ({"minute": 5, "hour": 4, "day_of_week": "fri-mon"}, "5 4 * * 0,1,5,6"),
        ({"minute": 0, "hour": 0, "day_of_month": "1-7", "day_of_week": 1}, "0 0 1-7 * +1"),
        ({"minute": 0, "hour": 0, "day_of_month": "*/2", "month_of_year": "jan,7"}, "0 0 */2 jan,7 *"),
        ({"minute": " 0, 30 ", "hour": "*"}, "0,30 * * * *"),
    ],
)
def test_a_crontab_becomes_an_expression(said: dict[str, Any], expression: str) -> None:
    assert cron_expression(crontab(**said)) == expression
    assert isinstance(trigger_of(crontab(**said), project()), Cron)


def some(low: int, high: int) -> st.SearchStrategy[Any]:
    numbers = st.sets(st.integers(low, high), min_size=1, max_size=4)
    steps = st.integers(1, 9).map(lambda step: f"*/{step}")
    spans = st.tuples(st.integers(low, high), st.integers(low, high)).map(lambda two: f"{two[0]}-{two[1]}")
    return st.one_of(st.just("*"), numbers, steps, spans)


@given(
    minute=some(0, 59),
    hour=some(0, 23),
    day_of_month=st.one_of(st.just("*"), some(1, 28)),
    month_of_year=st.one_of(st.just("*"), some(1, 12)),
    day_of_week=st.one_of(st.just("*"), some(0, 6)),
    last=st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
)
def test_a_crontab_fires_when_celery_says_that_it_is_due(last: datetime, **said: Any) -> None:
    app = project()
    by_celery = crontab(**said, nowfun=lambda: last, app=app).remaining_estimate(last)
    (by_us,) = trigger_of(crontab(**said), app).next(last, 1)
    assert by_us - last == by_celery


def test_the_zone_is_that_of_the_application() -> None:
    said = crontab(minute=30, hour=2)
    assert trigger_of(said, project()) == Cron("30 2 * * *", tz="UTC")
    assert trigger_of(said, project(timezone="Europe/Berlin")) == Cron("30 2 * * *", tz="Europe/Berlin")
    assert trigger_of(said, project(timezone="Asia/Tokyo", enable_utc=False)).tz == "Asia/Tokyo"  # type: ignore[attr-defined]


def test_without_utc_and_a_zone_it_is_that_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    zone = ZoneInfo("America/Lima")
    monkeypatch.setattr("celery.utils.time._Zone.local", zone)
    found = trigger_of(crontab(minute=0), project(enable_utc=False))
    assert found == Cron("0 * * * *", tz="America/Lima")


def test_the_zone_may_be_that_of_nowfun() -> None:
    zone = ZoneInfo("America/Lima")
    said = crontab(minute=30, hour=2, nowfun=lambda: SystemClock().wall().astimezone(zone))
    assert trigger_of(said, project()) == Cron("30 2 * * *", tz="America/Lima")


def test_an_interval_is_the_same_beat_on_every_host() -> None:
    for said in (90, 90.0, timedelta(seconds=90)):
        assert trigger_of(schedule(said), project()) == Every("90s")


def test_a_relative_interval_begins_at_midnight_in_the_zone() -> None:
    app = project(timezone="Europe/Berlin")
    daily = trigger_of(schedule(timedelta(days=1), relative=True), app)
    assert daily.next(NOW, 1) == [datetime(2026, 3, 4, 23, tzinfo=UTC)]
    assert daily.next(datetime(2026, 7, 1, tzinfo=UTC), 1) == [datetime(2026, 7, 1, 22, tzinfo=UTC)]
    hourly = trigger_of(schedule(timedelta(hours=1), relative=True), project(timezone="Asia/Kolkata"))
    assert hourly.next(NOW, 1) == [datetime(2026, 3, 4, 5, 30, tzinfo=UTC)]


class SomeSun:
    """Stands in for `ephem`, which only computes what ours computes too."""

    class Observer:
        pass


@pytest.fixture
def solar(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setitem(__import__("sys").modules, "ephem", SomeSun)
    from celery.schedules import solar

    return solar


def test_the_sun_is_ours(solar: Any) -> None:
    assert trigger_of(solar("dusk_civil", 52.5, 13.4), project()) == Solar("dusk", 52.5, 13.4)
    with pytest.raises(InvalidTrigger, match='"dawn_nautical": expected one of sunrise'):
        trigger_of(solar("dawn_nautical", 52.5, 13.4), project())


class Own(BaseSchedule):
    """Plans by itself."""


class OwnCrontab(crontab):
    """So does this one, perhaps."""


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (schedule(0), "an interval of 0 s: expected more than nothing"),
        (schedule(0.01), "expected at least 100ms"),
        (Own(), "schedule of the class Own: plans by itself; expected a number of seconds"),
        (OwnCrontab(), "schedule of the class OwnCrontab: plans by itself"),
        (At(NOW), "schedule of the class At"),
        (crontab(nowfun=lambda: 3), "nowfun: gives 3; expected a datetime"),
        (crontab(nowfun=lambda: NOW.replace(tzinfo=None)), "nowfun: gives a time without a zone"),
        (crontab(nowfun=lambda: NOW), "nowfun: gives another time than the clock"),
        (crontab(nowfun=lambda: SystemClock().wall().astimezone(FIXED)), "let nowfun use a zone of zoneinfo"),
    ],
)
def test_what_cannot_be_planned_ahead_is_refused(said: Any, words: str) -> None:
    with pytest.raises(InvalidTrigger, match=words):
        trigger_of(said, project())
