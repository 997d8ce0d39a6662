"""Sunrise and its kin: against another library, against published times, at the poles and the date line."""

from __future__ import annotations

import pickle
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from itertools import cycle, pairwise
from typing import Any

import pytest
from astral import Observer
from astral import sun as astral_sun
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import InvalidTrigger
from fencepost.triggers.solar import Solar
from fencepost.triggers.solar.position import sun

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
EVENTS = ("dawn", "sunrise", "noon", "sunset", "dusk")
BERLIN = (52.52, 13.405)

moments = st.integers(0, 4_000_000_000).map(
    lambda seconds: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
)
latitudes = st.floats(-90, 90)
longitudes = st.floats(-180, 180)


@given(
    event=st.sampled_from(EVENTS),
    latitude=st.floats(-55, 55),
    longitude=st.floats(-170, 170),
    day=st.dates(date(1971, 1, 1), date(2099, 12, 30)),
)
def test_agrees_with_astral(event: str, latitude: float, longitude: float, day: date) -> None:
    observer = Observer(round(latitude, 6), round(longitude, 6), 0)
    theirs = getattr(astral_sun, event)(observer, date=day)
    ours = Solar(event, latitude, longitude)
    near = [ours.previous(theirs + MINUTE), ours.next_after(theirs)]
    # We round up to the minute, and astral counts the refraction by its own formula. Nearer to the poles the
    # sun passes the angle of dawn so flatly in summer that this makes minutes.
    assert min(abs(one - theirs) for one in near if one is not None) <= 2 * MINUTE


PUBLISHED = [
    # As almanacs print them for Berlin, New York and Sydney.
    ("sunrise", *BERLIN, "2024-06-21 02:43"),
    ("sunset", *BERLIN, "2024-06-21 19:33"),
    ("sunrise", *BERLIN, "2024-12-21 07:15"),
    ("sunset", *BERLIN, "2024-12-21 14:54"),
    ("sunrise", 40.7128, -74.006, "2024-03-20 10:59"),
    ("sunset", 40.7128, -74.006, "2024-03-20 23:08"),
    ("sunrise", -33.8688, 151.2093, "2024-01-01 18:48"),
    ("sunset", -33.8688, 151.2093, "2024-01-01 09:09"),
]


@pytest.mark.parametrize(("event", "latitude", "longitude", "published"), PUBLISHED)
def test_agrees_with_an_almanac(event: str, latitude: float, longitude: float, published: str) -> None:
    expected = datetime.fromisoformat(published).replace(tzinfo=UTC)
    found = Solar(event, latitude, longitude).next_after(expected - 6 * timedelta(hours=1))
    assert found is not None
    assert abs(found - expected) <= 2 * MINUTE


FIXED = [
    # The formula is part of the run key: under version 1 of the form these may never change.
    ("dawn", *BERLIN, "2026-01-01 06:36"),
    ("sunrise", *BERLIN, "2026-01-01 07:18"),
    ("noon", *BERLIN, "2026-01-01 11:10"),
    ("sunset", *BERLIN, "2026-01-01 15:03"),
    ("dusk", *BERLIN, "2026-01-01 15:45"),
    ("sunrise", -33.8688, 151.2093, "2026-01-01 18:49"),
    ("sunset", 64.1466, -21.9426, "2026-01-01 15:44"),
    ("sunrise", 0.0, 180.0, "2026-01-01 18:01"),
    ("sunset", 71.0, 25.8, "2026-01-22 11:05"),
    ("sunrise", 90.0, 0.0, "2026-03-18 12:05"),
    ("dusk", -90.0, 0.0, "2026-04-05 00:14"),
]


@pytest.mark.parametrize(("event", "latitude", "longitude", "minute"), FIXED)
def test_the_formula_stays_as_it_is(event: str, latitude: float, longitude: float, minute: str) -> None:
    found = Solar(event, latitude, longitude).next_after(NOW)
    assert f"{found:%Y-%m-%d %H:%M}" == minute


SUN = [
    # A minute of 1972, 2026 and 2099, with the sine of the declination and the equation of time.
    (1248900, 0.3316424036966, 3.67253060180),
    (29650020, 0.3313382071316, 3.59174939436),
    (68044740, 0.3324826532905, 3.47016156233),
]


