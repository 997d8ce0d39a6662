"""The examples of RFC 5545, section 3.8.5.3, with the dates that it lists for them.

All are in New York at 09:00. One is corrected as the RFC's errata do: its UNTIL was meant as a local time.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from zoneinfo import ZoneInfo

import pytest

from fencepost.triggers.rrule import RRule

NEW_YORK = ZoneInfo("America/New_York")
BEFORE = datetime(1990, 1, 1, tzinfo=UTC)
FAR = datetime(2100, 1, 1, tzinfo=UTC)

# Start, rule, the dates month by month, and whether the series ends with them.
DATES: list[tuple[str, str, str, bool]] = [
    ("1997-09-02", "FREQ=DAILY;COUNT=10", "1997-09: 2 3 4 5 6 7 8 9 10 11", True),
    (
        "1997-09-02",
        "FREQ=DAILY;INTERVAL=2",
        "1997-09: 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30, 10: 2 4",
        False,
    ),
    ("1997-09-02", "FREQ=DAILY;INTERVAL=10;COUNT=5", "1997-09: 2 12 22, 10: 2 12", True),
    ("1997-09-02", "FREQ=WEEKLY;COUNT=10", "1997-09: 2 9 16 23 30, 10: 7 14 21 28, 11: 4", True),
    (
        "1997-09-02",
        "FREQ=WEEKLY;UNTIL=19971224T000000Z",
        "1997-09: 2 9 16 23 30, 10: 7 14 21 28, 11: 4 11 18 25, 12: 2 9 16 23",
        True,
    ),
    (
        "1997-09-02",
        "FREQ=WEEKLY;INTERVAL=2;WKST=SU",
        "1997-09: 2 16 30, 10: 14 28, 11: 11 25, 12: 9 23, 1998-01: 6 20, 02: 3 17",
        False,
    ),
    (
        "1997-09-02",
        "FREQ=WEEKLY;UNTIL=19971007T000000Z;WKST=SU;BYDAY=TU,TH",
        "1997-09: 2 4 9 11 16 18 23 25 30, 10: 2",
        True,
    ),
    (
        "1997-09-02",
        "FREQ=WEEKLY;COUNT=10;WKST=SU;BYDAY=TU,TH",
        "1997-09: 2 4 9 11 16 18 23 25 30, 10: 2",
        True,
    ),
    (
        "1997-09-01",
        "FREQ=WEEKLY;INTERVAL=2;UNTIL=19971224T000000Z;WKST=SU;BYDAY=MO,WE,FR",
        "1997-09: 1 3 5 15 17 19 29, 10: 1 3 13 15 17 27 29 31, 11: 10 12 14 24 26 28, 12: 8 10 12 22",
        True,
    ),
    (
        "1997-09-02",
        "FREQ=WEEKLY;INTERVAL=2;COUNT=8;WKST=SU;BYDAY=TU,TH",
        "1997-09: 2 4 16 18 30, 10: 2 14 16",
        True,
    ),
    (
        "1997-09-05",
        "FREQ=MONTHLY;COUNT=10;BYDAY=1FR",
        "1997-09: 5, 10: 3, 11: 7, 12: 5, 1998-01: 2, 02: 6, 03: 6, 04: 3, 05: 1, 06: 5",
        True,
    ),
    (
        "1997-09-05",
        "FREQ=MONTHLY;UNTIL=19971224T000000Z;BYDAY=1FR",
        "1997-09: 5, 10: 3, 11: 7, 12: 5",
        True,
    ),
    (
        "1997-09-07",
        "FREQ=MONTHLY;INTERVAL=2;COUNT=10;BYDAY=1SU,-1SU",
        "1997-09: 7 28, 11: 2 30, 1998-01: 4 25, 03: 1 29, 05: 3 31",
        True,
    ),
    (
        "1997-09-22",
        "FREQ=MONTHLY;COUNT=6;BYDAY=-2MO",
        "1997-09: 22, 10: 20, 11: 17, 12: 22, 1998-01: 19, 02: 16",
        True,
    ),
    (
        "1997-09-28",
        "FREQ=MONTHLY;BYMONTHDAY=-3",
        "1997-09: 28, 10: 29, 11: 28, 12: 29, 1998-01: 29, 02: 26",
        False,
    ),
    (
        "1997-09-02",
        "FREQ=MONTHLY;COUNT=10;BYMONTHDAY=2,15",
        "1997-09: 2 15, 10: 2 15, 11: 2 15, 12: 2 15, 1998-01: 2 15",
        True,
    ),
    (
        "1997-09-30",
        "FREQ=MONTHLY;COUNT=10;BYMONTHDAY=1,-1",
        "1997-09: 30, 10: 1 31, 11: 1 30, 12: 1 31, 1998-01: 1 31, 02: 1",
        True,
    ),
    (
        "1997-09-10",
        "FREQ=MONTHLY;INTERVAL=18;COUNT=10;BYMONTHDAY=10,11,12,13,14,15",
        "1997-09: 10 11 12 13 14 15, 1999-03: 10 11 12 13",
        True,
    ),
    (
        "1997-09-02",
        "FREQ=MONTHLY;INTERVAL=2;BYDAY=TU",
        "1997-09: 2 9 16 23 30, 11: 4 11 18 25, 1998-01: 6 13 20 27, 03: 3 10 17 24 31",
        False,
    ),
    (
        "1997-06-10",
        "FREQ=YEARLY;COUNT=10;BYMONTH=6,7",
        ", ".join(f"{year}-06: 10, 07: 10" for year in range(1997, 2002)),
        True,
    ),
    (
        "1997-03-10",
        "FREQ=YEARLY;INTERVAL=2;COUNT=10;BYMONTH=1,2,3",
        "1997-03: 10, 1999-01: 10, 02: 10, 03: 10, 2001-01: 10, 02: 10, 03: 10, 2003-01: 10, 02: 10, 03: 10",
        True,
    ),
    (
        "1997-01-01",
        "FREQ=YEARLY;INTERVAL=3;COUNT=10;BYYEARDAY=1,100,200",
        "1997-01: 1, 04: 10, 07: 19, 2000-01: 1, 04: 9, 07: 18, 2003-01: 1, 04: 10, 07: 19, 2006-01: 1",
        True,
    ),
    ("1997-05-19", "FREQ=YEARLY;BYDAY=20MO", "1997-05: 19, 1998-05: 18, 1999-05: 17", False),
    ("1997-05-12", "FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", "1997-05: 12, 1998-05: 11, 1999-05: 17", False),
    (
        "1997-03-13",
        "FREQ=YEARLY;BYMONTH=3;BYDAY=TH",
        "1997-03: 13 20 27, 1998-03: 5 12 19 26, 1999-03: 4 11 18 25",
        False,
    ),
    (
        "1997-06-05",
        "FREQ=YEARLY;BYDAY=TH;BYMONTH=6,7,8",
        "1997-06: 5 12 19 26, 07: 3 10 17 24 31, 08: 7 14 21 28, 1998-06: 4 11 18 25, 07: 2 9 16 23 30",
        False,
    ),
    (
        "1997-09-02",
        "FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13",
        "1998-02: 13, 03: 13, 11: 13, 1999-08: 13, 2000-10: 13",
        False,
    ),
    (
        "1997-09-13",
        "FREQ=MONTHLY;BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13",
        "1997-09: 13, 10: 11, 11: 8, 12: 13, 1998-01: 10, 02: 7, 03: 7, 04: 11, 05: 9, 06: 13",
        False,
    ),
    (
        "1996-11-05",
        "FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8",
        "1996-11: 5, 2000-11: 7, 2004-11: 2",
        False,
    ),
    ("1997-09-04", "FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3", "1997-09: 4, 10: 7, 11: 6", True),
    (
        "1997-09-29",
        "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2",
        "1997-09: 29, 10: 30, 11: 27, 12: 30, 1998-01: 29, 02: 26, 03: 30",
        False,
    ),
    ("1997-08-05", "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO", "1997-08: 5 10 19 24", True),
    ("1997-08-05", "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU", "1997-08: 5 17 19 31", True),
    ("2007-01-15", "FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5", "2007-01: 15 30, 02: 15, 03: 15 30", True),
]

# Start, rule, and the times of the first day, then whether the series ends with them.
TIMES: list[tuple[str, str, bool]] = [
    ("FREQ=HOURLY;INTERVAL=3;UNTIL=19970902T210000Z", "09:00 12:00 15:00", True),
    ("FREQ=MINUTELY;INTERVAL=15;COUNT=6", "09:00 09:15 09:30 09:45 10:00 10:15", True),
    ("FREQ=MINUTELY;INTERVAL=90;COUNT=4", "09:00 10:30 12:00 13:30", True),
]

TWENTY_MINUTES = [
    "FREQ=DAILY;BYHOUR=9,10,11,12,13,14,15,16;BYMINUTE=0,20,40",
    "FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,10,11,12,13,14,15,16",
]
JANUARIES = [
    "FREQ=YEARLY;UNTIL=20000131T140000Z;BYMONTH=1;BYDAY=SU,MO,TU,WE,TH,FR,SA",
    "FREQ=DAILY;UNTIL=20000131T140000Z;BYMONTH=1",
]


@pytest.mark.parametrize(("start", "rule", "dates", "ends"), DATES, ids=[case[1] for case in DATES])
def test_dates(start: str, rule: str, dates: str, ends: bool) -> None:
    trigger = RRule(rule, start=f"{start}T09:00:00", tz="America/New_York")
    expected = spelled_out(dates)

    found = list(islice(trigger.fire_times(BEFORE, FAR), len(expected) + 1))

    local = [moment.astimezone(NEW_YORK) for moment in found]
    assert [f"{moment:%Y-%m-%d}" for moment in local[: len(expected)]] == expected
    assert {f"{moment:%H:%M:%S}" for moment in local} == {"09:00:00"}
    assert (len(found) == len(expected)) is ends


@pytest.mark.parametrize(("rule", "times", "ends"), TIMES, ids=[case[0] for case in TIMES])
def test_times_of_a_day(rule: str, times: str, ends: bool) -> None:
    trigger = RRule(rule, start="1997-09-02T09:00:00", tz="America/New_York")
    expected = [f"1997-09-02 {time}" for time in times.split()]

    found = [
        f"{moment.astimezone(NEW_YORK):%Y-%m-%d %H:%M}" for moment in trigger.next(BEFORE, len(expected) + 1)
    ]

    assert found[: len(expected)] == expected
    assert (len(found) == len(expected)) is ends


def test_daily_until_a_day_before_christmas() -> None:
    trigger = RRule("FREQ=DAILY;UNTIL=19971224T000000Z", start="1997-09-02T09:00:00", tz="America/New_York")
    found = list(trigger.fire_times(BEFORE, FAR))
    assert len(found) == 29 + 31 + 30 + 23
    assert found[-1] == datetime(1997, 12, 23, 14, tzinfo=UTC)


@pytest.mark.parametrize("rule", JANUARIES)
def test_every_day_in_january_for_three_years(rule: str) -> None:
    found = list(RRule(rule, start="1998-01-01T09:00:00", tz="America/New_York").fire_times(BEFORE, FAR))
    assert found == [
        datetime(year, 1, day, 14, tzinfo=UTC) for year in (1998, 1999, 2000) for day in range(1, 32)
    ]


@pytest.mark.parametrize("rule", TWENTY_MINUTES)
def test_every_twenty_minutes_of_a_working_day(rule: str) -> None:
    found = RRule(rule, start="1997-09-02T09:00:00", tz="America/New_York").next(BEFORE, 48)
    assert [f"{moment.astimezone(NEW_YORK):%d %H:%M}" for moment in found] == [
        f"{day:02} {hour:02}:{minute:02}" for day in (2, 3) for hour in range(9, 17) for minute in (0, 20, 40)
    ]


def test_friday_the_thirteenth_in_the_lines_of_a_calendar() -> None:
    block = (
        "DTSTART;TZID=America/New_York:19970902T090000\r\n"
        "EXDATE;TZID=America/New_York:19970902T090000\r\n"
        "RRULE:FREQ=MONTHLY;BYDAY=FR;BYMON\r\n THDAY=13\r\n"
    )
    assert RRule(block).next(BEFORE, 1) == [datetime(1998, 2, 13, 14, tzinfo=UTC)]


def spelled_out(dates: str) -> list[str]:
    """`1997-09: 2 4, 10: 2` as 1997-09-02, 1997-09-04, 1997-10-02."""
    found, year = [], ""
    for month_text in dates.split(", "):
        month, days = month_text.split(": ")
        year = month[:4] if "-" in month else year
        found += [f"{year}-{month[-2:]}-{int(day):02}" for day in days.split()]
    return found
