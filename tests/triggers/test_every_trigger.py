"""Intervals keep their beat, whoever asks and whenever."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import InvalidDuration, InvalidTrigger
from fencepost.model.durations import Duration
from fencepost.triggers import Every

NOW = datetime(2026, 1, 1, 12, 34, 56, 789, tzinfo=UTC)
MICROSECOND = timedelta.resolution

moments = st.integers(-(10**15), 10**15).map(lambda n: NOW + n * MICROSECOND)

CASES: list[tuple[Duration, str | None, str]] = [
    ("1h", None, "2026-01-01T13:00:00"),
    ("15m", None, "2026-01-01T12:45:00"),
    ("1d", None, "2026-01-02T00:00:00"),
    (90, None, "2026-01-01T12:36:00"),
    (timedelta(minutes=7), None, "2026-01-01T12:36:00"),
    ("1h", "2026-01-01T00:20:00Z", "2026-01-01T13:20:00"),
    ("1h", "2030-06-01T00:20:00Z", "2026-01-01T13:20:00"),
    ("1h", "2026-01-01T00:20:00+05:30", "2026-01-01T12:50:00"),
]


@pytest.mark.parametrize(("interval", "anchor", "expected"), CASES)
def test_fires_on_the_beat_of_its_anchor(interval: Duration, anchor: str | None, expected: str) -> None:
    found = Every(interval, anchor).next_after(NOW)
    assert found == datetime.fromisoformat(expected).replace(tzinfo=UTC)


def test_a_tick_is_not_its_own_successor() -> None:
    every = Every("100ms")
    first = every.next_after(NOW)
    assert first is not None
    assert every.next_after(first) == first + timedelta(milliseconds=100)
    assert every.next_after(first - MICROSECOND) == first


@given(
    interval_us=st.integers(100_000, 10**12),
    anchor=moments,
    after=moments,
)
def test_never_drifts(interval_us: int, anchor: datetime, after: datetime) -> None:
    interval = timedelta(microseconds=interval_us)
    every = Every(interval, anchor)
    found = every.next(after, 5)

    assert after < found[0] <= after + interval
    assert all(later - earlier == interval for earlier, later in pairwise(found))
    assert not (found[-1] - every.anchor) % interval
    assert list(every.fire_times(after, found[-1])) == found


@pytest.mark.parametrize(
    ("interval", "anchor", "spacing_min_s"),
    [
        ("250ms", "2026-01-01T00:00:00Z", 0.25),
        ("1h30m", "2026-01-01T00:00:00Z", 5_400.0),
        ("1 day", "2026-10-25T02:30:00", 1.0),
    ],
)
def test_no_two_fire_times_are_nearer_than_it_says(interval: str, anchor: str, spacing_min_s: float) -> None:
    """So whoever bounds how often a schedule fires need not look at its fire times."""
    every = Every(interval, anchor=anchor, tz="Europe/Berlin")
    fire_times = every.next(datetime(2026, 10, 23, tzinfo=UTC), 20)
    assert every.spacing_min_s == spacing_min_s
    assert min((later - earlier).total_seconds() for earlier, later in pairwise(fire_times)) >= spacing_min_s


def test_the_end_of_the_calendar_ends_the_series() -> None:
    last = datetime.max.replace(tzinfo=UTC)
    assert Every("1h").next_after(last) is None
    assert len(list(Every("1h").fire_times(last - timedelta(hours=3), last))) == 3


def test_equal_by_value() -> None:
    assert Every("90m") == Every(5400) == Every("1h30m", anchor="1970-01-01T00:00:00Z")
    assert Every("90m") != Every("90m", anchor="1970-01-01T00:00:01Z")


@pytest.mark.parametrize("interval", [0, "99ms", timedelta(0), 0.05])
def test_too_short_an_interval_is_refused(interval: Duration) -> None:
    with pytest.raises(InvalidTrigger, match=r"^every \w+: expected at least 100ms$"):
        Every(interval)


@pytest.mark.parametrize("interval", ["-1h", -5, "1fortnight", timedelta(days=-1)])
def test_what_is_no_length_of_time_is_refused(interval: Duration) -> None:
    with pytest.raises(InvalidDuration):
        Every(interval)