@pytest.mark.parametrize(("minute", "sine", "equation"), SUN)
def test_no_constant_has_changed(minute: int, sine: float, equation: float) -> None:
    assert sun(minute) == pytest.approx((sine, equation), abs=1e-10)


def test_not_one_minute_of_four_years_has_moved() -> None:
    digest = sha256()
    for latitude, longitude in (BERLIN, (-33.8688, 151.2093), (68.4, -133.7)):
        for event in EVENTS:
            found = Solar(event, latitude, longitude).fire_times(NOW, NOW + 1461 * DAY)
            digest.update(" ".join(f"{moment:%Y-%m-%dT%H:%M}" for moment in found).encode())
    assert digest.hexdigest()[:16] == "ee1458ffd84f55b2"


@pytest.mark.parametrize(
    ("longitude", "event"),
    list(zip((-180, -179.9, -150, -97.5, -15.1, 0, 14.9, 90, 172, 179.9, 180), cycle(EVENTS), strict=False)),
)
def test_each_solar_day_has_the_event_once(longitude: float, event: str) -> None:
    """A decade at 40° north: one every day, none lost or doubled at midnight or at the date line."""
    trigger = Solar(event, 40, longitude)
    found = list(trigger.fire_times(NOW, NOW + 3653 * DAY))
    assert len(found) == 3653
    assert all(abs(later - earlier - DAY) < 4 * MINUTE for earlier, later in pairwise(found))
    back = NOW + 3653 * DAY
    for moment in reversed(found):
        before = trigger.previous(back)
        assert before == moment
        back = moment


@given(st.sampled_from(EVENTS), latitudes, longitudes, moments, st.integers(-720, 720))
def test_rises_strictly_and_previous_mirrors_next(
    event: str, latitude: float, longitude: float, after: datetime, offset_minutes: int
) -> None:
    trigger = Solar(event, latitude, longitude, offset_minutes * MINUTE)
    found = trigger.next(after, 4)
    assert len(found) == 4
    assert all(earlier < later for earlier, later in pairwise([after, *found]))
    assert [trigger.previous(moment) for moment in found[1:]] == found[:-1]
    assert list(trigger.fire_times(after, found[-1])) == found
    assert not any(moment.second or moment.microsecond for moment in found)


@given(longitudes, moments)
def test_both_names_of_a_meridian_are_one_place(latitude: float, after: datetime) -> None:
    latitude /= 2
    for event in EVENTS:
        assert Solar(event, latitude, 180).next_after(after) == Solar(event, latitude, -180).next_after(after)


@pytest.mark.parametrize(("latitude", "month"), [(90, 3), (89.99, 3), (-90, 9), (-89.99, 9)])
def test_at_the_poles_the_sun_rises_once_a_year(latitude: float, month: int) -> None:
    rises = list(Solar("sunrise", latitude, 0).fire_times(NOW, NOW + 3653 * DAY))
    sets = list(Solar("sunset", latitude, 0).fire_times(NOW, NOW + 3653 * DAY))
    assert [(moment.year, moment.month) for moment in rises] == [(year, month) for year in range(2026, 2036)]
    assert [(moment.year, moment.month) for moment in sets] == [
        (year, 12 - month) for year in range(2026, 2036)
    ]


@pytest.mark.parametrize("event", ["sunrise", "sunset", "dawn", "dusk"])
def test_at_the_poles_all_meridians_are_one_place(event: str) -> None:
    """Wherever a meridian begins its day, no minute is lost to that day or the next."""
    (moment,) = Solar(event, 90, 0).next(NOW)
    found = {Solar(event, 90, quarter / 4).next_after(moment - DAY) for quarter in range(-720, 720)}
    assert found == {moment}


def test_days_without_the_event_are_left_out() -> None:
    """At 70° north the sun stays up from May to July, and down for two months of winter."""
    found = list(Solar("sunrise", 70, 25).fire_times(NOW, NOW + 365 * DAY))
    assert {moment.month for moment in found} == {1, 2, 3, 4, 5, 7, 8, 9, 10, 11}
    longest = max(pairwise(found), key=lambda pair: pair[1] - pair[0])
    assert 60 * DAY < longest[1] - longest[0] < 80 * DAY
    assert len(list(Solar("noon", 70, 25).fire_times(NOW, NOW + 365 * DAY))) == 365


