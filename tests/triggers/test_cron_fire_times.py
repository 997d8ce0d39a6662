"""Fire times of cron expressions away from changes of the clocks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import islice

import pytest

from fencepost.triggers import Cron

NOW = datetime(2026, 1, 1, tzinfo=UTC)

CASES = [
    ("* * * * *", "UTC", ["2026-01-01T00:01", "2026-01-01T00:02"]),
    ("0 0 1 * *", "UTC", ["2026-02-01T00:00", "2026-03-01T00:00"]),
    ("0 0 1 * *", "Europe/Berlin", ["2026-01-31T23:00", "2026-02-28T23:00", "2026-03-31T22:00"]),
    ("0 9 * * MON", "America/New_York", ["2026-01-05T14:00", "2026-01-12T14:00"]),
    ("0 0 31 * *", "UTC", ["2026-01-31T00:00", "2026-03-31T00:00", "2026-05-31T00:00"]),
    ("0 0 29 2 *", "UTC", ["2028-02-29T00:00", "2032-02-29T00:00", "2036-02-29T00:00"]),
    ("30 5 * * *", "Asia/Kathmandu", ["2026-01-01T23:45", "2026-01-02T23:45"]),
    ("0 0 * * 0", "Pacific/Kiritimati", ["2026-01-03T10:00", "2026-01-10T10:00"]),
    # Both day fields are restricted: either is enough.
    ("0 0 13 * FRI", "UTC", ["2026-01-02T00:00", "2026-01-09T00:00", "2026-01-13T00:00"]),
    # One begins with a star, a step too: both must match.
    ("0 0 */2 * FRI", "UTC", ["2026-01-09T00:00", "2026-01-23T00:00", "2026-02-13T00:00"]),
    ("0 0 13 * */5", "UTC", ["2026-02-13T00:00", "2026-03-13T00:00", "2026-09-13T00:00"]),
    ("0 0 30 2 MON", "UTC", ["2026-02-02T00:00", "2026-02-09T00:00"]),
]


@pytest.mark.parametrize(("expression", "tz", "expected"), CASES)
def test_fires_at_the_times_of_the_calendar(expression: str, tz: str, expected: list[str]) -> None:
    found = Cron(expression, tz).next(NOW, len(expected))
    assert [one.isoformat()[:16] for one in found] == expected


def test_seconds_come_first_in_six_fields() -> None:
    found = Cron("*/20 30 12 * * *").next(NOW, 4)
    assert [one.isoformat()[:19] for one in found] == [
        "2026-01-01T12:30:00",
        "2026-01-01T12:30:20",
        "2026-01-01T12:30:40",
        "2026-01-02T12:30:00",
    ]


@pytest.mark.parametrize("after_us", [0, 1, 999_999])
def test_a_fraction_of_a_second_neither_repeats_nor_loses_a_tick(after_us: int) -> None:
    after = NOW + timedelta(microseconds=after_us)
    assert Cron("* * * * * *").next_after(after) == NOW + timedelta(seconds=1)


def test_just_before_a_tick_the_tick_comes_next() -> None:
    assert Cron("0 0 * * *").next_after(NOW - timedelta(microseconds=1)) == NOW


def test_the_end_belongs_to_fire_times_and_the_beginning_does_not() -> None:
    daily, day = Cron("0 0 * * *"), timedelta(days=1)
    assert list(daily.fire_times(NOW, NOW + day)) == [NOW + day]
    assert list(daily.fire_times(NOW, NOW)) == []
    assert list(daily.fire_times(NOW + day, NOW)) == []


def test_the_beginning_belongs_to_between_and_the_end_does_not() -> None:
    assert list(Cron("0 0 * * *").between(NOW, NOW + timedelta(days=1))) == [NOW]


def test_answers_are_in_utc_whatever_the_question_is_in() -> None:
    after = NOW.astimezone(timezone(timedelta(hours=9)))
    found = Cron("0 0 * * *", "Asia/Tokyo").next_after(after)
    assert found == datetime(2026, 1, 1, 15, tzinfo=UTC)
    assert found.tzinfo is UTC


def test_a_leap_day_on_a_weekday_is_found_over_forty_years() -> None:
    cron = Cron("0 0 29 2 */7")
    assert cron.next(NOW, 4) == [datetime(year, 2, 29, tzinfo=UTC) for year in (2032, 2060, 2088, 2128)]


def test_fire_times_are_lazy() -> None:
    forever = Cron("* * * * * *").fire_times(NOW, datetime.max.replace(tzinfo=UTC))
    assert list(islice(forever, 2)) == [NOW + timedelta(seconds=1), NOW + timedelta(seconds=2)]


@pytest.mark.parametrize("tz", ["UTC", "Pacific/Kiritimati", "Pacific/Niue"])
def test_the_ends_of_the_calendar_do_no_harm(tz: str) -> None:
    cron = Cron("0 0 * * *", tz)
    assert cron.next_after(datetime.max.replace(tzinfo=UTC)) is None
    assert cron.next_after(datetime.min.replace(tzinfo=UTC)) is not None
