"""Steps of the calendar: the same wall time, however long the days between are."""

from __future__ import annotations

import pickle
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import FencepostError, InvalidTrigger
from fencepost.triggers import Every, decode, zone
from tests.properties import examples

BERLIN = "Europe/Berlin"
NOW = datetime(2026, 3, 27, 12, tzinfo=UTC)
WALL = NOW.replace(tzinfo=None)


def texts(times: list[datetime]) -> list[str]:
    return [one.isoformat().removesuffix(":00+00:00") for one in times]


def test_a_day_in_a_zone_is_the_same_wall_time_and_not_24_hours() -> None:
    daily = Every("1 day", anchor="2026-01-01T09:00", tz=BERLIN)
    assert texts(daily.next(NOW, 3)) == ["2026-03-28T08:00", "2026-03-29T07:00", "2026-03-30T07:00"]


def test_an_exact_day_keeps_its_beat() -> None:
    daily = Every("1d", anchor="2026-01-01T09:00", tz=BERLIN)
    assert texts(daily.next(NOW, 3)) == ["2026-03-28T08:00", "2026-03-29T08:00", "2026-03-30T08:00"]


def test_a_day_that_a_month_lacks_is_its_last_and_comes_back() -> None:
    monthly = Every("1 month", anchor="2026-01-31T00:00")
    assert [one.day for one in monthly.next(NOW, 5)] == [31, 30, 31, 30, 31]
    assert monthly.previous(datetime(2024, 3, 1, tzinfo=UTC)) == datetime(2024, 2, 29, tzinfo=UTC)


def test_a_leap_day_each_year_is_the_28th_in_between() -> None:
    yearly = Every("1 year", anchor="2024-02-29")
    assert texts(yearly.next(NOW, 3)) == ["2027-02-28T00:00", "2028-02-29T00:00", "2029-02-28T00:00"]


def test_the_beat_goes_through_the_anchor_in_both_directions() -> None:
    biweekly = Every("2 weeks", anchor="2026-03-02T08:00")
    assert texts(biweekly.next(NOW, 2)) == ["2026-03-30T08:00", "2026-04-13T08:00"]
    assert biweekly.previous(datetime(2026, 3, 1, tzinfo=UTC)) == datetime(2026, 2, 16, 8, tzinfo=UTC)


def test_without_an_anchor_every_node_counts_from_the_start_of_1970_on_the_wall() -> None:
    quarterly = Every("3 months", tz=BERLIN)
    assert texts(quarterly.next(NOW, 2)) == ["2026-03-31T22:00", "2026-06-30T22:00"]


@pytest.mark.parametrize(
    ("gap", "fold", "expected"),
    [
        (None, None, ["2026-03-29T01:00", "2026-10-25T00:30"]),
        ("skip", "last", ["2026-10-25T01:30"]),
        ("shift", "both", ["2026-03-29T01:00", "2026-10-25T00:30", "2026-10-25T01:30"]),
    ],
)
def test_a_change_of_the_clocks_is_met_by_policy(
    gap: str | None, fold: str | None, expected: list[str]
) -> None:
    daily = Every("1 day", anchor="2026-01-01T02:30", tz=BERLIN, gap=gap, fold=fold)  # type: ignore[arg-type]
    march = daily.fire_times(datetime(2026, 3, 28, 12, tzinfo=UTC), datetime(2026, 3, 29, 12, tzinfo=UTC))
    october = daily.fire_times(datetime(2026, 10, 24, 12, tzinfo=UTC), datetime(2026, 10, 25, 12, tzinfo=UTC))
    assert texts([*march, *october]) == expected