@pytest.mark.parametrize(
    ("offset", "minutes"), [("-30m", -30), ("+1h30m", 90), ("0s", 0), (-90 * MINUTE, -90), (-600, -10)]
)
def test_fires_so_long_before_or_after(offset: Any, minutes: int) -> None:
    plain = Solar("sunset", *BERLIN).next(NOW, 50)
    assert Solar("sunset", *BERLIN, offset).next(NOW, 50) == [moment + minutes * MINUTE for moment in plain]


def test_the_ends_of_the_calendar_end_the_series() -> None:
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    for offset in ("-12h", "12h"):
        trigger = Solar("sunrise", *BERLIN, offset)
        assert trigger.next_after(last) is None
        assert trigger.previous(first) is None
        assert trigger.next_after(first) is not None
        assert trigger.previous(last) is not None


DESCRIBED = [
    (("sunset", 52.52, 13.41, "-30m"), "30 minutes before sunset at 52.52°N 13.41°E"),
    (("sunrise", -33.8688, -151.2093), "at sunrise at 33.87°S 151.21°W"),
    (("dawn", 0, 0, "1h"), "1 hour after civil dawn at 0°N 0°E"),
    (("noon", 1.5, 2, "1h1m"), "1 hour 1 minute after solar noon at 1.5°N 2°E"),
]


@pytest.mark.parametrize(("arguments", "words"), DESCRIBED)
def test_says_when_it_fires(arguments: tuple[Any, ...], words: str) -> None:
    assert Solar(*arguments).describe() == words


def test_the_form_is_fixed_and_leads_back() -> None:
    trigger = Solar("sunset", 52.5200001, -0.0, "-1h30m")
    form = trigger.to_json()
    assert form == {
        "v": 1,
        "kind": "solar",
        "event": "sunset",
        "latitude": 52.52,
        "longitude": 0.0,
        "offset": "-1h30m",
    }
    assert str(form["longitude"]) == "0.0"
    assert Solar(*[form[name] for name in ("event", "latitude", "longitude", "offset")]) == trigger  # type: ignore[arg-type]
    assert pickle.loads(pickle.dumps(trigger)) == trigger
    assert hash(trigger) == hash(Solar("sunset", 52.52, 0, -90 * MINUTE))


REFUSED: list[tuple[tuple[Any, ...], str]] = [
    (
        ("moonrise", 0, 0),
        'solar event "moonrise" is unknown, expected one of sunrise, sunset, dawn, dusk, noon',
    ),
    (("sunrise", 90.1, 0), "solar latitude 90.1: expected degrees from -90 to 90"),
    (("sunrise", 0, -181), "solar longitude -181: expected degrees from -180 to 180"),
    (("sunrise", float("nan"), 0), "solar latitude nan: expected degrees from -90 to 90"),
    (("sunrise", "52N", 0), 'solar latitude "52N": expected degrees from -90 to 90'),
    (("sunrise", True, 0), "solar latitude True: expected degrees from -90 to 90"),
    (("sunrise", 0, 0, "13h"), 'solar offset "13h": expected whole minutes, at most 12h before or after'),
    (
        ("sunrise", 0, 0, "-12h1m"),
        'solar offset "-12h1m": expected whole minutes, at most 12h before or after',
    ),
    (("sunrise", 0, 0, "90s"), 'solar offset "90s": expected whole minutes, at most 12h before or after'),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED, ids=range(len(REFUSED)))
def test_is_refused_in_one_line(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InvalidTrigger) as refusal:
        Solar(*arguments)
    assert str(refusal.value) == message


@pytest.mark.parametrize("offset", ["-", "--30m", "soon", "- 30m", True, None])
def test_an_offset_that_is_no_length_of_time_is_refused(offset: Any) -> None:
    with pytest.raises(InvalidTrigger, match=r"^solar offset: duration .*expected a length of time"):
        Solar("sunrise", 0, 0, offset)
