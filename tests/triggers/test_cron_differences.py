"""Where two other cron libraries answer otherwise: each kind once, with the reason why we keep our answer.

A row holds a library and an expression, its zone and the instant from which to look; what we say comes next,
in UTC; and what the library says. Where the instant begins with `<`, both were asked what came before it.
Every row is a test of three: that we say so, that the oracle agrees with us, and that the library still says
what the row claims, so that one that was mended is noticed. `REFUSED` stands for an expression that is not
accepted, `NOTHING` for one that is, and then never found to fire.

Everywhere else the three agree, which `test_cron_peers` shows.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import NamedTuple

import pytest

from fencepost.errors import InvalidTrigger
from fencepost.triggers import Cron, zone
from tests.triggers import oracle_peers as peers
from tests.triggers.oracle import Unreadable, read
from tests.triggers.oracle_peers import NOTHING, REFUSED
from tests.triggers.oracle_walk import fires_on, matching_days, policy_of

BERLIN, LORD_HOWE, CHATHAM, BEIRUT = "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Chatham", "Asia/Beirut"
MARGIN = timedelta(days=2)
SEARCH = timedelta(days=400)


class Difference(NamedTuple):
    """The reason, and the row: library, expression, zone, instant, our times and theirs.

    Times are written as 2026-01-02T02:00, and as 2026-01-02 at midnight.
    """

    reason: str
    row: tuple[str, str, str, str, str, str]


DIFFERENCES = [
    Difference(
        "A weekend may begin on Friday: SUN at the end of a range is the Sunday after.",
        ("cronsim", "0 0 * * FRI-SUN", "UTC", "2026-01-01", "2026-01-02 2026-01-03 2026-01-04", REFUSED),
    ),
    Difference(
        "What may be said by number, 5L, may be said by name.",
        ("cronsim", "0 0 * * FRIL", "UTC", "2026-01-01", "2026-01-30 2026-02-27", REFUSED),
    ),
    Difference(
        "Expressions written for Quartz have a question mark in one of their day fields.",
        ("cronsim", "0 0 ? * MON", "UTC", "2026-01-01", "2026-01-05 2026-01-12", REFUSED),
    ),
    Difference(
        "A range that ends where it begins holds one value, also with a step.",
        (
            "cronsim",
            "0 2-2/5 * * *",
            "UTC",
            "2026-01-01",
            "2026-01-01T02:00 2026-01-02T02:00",
            "2026-01-01T02:00 2026-01-01T07:00",
        ),
    ),
    Difference(
        "No one who writes 70 minutes means an hour.",
        ("cronsim", "*/70 * * * *", "UTC", "2026-01-01", REFUSED, "2026-01-01T01:00 2026-01-01T02:00"),
    ),
    Difference(
        "A step from the last day means nothing; it should not be dropped in silence.",
        ("cronsim", "0 0 L/2 * *", "UTC", "2026-01-01", REFUSED, "2026-01-31 2026-02-28"),
    ),
    Difference(
        "The first is never a fourth Tuesday: that is known without a search of fifty years.",
        ("cronsim", "0 0 */31 * TUE#4", "UTC", "2026-01-01", REFUSED, NOTHING),
    ),
    Difference(
        "The next time is later than the instant asked about; theirs is before it.",
        ("cronsim", "30 2 * * *", BERLIN, "2026-10-25T01:15", "2026-10-26T01:30", "2026-10-25T00:30"),
    ),
    Difference(
        "A beat keeps going when the clocks go back by half an hour: 01:31 comes twice.",
        (
            "cronsim",
            "31 * * * *",
            LORD_HOWE,
            "2026-04-04T14:00",
            "2026-04-04T14:31 2026-04-04T15:01 2026-04-04T16:01",
            "2026-04-04T14:31 2026-04-04T16:01",
        ),
    ),
    Difference(
        "11:00 comes on every day, also hours after the clocks went back by half an hour.",
        (
            "cronsim",
            "*/60 11 * * *",
            LORD_HOWE,
            "2026-04-04T12:00",
            "2026-04-05T00:30 2026-04-06T00:30",
            "2026-04-06T00:30",
        ),
    ),
    Difference(
        "03:00 comes on the day on which the clocks go from 02:00 to 02:30.",
        (
            "cronsim",
            "*/30 3 * * *",
            LORD_HOWE,
            "2026-10-03T12:00",
            "2026-10-03T16:00 2026-10-03T16:30",
            "2026-10-03T16:30 2026-10-04T16:00",
        ),
    ),
    Difference(
        "The clocks go from 02:45 to 03:45, and from then on it is between three and four.",
        (
            "cronsim",
            "*/5 3 * * *",
            CHATHAM,
            "2026-09-26T12:00",
            "2026-09-26T14:00 2026-09-26T14:05 2026-09-26T14:10 2026-09-27T13:15",
            "2026-09-27T13:15",
        ),
    ),
    Difference(
        "A day without a midnight begins at one.",
        (
            "cronsim",
            "*/30 1 * * SUN",
            BEIRUT,
            "2026-03-28T12:00",
            "2026-03-28T22:00 2026-03-28T22:30 2026-04-04T22:00",
            "2026-04-04T22:00",
        ),
    ),
    Difference(
        "An open step is the same beat as */30, whose first letter alone should not decide.",
        (
            "cronsim",
            "0/30 2 * * *",
            BERLIN,
            "2026-03-28T12:00",
            "2026-03-30 2026-03-30T00:30",
            "2026-03-29T01:00 2026-03-30",
        ),
    ),
    Difference(
        "A fixed time is one with six fields as well as with five: in a gap it is not lost,",
        (
            "cronsim",
            "0 30 2 * * *",
            BERLIN,
            "2026-03-28T12:00",
            "2026-03-29T01:00 2026-03-30T00:30",
            "2026-03-30T00:30 2026-03-31T00:30",
        ),
    ),
    Difference(
        "and in a fold it fires once.",
        (
            "cronsim",
            "0 30 2 * * *",
            BERLIN,
            "2026-10-24T12:00",
            "2026-10-25T00:30 2026-10-26T01:30",
            "2026-10-25T00:30 2026-10-25T01:30",
        ),
    ),
    Difference(
        "Backwards too, the hour that ends a day is found twice where it comes twice.",
        (
            "cronsim",
            "15 * 30 * *",
            "Africa/Cairo",
            "<2025-10-31T06:00",
            "2025-10-30T21:15 2025-10-30T20:15",
            "2025-10-30T20:15 2025-10-30T19:15",
        ),
    ),
    Difference(
        "A time lost in a gap fires at the first instant after it, whatever its seconds;",
        ("croniter", "30 54 2 * * *", BERLIN, "2026-03-28T12:00", "2026-03-29T01:00", "2026-03-29T01:00:30"),
    ),
    Difference(
        "and looking back from there finds the same instant.",
        ("croniter", "30 54 2 * * *", BERLIN, "<2026-03-29T10:00", "2026-03-29T01:00", "2026-03-29T01:00:30"),
    ),
    Difference(
        "Once a day is once a day, as in Debian's cron.",
        (
            "croniter",
            "30 2 * * *",
            BERLIN,
            "2026-10-24T12:00",
            "2026-10-25T00:30 2026-10-26T01:30",
            "2026-10-25T00:30 2026-10-25T01:30",
        ),
    ),
    Difference(
        "A beat is not made up for, as in Debian's cron: the next one comes soon.",
        (
            "croniter",
            "*/30 2 * * *",
            BERLIN,
            "2026-03-28T12:00",
            "2026-03-30 2026-03-30T00:30",
            "2026-03-29T01:00 2026-03-30",
        ),
    ),
    Difference(
        "A quarter past every hour is never on the hour.",
        (
            "croniter",
            "15 * * * SUN",
            BEIRUT,
            "2026-03-28T12:00",
            "2026-03-28T22:15 2026-03-28T23:15",
            "2026-03-28T22:00 2026-03-28T22:15",
        ),
    ),
    Difference(
        "When the clocks go back by half an hour, 01:40 comes twice, and a beat fires at both.",
        (
            "croniter",
            "*/20 1 * * *",
            LORD_HOWE,
            "2026-04-04T14:37",
            "2026-04-04T14:40 2026-04-04T15:10 2026-04-05T14:30",
            "2026-04-04T14:40 2026-04-05T14:30",
        ),
    ),
    Difference(
        "A day field that begins with a star does not widen the other one, as in Debian's cron.",
        ("croniter", "0 0 */2 * FRI", "UTC", "2026-01-01", "2026-01-09 2026-01-23", "2026-01-02 2026-01-03"),
    ),
    Difference(
        "A range that ends where it begins holds one value, not all of them;",
        ("croniter", "0 0 * * 5-5", "UTC", "2026-01-01", "2026-01-02 2026-01-09", "2026-01-02 2026-01-03"),
    ),
    Difference(
        "nor does one that is left when a step begins at the last value.",
        (
            "croniter",
            "0 23/1 * * *",
            "UTC",
            "2026-01-01",
            "2026-01-01T23:00 2026-01-02T23:00",
            "2026-01-01T01:00 2026-01-01T02:00",
        ),
    ),
    Difference(
        "The weekdays go on to 7, which is Sunday: an open step means the same as 1-7/2.",
        ("croniter", "0 0 * * 1/2", "UTC", "2026-01-01", "2026-01-02 2026-01-04", "2026-01-02 2026-01-05"),
    ),
    Difference(
        "Where both day fields are restricted either is enough, also for a second Friday;",
        ("croniter", "0 0 13 * FRI#2", "UTC", "2026-01-01", "2026-01-09 2026-01-13", "2026-01-09 2026-02-13"),
    ),
    Difference(
        "also for the working day nearest to the fifteenth;",
        (
            "croniter",
            "0 0 15W * FRI",
            "UTC",
            "2026-01-01",
            "2026-01-02 2026-01-09 2026-01-15",
            "2026-01-15 2026-02-16",
        ),
    ),
    Difference(
        "also where the other one never matches.",
        ("croniter", "0 0 31 NOV SUN", "UTC", "2026-01-01", "2026-11-01 2026-11-08", NOTHING),
    ),
    Difference(
        "Every Monday and the second Friday can stand in one list.",
        ("croniter", "0 0 * * FRI#2,MON", "UTC", "2026-01-01", "2026-01-05 2026-01-09", REFUSED),
    ),
    Difference(
        "So can two working days.",
        ("croniter", "0 0 1W,15W * *", "UTC", "2026-01-01", "2026-01-15 2026-02-02", REFUSED),
    ),
    Difference(
        "April has no 31st to be near to; whoever means the last working day writes LW.",
        ("croniter", "0 0 31W * *", "UTC", "2026-04-01", "2026-05-29 2026-07-31", "2026-04-30 2026-05-29"),
    ),
    Difference(
        "The last Friday is written as in Quartz and in cronsim; croniter writes L5.",
        ("croniter", "0 0 * * 5L", "UTC", "2026-01-01", "2026-01-30 2026-02-27", REFUSED),
    ),
    Difference(
        "The last working day is as common a wish as the last day.",
        ("croniter", "0 0 LW * *", "UTC", "2026-01-01", "2026-01-30 2026-02-27", REFUSED),
    ),
    Difference(
        "Sunday is 7 with six fields as well as with five.",
        ("croniter", "0 0 0 * * 7", "UTC", "2026-01-01", "2026-01-04 2026-01-11", REFUSED),
    ),
    Difference(
        "No month has a day 0, with six fields either.",
        ("croniter", "0 0 0 0 * *", "UTC", "2026-01-01", REFUSED, "2026-02-01 2026-03-01"),
    ),
    Difference(
        "A range that runs backwards is more often a slip: 50-10 would be a whole hour but for a bit.",
        ("croniter", "0 0 * * SAT-MON", "UTC", "2026-01-01", REFUSED, "2026-01-03 2026-01-04 2026-01-05"),
    ),
    Difference(
        "From the first to the last day is every day, which has its own sign.",
        ("croniter", "0 0 1-L * *", "UTC", "2026-01-01", REFUSED, "2026-01-02 2026-01-03"),
    ),
    Difference(
        "Digits are those that every reader of a crontab knows.",
        ("croniter", "٣ * * * *", "UTC", "2026-01-01", REFUSED, "2026-01-01T00:03 2026-01-01T01:03"),
    ),
    Difference(
        "February has no 30th: whoever writes it should learn so at once.",
        ("croniter", "0 0 30 2 *", "UTC", "2026-01-01", REFUSED, NOTHING),
    ),
]

each_row = pytest.mark.parametrize(
    ("peer", "expression", "tz", "after", "ours", "theirs"),
    [pytest.param(*one.row, id=" ".join(one.row[:4])) for one in DIFFERENCES],
)


@each_row
def test_ours_is_the_answer_of_the_oracle_too(
    peer: str, expression: str, tz: str, after: str, ours: str, theirs: str
) -> None:
    assert ours != theirs, f"no difference from {peer}"
    assert engine_says(expression, tz, after, len(ours.split())) == ours
    assert oracle_says(expression, tz, after, len(ours.split())) == ours


@each_row
def test_the_library_still_says_otherwise(
    peer: str, expression: str, tz: str, after: str, ours: str, theirs: str
) -> None:
    moment, backwards = instant(after)
    found = peers.says(
        peer, expression, moment.astimezone(zone(tz)), len(theirs.split()), backwards=backwards
    )
    assert found == theirs, f"we say {ours}"


def engine_says(expression: str, tz: str, after: str, count: int) -> str:
    moment, backwards = instant(after)
    try:
        cron = Cron(expression, tz)
    except InvalidTrigger:
        return REFUSED
    found = peers.previous_of(cron, moment) if backwards else iter(cron.next(moment, count))
    return peers.written_times(islice(found, count))


def oracle_says(expression: str, tz: str, after: str, count: int) -> str:
    try:
        rule = read(expression)
    except Unreadable:
        return REFUSED
    if not rule.can_match():
        return REFUSED
    moment, backwards = instant(after)
    first, last = (-SEARCH, MARGIN) if backwards else (-MARGIN, SEARCH)
    days = matching_days(rule, moment.date() + first, moment.date() + last)
    fires = [datetime.fromtimestamp(at, UTC) for at in fires_on(rule, tz, policy_of(rule, None, None), days)]
    if backwards:
        return peers.written_times([one for one in reversed(fires) if one < moment][:count])
    return peers.written_times([one for one in fires if one > moment][:count])


def instant(text: str) -> tuple[datetime, bool]:
    """The instant, and whether to look back from it."""
    return datetime.fromisoformat(text.removeprefix("<")).replace(tzinfo=UTC), text.startswith("<")
