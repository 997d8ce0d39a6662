"""Lists of times: sorted, each once, read in the zone they were written for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from fencepost.errors import InvalidTrigger
from fencepost.triggers import At

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)

READ = [
    ("2026-12-24T18:00:00", "Europe/Berlin", "2026-12-24T17:00:00Z"),
    ("2026-12-24T18:00:00Z", "Europe/Berlin", "2026-12-24T18:00:00Z"),
    ("2026-12-24T18:00:00-05:00", "UTC", "2026-12-24T23:00:00Z"),
    ("2026-12-24", "Asia/Tokyo", "2026-12-23T15:00:00Z"),
    ("2026-03-29T02:30:00", "Europe/Berlin", "2026-03-29T01:00:00Z"),
    ("2026-10-25T02:30:00", "Europe/Berlin", "2026-10-25T00:30:00Z"),
    ("2011-12-30T12:00:00", "Pacific/Apia", "2011-12-30T10:00:00Z"),
]


@pytest.mark.parametrize(("text", "tz", "expected"), READ)
def test_a_time_is_read_in_its_zone(text: str, tz: str, expected: str) -> None:
    instant = datetime.fromisoformat(expected)
    assert At(text, tz).times == (instant,)
    assert At(datetime.fromisoformat(text), tz).times == (instant,)


def test_times_come_in_order_and_once() -> None:
    at = At([NOW + HOUR, "2026-01-01T00:00:00Z", NOW, "2026-01-01T01:00:00+01:00"])
    assert at.times == (NOW, NOW + HOUR)
    assert at == At([NOW, NOW + HOUR])


def test_the_series_ends() -> None:
    at = At([NOW, NOW + HOUR, NOW + 2 * HOUR])
    assert at.next_after(NOW - HOUR) == NOW
    assert at.next_after(NOW) == NOW + HOUR
    assert at.next_after(NOW + 2 * HOUR) is None
    assert list(at.fire_times(NOW, NOW + HOUR)) == [NOW + HOUR]
    assert at.next(NOW - HOUR, 9) == list(at.times)


REFUSED = [
    ([], "at has 0 times, expected 1 to 10000"),
    ([NOW] * 10_001, "at has 10001 times, expected 1 to 10000"),
    ("tomorrow", 'time "tomorrow": expected RFC 3339 such as 2026-03-29T01:30:00Z'),
    ("2026-02-30T00:00:00Z", 'time "2026-02-30T00:00:00Z": day is out of range for month'),
]


@pytest.mark.parametrize(("times", "message"), REFUSED, ids=["none", "many", "word", "date"])
def test_what_is_no_time_is_refused(times: list[datetime | str] | str, message: str) -> None:
    with pytest.raises(InvalidTrigger) as refusal:
        At(times)
    assert str(refusal.value) == message


def test_an_instant_outside_the_calendar_is_refused() -> None:
    with pytest.raises(InvalidTrigger, match="out of range"):
        At("9999-12-31T23:59:59-12:00")
