"""Recurrence rules in plain words, and the rule itself where there are none."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost.triggers.rrule import RRule

DESCRIBED: list[tuple[str, dict[str, Any], str]] = [
    (
        "FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=9",
        {"tz": "Europe/Berlin"},
        "every month on the last Friday at 09:00, Berlin time",
    ),
    ("FREQ=MONTHLY;BYMONTHDAY=1,2,15", {}, "every month on the 1st, the 2nd and the 15th at 00:00, UTC"),
    ("FREQ=MONTHLY;BYMONTHDAY=-1", {}, "every month on the last day at 00:00, UTC"),
    ("FREQ=MONTHLY;BYMONTHDAY=1,-1", {}, "every month on the 1st and the last day at 00:00, UTC"),
    ("FREQ=MONTHLY;INTERVAL=3;BYMONTHDAY=11", {}, "every 3 months on the 11th at 00:00, UTC"),
    ("FREQ=MONTHLY;BYDAY=MO,1TU", {}, "every month on every Monday and the first Tuesday at 00:00, UTC"),
    ("FREQ=MONTHLY;BYDAY=2SU;BYMONTH=5", {}, "every month on the second Sunday in May at 00:00, UTC"),
    ("FREQ=MONTHLY", {}, "every month on the 1st at 00:00, UTC"),
    ("FREQ=YEARLY", {}, "every year on 1 January at 00:00, UTC"),
    ("FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=24", {}, "every year on 24 December at 00:00, UTC"),
    (
        "FREQ=YEARLY;INTERVAL=2;BYMONTH=4;BYDAY=1SU",
        {},
        "every 2 years on the first Sunday of April at 00:00, UTC",
    ),
    ("FREQ=WEEKLY;BYDAY=MO,WE;BYHOUR=9,17", {}, "every Monday and Wednesday at 09:00 and 17:00, UTC"),
    ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=9", {}, "every weekday at 09:00, UTC"),
    ("FREQ=WEEKLY;INTERVAL=2;BYDAY=SA", {}, "every 2 weeks on Saturday at 00:00, UTC"),
    ("FREQ=DAILY;BYHOUR=9;BYMINUTE=30;BYSECOND=15", {}, "every day at 09:30:15, UTC"),
    ("FREQ=DAILY;BYMONTH=1,7", {}, "every day in January and July at 00:00, UTC"),
    ("FREQ=HOURLY", {}, "every hour, UTC"),
    ("FREQ=HOURLY;INTERVAL=2;BYMINUTE=15", {}, "every 2 hours at minute 15, UTC"),
    ("FREQ=MINUTELY;INTERVAL=15", {"tz": "America/New_York"}, "every 15 minutes, New York time"),
    ("FREQ=SECONDLY;INTERVAL=10", {}, "every 10 seconds, UTC"),
    (
        "FREQ=WEEKLY;COUNT=10",
        {"start": "2026-01-05T09:00:00"},
        "every Monday at 09:00, UTC, from 2026-01-05, 10 times",
    ),
    ("FREQ=DAILY;UNTIL=20261231", {}, "every day at 00:00, UTC, until 2026-12-31"),
    ("FREQ=DAILY;UNTIL=20261231T225959Z", {}, "every day at 00:00, UTC, until 2026-12-31 22:59:59 UTC"),
    (
        "FREQ=DAILY",
        {"exclude": ["2026-12-24", "2026-12-25"], "include": ["2026-12-26T12:00:00"]},
        "every day at 00:00, UTC, except at 2 times, and at 1 more",
    ),
]

WORDLESS = [
    "FREQ=YEARLY;BYDAY=20MO",
    "FREQ=YEARLY;BYDAY=MO;BYWEEKNO=20",
    "FREQ=YEARLY;BYMONTHDAY=13",
    "FREQ=YEARLY;BYYEARDAY=100",
    "FREQ=MONTHLY;BYMONTHDAY=-3",
    "FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR",
    "FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=-1",
    "FREQ=DAILY;INTERVAL=2;BYDAY=MO",
    "FREQ=DAILY;BYHOUR=1,2,3,4,5",
    "FREQ=HOURLY;BYHOUR=9,10",
    "FREQ=MINUTELY;BYMINUTE=1,2",
    "FREQ=MINUTELY;BYDAY=MO",
    "FREQ=SECONDLY;BYSECOND=1",
]


@pytest.mark.parametrize(("rule", "options", "words"), DESCRIBED, ids=range(len(DESCRIBED)))
def test_says_when_it_fires(rule: str, options: dict[str, Any], words: str) -> None:
    assert RRule(rule, **options).describe() == words


@pytest.mark.parametrize("rule", WORDLESS)
def test_does_not_guess_at_words_for_a_rare_rule(rule: str) -> None:
    trigger = RRule(rule)
    assert trigger.describe() == f"by the rule {trigger.rule}, UTC"


def test_a_rare_rule_names_its_start() -> None:
    words = RRule("FREQ=HOURLY;INTERVAL=5;BYDAY=MO", start="2026-01-05T09:30:00").describe()
    assert words == "by the rule FREQ=HOURLY;INTERVAL=5;BYDAY=MO, UTC, from 2026-01-05 09:30:00"
