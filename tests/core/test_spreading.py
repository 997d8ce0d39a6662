"""Load shaping never moves a fire time and never reaches the next one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.core.spreading import due_at
from fencepost.errors import InvalidDuration
from fencepost.model.stretch import Stretch, parse_stretch

NOW = datetime(2026, 3, 28, tzinfo=UTC)
TEN_MINUTES = parse_stretch("10m")
HALF = parse_stretch("50%")
SPREAD_OF_INVOICES_US = 341_898_995
JITTER_OF_INVOICES_US = 456_040_936

stretches = st.one_of(
    st.none(),
    st.timedeltas(timedelta(0), timedelta(days=400)).map(lambda length: Stretch(length=length)),
    st.integers(1, 100).map(lambda percent: Stretch(percent=percent)),
)


def offset(name: str, spread: Stretch | None, jitter: Stretch | None = None, tick: int = 0) -> timedelta:
    fire_time = NOW + timedelta(hours=tick)
    return due_at(name, fire_time, fire_time + timedelta(hours=1), spread, jitter) - fire_time


@given(
    spread=stretches,
    jitter=stretches,
    period_us=st.integers(1, 10**13),
    name=st.text(min_size=1, max_size=20),
)
def test_a_run_is_due_from_its_fire_time_on_and_before_the_next(
    spread: Stretch | None, jitter: Stretch | None, period_us: int, name: str
) -> None:
    upcoming = NOW + timedelta(microseconds=period_us)
    assert NOW <= due_at(name, NOW, upcoming, spread, jitter) < upcoming


def test_a_spread_is_the_same_at_every_tick_and_another_for_every_schedule() -> None:
    assert {offset("invoices", TEN_MINUTES, tick=tick) for tick in range(24)} == {
        offset("invoices", TEN_MINUTES)
    }
    assert len({offset(f"schedule-{number}", TEN_MINUTES) for number in range(100)}) == 100


def test_a_spread_does_not_change_with_the_release() -> None:
    assert offset("invoices", TEN_MINUTES) == timedelta(microseconds=SPREAD_OF_INVOICES_US)
    assert offset("invoices", None, TEN_MINUTES) == timedelta(microseconds=JITTER_OF_INVOICES_US)


def test_a_jitter_differs_from_tick_to_tick_and_is_the_same_for_every_caller() -> None:
    ticks = [offset("invoices", None, TEN_MINUTES, tick) for tick in range(100)]
    assert len(set(ticks)) == 100
    assert ticks == [offset("invoices", None, TEN_MINUTES, tick) for tick in range(100)]


def test_schedules_are_spread_evenly() -> None:
    parts = [offset(f"schedule-{number}", TEN_MINUTES) // timedelta(minutes=1) for number in range(10_000)]
    assert min(parts) == 0
    assert max(parts) == 9
    assert all(800 <= parts.count(minute) <= 1200 for minute in range(10))


def test_a_share_follows_the_period() -> None:
    assert all(offset(f"schedule-{number}", HALF) < timedelta(minutes=30) for number in range(100))
    assert max(offset(f"schedule-{number}", HALF) for number in range(100)) > timedelta(minutes=25)


def test_the_last_tick_has_no_period_to_take_a_share_of() -> None:
    assert due_at("invoices", NOW, None, HALF, HALF) == NOW
    assert NOW < due_at("invoices", NOW, None, TEN_MINUTES, None) < NOW + timedelta(minutes=10)


@pytest.mark.parametrize("value", ["0%", "101%", "50 %", "-5m", "%", "1e2%", "٥٠%"])
def test_a_stretch_that_is_none_is_refused(value: str) -> None:
    with pytest.raises(InvalidDuration):
        parse_stretch(value)


@pytest.mark.parametrize(("value", "text"), [("90s", "1m30s"), ("50%", "50%"), (600, "10m")])
def test_a_stretch_reads_back_from_its_text(value: str | int, text: str) -> None:
    assert str(parse_stretch(value)) == text
    assert parse_stretch(text) == parse_stretch(value)
