"""Recurrence rules that cannot be, that never fire, or that are meant to keep a planner busy."""

from __future__ import annotations

from datetime import UTC, datetime
from time import process_time
from typing import Any

import pytest

from fencepost.errors import InvalidTrigger
from fencepost.triggers.rrule import RRule

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MANY = [f"2026-01-01T{hour:02}:{minute:02}:00" for hour in range(24) for minute in range(60)]
START: dict[str, Any] = {"start": "2026-01-01"}

FREQUENCIES = "YEARLY, MONTHLY, WEEKLY, DAILY, HOURLY, MINUTELY, SECONDLY"
PARTS = (
    "FREQ, INTERVAL, COUNT, UNTIL, WKST, BYDAY, BYMONTH, BYWEEKNO, BYYEARDAY, BYMONTHDAY, BYHOUR, BYMINUTE,"
    " BYSECOND, BYSETPOS"
)
UNTIL_FORMS = "expected 20261231T235959Z, 20261231T235959 or 20261231"

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("", {}, "rrule has 0 rules, expected one"),
    (
        "BYDAY=MO",
        {},
        f'rrule "BYDAY=MO": has no FREQ, expected one of {FREQUENCIES}',
    ),
    (
        "FREQ=HOURLEY",
        {},
        f'rrule "FREQ=HOURLEY": FREQ "HOURLEY" is unknown, expected one of {FREQUENCIES}',
    ),
    ("every day", {}, 'rrule "every day": part "EVERY DAY" is not NAME=VALUE'),
    ("FREQ=DAILY;", {}, 'rrule "FREQ=DAILY;": part "" is not NAME=VALUE'),
    (
        "FREQ=DAILY;BYEASTER=0",
        {},
        f'rrule "FREQ=DAILY;BYEASTER=0": part "BYEASTER" is unknown, expected one of {PARTS}',
    ),
    (
        "FREQ=DAILY;BYHOUR=1;BYHOUR=2",
        {},
        'rrule "FREQ=DAILY;BYHOUR=1;BYHOUR=2": BYHOUR comes twice, write its values in one list',
    ),
    (
        "FREQ=DAILY;BYHOUR=24",
        {},
        'rrule "FREQ=DAILY;BYHOUR=24": BYHOUR "24" is out of range, expected 0 to 23',
    ),
    (
        "FREQ=DAILY;BYMONTHDAY=0",
        {},
        'rrule "FREQ=DAILY;BYMONTHDAY=0": BYMONTHDAY "0" is out of range, expected 1 to 31, or -31 to -1',
    ),
    (
        "FREQ=MONTHLY;BYDAY=0MO",
        {},
        'rrule "FREQ=MONTHLY;BYDAY=0MO": BYDAY "0MO" is no day, expected MO-SU, or such as 2MO or -1FR',
    ),
    ("FREQ=DAILY;INTERVAL=0", {}, 'rrule "FREQ=DAILY;INTERVAL=0": INTERVAL is "0", expected 1 to 36500'),
    (
        "FREQ=YEARLY;INTERVAL=101",
        {},
        'rrule "FREQ=YEARLY;INTERVAL=101": INTERVAL is "101", expected 1 to 100',
    ),
    (
        "FREQ=DAILY;COUNT=10001",
        START,
        'rrule "FREQ=DAILY;COUNT=10001": COUNT is "10001", expected 1 to 10000',
    ),
    ("FREQ=DAILY;COUNT=5", {}, 'rrule "FREQ=DAILY;COUNT=5": COUNT needs a start to count from'),
    (
        "FREQ=DAILY;COUNT=5;UNTIL=20270101",
        START,
        'rrule "FREQ=DAILY;COUNT=5;UNTIL=20270101": has both COUNT and UNTIL, expected one of them',
    ),
    (
        "FREQ=DAILY;UNTIL=tomorrow",
        {},
        f'rrule "FREQ=DAILY;UNTIL=tomorrow": UNTIL "TOMORROW" is no time, {UNTIL_FORMS}',
    ),
    ("FREQ=DAILY;UNTIL=20261301", {}, 'time "2026-13-01": month must be in 1..12'),
    ("FREQ=DAILY;UNTIL=00010101T000000Z", {}, 'rrule UNTIL "00010101T000000Z": expected a year from 10 on'),
    ("FREQ=WEEKLY", {}, 'rrule "FREQ=WEEKLY": expected a day such as BYDAY=MO, or a start on it'),
    (
        "FREQ=WEEKLY;BYMONTHDAY=1",
        {},
        'rrule "FREQ=WEEKLY;BYMONTHDAY=1": BYMONTHDAY does not go with FREQ=WEEKLY, use FREQ=MONTHLY',
    ),
    (
        "FREQ=MONTHLY;BYYEARDAY=1",
        {},
        'rrule "FREQ=MONTHLY;BYYEARDAY=1": BYYEARDAY does not go with FREQ=MONTHLY, use FREQ=YEARLY',
    ),
    (
        "FREQ=MONTHLY;BYWEEKNO=1;BYDAY=MO",
        {},
        'rrule "FREQ=MONTHLY;BYWEEKNO=1;BYDAY=MO": BYWEEKNO does not go with FREQ=MONTHLY, use FREQ=YEARLY',
    ),
    (
        "FREQ=YEARLY;BYWEEKNO=20",
        {},
        'rrule "FREQ=YEARLY;BYWEEKNO=20": BYWEEKNO needs BYDAY, such as BYDAY=MO for the week\'s Monday',
    ),
    (
        "FREQ=WEEKLY;BYDAY=2MO",
        {},
        'rrule "FREQ=WEEKLY;BYDAY=2MO": a numbered BYDAY needs FREQ=MONTHLY or FREQ=YEARLY',
    ),
    (
        "FREQ=DAILY;BYSETPOS=1",
        {},
        'rrule "FREQ=DAILY;BYSETPOS=1": BYSETPOS needs another BY part whose set it picks from',
    ),
    ("EXRULE:FREQ=DAILY", {}, "rrule EXRULE is no longer part of iCalendar, write RRule(…) - RRule(…)"),
    (
        "RRULE:FREQ=DAILY\nRRULE:FREQ=HOURLY",
        {},
        "rrule has 2 rules, expected one; join rules as RRule(…) | RRule(…)",
    ),
    (
        "SUMMARY:Lunch\nRRULE:FREQ=DAILY",
        {},
        'rrule line "SUMMARY:Lunch": expected lines of DTSTART, RRULE, EXDATE and RDATE',
    ),
    (
        "DTSTART:20260101\nDTSTART:20270101\nRRULE:FREQ=DAILY",
        {},
        "rrule has 2 DTSTART lines, expected one",
    ),
    (
        "RRULE:FREQ=DAILY\nRDATE;VALUE=PERIOD:20260101T000000Z/PT1H",
        {},
        'rrule line "RDATE;VALUE=PERIOD:20260101T000000Z/PT1H": expected times or dates, not PERIOD',
    ),
    (
        "DTSTART;TZID=Europe/Berlin:20260101\nEXDATE;TZID=Asia/Tokyo:20260102\nRRULE:FREQ=DAILY",
        {},
        "rrule names the zones Asia/Tokyo, Europe/Berlin, expected one",
    ),
    (
        "DTSTART:20260101T000000Z\nRRULE:FREQ=DAILY",
        {"tz": "Europe/Berlin"},
        'rrule is given tz "Europe/Berlin" and names the zone "UTC", expected one',
    ),
    (
        "DTSTART:20260101\nRRULE:FREQ=DAILY",
        START,
        'rrule is given start "2026-01-01" and has a DTSTART, expected one of them',
    ),
    (
        "DTSTART:1 May\nRRULE:FREQ=DAILY",
        {},
        'rrule time "1 May": expected such as 20261224T180000 or 20261224',
    ),
    (
        "FREQ=DAILY",
        {"start": "2026-01-01T00:00:00.5"},
        "rrule start 2026-01-01T00:00:00.500000 is finer than a second",
    ),
    ("FREQ=DAILY", {"start": "0005-01-01"}, 'rrule start "0005-01-01": expected a year 10-9900'),
    (
        "FREQ=DAILY",
        {"start": "9999-12-31T23:59:59-14:00"},
        "rrule start 9999-12-31T23:59:59-14:00: expected a year 10-9900",
    ),
    ("FREQ=DAILY", {"start": 5}, "rrule start 5: expected a time"),
    ("FREQ=DAILY", {"exclude": "2026-01-01"}, 'rrule exclude is "2026-01-01", expected a list of times'),
    ("FREQ=DAILY", {"exclude": MANY}, "rrule exclude has more than 1000 times"),
    ("FREQ=DAILY", {"include": MANY}, "rrule include has more than 1000 times"),
    ("FREQ=DAILY", {"gap": "jump"}, 'gap "jump" is unknown, expected shift or skip'),
    (
        "FREQ=DAILY",
        {"tz": "Europe/Bärlin"},
        'time zone "Europe/Bärlin" is unknown, did you mean Europe/Berlin?',
    ),
    (
        "FREQ=DAILY;COUNT=2",
        {"start": "2026-01-01", "exclude": ["2026-01-01", "2026-01-02"]},
        'rrule "FREQ=DAILY;COUNT=2": never fires, its end and its exclusions leave nothing',
    ),
    (
        "FREQ=DAILY;UNTIL=20251231",
        START,
        'rrule "FREQ=DAILY;UNTIL=20251231": never fires in the century after 2026-01-01T00:00:00',
    ),
    (
        "FREQ=DAILY;UNTIL=20251231T235959Z",
        START,
        'rrule "FREQ=DAILY;UNTIL=20251231T235959Z": never fires, its end and its exclusions leave nothing',
    ),
]


