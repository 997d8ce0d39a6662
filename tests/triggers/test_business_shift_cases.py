"""Times moved onto business days: the cases that people ask about."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from fencepost.errors import InvalidTrigger
from fencepost.triggers import Cron, Every
from fencepost.triggers.business.calendar import Calendar
from fencepost.triggers.business.trigger import Shifted

DAY = timedelta(days=1)
TICK = timedelta(microseconds=1)
GERMAN = Calendar(
    "de", holidays="2026-01-01 2026-04-03 2026-04-06 2026-05-01 2026-05-14 2026-05-25 2026-12-25 2026-12-26"
)


def days_of(trigger: Shifted, begin: str, count: int) -> list[str]:
    return [f"{one:%a %d %b %H:%M}" for one in trigger.next(datetime.fromisoformat(begin), count)]


def test_the_first_of_the_month_moves_off_weekends_and_holidays() -> None:
    first = Cron("0 9 1 * *")
    assert days_of(Shifted(first, GERMAN, "next"), "2025-12-31T00:00Z", 5) == [
        "Fri 02 Jan 09:00",
        "Mon 02 Feb 09:00",
        "Mon 02 Mar 09:00",
        "Wed 01 Apr 09:00",
        "Mon 04 May 09:00",
    ]
    assert days_of(Shifted(first, GERMAN, "previous"), "2025-12-31T00:00Z", 5) == [
        "Wed 31 Dec 09:00",
        "Fri 30 Jan 09:00",
        "Fri 27 Feb 09:00",
        "Wed 01 Apr 09:00",
        "Thu 30 Apr 09:00",
    ]
    assert days_of(Shifted(first, GERMAN, "skip"), "2025-12-31T00:00Z", 3) == [
        "Wed 01 Apr 09:00",
        "Mon 01 Jun 09:00",
        "Wed 01 Jul 09:00",
    ]


def test_hours_of_a_long_weekend_meet_mondays_and_fire_once() -> None:
    hourly = Shifted(Cron("0 * * * *"), GERMAN, "next")
    easter = list(
        hourly.fire_times(datetime(2026, 4, 3, tzinfo=UTC) - TICK, datetime(2026, 4, 8, tzinfo=UTC) - TICK)
    )
    assert easter == [datetime(2026, 4, 7, hour, tzinfo=UTC) for hour in range(24)]


def test_a_moved_time_may_come_after_a_later_one_of_its_own_day() -> None:
    """Saturday's 18:00 comes to Monday after Sunday's 09:00, which is the later of the two."""
    saturday, every = Shifted(Cron("0 18 * * SAT"), GERMAN), Shifted(Cron("0 9,18 * * *"), GERMAN)
    assert days_of(saturday, "2026-02-04T00:00Z", 1) == ["Mon 09 Feb 18:00"]
    assert days_of(every, "2026-02-06T12:00Z", 3) == [
        "Fri 06 Feb 18:00",
        "Mon 09 Feb 09:00",
        "Mon 09 Feb 18:00",
    ]


def test_a_closure_over_the_end_of_the_month_and_the_year_loses_nothing() -> None:
    winter = Calendar("winter", holidays=[date(2026, 12, 20) + number * DAY for number in range(25)])
    last = Shifted(Cron("0 8 L * *"), winter, "next")
    assert days_of(last, "2026-12-01T00:00Z", 2) == ["Thu 14 Jan 08:00", "Mon 01 Feb 08:00"]
    assert days_of(Shifted(Cron("0 8 L * *"), winter, "previous"), "2026-12-01T00:00Z", 2) == [
        "Fri 18 Dec 08:00",
        "Fri 29 Jan 08:00",
    ]


def test_a_gap_on_a_business_day_is_left_to_the_policy_of_the_trigger_within() -> None:
    sundays = Calendar("sundays", weekend="SAT")
    moved = Shifted(Cron("30 2 * * SAT", "Europe/Berlin"), sundays, "next")
    assert days_of(moved, "2026-03-27T00:00Z", 2) == ["Sun 29 Mar 01:00", "Sun 05 Apr 00:30"]
    skipped = Shifted(Cron("30 2 * * SAT", "Europe/Berlin", gap="skip"), sundays, "next")
    assert days_of(skipped, "2026-03-27T00:00Z", 1) == ["Sun 05 Apr 00:30"]
    doubled = Shifted(Cron("30 2 * * SAT", "Europe/Berlin", fold="both"), sundays, "next")
    assert days_of(doubled, "2026-10-23T00:00Z", 2) == ["Sun 25 Oct 00:30", "Sun 25 Oct 01:30"]


def test_a_shift_of_a_shift_obeys_both_calendars() -> None:
    bank, plant = Calendar("bank", holidays="2026-05-14"), Calendar("plant", weekend="FRI,SAT,SUN")
    inner = Shifted(Cron("0 9 14 5 *"), bank, "next")
    assert days_of(inner, "2026-01-01T00:00Z", 1) == ["Fri 15 May 09:00"]
    assert days_of(Shifted(inner, plant, "next"), "2026-01-01T00:00Z", 1) == ["Mon 18 May 09:00"]


def test_what_only_fires_on_other_days_is_refused_and_one_workday_saves_it() -> None:
    with pytest.raises(InvalidTrigger, match="never fires, all of its times fall on other days"):
        Shifted(Cron("0 9 * * SAT"), GERMAN, "skip")
    worked = Calendar("cn", workdays="2026-02-14 2026-02-28")
    saturdays = Shifted(Cron("0 9 * * SAT"), worked, "skip")
    assert days_of(saturdays, "2026-01-01T00:00Z", 9) == ["Sat 14 Feb 09:00", "Sat 28 Feb 09:00"]
    assert saturdays.next_after(datetime(2026, 3, 1, tzinfo=UTC)) is None
    assert saturdays.previous(datetime(2026, 2, 14, tzinfo=UTC)) is None


REFUSED: list[tuple[object, object, object, str]] = [
    (
        Every("1h"),
        GERMAN,
        "next",
        f"{Every('1h').describe()}: only cron and business-day triggers can be kept to business days",
    ),
    (
        "0 9 * * *",
        GERMAN,
        "next",
        '"0 9 * * *": only cron and business-day triggers can be kept to business days',
    ),
    (Cron("0 9 * * *"), "de", "next", 'calendar "de": expected a Calendar such as Calendar("de")'),
    (Cron("0 9 * * *"), GERMAN, "later", 'otherwise "later" is unknown, expected next, previous or skip'),
    (Cron("0 9 * * *"), GERMAN, None, "otherwise None is unknown, expected next, previous or skip"),
]


@pytest.mark.parametrize(
    ("of", "calendar", "otherwise", "message"), REFUSED, ids=["every", "text", "name", "word", "none"]
)
def test_what_cannot_be_moved_is_refused(
    of: object, calendar: object, otherwise: object, message: str
) -> None:
    with pytest.raises(InvalidTrigger) as refusal:
        Shifted(of, calendar, otherwise)  # type: ignore[arg-type]
    assert str(refusal.value) == message


def test_a_beat_of_elapsed_time_has_no_days_in_another_zone() -> None:
    with pytest.raises(InvalidTrigger, match="counts elapsed time"):
        Shifted(Cron("@every 7h", "Europe/Berlin"), GERMAN, "next")


def test_a_trigger_nested_too_deep_is_refused() -> None:
    trigger = Shifted(Cron("0 9 * * *"), GERMAN)
    for _ in range(14):
        trigger = Shifted(trigger, GERMAN)
    with pytest.raises(InvalidTrigger, match="combined 17 deep, expected at most 16"):
        Shifted(trigger, GERMAN)
