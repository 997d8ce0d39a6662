"""What people read about intervals and lists of times, and the words for places and lengths of time."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta

import pytest

from fencepost.model.durations import Duration
from fencepost.triggers import At, Every
from fencepost.triggers.localtime.zones import zone, zone_names
from fencepost.triggers.words import (
    clocks,
    duration_words,
    every_words,
    listed,
    moment_words,
    ordinal,
    place,
)

BERLIN = "Europe/Berlin"

EXACT: list[tuple[Duration, str | None, str]] = [
    ("15m", None, "every 15 minutes"),
    ("1h", None, "every hour"),
    ("90m", None, "every 90 minutes"),
    ("2h30m", None, "every 2 hours 30 minutes"),
    ("1d", None, "every 24 hours"),
    ("7d", None, "every 7 days"),
    ("1s", None, "every second"),
    ("500ms", None, "every 500 milliseconds"),
    ("1 hour", None, "every hour"),
    ("1h", "2026-01-01T05:00:00Z", "every hour"),
    ("1h", "2026-01-01T00:20:00Z", "every hour, counted from 2026-01-01 00:20 UTC"),
    ("1h", "2026-01-01T00:20:05.5Z", "every hour, counted from 2026-01-01 00:20:05.500000 UTC"),
]


@pytest.mark.parametrize(("interval", "anchor", "words"), EXACT)
def test_an_exact_interval_names_its_anchor_only_where_it_moves_the_beat(
    interval: Duration, anchor: str | None, words: str
) -> None:
    assert Every(interval, anchor).describe() == words


STEPS = [
    ("1 day", "2026-01-01", "every day at 00:00, Berlin time"),
    ("1 week", "2026-01-05T08:00", "every week on Monday at 08:00, Berlin time"),
    ("1 week", "2026-01-04T08:00:30", "every week on Sunday at 08:00:30, Berlin time"),
    ("2 weeks", "2026-01-05T08:00", "every 2 weeks on Monday at 08:00, counted from 2026-01-05, Berlin time"),
    ("3 days", "2026-01-05T08:00", "every 3 days at 08:00, counted from 2026-01-05, Berlin time"),
    ("1 month", "2026-01-28T09:00", "every month on the 28th at 09:00, Berlin time"),
    ("1 month", "2026-01-29T09:00", "every month on the 29th (or the last day) at 09:00, Berlin time"),
    ("1 month", "2026-01-31T09:00", "every month on the 31st (or the last day) at 09:00, Berlin time"),
    (
        "3 months",
        "2026-02-28T09:00",
        "every 3 months on the 28th at 09:00, counted from 2026-02-28, Berlin time",
    ),
    (
        "6 months",
        "2026-01-31T09:00",
        "every 6 months on the 31st at 09:00, counted from 2026-01-31, Berlin time",
    ),
    ("1 year", "2026-12-31T18:00", "every year on 31 December at 18:00, Berlin time"),
    ("1 year", "2024-02-29T18:00", "every year on 29 February (or the 28th) at 18:00, Berlin time"),
]


@pytest.mark.parametrize(("interval", "anchor", "words"), STEPS)
def test_a_step_of_the_calendar_says_which_days(interval: str, anchor: str, words: str) -> None:
    assert Every(interval, anchor, BERLIN).describe() == words


@pytest.mark.parametrize("count", [1, 2, 3, 4, 6, 12])
@pytest.mark.parametrize("day", [28, 29, 30, 31])
def test_a_day_that_some_months_lack_is_never_promised(count: int, day: int) -> None:
    every = Every(f"{count} months", f"2026-01-{day}T12:00")
    moments = every.next(datetime(2026, 1, 1, tzinfo=UTC), 48)
    assert ("(or the last day)" in every.describe()) == any(moment.day != day for moment in moments)


def test_a_jitter_is_told() -> None:
    assert Every("1h", jitter="90s").describe() == "every hour, each start delayed by up to 90 seconds"
    assert (
        Every("1 day", jitter="1m").describe()
        == "every day at 00:00, UTC, each start delayed by up to 1 minute"
    )


LISTS = [
    (["2026-12-24T18:00:00Z"], "once at 2026-12-24 18:00 UTC"),
    (["2026-12-24T18:00:00+01:00"], "once at 2026-12-24 17:00 UTC"),
    (
        ["2026-12-26T18:00:01Z", "2026-12-24T18:00:00Z", "2026-12-25T18:00:00Z"],
        "at 3 times from 2026-12-24 18:00 to 2026-12-26 18:00:01 UTC",
    ),
]


@pytest.mark.parametrize(("times", "words"), LISTS, ids=["one", "offset", "three"])
def test_a_list_names_its_ends(times: list[str], words: str) -> None:
    assert At(times).describe() == words


PLACES = [
    ("Europe/Berlin", "Berlin time", "the clocks in Berlin"),
    ("UTC", "UTC", "the clocks of UTC"),
    ("Etc/UTC", "UTC", "the clocks of UTC"),
    ("Zulu", "UTC", "the clocks of UTC"),
    ("GMT0", "GMT", "the clocks of GMT"),
    ("Etc/GMT+5", "UTC-5", "the clocks of UTC-5"),
    ("Etc/GMT-14", "UTC+14", "the clocks of UTC+14"),
    ("America/New_York", "New York time", "the clocks in New York"),
    ("America/Argentina/Buenos_Aires", "Buenos Aires time", "the clocks in Buenos Aires"),
    ("America/Port-au-Prince", "Port-au-Prince time", "the clocks in Port-au-Prince"),
    ("US/Eastern", "US Eastern time", "the clocks of US Eastern time"),
    ("Australia/West", "Australia West time", "the clocks of Australia West time"),
    ("CET", "CET", "the clocks of CET"),
    ("Japan", "Japan time", "the clocks in Japan"),
]


@pytest.mark.parametrize(("tz", "words", "of_clocks"), PLACES)
def test_a_zone_is_called_by_its_place(tz: str, words: str, of_clocks: str) -> None:
    assert (place(tz), clocks(tz)) == (words, of_clocks)


def test_no_two_zones_with_different_clocks_share_a_name() -> None:
    months = [datetime(year, month, 15, tzinfo=UTC) for year in range(2000, 2030) for month in range(1, 13)]
    offsets = defaultdict(set)
    for tz in sorted(zone_names()):
        offsets[place(tz)].add(tuple(moment.astimezone(zone(tz)).utcoffset() for moment in months))
    assert [name for name, found in offsets.items() if len(found) > 1] == []


LENGTHS = [
    (timedelta(seconds=1), "1 second", "every second"),
    (timedelta(seconds=90), "90 seconds", "every 90 seconds"),
    (timedelta(minutes=2), "2 minutes", "every 2 minutes"),
    (timedelta(seconds=150), "2 minutes 30 seconds", "every 2 minutes 30 seconds"),
    (timedelta(minutes=119), "119 minutes", "every 119 minutes"),
    (timedelta(hours=1, seconds=1), "1 hour 1 second", "every 1 hour 1 second"),
    (timedelta(hours=36), "36 hours", "every 36 hours"),
    (timedelta(days=2, hours=3), "2 days 3 hours", "every 2 days 3 hours"),
    (timedelta(microseconds=1500), "1.5 milliseconds", "every 1.5 milliseconds"),
]


@pytest.mark.parametrize(("length", "words", "every"), LENGTHS, ids=[words for _, words, _ in LENGTHS])
def test_a_length_of_time_in_words(length: timedelta, words: str, every: str) -> None:
    assert (duration_words(length), every_words(length)) == (words, every)


def test_numbers_lists_and_moments_in_words() -> None:
    assert [ordinal(number) for number in (1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 31)] == (
        ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "23rd", "31st"]
    )
    assert [listed(words) for words in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a and b", "a, b and c"]
    assert moment_words(datetime.fromisoformat("2026-12-24T18:00:00+01:00")) == "2026-12-24 17:00 UTC"
