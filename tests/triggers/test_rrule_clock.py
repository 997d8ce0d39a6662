"""The days on which an interval of hours, minutes or seconds meets a time of day, known without looking."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fencepost.triggers.rrule.clock import DAY_S, YEAR_DAYS_MAX, clock
from fencepost.triggers.rrule.parts import parse_parts

UNITS_S = {"HOURLY": 3_600, "MINUTELY": 60, "SECONDLY": 1}

frequencies = st.sampled_from(sorted(UNITS_S))
# A prime is also the cycle of days; one little longer than a year often ends within the year looked at.
intervals = st.integers(2, 100) | st.integers(2, 876_000) | st.sampled_from((367, 401, 521))
starts = st.integers(-(10**9), 10**10)
days = st.integers(-10_000, 100_000)


def rule(frequency: str, interval: int, hour: int, minute: int) -> str:
    limits = {"HOURLY": f"BYHOUR={hour}", "MINUTELY": f"BYHOUR={hour};BYMINUTE={minute}"}
    limit = limits.get(frequency, f"BYHOUR={hour};BYMINUTE={minute};BYSECOND=5,6,50")
    return f"FREQ={frequency};INTERVAL={interval};{limit}"


@given(frequencies, intervals, st.integers(0, 23), st.integers(0, 59), starts, days)
def test_no_day_is_left_out_and_none_is_empty(
    frequency: str, interval: int, hour: int, minute: int, start: int, begins: int
) -> None:
    found = clock(parse_parts(rule(frequency, interval, hour, minute)), start)
    mask = found.days(begins)
    for day in range(YEAR_DAYS_MAX):
        assert bool(mask >> day & 1) is bool(found.on(begins + day))


@given(frequencies, intervals, starts, st.integers(0, 10**10))
def test_a_day_has_just_the_seconds_in_step(frequency: str, interval: int, start: int, moment: int) -> None:
    found = clock(parse_parts(f"FREQ={frequency};INTERVAL={interval}"), start)
    day, second = divmod(moment, DAY_S)
    unit_s = UNITS_S[frequency]
    in_step = (moment // unit_s - start // unit_s) % interval == 0 and (moment - start) % unit_s == 0
    assert bool(found.on(day) >> second & 1) is in_step


@given(frequencies, intervals, starts, st.integers(0, 10**5))
def test_every_step_is_met(frequency: str, interval: int, start: int, steps: int) -> None:
    found = clock(parse_parts(f"FREQ={frequency};INTERVAL={interval}"), start)
    day, second = divmod(start + steps * interval * UNITS_S[frequency], DAY_S)
    assert found.on(day) >> second & 1
