"""The nth business day of a month, and every one, against months read a day at a time."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import InvalidTrigger
from fencepost.triggers.business.calendar import Calendar
from fencepost.triggers.business.days import WEEK
from fencepost.triggers.business.trigger import BusinessDay
from tests.properties import examples

DAY = timedelta(days=1)
TICK = timedelta(microseconds=1)
YEARS = range(2025, 2028)
BEGIN, END = datetime(2025, 1, 1, tzinfo=UTC), datetime(2028, 1, 1, tzinfo=UTC)
GERMAN = Calendar("de", holidays="2026-01-01 2026-04-03 2026-04-06 2026-05-01 2026-12-25 2026-12-31")

days = st.integers(0, (END - BEGIN).days - 1).map(lambda number: BEGIN.date() + number * DAY)


@st.composite
def made(draw: st.DrawFn) -> tuple[BusinessDay | None, list[datetime]]:
    """A trigger, or None where it is refused, and its fire times by the words of its definition."""
    weekend = draw(st.sets(st.integers(0, 6), max_size=3))
    opened = draw(st.sets(days, max_size=12))
    closures = draw(st.lists(st.tuples(days, st.integers(1, 40)), max_size=8))
    closed = {first + number * DAY for first, length in closures for number in range(length)} - opened
    nth = draw(st.none() | st.integers(1, 23) | st.integers(-23, -1))
    months = draw(st.none() | st.sets(st.integers(1, 12), min_size=1, max_size=5))
    seconds = draw(st.sets(st.integers(0, 86_399), min_size=1, max_size=3))
    calendar = Calendar("made", [WEEK[number] for number in weekend], closed, opened)
    expected = []
    for year in YEARS:
        for month in sorted(months or range(1, 13)):
            dates = (date(year, month, number) for number in range(1, monthrange(year, month)[1] + 1))
            worked = [
                one for one in dates if one in opened or (one.weekday() not in weekend and one not in closed)
            ]
            for one in _chosen(worked, nth):
                midnight = datetime(one.year, one.month, one.day, tzinfo=UTC)
                expected += [midnight + timedelta(seconds=second) for second in sorted(seconds)]
    at = [str(timedelta(seconds=second)).zfill(8) for second in seconds]
    named = None if months is None else [f"{date(2026, month, 1):%b}" for month in months]
    try:
        return BusinessDay(calendar, at, nth, months=named), expected
    except InvalidTrigger:
        return None, expected


def _chosen(worked: list[date], nth: int | None) -> list[date]:
    if nth is None:
        return worked
    ranked = worked if nth > 0 else worked[::-1]
    return ranked[abs(nth) - 1 : abs(nth)]


@examples(200)
@given(case=made())
def test_each_month_has_the_days_that_a_reader_of_the_calendar_would_find(
    case: tuple[BusinessDay | None, list[datetime]],
) -> None:
    trigger, expected = case
    found = [] if trigger is None else list(trigger.fire_times(BEGIN - TICK, END - TICK))
    assert found == expected


@examples(200)
@given(case=made(), ahead=st.integers(0, int((END - BEGIN).total_seconds()) - 1))
def test_a_search_may_begin_anywhere_and_go_either_way(
    case: tuple[BusinessDay | None, list[datetime]], ahead: int
) -> None:
    trigger, expected = case
    if trigger is None:
        return
    moment = BEGIN + timedelta(seconds=ahead)
    coming, gone = trigger.next_after(moment), trigger.previous(moment)
    assert [one for one in expected if one > moment][:1] == [one for one in (coming,) if one and one < END]
    assert [one for one in expected if one < moment][-1:] == [one for one in (gone,) if one and one >= BEGIN]
    for one in (coming, gone):
        assert one is None or one in trigger


def days_of(trigger: BusinessDay, begin: str, count: int) -> list[str]:
    return [f"{one:%a %d %b %H:%M}" for one in trigger.next(datetime.fromisoformat(begin), count)]


def test_the_last_business_day_is_before_weekends_and_holidays_at_the_end_of_the_month() -> None:
    trigger = GERMAN.business_day(-1, at="18:00", tz="Europe/Berlin")
    assert days_of(trigger, "2026-01-01T00:00Z", 12)[::4] == [
        "Fri 30 Jan 17:00",
        "Fri 29 May 16:00",
        "Wed 30 Sep 16:00",
    ]
    assert days_of(trigger, "2026-12-01T00:00Z", 1) == ["Wed 30 Dec 17:00"]


def test_quarters_and_several_times() -> None:
    trigger = GERMAN.business_day(2, at=["17:30", "09:00"], months="MAR,JUN,sep DEC")
    assert days_of(trigger, "2026-01-01T00:00Z", 4) == [
        "Tue 03 Mar 09:00",
        "Tue 03 Mar 17:30",
        "Tue 02 Jun 09:00",
        "Tue 02 Jun 17:30",
    ]
    assert trigger.at == ("09:00", "17:30")
    assert trigger.months == "MAR,JUN,SEP,DEC"


def test_a_month_with_too_few_business_days_is_left_out() -> None:
    """Of 2026, only these months have 23 days from Monday to Friday."""
    every_month = Calendar("plain", "SAT,SUN").business_day(23, at="00:00")
    found = every_month.fire_times(datetime(2025, 12, 31, tzinfo=UTC), datetime(2026, 12, 31, 23, tzinfo=UTC))
    assert [one.month for one in found] == [7, 12]


def test_a_month_without_any_business_day_is_left_out() -> None:
    august = Calendar("august", holidays=[date(2026, 8, 1) + number * DAY for number in range(31)])
    assert days_of(august.business_day(1, at="08:00"), "2026-07-15T00:00Z", 2) == [
        "Tue 01 Sep 08:00",
        "Thu 01 Oct 08:00",
    ]
    assert days_of(august.business_days(at="08:00"), "2026-07-31T00:00Z", 2) == [
        "Fri 31 Jul 08:00",
        "Tue 01 Sep 08:00",
    ]


def test_a_gap_on_a_business_day_shifts_unless_told_to_skip() -> None:
    """In Cairo the clocks go from 00:00 to 01:00 on Friday 25 April 2025."""
    plain = Calendar("plain", "SAT,SUN")
    shifted = plain.business_days(at="00:30", tz="Africa/Cairo")
    assert days_of(shifted, "2025-04-24T00:00Z", 2) == ["Thu 24 Apr 22:00", "Sun 27 Apr 21:30"]
    skipped = plain.business_days(at="00:30", tz="Africa/Cairo", gap="skip")
    assert days_of(skipped, "2025-04-24T00:00Z", 1) == ["Sun 27 Apr 21:30"]
    assert shifted.previous(datetime(2025, 4, 25, tzinfo=UTC)) == datetime(2025, 4, 24, 22, tzinfo=UTC)


def test_a_fold_on_a_business_day_fires_first_unless_told_otherwise() -> None:
    """In Cairo 23:00 to 24:00 comes twice on Thursday 30 October 2025."""
    plain = Calendar("plain", "SAT,SUN")
    first = plain.business_days(at="23:30", tz="Africa/Cairo")
    assert days_of(first, "2025-10-30T00:00Z", 2) == ["Thu 30 Oct 20:30", "Fri 31 Oct 21:30"]
    both = plain.business_days(at="23:30", tz="Africa/Cairo", fold="both")
    assert days_of(both, "2025-10-30T00:00Z", 2) == ["Thu 30 Oct 20:30", "Thu 30 Oct 21:30"]


@pytest.mark.parametrize("begin", ["9989-12-01T00:00Z", "0010-02-01T00:00Z"])
def test_the_ends_of_time_are_no_error(begin: str) -> None:
    moment = datetime.fromisoformat(begin)
    trigger = GERMAN.business_day(-1, at="18:00", months="DEC")
    assert trigger.next_after(moment) is not None
    assert GERMAN.business_days("00:00").previous(moment) is not None


WORDS: list[tuple[BusinessDay, str]] = [
    (
        Calendar("de").business_day(-1, at="18:00", tz="Europe/Berlin"),
        "on the last business day of the month at 18:00, Berlin time (calendar de)",
    ),
    (
        Calendar("de").business_day(1, at="18:00:05"),
        "on the first business day of the month at 18:00:05, UTC (calendar de)",
    ),
    (
        Calendar("de").business_day(-2, at=["09:00", "17:00"], months="MAR"),
        "on the 2nd last business day of March at 09:00 and 17:00, UTC (calendar de)",
    ),
    (
        Calendar("de").business_day(13, at="09:00", months="DEC,JAN,MAR"),
        "on the 13th business day of January, March and December at 09:00, UTC (calendar de)",
    ),
    (Calendar("de").business_days("09:00"), "on every business day at 09:00, UTC (calendar de)"),
    (
        Calendar("de").business_days("09:00", months="MAY"),
        "on every business day in May at 09:00, UTC (calendar de)",
    ),
]


@pytest.mark.parametrize(("trigger", "words"), WORDS, ids=[str(number) for number in range(len(WORDS))])
def test_it_says_when_it_fires(trigger: BusinessDay, words: str) -> None:
    assert trigger.describe() == words


TIME = "expected a time of the day such as 18:00 or 18:00:30"
NTH = "expected 1 to 23, or -1 to -23 from the end of the month"
NEVER = "never fires, no such month has that many business days"
NAMES = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC"
ZONE = 'time zone "Europe/Berln" is unknown, did you mean Europe/Berlin?'
CALENDAR = 'calendar "de": expected a Calendar such as Calendar("de")'
REFUSED: list[tuple[str, Callable[[], object], str]] = [
    ("zero", lambda: GERMAN.business_day(0, "18:00"), f"business day 0: {NTH}"),
    ("far", lambda: GERMAN.business_day(-24, "18:00"), f"business day -24: {NTH}"),
    ("truth", lambda: GERMAN.business_day(True, "18:00"), f"business day True: {NTH}"),
    ("none", lambda: GERMAN.business_day(None, "18:00"), f"business day None: {NTH}"),  # type: ignore[arg-type]
    ("hour", lambda: GERMAN.business_days("24:00"), f'at "24:00": {TIME}'),
    ("short", lambda: GERMAN.business_days("9:00"), f'at "9:00": {TIME}'),
    ("digits", lambda: GERMAN.business_days("०९:00"), f'at "०९:00": {TIME}'),
    ("number", lambda: GERMAN.business_days([9]), f"at 9: {TIME}"),  # type: ignore[list-item]
    ("bare", lambda: GERMAN.business_days(9), "at 9: expected a time such as 18:00"),  # type: ignore[arg-type]
    ("never", lambda: GERMAN.business_days([]), "at: expected 1 to 100 times of the day"),
    (
        "month",
        lambda: GERMAN.business_days("09:00", months="MAR,XYZ"),
        f'month "XYZ" is unknown, expected one of {NAMES}',
    ),
    (
        "months",
        lambda: GERMAN.business_days("09:00", months=" "),
        'months " ": expected 1 to 12 months such as MAR,JUN',
    ),
    (
        "no months",
        lambda: GERMAN.business_days("09:00", months=[]),
        "months []: expected 1 to 12 months such as MAR,JUN",
    ),
    (
        "gap",
        lambda: GERMAN.business_days("09:00", gap="jump"),  # type: ignore[arg-type]
        'gap "jump" is unknown, expected shift or skip',
    ),
    (
        "fewer",
        lambda: Calendar("mondays", "TUE WED THU FRI SAT SUN").business_day(6, "09:00"),
        f"on the 6th business day of the month at 09:00, UTC (calendar mondays): {NEVER}",
    ),
    (
        "february",
        lambda: Calendar("plain", "SAT,SUN").business_day(22, "09:00", months="FEB"),
        f"on the 22nd business day of February at 09:00, UTC (calendar plain): {NEVER}",
    ),
    ("zone", lambda: GERMAN.business_days("09:00", tz="Europe/Berln"), ZONE),
    ("calendar", lambda: BusinessDay("de", "09:00"), CALENDAR),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("make", "message"), [pytest.param(*rest, id=name) for name, *rest in REFUSED])
def test_what_can_never_be_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidTrigger) as refusal:
        make()
    assert str(refusal.value) == message


def test_one_month_that_is_lengthened_by_workdays_is_enough_to_fire() -> None:
    """February 2027 has 20 days from Monday to Friday, and here four Saturdays more."""
    saturdays = [date(2027, 2, 6) + 7 * number * DAY for number in range(4)]
    calendar = Calendar("rush", workdays=saturdays)
    trigger = calendar.business_day(23, at="09:00", months="FEB")
    assert days_of(trigger, "2026-01-01T00:00Z", 3) == ["Fri 26 Feb 09:00"]
    assert trigger.previous(datetime(2027, 1, 1, tzinfo=UTC)) is None
