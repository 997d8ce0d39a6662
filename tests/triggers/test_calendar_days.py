"""Calendars: what is a business day, how far the next one is, and what no calendar may be."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from itertools import count, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import InvalidTrigger
from fencepost.triggers.business.calendar import Calendar
from fencepost.triggers.business.days import WEEK
from tests.properties import examples

DAY = timedelta(days=1)
NEW_YEAR = date(2026, 1, 1)
GERMAN = Calendar("de", holidays=["2026-12-26", "2026-12-25", date(2026, 1, 1), "2026-12-25"])
CHINESE = Calendar("cn", holidays="2026-02-16,2026-02-17", workdays=["2026-02-14", "2026-02-28"])

near = st.integers(-500, 500).map(lambda days: NEW_YEAR + days * DAY)


@st.composite
def calendars(draw: st.DrawFn) -> tuple[Calendar, Callable[[date], bool]]:
    """A calendar, and the same in the words of its definition."""
    weekend = draw(st.sets(st.integers(0, 6), max_size=6))
    opened = draw(st.sets(near, max_size=10))
    closed = draw(st.sets(near, max_size=60)) - opened

    def is_worked(day: date) -> bool:
        return day in opened or (day.weekday() not in weekend and day not in closed)

    return Calendar("made", [WEEK[number] for number in weekend], closed, opened), is_worked


@examples(200)
@given(made=calendars(), day=near, steps=st.integers(1, 40))
def test_business_days_are_counted_a_day_at_a_time(
    made: tuple[Calendar, Callable[[date], bool]], day: date, steps: int
) -> None:
    calendar, is_worked = made
    ahead = (one for number in count(1) if is_worked(one := day + number * DAY))
    behind = (one for number in count(1) if is_worked(one := day - number * DAY))
    assert calendar.is_business_day(day) == is_worked(day)
    assert calendar.next_business_day(day, steps) == list(islice(ahead, steps))[-1]
    assert calendar.previous_business_day(day, steps) == list(islice(behind, steps))[-1]


@examples(100)
@given(made=calendars(), day=near)
def test_the_days_of_a_month_are_all_of_its_business_days(
    made: tuple[Calendar, Callable[[date], bool]], day: date
) -> None:
    calendar, is_worked = made
    month = (one for number in range(31) if (one := day.replace(day=1) + number * DAY).month == day.month)
    assert calendar.business_days_of(day.year, day.month) == list(filter(is_worked, month))


def test_dates_are_sorted_and_kept_once() -> None:
    assert GERMAN.holidays == (NEW_YEAR, date(2026, 12, 25), date(2026, 12, 26))
    assert GERMAN.weekend == "SAT SUN"
    assert Calendar("de", holidays="2026-12-26, 2026-01-01 2026-12-25") == GERMAN
    assert hash(Calendar("de", ["sun", "SAT"], [*GERMAN.holidays])) == hash(GERMAN)


def test_a_worked_saturday_is_a_business_day_and_a_holiday_on_a_sunday_changes_nothing() -> None:
    assert CHINESE.is_business_day(date(2026, 2, 14))
    assert not CHINESE.is_business_day(date(2026, 2, 15))
    assert CHINESE.next_business_day(date(2026, 2, 14)) == date(2026, 2, 18)
    assert not GERMAN.is_business_day(date(2026, 12, 26))


@pytest.mark.parametrize("weekend", ["", "FRI,SAT", "sun", "MON TUE WED THU FRI SAT"])
def test_a_weekend_may_be_any_days_but_all(weekend: str) -> None:
    calendar = Calendar("made", weekend)
    worked = {one.weekday() for one in calendar.business_days_of(2026, 8)}
    named = weekend.upper().replace(",", " ").split()
    assert worked == {number for number, name in enumerate(WEEK) if name not in named}


def test_the_last_year_with_a_holiday_is_how_far_a_calendar_is_known() -> None:
    assert GERMAN.known_through == 2026
    assert Calendar("de", holidays="2031-01-01 2027-05-01").known_through == 2031
    assert Calendar("plain", "SUN").known_through is None
    assert Calendar("de").known_through is None


def test_equal_calendars_share_their_days() -> None:
    one, other = (
        Calendar("one", holidays="2026-12-25"),
        Calendar("other", holidays=["2026-12-25"], revision=4),
    )
    assert other.days is one.days
    assert other.holidays is one.holidays
    assert other != one


def test_a_calendar_shows_how_many_dates_it_has_not_which() -> None:
    assert repr(Calendar("de")) == "Calendar('de')"
    assert repr(CHINESE) == "Calendar('cn', weekend='SAT SUN', holidays=<2>, workdays=<2>)"
    assert repr(Calendar("de", "SUN", revision=3)).endswith("workdays=<0>, revision=3)")


ASKED: list[Callable[[Calendar], object]] = [
    lambda calendar: calendar.is_business_day(NEW_YEAR),
    lambda calendar: calendar.next_business_day(NEW_YEAR),
    lambda calendar: calendar.previous_business_day(NEW_YEAR),
    lambda calendar: calendar.business_days_of(2026, 1),
    lambda calendar: calendar.business_days("09:00").next_after(datetime(2026, 1, 1, tzinfo=UTC)),
    lambda calendar: calendar.business_day(1, "09:00").previous(datetime(2026, 1, 1, tzinfo=UTC)),
]


@pytest.mark.parametrize("asked", ASKED, ids=["is", "next", "previous", "month", "trigger", "backwards"])
def test_a_name_alone_knows_no_days(asked: Callable[[Calendar], object]) -> None:
    with pytest.raises(InvalidTrigger) as refusal:
        asked(Calendar("de"))
    assert str(refusal.value) == (
        'calendar "de" is only a name here: it is read from the store when a schedule is added; '
        "to look here, give its holidays"
    )


def test_dates_end_and_begin_somewhere() -> None:
    assert GERMAN.next_business_day(date(9999, 12, 31)) is None
    assert GERMAN.next_business_day(date(9999, 12, 30)) == date(9999, 12, 31)
    assert GERMAN.previous_business_day(date(1, 1, 1)) is None
    assert len(GERMAN.business_days_of(9999, 12)) == 23


NAMES = "expected 1 to 200 letters, digits or _ . : / -, beginning with a letter, digit or _"
MOMENT = "datetime.datetime(2026, 1, 1, 0, 0, tzinfo=datetime.timezone…"
MADE: list[tuple[str, Callable[[], object], str]] = [
    (
        "name",
        lambda: Calendar("two words"),
        f"calendar 'two words': {NAMES}",
    ),
    ("number", lambda: Calendar(5), "calendar 5: expected a text"),  # type: ignore[arg-type]
    (
        "weekday",
        lambda: Calendar("de", "SAT,SONNTAG"),
        'calendar "de": weekend has "SONNTAG", expected days from MON TUE WED THU FRI SAT SUN',
    ),
    (
        "week",
        lambda: Calendar("de", WEEK),
        'calendar "de": a weekend of seven days leaves no business day',
    ),
    (
        "weekend",
        lambda: Calendar("de", 5),  # type: ignore[arg-type]
        'calendar "de": weekend is 5, expected days such as SAT,SUN',
    ),
    (
        "date",
        lambda: Calendar("de", holidays=["25.12.2026"]),
        'calendar "de": holidays has "25.12.2026", expected a date such as 2026-12-25',
    ),
    (
        "compact",
        lambda: Calendar("de", workdays="20261225"),
        'calendar "de": workdays has "20261225", expected a date such as 2026-12-25',
    ),
    (
        "no day",
        lambda: Calendar("de", holidays="2026-02-29"),
        'calendar "de": holidays has "2026-02-29": day is out of range for month',
    ),
    (
        "moment",
        lambda: Calendar("de", holidays=[datetime(2026, 1, 1, tzinfo=UTC)]),
        f'calendar "de": holidays has {MOMENT}, expected a date such as 2026-12-25',
    ),
    (
        "dates",
        lambda: Calendar("de", holidays=2026),  # type: ignore[arg-type]
        'calendar "de": holidays is 2026, expected a list of dates',
    ),
    (
        "both",
        lambda: Calendar("de", holidays="2026-05-01", workdays="2026-05-01"),
        'calendar "de": 2026-05-01 is both a holiday and a workday',
    ),
    (
        "revision",
        lambda: Calendar("de", "SUN", revision=0),
        'calendar "de": revision 0, expected a whole number from 1 on',
    ),
    (
        "truth",
        lambda: Calendar("de", "SUN", revision=True),
        'calendar "de": revision True, expected a whole number from 1 on',
    ),
    (
        "bare revision",
        lambda: Calendar("de", revision=3),
        'calendar "de": a revision needs days, give weekend, holidays or workdays',
    ),
    (
        "count",
        lambda: GERMAN.next_business_day(NEW_YEAR, 0),
        "count 0: expected a whole number from 1 to 1000",
    ),
    (
        "asked moment",
        lambda: GERMAN.is_business_day(datetime(2026, 1, 1, tzinfo=UTC)),
        f"day {MOMENT}: expected a date without a time",
    ),
    ("month", lambda: GERMAN.business_days_of(2026, 13), "month 13 of year 2026 does not exist"),
]


@pytest.mark.parametrize(("make", "message"), [pytest.param(*rest, id=name) for name, *rest in MADE])
def test_what_is_no_calendar_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidTrigger) as refusal:
        make()
    assert str(refusal.value) == message


def test_five_thousand_dates_are_enough() -> None:
    dates = [NEW_YEAR + 3 * number * DAY for number in range(5_001)]
    assert len(Calendar("much", holidays=dates[:5_000]).holidays) == 5_000
    with pytest.raises(InvalidTrigger, match='"much" has more than 5000 holidays'):
        Calendar("much", holidays=dates)
    with pytest.raises(InvalidTrigger, match='"much" has 5001 dates, expected at most 5000'):
        Calendar("much", holidays=dates[:5_000], workdays=dates[5_000:])
    with pytest.raises(InvalidTrigger, match='"much" has more than 5000 holidays'):
        Calendar("much", holidays=(NEW_YEAR for _ in count()))


@pytest.mark.parametrize("weekend", ["", "SAT SUN", "TUE WED THU FRI SAT SUN"])
def test_a_calendar_that_closes_for_years_is_refused(weekend: str) -> None:
    """Thursday 1 January 2026 begins the closure, and the days of the weekend lengthen it."""
    closed = [NEW_YEAR + number * DAY for number in range(1_000)]
    first = NEW_YEAR
    while (first - DAY).strftime("%a").upper() in weekend:
        first -= DAY
    reached = NEW_YEAR + 1_000 * DAY
    while reached.strftime("%a").upper() in weekend:
        reached += DAY
    length = (reached - first).days
    if length > 1_000:
        with pytest.raises(InvalidTrigger, match=f"no business day in the {length} days from {first}"):
            Calendar("closed", weekend, closed)
        closed = closed[: 1_000 - (length - 1_000)]
    calendar = Calendar("closed", weekend, closed)
    after = calendar.next_business_day(closed[0] - DAY)
    assert after is not None
    assert after > closed[-1]
    assert calendar.previous_business_day(after) is not None
