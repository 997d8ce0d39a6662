"""Recurrence rules on the clocks of a zone: what ends them, what is taken out of them and put in."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta

import pytest

from fencepost.triggers.rrule import RRule
from fencepost.triggers.rrule.times import Given

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FAR = datetime(2030, 1, 1, tzinfo=UTC)
BERLIN = "Europe/Berlin"


def shown(moments: Iterable[datetime]) -> list[str]:
    """Instants in few letters: `03-29 01:30`, in UTC."""
    return [f"{moment:%m-%d %H:%M}" for moment in moments]


ENDS = [
    ("FREQ=DAILY;UNTIL=20260103T080000Z", ["01-01 08:00", "01-02 08:00", "01-03 08:00"]),
    ("FREQ=DAILY;UNTIL=20260103T075959Z", ["01-01 08:00", "01-02 08:00"]),
    ("FREQ=DAILY;UNTIL=20260103T090000", ["01-01 08:00", "01-02 08:00", "01-03 08:00"]),
    ("FREQ=DAILY;UNTIL=20260103T085959", ["01-01 08:00", "01-02 08:00"]),
    ("FREQ=DAILY;UNTIL=20260103", ["01-01 08:00", "01-02 08:00", "01-03 08:00"]),
    ("FREQ=DAILY;COUNT=2", ["01-01 08:00", "01-02 08:00"]),
    ("FREQ=WEEKLY;BYDAY=MO,FR;COUNT=3", ["01-02 08:00", "01-05 08:00", "01-09 08:00"]),
    ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;COUNT=2", ["01-30 08:00", "02-27 08:00"]),
]


@pytest.mark.parametrize(("rule", "expected"), ENDS)
def test_ends_with_its_end(rule: str, expected: list[str]) -> None:
    trigger = RRule(rule, start="2026-01-01T09:00:00", tz=BERLIN)
    assert shown(trigger.fire_times(NOW, FAR)) == expected
    assert trigger.next_after(FAR) is None
    assert shown(filter(None, [trigger.previous(FAR)])) == expected[-1:]
    assert shown(filter(None, [trigger.previous(datetime(9000, 1, 1, tzinfo=UTC))])) == expected[-1:]


def test_an_end_in_utc_is_an_instant_also_where_the_wall_clock_is_set_back() -> None:
    """At 00:40 UTC the clocks show 02:40 and are about to show it again; 02:30 has come once."""
    rule = "FREQ=MINUTELY;INTERVAL=30;UNTIL=20261025T004000Z"
    trigger = RRule(rule, start="2026-10-25T01:30:00", tz=BERLIN, fold="both")
    assert shown(trigger.fire_times(NOW, FAR)) == ["10-24 23:30", "10-25 00:00", "10-25 00:30"]

    later = RRule(rule.replace("0040", "0110"), start="2026-10-25T02:30:00", tz=BERLIN, fold="first")
    assert shown(later.fire_times(NOW, FAR)) == ["10-25 00:30"]


def test_a_far_end_is_no_end() -> None:
    assert RRule("FREQ=YEARLY;UNTIL=99991231T235959Z").next_after(FAR) is not None


def test_nothing_fires_before_the_start() -> None:
    trigger = RRule("FREQ=DAILY", start="2026-03-01T12:00:00")
    first = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert trigger.next_after(datetime(12, 1, 1, tzinfo=UTC)) == first
    assert trigger.previous(first) is None
    assert trigger.starts == first


def test_what_matches_in_the_year_of_the_start_but_before_it_does_not_fire() -> None:
    trigger = RRule("FREQ=MONTHLY;BYMONTHDAY=1", start="2026-03-15")
    assert trigger.previous(datetime(2026, 3, 20, tzinfo=UTC)) is None
    assert shown(trigger.next(NOW, 1)) == ["04-01 00:00"]


def test_a_week_is_one_week_also_at_the_turn_of_the_year() -> None:
    """The week from 29 December 2025 has one first and one last working day, both picked once."""
    trigger = RRule("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=1,-1")
    found = trigger.next(datetime(2025, 12, 28, tzinfo=UTC), 4)
    assert shown(found) == ["12-29 00:00", "01-02 00:00", "01-05 00:00", "01-09 00:00"]


POSITIONS = [
    ("FREQ=DAILY;BYHOUR=9,12,17;BYSETPOS=-1", ["01-01 17:00", "01-02 17:00"]),
    ("FREQ=DAILY;BYHOUR=9,12,17;BYSETPOS=-2,1", ["01-01 09:00", "01-01 12:00"]),
    ("FREQ=HOURLY;BYMINUTE=0,30;BYSETPOS=-1", ["01-01 00:30", "01-01 01:30"]),
    ("FREQ=HOURLY;BYMINUTE=5,35;BYSECOND=1,2;BYSETPOS=1,-4", ["01-01 00:05", "01-01 01:05"]),
    ("FREQ=MINUTELY;BYSECOND=0,30;BYSETPOS=-1,1,-2,2", ["01-01 00:00", "01-01 00:01"]),
    ("FREQ=MONTHLY;BYMONTHDAY=10,20;BYHOUR=1,2;BYSETPOS=-1,2", ["01-10 02:00", "01-20 02:00"]),
]


@pytest.mark.parametrize(("rule", "expected"), POSITIONS)
def test_positions_count_days_times_times(rule: str, expected: list[str]) -> None:
    assert shown(RRule(rule).next(NOW, 2)) == expected


def test_a_start_that_does_not_match_does_not_fire_and_is_not_counted() -> None:
    trigger = RRule("FREQ=WEEKLY;BYDAY=MO;COUNT=2", start="2026-01-01T09:00:00")
    assert shown(trigger.fire_times(NOW, FAR)) == ["01-05 09:00", "01-12 09:00"]


def test_without_a_start_every_node_counts_from_1970() -> None:
    assert RRule("FREQ=DAILY;INTERVAL=3") == RRule("FREQ=DAILY;INTERVAL=3", start="1970-01-01T00:00:00")
    assert shown(RRule("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO").next(NOW, 2)) == ["01-12 00:00", "01-26 00:00"]


CLOCK_CHANGES = [
    # At 02:00 on 29 March the clocks of Berlin go to 03:00; at 03:00 on 25 October back to 02:00.
    ("FREQ=DAILY;BYHOUR=2;BYMINUTE=30", {}, ["03-28 01:30", "03-29 01:00", "03-30 00:30"]),
    ("FREQ=DAILY;BYHOUR=2;BYMINUTE=30", {"gap": "skip"}, ["03-28 01:30", "03-30 00:30"]),
    ("FREQ=HOURLY;BYHOUR=2;BYMINUTE=30", {}, ["03-28 01:30", "03-29 01:00", "03-30 00:30"]),
    (
        "FREQ=DAILY;BYHOUR=2;BYMINUTE=30",
        {"start": "2026-10-24"},
        ["10-24 00:30", "10-25 00:30", "10-26 01:30"],
    ),
    (
        "FREQ=DAILY;BYHOUR=2;BYMINUTE=30",
        {"start": "2026-10-24", "fold": "last"},
        ["10-24 00:30", "10-25 01:30", "10-26 01:30"],
    ),
    (
        "FREQ=DAILY;BYHOUR=2;BYMINUTE=30",
        {"start": "2026-10-24", "fold": "both"},
        ["10-24 00:30", "10-25 00:30", "10-25 01:30"],
    ),
    ("FREQ=HOURLY", {"start": "2026-10-25T01:00:00"}, ["10-24 23:00", "10-25 00:00", "10-25 01:00"]),
    (
        "FREQ=HOURLY",
        {"start": "2026-10-25T01:00:00", "fold": "first"},
        ["10-24 23:00", "10-25 00:00", "10-25 02:00"],
    ),
    ("FREQ=HOURLY", {"start": "2026-03-29T01:00:00"}, ["03-29 00:00", "03-29 01:00", "03-29 02:00"]),
    (
        "FREQ=MINUTELY;INTERVAL=90",
        {"start": "2026-03-29T01:00:00"},
        ["03-29 00:00", "03-29 02:00", "03-29 03:30"],
    ),
]


@pytest.mark.parametrize(("rule", "options", "expected"), CLOCK_CHANGES)
def test_changes_of_the_clocks(rule: str, options: dict[str, str], expected: list[str]) -> None:
    trigger = RRule(rule, tz=BERLIN, **{"start": "2026-03-28", **options})  # type: ignore[arg-type]
    assert shown(trigger.next(NOW, len(expected))) == expected


WEEK = [f"01-0{day} 09:00" for day in range(1, 8)]
EXCLUSIONS: list[tuple[list[Given], list[str]]] = [
    (["2026-01-03T09:00:00"], [*WEEK[:2], *WEEK[3:]]),
    (["2026-01-03T09:00:00Z", "2026-01-04T10:00:00+01:00"], [*WEEK[:2], *WEEK[4:]]),
    (["2026-01-03"], [*WEEK[:2], *WEEK[3:]]),
    ([date(2026, 1, 1), date(2026, 1, 2), "2026-01-07"], WEEK[2:6]),
    ([datetime(2026, 1, 5, 9, tzinfo=UTC)], [*WEEK[:4], *WEEK[5:]]),
    (["2026-01-03T09:00:01", "2027-01-01"], WEEK),
]


@pytest.mark.parametrize(("exclude", "expected"), EXCLUSIONS)
def test_what_is_excluded_does_not_fire(exclude: list[Given], expected: list[str]) -> None:
    trigger = RRule("FREQ=DAILY;COUNT=7", start="2026-01-01T09:00:00", exclude=exclude)
    found = list(trigger.fire_times(NOW, FAR))
    assert shown(found) == expected
    assert [trigger.previous(moment) for moment in found[1:]] == found[:-1]
    assert trigger.previous(FAR) == found[-1]


def test_what_is_included_fires_also_after_the_end_and_before_the_start() -> None:
    include = ["2025-12-24T18:00:00", "2026-06-01", "2026-01-01T08:00:00Z", "2026-01-02T08:00:00Z"]
    rule = "FREQ=DAILY;UNTIL=20260103T080000Z"
    trigger = RRule(rule, start="2026-01-01T09:00:00", tz=BERLIN, include=include)

    found = list(trigger.fire_times(datetime(2025, 1, 1, tzinfo=UTC), FAR))

    assert shown(found) == ["12-24 17:00", "01-01 08:00", "01-02 08:00", "01-03 08:00", "05-31 22:00"]
    assert [trigger.previous(moment) for moment in [*found[1:], FAR]] == found
    assert trigger.starts == found[0]


def test_an_exclusion_takes_back_an_inclusion() -> None:
    include = ["2026-02-01T12:00:00", "2026-02-02T11:00:00Z", "2026-02-03T12:00:00", "2026-02-04T12:00:00"]
    exclude = ["2026-02-01", "2026-02-02T12:00:00", "2026-02-03T11:00:00Z"]
    trigger = RRule("FREQ=DAILY;COUNT=1", "2026-01-01", BERLIN, exclude=exclude, include=include)
    assert shown(trigger.fire_times(NOW - timedelta(days=1), FAR)) == ["12-31 23:00", "02-04 11:00"]


def test_included_instants_keep_to_the_second_pass_of_a_fold() -> None:
    include = ["2026-10-25T01:30:00Z", "2026-10-25T02:15:00"]
    trigger = RRule("FREQ=DAILY;COUNT=1", "2026-10-01", BERLIN, include=include)
    assert shown(trigger.fire_times(NOW, FAR)) == ["09-30 22:00", "10-25 00:15", "10-25 01:30"]


def test_an_included_time_in_a_gap_is_shifted() -> None:
    trigger = RRule("FREQ=DAILY;COUNT=1", "2026-01-02", BERLIN, include=["2026-03-29T02:15:00"])
    assert shown(trigger.fire_times(NOW, FAR)) == ["01-01 23:00", "03-29 01:00"]


BLOCK = """DTSTART;TZID=Europe/Berlin:20260105T090000
RRULE:FREQ=WEEKLY;BYDAY=MO,
 WE;UNTIL=20260131T000000Z