@examples(200)
@given(
    count=st.integers(1, 30),
    unit=st.sampled_from(["day", "week", "month", "year"]),
    anchor=st.integers(-(10**9), 10**9).map(lambda seconds: WALL + timedelta(seconds=seconds)),
    after=st.integers(-(10**9), 10**9).map(lambda seconds: NOW + timedelta(seconds=seconds)),
)
def test_agrees_with_counting_step_by_step_in_utc(
    count: int, unit: str, anchor: datetime, after: datetime
) -> None:
    """Many examples, each counted step by step."""
    trigger = Every(f"{count} {unit}s", anchor=anchor)
    found, before = trigger.next_after(after), trigger.previous(after)
    walls = [_stepped(anchor, unit, count * number) for number in range(-25_000 // count, 25_000 // count)]
    later = [one for one in walls if one is not None and one.replace(tzinfo=UTC) > after]
    earlier = [one for one in walls if one is not None and one.replace(tzinfo=UTC) < after]
    assert found == min(later).replace(tzinfo=UTC)
    assert before == max(earlier).replace(tzinfo=UTC)


def _stepped(anchor: datetime, unit: str, number: int) -> datetime | None:
    if unit in ("day", "week"):
        return anchor + timedelta(days=number * (7 if unit == "week" else 1))
    month = anchor.year * 12 + anchor.month - 1 + number * (12 if unit == "year" else 1)
    year, index = divmod(month, 12)
    if not 1800 <= year <= 2200:
        return None
    following = date(year + (index == 11), (index + 1) % 12 + 1, 1)
    last = (following - timedelta(days=1)).day
    return anchor.replace(year=year, month=index + 1, day=min(anchor.day, last))


def test_words_for_exact_units_are_exact() -> None:
    assert Every("5 minutes") == Every("5m")
    assert Every("1 hour").interval == timedelta(hours=1)


def test_the_stable_form_is_short_and_reads_back() -> None:
    monthly = Every("1 month", anchor="2026-01-31T09:00", tz=BERLIN, fold="last", jitter="5m")
    assert monthly.to_json() == {
        "v": 1,
        "kind": "every",
        "interval": "1 month",
        "anchor": "2026-01-31T09:00:00",
        "tz": BERLIN,
        "gap": None,
        "fold": "last",
        "jitter": "5m",
    }
    assert decode(monthly.to_json()) == monthly
    assert pickle.loads(pickle.dumps(monthly)) == monthly
    assert pickle.loads(pickle.dumps(monthly)).next(NOW, 3) == monthly.next(NOW, 3)


def test_an_anchor_with_an_offset_is_read_on_the_zones_wall() -> None:
    assert Every("1 day", anchor="2026-01-01T08:00:00Z", tz=BERLIN) == Every(
        "1 day", anchor="2026-01-01T09:00", tz=BERLIN
    )
    moment = datetime(2026, 1, 1, 9, tzinfo=zone(BERLIN))
    assert Every("1 day", anchor=moment, tz=BERLIN).anchor == datetime.fromisoformat("2026-01-01T09:00")


@pytest.mark.parametrize(
    ("interval", "complaint"),
    [
        ("1 fortnight", "expected a step such as '1 day', '2 weeks', '3 months' or '1 year'"),
        ("0 days", "expected 1 to 36525 days"),
        ("101 years", "expected 1 to 100 years"),
        ("-1 day", "expected a step"),
        ("1 month 2 days", "expected a step"),
        ("half a day", "expected a step"),
    ],
)
def test_a_step_that_is_none_is_refused(interval: str, complaint: str) -> None:
    with pytest.raises(FencepostError, match=complaint):
        Every(interval)


def test_a_policy_for_the_clocks_has_no_meaning_for_a_beat() -> None:
    with pytest.raises(InvalidTrigger, match="keeps its beat through DST"):
        Every("24h", gap="skip")


def test_an_exact_beat_knows_its_past() -> None:
    beat = Every("15m")
    assert beat.previous(NOW) == NOW - timedelta(minutes=15)
    assert beat.previous(NOW + timedelta(microseconds=1)) == NOW
    assert beat.previous(datetime.min.replace(tzinfo=UTC)) is None


def test_an_anchor_that_no_clock_can_show_is_refused() -> None:
    with pytest.raises(InvalidTrigger, match="anchor 9999-12-31T23:59:59-14:00 is out of range"):
        Every("1 month", anchor="9999-12-31T23:59:59-14:00")
