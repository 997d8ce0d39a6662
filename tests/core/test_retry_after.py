"""What a target or a job asks for is honoured within a day, and nonsense is not."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.core.retry_after import RETRY_AFTER_MAX, asked_wait_s, parse_retry_after

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "wait_s"),
    [
        ("0", 0),
        ("120", 120),
        ("  120\t", 120),
        ("00007", 7),
        ("86400", 86_400),
        ("86401", 86_400),
        ("9" * 64, 86_400),
        ("Sun, 01 Mar 2026 12:01:30 GMT", 90),
        ("Sunday, 01-Mar-26 12:01:30 GMT", 90),
        ("Sun Mar  1 12:01:30 2026", 90),
        ("Sun Mar 01 12:01:30 2026", 90),
        ("Sun, 01 Mar 2026 11:59:00 GMT", 0),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 0),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 0),
        ("Thu, 01 Mar 2096 12:00:00 GMT", 86_400),
    ],
)
def test_seconds_and_dates_are_read(value: str, wait_s: float) -> None:
    assert parse_retry_after(value, NOW) == timedelta(seconds=wait_s)


@pytest.mark.parametrize(
    "value",
    [
        "",
        " ",
        "-1",
        "+5",
        "1.5",
        "1e3",
        "0x10",
        "٣",
        "120, 60",
        "120s",
        "soon",
        "9" * 65,
        "Sun, 31 Feb 2026 12:00:00 GMT",
        "Sun, 01 Mar 2026 24:00:00 GMT",
        "Sun, 01 Mar 0000 12:00:00 GMT",
        "Sun, 01 Mar 2026 12:00:00",
        "Sun, 01 Mar 2026 12:00:00 CET",
        "Sun, 01 mar 2026 12:00:00 GMT",
        "So, 01 Mär 2026 12:00:00 GMT",
        "2026-03-01T12:00:00Z",
        "Sun, 01 Mar 2026 12:00:00 GMT\n5",
        "120\n",
    ],
)
def test_nonsense_is_not_taken_for_a_wait(value: str) -> None:
    assert parse_retry_after(value, NOW) is None


def test_a_date_is_compared_with_the_moment_and_not_with_the_wall_time_of_a_zone() -> None:
    there = NOW.astimezone(timezone(timedelta(hours=5)))
    assert parse_retry_after("Sun, 01 Mar 2026 12:00:30 GMT", there) == timedelta(seconds=30)


@given(value=st.text(max_size=80) | st.from_regex(r"[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} .*"))
def test_no_text_raises_or_leaves_the_bounds(value: str) -> None:
    wait = parse_retry_after(value, NOW)
    assert wait is None or timedelta() <= wait <= RETRY_AFTER_MAX


@pytest.mark.parametrize(
    ("retry_after", "wait_s"),
    [
        (None, 0),
        (0, 0),
        (90, 90),
        (1.5, 1.5),
        ("1m30s", 90),
        (timedelta(minutes=2), 120),
        (timedelta(days=3), 86_400),
        ("3d", 86_400),
        (1e300, 86_400),
        (10**400, 86_400),
        (math.inf, 86_400),
        (-5, 0),
        (-math.inf, 0),
        (timedelta(seconds=-5), 0),
        (math.nan, 0),
        (True, 0),
        ("soon", 0),
        ([90], 0),
    ],
    ids=lambda value: repr(value)[:12],
)
def test_a_failure_waits_as_long_as_it_says_within_a_day(retry_after: object, wait_s: float) -> None:
    assert asked_wait_s(retry_after) == wait_s
