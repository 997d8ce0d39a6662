"""Fire times of cron expressions away from changes of the clocks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import islice, pairwise

import pytest

from fencepost.triggers import Cron

NOW = datetime(2026, 1, 1, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

CASES = [
    ("* * * * *", "UTC", "2026-01-01T00:01 2026-01-01T00:02"),
    ("0 0 1 * *", "UTC", "2026-02-01T00:00 2026-03-01T00:00"),
    ("0 0 1 * *", "Europe/Berlin", "2026-01-31T23:00 2026-02-28T23:00 2026-03-31T22:00"),
    ("0 9 * * MON", "America/New_York", "2026-01-05T14:00 2026-01-12T14:00"),
    ("30 5 * * *", "Asia/Kathmandu", "2026-01-01T23:45 2026-01-02T23:45"),
    ("0 0 * * 0", "Pacific/Kiritimati", "2026-01-03T10:00 2026-01-10T10:00"),
    ("0 18 L * *", "Asia/Tokyo", "2026-01-31T09:00 2026-02-28T09:00"),
]


@pytest.mark.parametrize(("expression", "tz", "expected"), CASES)
def test_fires_at_the_times_of_the_clock(expression: str, tz: str, expected: str) -> None:
    found = Cron(expression, tz).next(NOW, len(expected.split()))
    assert " ".join(one.isoformat()[:16] for one in found) == expected


DAYS = [
    ("31 * *", "2026-01-31 2026-03-31 2026-05-31"),
    ("29 2 *", "2028-02-29 2032-02-29 2036-02-29"),
    # Both day fields are restricted: either is enough.
    ("13 * FRI", "2026-01-02 2026-01-09 2026-01-13 2026-01-16"),
    ("30 2 MON", "2026-02-02 2026-02-09"),
    ("LW * SUN", "2026-01-04 2026-01-11 2026-01-18 2026-01-25 2026-01-30"),
    # One begins with a star, a step too: both must match. So they must after a plus.
    ("*/2 * FRI", "2026-01-09 2026-01-23 2026-02-13"),
    ("13 * */5", "2026-02-13 2026-03-13 2026-09-13"),
    ("13 * +FRI", "2026-02-13 2026-03-13 2026-11-13 2027-08-13"),
    ("1 * +MON", "2026-06-01 2027-02-01 2027-03-01"),
    ("L * +FRI", "2026-07-31 2027-04-30 2027-12-31"),
    # The last day, and some before it.
    ("L * *", "2026-01-31 2026-02-28 2026-03-31 2026-04-30"),
    ("L 2 *", "2026-02-28 2027-02-28 2028-02-29 2029-02-28"),
    ("L-3 * *", "2026-01-28 2026-02-25 2026-03-28 2026-04-27"),
    ("L-30 * *", "2026-03-01 2026-05-01 2026-07-01 2026-08-01"),
    ("1,L * ?", "2026-01-31 2026-02-01 2026-02-28 2026-03-01"),
    # Working days. The 1st is a Saturday in August 2026, the 31st a Sunday in May.
    ("LW * *", "2026-01-30 2026-02-27 2026-03-31 2026-04-30 2026-05-29"),
    ("15W * *", "2026-01-15 2026-02-16 2026-03-16 2026-04-15"),
    ("1W 7,8,9 *", "2026-07-01 2026-08-03 2026-09-01"),
    ("31W * *", "2026-01-30 2026-03-31 2026-05-29 2026-07-31"),
    ("28W 2 *", "2026-02-27 2027-02-26 2028-02-28"),
    ("29W 2 *", "2028-02-29 2032-02-27 2036-02-29"),
    # The first, the fifth and the last of a weekday.
    ("* * MON#2", "2026-01-12 2026-02-09 2026-03-09"),
    ("* * FRI#5", "2026-01-30 2026-05-29 2026-07-31"),
    ("* * FRIL", "2026-01-30 2026-02-27 2026-03-27"),
    ("* * SUN#1,SUN#L", "2026-01-04 2026-01-25 2026-02-01 2026-02-22"),
    ("* 2 MON#5", "2044-02-29 2072-02-29 2112-02-29"),
    # A leap day on one weekday can be forty years away.
    ("29 2 */7", "2032-02-29 2060-02-29 2088-02-29 2128-02-29"),
]


@pytest.mark.parametrize(("fields", "expected"), DAYS)
def test_fires_on_the_days_of_the_calendar(fields: str, expected: str) -> None:
    cron, days = Cron(f"0 0 {fields}"), [datetime.fromisoformat(f"{day}T00:00Z") for day in expected.split()]
    assert cron.next(NOW, len(days)) == days
    assert [cron.previous(one) for one in days[1:]] == days[:-1]


@pytest.mark.parametrize("tz", ["UTC", "Europe/Berlin", "Asia/Kathmandu"])
@pytest.mark.parametrize("interval_s", [1, 60, 300, 420, 3600, 25_200, 86_400])
def test_a_beat_of_so_much_time_knows_neither_zone_nor_day(interval_s: int, tz: str) -> None:
    cron, interval = Cron(f"@every {interval_s}s", tz), timedelta(seconds=interval_s)
    for change in (datetime(2026, 3, 29, 1, tzinfo=UTC), datetime(2026, 10, 25, 1, tzinfo=UTC)):
        found = cron.next(change - 3 * interval, 6)
        assert all((one - EPOCH) % interval == timedelta() for one in found)
        assert [later - earlier for earlier, later in pairwise(found)] == [interval] * 5
        assert cron.previous(found[3]) == found[2]
        assert found[3] in cron
        assert found[3] + timedelta.resolution not in cron


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


def test_answers_are_in_utc_whatever_the_question_is_in() -> None:
    after = NOW.astimezone(timezone(timedelta(hours=9)))
    found = Cron("0 0 * * *", "Asia/Tokyo").next_after(after)
    assert found == datetime(2026, 1, 1, 15, tzinfo=UTC)
    assert found.tzinfo is UTC


def test_fire_times_are_lazy() -> None:
    forever = Cron("* * * * * *").fire_times(NOW, datetime.max.replace(tzinfo=UTC))
    assert list(islice(forever, 2)) == [NOW + timedelta(seconds=1), NOW + timedelta(seconds=2)]