@pytest.mark.parametrize(("rule", "options", "message"), REFUSED, ids=range(len(REFUSED)))
def test_is_refused_in_one_line(rule: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidTrigger) as refusal:
        RRule(rule, **options)
    assert str(refusal.value) == message


def test_a_long_rule_is_refused() -> None:
    with pytest.raises(InvalidTrigger, match=r"is longer than 2000 characters$"):
        RRule(f"FREQ=DAILY;BYHOUR={'1,' * 1000}1")
    with pytest.raises(InvalidTrigger, match=r"is longer than 100000 characters$"):
        RRule("FREQ=DAILY\n" * 10_000)


EVERY_SECOND = ";".join(
    f"{name}={','.join(map(str, range(count)))}"
    for name, count in (("BYHOUR", 24), ("BYMINUTE", 60), ("BYSECOND", 60))
)
NEVER = [
    "FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30",
    "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
    f"FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30;{EVERY_SECOND}",
    "FREQ=MONTHLY;BYDAY=6MO",
    "FREQ=YEARLY;BYDAY=MO;BYMONTHDAY=31;BYMONTH=4,6,9,11",
    "FREQ=YEARLY;BYYEARDAY=366;INTERVAL=2;BYMONTH=11",
    "FREQ=YEARLY;BYWEEKNO=53;BYDAY=MO;BYMONTH=6",
    "FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=20",
    f"FREQ=WEEKLY;BYDAY=MO;BYMONTH=2;BYSETPOS=-366;{EVERY_SECOND.partition(';')[0]}",
    "FREQ=SECONDLY;BYSECOND=1;BYSETPOS=2",
    "FREQ=SECONDLY;INTERVAL=2;BYSECOND=1,3,5,7,9",
    "FREQ=MINUTELY;INTERVAL=1440;BYHOUR=12",
    "FREQ=SECONDLY;INTERVAL=1351;BYHOUR=3;BYMINUTE=17;BYSECOND=6;BYDAY=MO",
    "FREQ=SECONDLY;INTERVAL=86399;BYHOUR=3;BYMINUTE=17;BYSECOND=5",
    "FREQ=SECONDLY;INTERVAL=604800;BYDAY=MO,TU,WE,FR,SA,SU",
]


