"""Lengths of time as text."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import InvalidDuration
from fencepost.model.durations import DURATION_MAX, Duration, format_duration, parse_duration

READ: list[tuple[Duration, timedelta]] = [
    ("90s", timedelta(seconds=90)),
    ("5m", timedelta(minutes=5)),
    ("1h30m", timedelta(minutes=90)),
    ("2d", timedelta(days=2)),
    ("1w", timedelta(weeks=1)),
    ("250ms", timedelta(milliseconds=250)),
    ("1s500ms", timedelta(milliseconds=1500)),
    ("1.5h", timedelta(minutes=90)),
    ("0s", timedelta(0)),
    (90, timedelta(seconds=90)),
    (0.25, timedelta(milliseconds=250)),
    (timedelta(days=3), timedelta(days=3)),
]


@pytest.mark.parametrize(("value", "expected"), READ)
def test_reads_what_people_write(value: Duration, expected: timedelta) -> None:
    assert parse_duration(value) == expected


EXPECTED = "expected a length of time such as 90s, 1h30m or 2d (units w, d, h, m, s, ms)"
LIMITS = "expected at least 0 and at most 36525d"

REFUSED: list[tuple[Duration, str]] = [
    ("", f'duration "": {EXPECTED}'),
    ("90", f'duration "90": {EXPECTED}'),
    ("-5m", f'duration "-5m": {EXPECTED}'),
    ("5 parsecs", f'duration "5 parsecs": {EXPECTED}'),
    ("1h 30m", 'duration "1h 30m": write 1h30m'),
    ("5M", f'duration "5M": {EXPECTED}'),
    ("٣s", f'duration "٣s": {EXPECTED}'),
    ("1" * 70 + "s", f'duration "{"1" * 60}…": {EXPECTED}'),
    (True, f"duration True: {EXPECTED}"),
    ("30m1h", 'duration "30m1h": each unit may come once, the larger before the smaller'),
    ("1m1m", 'duration "1m1m": each unit may come once, the larger before the smaller'),
    ("0.1234567s", 'duration "0.1234567s": nothing finer than a microsecond can be told apart'),
    ("999999999d", f'duration "999999999d": {LIMITS}'),
    (-1, f"duration -1: {LIMITS}"),
    (float("nan"), f"duration nan: {LIMITS}"),
    (float("inf"), f"duration inf: {LIMITS}"),
    (1e300, f"duration 1e+300: {LIMITS}"),
    (timedelta(days=-1), f"duration datetime.timedelta(days=-1): {LIMITS}"),
]


@pytest.mark.parametrize(("value", "message"), REFUSED)
def test_refuses_the_rest_with_what_was_expected(value: Duration, message: str) -> None:
    with pytest.raises(InvalidDuration) as refusal:
        parse_duration(value)
    assert str(refusal.value) == message


@given(st.timedeltas(timedelta(0), DURATION_MAX))
def test_the_text_leads_back_to_the_same_length(duration: timedelta) -> None:
    assert parse_duration(format_duration(duration)) == duration