EXDATE;TZID=Europe/Berlin:20260107T090000,20260112T090000
EXDATE;VALUE=DATE:20260114
RDATE;TZID="Europe/Berlin":20260116T120000
"""


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_block_of_lines_says_it_all(ending: str) -> None:
    trigger = RRule(BLOCK.replace("\n", ending))
    assert trigger == RRule(
        "FREQ=WEEKLY;UNTIL=20260131T000000Z;BYDAY=MO,WE",
        start="2026-01-05T09:00:00",
        tz=BERLIN,
        exclude=["2026-01-07T09:00:00", "2026-01-12T09:00:00", "2026-01-14"],
        include=["2026-01-16T12:00:00"],
    )
    assert shown(trigger.next(NOW, 4)) == ["01-05 08:00", "01-16 11:00", "01-19 08:00", "01-21 08:00"]


SPELLINGS = [
    "RRULE:FREQ=MONTHLY;BYDAY=-1FR,1MO;BYHOUR=9",
    "freq=monthly;byhour=9;byday=+1mo,-1fr",
    "FREQ=MONTHLY;INTERVAL=1;BYHOUR=09;BYDAY=1MO,-1FR,1MO;WKST=MO",
    "DTSTART:19700101T000000Z\nRRULE:FREQ=MONTHLY;BYDAY=-1FR,1MO;BYHOUR=9\n",
    "DTSTART:19700101\nFREQ=MONTHLY;BYDAY=-1FR,1MO;BYHOUR=9",
]


@pytest.mark.parametrize("text", SPELLINGS)
def test_one_rule_has_one_form(text: str) -> None:
    trigger = RRule(text)
    assert trigger == RRule("FREQ=MONTHLY;BYDAY=-1FR,1MO;BYHOUR=9")
    assert trigger.rule == "FREQ=MONTHLY;BYDAY=-1FR,1MO;BYHOUR=9"
    assert hash(trigger) == hash(RRule("FREQ=MONTHLY;BYDAY=-1FR,1MO;BYHOUR=9"))


def test_a_leap_second_is_the_second_before() -> None:
    assert RRule("FREQ=DAILY;BYSECOND=60").rule == "FREQ=DAILY;BYSECOND=59"


def test_the_form_is_fixed_and_leads_back() -> None:
    trigger = RRule(BLOCK, gap="skip")
    form = trigger.to_json()
    assert form == {
        "v": 1,
        "kind": "rrule",
        "rule": "FREQ=WEEKLY;UNTIL=20260131T000000Z;BYDAY=MO,WE",
        "start": "2026-01-05T09:00:00",
        "tz": "Europe/Berlin",
        "exclude": ["2026-01-07T09:00:00", "2026-01-12T09:00:00", "2026-01-14"],
        "include": ["2026-01-16T12:00:00"],
        "gap": "skip",
        "fold": None,
    }
    members = {
        name: value for name, value in json.loads(json.dumps(form)).items() if name not in ("v", "kind")
    }
    assert RRule(**members) == trigger


def test_goes_through_pickle() -> None:
    trigger = RRule(BLOCK, fold="both")
    again = pickle.loads(pickle.dumps(trigger))
    assert again == trigger
    assert again.next(NOW, 3) == trigger.next(NOW, 3)


def test_can_be_combined() -> None:
    daily = RRule("FREQ=DAILY;BYHOUR=9", tz=BERLIN)
    mondays = RRule("FREQ=WEEKLY;BYDAY=MO;BYHOUR=9", tz=BERLIN)
    assert shown((daily & mondays).next(NOW, 2)) == ["01-05 08:00", "01-12 08:00"]
    assert shown((daily - mondays).next(NOW, 5)) == [f"01-0{day} 08:00" for day in (1, 2, 3, 4, 6)]
    assert shown(daily.limit(2).next(datetime(1960, 1, 1, tzinfo=UTC), 3)) == ["01-01 08:00", "01-02 08:00"]


def test_follows_its_zone() -> None:
    assert RRule("FREQ=DAILY", tz=BERLIN).zones() == {BERLIN}