@pytest.mark.parametrize("rule", NEVER, ids=range(len(NEVER)))
def test_a_rule_that_never_fires_is_refused_at_once(rule: str) -> None:
    began = process_time()
    with pytest.raises(InvalidTrigger, match=r"never fires in the century after 1970-01-01T00:00:00$"):
        RRule(rule, tz="Europe/Berlin")
    assert process_time() - began < 0.5


HOSTILE = [
    f"FREQ=YEARLY;{EVERY_SECOND}",
    f"FREQ=YEARLY;BYDAY=MO,TU;{EVERY_SECOND};BYSETPOS={','.join(map(str, range(-366, -100)))}",
    f"FREQ=WEEKLY;BYDAY=MO,TU;{EVERY_SECOND};BYSETPOS={','.join(map(str, range(-366, -100)))}",
    f"FREQ=DAILY;{EVERY_SECOND};BYSETPOS=-1,1,366",
    "FREQ=SECONDLY;INTERVAL=43201;BYHOUR=3;BYMINUTE=17;BYSECOND=0",
    "FREQ=SECONDLY;INTERVAL=3153599999",
    "FREQ=SECONDLY;INTERVAL=77777;BYDAY=MO;BYMONTH=2",
    "FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO;BYHOUR=0;BYMINUTE=0;BYSECOND=0",
    "FREQ=YEARLY;INTERVAL=100;BYMONTH=2;BYMONTHDAY=29",
    "FREQ=YEARLY;BYWEEKNO=53;BYDAY=SU;BYMONTH=1",
]


@pytest.mark.parametrize("rule", HOSTILE, ids=range(len(HOSTILE)))
def test_no_rule_keeps_a_planner_busy(rule: str) -> None:
    began = process_time()
    trigger = RRule(rule, start="2000-01-01", tz="Europe/Berlin")
    for moment in (NOW, datetime(2099, 12, 31, tzinfo=UTC), datetime(1999, 1, 1, tzinfo=UTC)):
        trigger.next_after(moment)
        trigger.previous(moment)
    assert process_time() - began < 1.0


COUNTED = [
    "FREQ=SECONDLY;COUNT=10000",
    "FREQ=DAILY;COUNT=10000",
    "FREQ=YEARLY;INTERVAL=3;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO;COUNT=10000",
    f"FREQ=YEARLY;COUNT=10000;{EVERY_SECOND}",
    "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;COUNT=10000",
]


@pytest.mark.parametrize("rule", COUNTED, ids=range(len(COUNTED)))
def test_counting_is_bounded(rule: str) -> None:
    began = process_time()
    trigger = RRule(rule, start="2000-01-01")
    assert trigger.previous(datetime(9900, 1, 1, tzinfo=UTC)) is not None
    assert process_time() - began < 2.0


def test_a_count_of_rare_seconds_is_refused() -> None:
    rule = "FREQ=SECONDLY;INTERVAL=43201;BYHOUR=3;BYMINUTE=17;BYSECOND=0;COUNT=10000"
    with pytest.raises(InvalidTrigger, match=r"COUNT is not used up within a century$"):
        RRule(rule, start="2000-01-01")
