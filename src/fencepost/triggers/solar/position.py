"""Where the sun stands, by the low-precision equations of Meeus (chapters 25 and 28) as NOAA publishes them.

Everything is counted in minutes since 1970, UTC. A *solar day* of a meridian is numbered by the civil day
whose mean noon it holds; it reaches from midnight to midnight by the sun, so that the solar days of any
meridian follow each other without holes, whatever the date line and midnight in UTC do there.

**The invariant.** A minute belongs to one solar day, and an event of a solar day is one of its minutes. So
the events of successive days rise strictly, near the poles too, where the sun may rise after its own noon.

**The formula is part of the run key.** A changed constant moves fire times. Then the JSON form gets a new
version, and the formula of the old one stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import ceil, cos, degrees, radians, sin, sqrt, tan

DAY_MINUTES = 1_440
HALF_DAY_MINUTES = 720
MINUTES_PER_DEGREE = 4
J2000_MINUTE = 15_778_800  # noon of 1 January 2000
CENTURY_MINUTES = 36_525 * DAY_MINUTES
CACHED_MAX = 8_192


@lru_cache(maxsize=CACHED_MAX)
def noon_minute(day: int, longitude: float) -> int:
    """The first whole minute of a solar day at which the sun has crossed the meridian."""
    mean_noon = day * DAY_MINUTES + HALF_DAY_MINUTES - MINUTES_PER_DEGREE * longitude
    # The equation of time changes by half a minute in a day, so that a second look leaves nothing to correct.
    noon = mean_noon - sun(mean_noon)[1]
    return ceil(mean_noon - sun(noon)[1])


@lru_cache(maxsize=CACHED_MAX)
def crossing_minute(day: int, latitude: float, longitude: float, altitude: float, upward: bool) -> int | None:
    """The first whole minute of a solar day at which the sun has passed an altitude, or None.

    Up means at the altitude or above, down means below. The sun passes upward before its noon and downward
    after it, except near the poles, where its drift through the seasons outruns the day.
    """
    noon = noon_minute(day, longitude)
    midnight = noon - HALF_DAY_MINUTES
    next_midnight = noon_minute(day + 1, longitude) - HALF_DAY_MINUTES
    limit = sin(radians(altitude))

    def has_passed(minute: int) -> bool:
        return (_sine_of_altitude(minute, latitude, longitude) >= limit) is upward

    for before, after in ((midnight, noon), (noon, next_midnight)):
        if has_passed(after) and not has_passed(before):
            return _first(has_passed, before, after)
    return None


def sun(minute: float) -> tuple[float, float]:
    """The sine of the sun's declination, and how many minutes a sundial is ahead of a clock."""
    century = (minute - J2000_MINUTE) / CENTURY_MINUTES
    mean_longitude = radians(280.46646 + century * (36000.76983 + century * 0.0003032))
    anomaly = radians(357.52911 + century * (35999.05029 - century * 0.0001537))
    eccentricity = 0.016708634 - century * (0.000042037 + century * 0.0000001267)
    node = radians(125.04 - 1934.136 * century)
    obliquity = radians(_mean_obliquity(century) + 0.00256 * cos(node))
    center = (
        sin(anomaly) * (1.914602 - century * (0.004817 + century * 0.000014))
        + sin(2 * anomaly) * (0.019993 - century * 0.000101)
        + sin(3 * anomaly) * 0.000289
    )
    longitude = mean_longitude + radians(center - 0.00569 - 0.00478 * sin(node))
    half = tan(obliquity / 2) ** 2
    equation = (
        half * sin(2 * mean_longitude)
        - 2 * eccentricity * sin(anomaly)
        + 4 * eccentricity * half * sin(anomaly) * cos(2 * mean_longitude)
        - 0.5 * half**2 * sin(4 * mean_longitude)
        - 1.25 * eccentricity**2 * sin(2 * anomaly)
    )
    return sin(obliquity) * sin(longitude), MINUTES_PER_DEGREE * degrees(equation)


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The minute in (low, high] from which on it holds, where it holds at `high` and not at `low`."""
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high


def _sine_of_altitude(minute: int, latitude: float, longitude: float) -> float:
    sine_declination, equation_minutes = sun(minute)
    solar_minutes = minute % DAY_MINUTES + equation_minutes + MINUTES_PER_DEGREE * longitude
    hour_angle = radians(solar_minutes / MINUTES_PER_DEGREE - 180)
    cosine_declination = sqrt(1 - sine_declination**2)
    across = cos(radians(latitude)) * cosine_declination * cos(hour_angle)
    return sin(radians(latitude)) * sine_declination + across


def _mean_obliquity(century: float) -> float:
    seconds = 21.448 - century * (46.815 + century * (0.00059 - century * 0.001813))
    return 23 + (26 + seconds / 60) / 60
