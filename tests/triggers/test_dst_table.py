"""What fires when the clocks change: one table of days, of jobs, of policies, and of UTC times.

Each change has four jobs around it: one a day at a wall time that is lost or comes twice, one an hour, one a
quarter of an hour, one a second. After each stand the policies that lead to the same times, and the times.
The daily job is shown with the day, from a day and a half before the change until a day and a half after it.
Jobs of a second are shown as unbroken runs, from the first second to the last, for ten minutes around a gap
and seventy around a fold.

Read in the first row: the clocks of Berlin leave out 02:30 on 29 March. By default, and with `gap="shift"`,
the job fires at 01:00 UTC, the first instant after the gap; with `gap="skip"` not at all on that day. In a
fold, `first` and `last` hush a beat for as long as the fold lasts, which is why `both` is its default.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from fencepost.triggers import Cron, Fold, Gap
from tests.triggers.oracle import read
from tests.triggers.oracle_walk import EPOCH, policy_of, walk

GAPS: tuple[Gap | None, ...] = (None, "shift", "skip")
FOLDS: tuple[Fold | None, ...] = (None, "first", "last", "both")
SECOND = timedelta(seconds=1)
EVERY_SECOND = "* * * * * *"
AROUND = {
    "0 * * * *": timedelta(hours=3),
    "*/15 * * * *": timedelta(minutes=75),
    EVERY_SECOND: timedelta(minutes=70),
}
AROUND_GAP = timedelta(minutes=10)
EVERY_POLICY = (["default", "shift", "skip"], ["both", "default", "first", "last"])
AROUND_DAILY = timedelta(hours=36)


@dataclass(frozen=True)
class Change:
    """A change of the clocks at a UTC instant, and what fires around it: job, policies, times."""

    tz: str
    at: str
    explanation: str
    rows: tuple[tuple[str, str, str], ...]

    @property
    def is_gap(self) -> bool:
        """Whether the clocks go ahead; the policies of its rows say so."""
        return "shift" in self.rows[0][1]


CHANGES = (
    Change(
        "Europe/Berlin",
        "2026-03-29T01:00:00Z",
        "29 March 2026: after 01:59 comes 03:00",
        (
            ("30 2 * * *", "default shift", "28T01:30 29T01:00 30T00:30"),
            ("30 2 * * *", "skip", "28T01:30 30T00:30"),
            ("0 * * * *", "default shift skip", "22:00 23:00 00:00 01:00 02:00 03:00"),
            (
                "*/15 * * * *",
                "default shift skip",
                "23:45 00:00 00:15 00:30 00:45 01:00 01:15 01:30 01:45 02:00",
            ),
            ("* * * * * *", "default shift skip", "00:50:00-01:09:59"),
        ),
    ),
    Change(
        "Europe/Berlin",
        "2026-10-25T01:00:00Z",
        "25 October 2026: after 02:59 comes 02:00 again",
        (
            ("30 2 * * *", "default first", "24T00:30 25T00:30 26T01:30"),
            ("30 2 * * *", "last", "24T00:30 25T01:30 26T01:30"),
            ("30 2 * * *", "both", "24T00:30 25T00:30 25T01:30 26T01:30"),
            ("0 * * * *", "default both", "22:00 23:00 00:00 01:00 02:00 03:00"),
            ("0 * * * *", "first", "22:00 23:00 00:00 02:00 03:00"),
            ("0 * * * *", "last", "22:00 23:00 01:00 02:00 03:00"),
            ("*/15 * * * *", "default both", "23:45 00:00 00:15 00:30 00:45 01:00 01:15 01:30 01:45 02:00"),
            ("*/15 * * * *", "first", "23:45 00:00 00:15 00:30 00:45 02:00"),
            ("*/15 * * * *", "last", "23:45 01:00 01:15 01:30 01:45 02:00"),
            ("* * * * * *", "default both", "23:50:00-02:09:59"),
            ("* * * * * *", "first", "23:50:00-00:59:59 02:00:00-02:09:59"),
            ("* * * * * *", "last", "23:50:00-23:59:59 01:00:00-02:09:59"),
        ),
    ),
    Change(
        "America/New_York",
        "2026-03-08T07:00:00Z",
        "8 March 2026: after 01:59 comes 03:00",
        (
            ("30 2 * * *", "default shift", "07T07:30 08T07:00 09T06:30"),
            ("30 2 * * *", "skip", "07T07:30 09T06:30"),
            ("0 * * * *", "default shift skip", "04:00 05:00 06:00 07:00 08:00 09:00"),
            (
                "*/15 * * * *",
                "default shift skip",
                "05:45 06:00 06:15 06:30 06:45 07:00 07:15 07:30 07:45 08:00",
            ),
            ("* * * * * *", "default shift skip", "06:50:00-07:09:59"),
        ),
    ),
    Change(
        "America/New_York",
        "2026-11-01T06:00:00Z",
        "1 November 2026: after 01:59 comes 01:00 again",
        (
            ("30 1 * * *", "default first", "31T05:30 01T05:30 02T06:30"),
            ("30 1 * * *", "last", "31T05:30 01T06:30 02T06:30"),
            ("30 1 * * *", "both", "31T05:30 01T05:30 01T06:30 02T06:30"),
            ("0 * * * *", "default both", "03:00 04:00 05:00 06:00 07:00 08:00"),
            ("0 * * * *", "first", "03:00 04:00 05:00 07:00 08:00"),
            ("0 * * * *", "last", "03:00 04:00 06:00 07:00 08:00"),
            ("*/15 * * * *", "default both", "04:45 05:00 05:15 05:30 05:45 06:00 06:15 06:30 06:45 07:00"),
            ("*/15 * * * *", "first", "04:45 05:00 05:15 05:30 05:45 07:00"),
            ("*/15 * * * *", "last", "04:45 06:00 06:15 06:30 06:45 07:00"),
            ("* * * * * *", "default both", "04:50:00-07:09:59"),
            ("* * * * * *", "first", "04:50:00-05:59:59 07:00:00-07:09:59"),
            ("* * * * * *", "last", "04:50:00-04:59:59 06:00:00-07:09:59"),
        ),
    ),
    Change(
        "Australia/Lord_Howe",
        "2026-10-03T15:30:00Z",
        "4 October 2026: after 01:59 comes 02:30, half an hour only",
        (
            ("15 2 * * *", "default shift", "02T15:45 03T15:30 04T15:15"),
            ("15 2 * * *", "skip", "02T15:45 04T15:15"),
            ("0 * * * *", "default skip", "12:30 13:30 14:30 16:00 17:00 18:00"),
            ("0 * * * *", "shift", "12:30 13:30 14:30 15:30 16:00 17:00 18:00"),
            (
                "*/15 * * * *",
                "default shift skip",
                "14:15 14:30 14:45 15:00 15:15 15:30 15:45 16:00 16:15 16:30",
            ),
            ("* * * * * *", "default shift skip", "15:20:00-15:39:59"),
        ),
    ),
    Change(
        "Australia/Lord_Howe",
        "2026-04-04T15:00:00Z",
        "5 April 2026: after 01:59 comes 01:30 again",
        (
            ("45 1 * * *", "default first", "03T14:45 04T14:45 05T15:15"),
            ("45 1 * * *", "last", "03T14:45 04T15:15 05T15:15"),
            ("45 1 * * *", "both", "03T14:45 04T14:45 04T15:15 05T15:15"),
            ("0 * * * *", "default first last both", "12:00 13:00 14:00 15:30 16:30 17:30"),
            ("*/15 * * * *", "default both", "13:45 14:00 14:15 14:30 14:45 15:00 15:15 15:30 15:45 16:00"),
            ("*/15 * * * *", "first", "13:45 14:00 14:15 14:30 14:45 15:30 15:45 16:00"),
            ("*/15 * * * *", "last", "13:45 14:00 14:15 15:00 15:15 15:30 15:45 16:00"),
            ("* * * * * *", "default both", "13:50:00-16:09:59"),
            ("* * * * * *", "first", "13:50:00-14:59:59 15:30:00-16:09:59"),
            ("* * * * * *", "last", "13:50:00-14:29:59 15:00:00-16:09:59"),
        ),
    ),
    Change(
        "Pacific/Apia",
        "2011-12-30T10:00:00Z",
        "30 December 2011 is left out: after the 29th comes the 31st",
        (
            ("0 12 * * *", "default shift", "28T22:00 29T22:00 30T10:00 30T22:00"),
            ("0 12 * * *", "skip", "28T22:00 29T22:00 30T22:00"),
            ("0 * * * *", "default shift skip", "07:00 08:00 09:00 10:00 11:00 12:00"),
            (
                "*/15 * * * *",
                "default shift skip",
                "08:45 09:00 09:15 09:30 09:45 10:00 10:15 10:30 10:45 11:00",
            ),
            ("* * * * * *", "default shift skip", "09:50:00-10:09:59"),
        ),
    ),
    Change(
        "Pacific/Apia",
        "2012-03-31T14:00:00Z",
        "1 April 2012: after 03:59 comes 03:00 again",
        (
            ("30 3 * * *", "default first", "30T13:30 31T13:30 01T14:30"),
            ("30 3 * * *", "last", "30T13:30 31T14:30 01T14:30"),
            ("30 3 * * *", "both", "30T13:30 31T13:30 31T14:30 01T14:30"),
            ("0 * * * *", "default both", "11:00 12:00 13:00 14:00 15:00 16:00"),
            ("0 * * * *", "first", "11:00 12:00 13:00 15:00 16:00"),
            ("0 * * * *", "last", "11:00 12:00 14:00 15:00 16:00"),
            ("*/15 * * * *", "default both", "12:45 13:00 13:15 13:30 13:45 14:00 14:15 14:30 14:45 15:00"),
            ("*/15 * * * *", "first", "12:45 13:00 13:15 13:30 13:45 15:00"),
            ("*/15 * * * *", "last", "12:45 14:00 14:15 14:30 14:45 15:00"),
            ("* * * * * *", "default both", "12:50:00-15:09:59"),
            ("* * * * * *", "first", "12:50:00-13:59:59 15:00:00-15:09:59"),
            ("* * * * * *", "last", "12:50:00-12:59:59 14:00:00-15:09:59"),
        ),
    ),
    Change(
        "Africa/Casablanca",
        "2025-04-06T02:00:00Z",
        "6 April 2025, Ramadan is over: after 01:59 comes 03:00",
        (
            ("30 2 * * *", "default shift", "05T02:30 06T02:00 07T01:30"),
            ("30 2 * * *", "skip", "05T02:30 07T01:30"),
            ("0 * * * *", "default shift skip", "23:00 00:00 01:00 02:00 03:00 04:00"),
            (
                "*/15 * * * *",
                "default shift skip",
                "00:45 01:00 01:15 01:30 01:45 02:00 02:15 02:30 02:45 03:00",
            ),
            ("* * * * * *", "default shift skip", "01:50:00-02:09:59"),
        ),
    ),
    Change(
        "Africa/Casablanca",
        "2025-02-23T02:00:00Z",
        "23 February 2025, Ramadan is near: after 02:59 comes 02:00 again",
        (
            ("30 2 * * *", "default first", "22T01:30 23T01:30 24T02:30"),
            ("30 2 * * *", "last", "22T01:30 23T02:30 24T02:30"),
            ("30 2 * * *", "both", "22T01:30 23T01:30 23T02:30 24T02:30"),
            ("0 * * * *", "default both", "23:00 00:00 01:00 02:00 03:00 04:00"),
            ("0 * * * *", "first", "23:00 00:00 01:00 03:00 04:00"),
            ("0 * * * *", "last", "23:00 00:00 02:00 03:00 04:00"),
            ("*/15 * * * *", "default both", "00:45 01:00 01:15 01:30 01:45 02:00 02:15 02:30 02:45 03:00"),
            ("*/15 * * * *", "first", "00:45 01:00 01:15 01:30 01:45 03:00"),
            ("*/15 * * * *", "last", "00:45 02:00 02:15 02:30 02:45 03:00"),
            ("* * * * * *", "default both", "00:50:00-03:09:59"),
            ("* * * * * *", "first", "00:50:00-01:59:59 03:00:00-03:09:59"),
            ("* * * * * *", "last", "00:50:00-00:59:59 02:00:00-03:09:59"),
        ),
    ),
    Change(
        "America/Sao_Paulo",
        "2018-11-04T03:00:00Z",
        "4 November 2018 has no midnight: after 23:59 comes 01:00",
        (
            ("0 0 * * *", "default shift", "03T03:00 04T03:00 05T02:00"),
            ("0 0 * * *", "skip", "03T03:00 05T02:00"),
            ("0 * * * *", "default shift skip", "00:00 01:00 02:00 03:00 04:00 05:00"),
            (
                "*/15 * * * *",
                "default shift skip",
                "01:45 02:00 02:15 02:30 02:45 03:00 03:15 03:30 03:45 04:00",
            ),
            ("* * * * * *", "default shift skip", "02:50:00-03:09:59"),
        ),
    ),
    Change(
        "America/Sao_Paulo",
        "2018-02-18T02:00:00Z",
        "17 February 2018 ends twice: after 23:59 comes 23:00 again",
        (
            ("30 23 * * *", "default first", "17T01:30 18T01:30 19T02:30"),
            ("30 23 * * *", "last", "17T01:30 18T02:30 19T02:30"),
            ("30 23 * * *", "both", "17T01:30 18T01:30 18T02:30 19T02:30"),
            ("0 * * * *", "default both", "23:00 00:00 01:00 02:00 03:00 04:00"),
            ("0 * * * *", "first", "23:00 00:00 01:00 03:00 04:00"),
            ("0 * * * *", "last", "23:00 00:00 02:00 03:00 04:00"),
            ("*/15 * * * *", "default both", "00:45 01:00 01:15 01:30 01:45 02:00 02:15 02:30 02:45 03:00"),
            ("*/15 * * * *", "first", "00:45 01:00 01:15 01:30 01:45 03:00"),
            ("*/15 * * * *", "last", "00:45 02:00 02:15 02:30 02:45 03:00"),
            ("* * * * * *", "default both", "00:50:00-03:09:59"),
            ("* * * * * *", "first", "00:50:00-01:59:59 03:00:00-03:09:59"),
            ("* * * * * *", "last", "00:50:00-00:59:59 02:00:00-03:09:59"),
        ),
    ),
    Change(
        "Asia/Tehran",
        "2022-03-21T20:30:00Z",
        "22 March 2022 has no midnight: after 23:59 comes 01:00",
        (
            ("0 0 * * *", "default shift", "20T20:30 21T20:30 22T19:30"),
            ("0 0 * * *", "skip", "20T20:30 22T19:30"),
            ("0 * * * *", "default shift skip", "17:30 18:30 19:30 20:30 21:30 22:30"),
            (
                "*/15 * * * *",
                "default shift skip",
                "19:15 19:30 19:45 20:00 20:15 20:30 20:45 21:00 21:15 21:30",
            ),
            ("* * * * * *", "default shift skip", "20:20:00-20:39:59"),
        ),
    ),
    Change(
        "Asia/Tehran",
        "2022-09-21T19:30:00Z",
        "21 September 2022 ends twice: after 23:59 comes 23:00 again",
        (
            ("30 23 * * *", "default first", "20T19:00 21T19:00 22T20:00"),
            ("30 23 * * *", "last", "20T19:00 21T20:00 22T20:00"),
            ("30 23 * * *", "both", "20T19:00 21T19:00 21T20:00 22T20:00"),
            ("0 * * * *", "default both", "16:30 17:30 18:30 19:30 20:30 21:30"),
            ("0 * * * *", "first", "16:30 17:30 18:30 20:30 21:30"),
            ("0 * * * *", "last", "16:30 17:30 19:30 20:30 21:30"),
            ("*/15 * * * *", "default both", "18:15 18:30 18:45 19:00 19:15 19:30 19:45 20:00 20:15 20:30"),
            ("*/15 * * * *", "first", "18:15 18:30 18:45 19:00 19:15 20:30"),
            ("*/15 * * * *", "last", "18:15 19:30 19:45 20:00 20:15 20:30"),
            ("* * * * * *", "default both", "18:20:00-20:39:59"),
            ("* * * * * *", "first", "18:20:00-19:29:59 20:30:00-20:39:59"),
            ("* * * * * *", "last", "18:20:00-18:29:59 19:30:00-20:39:59"),
        ),
    ),
)

CASES = [
    pytest.param(change, expression, policy, times, id=f"{change.tz}-{change.at[:10]}-{expression}-{policy}")
    for change in CHANGES
    for expression, policies, times in change.rows
    for policy in policies.split()
]


@pytest.mark.parametrize(("change", "expression", "policy", "times"), CASES)
def test_fires_at_the_times_in_the_table(change: Change, expression: str, policy: str, times: str) -> None:
    start, end = window(change, expression)
    for gap, fold in pairs(change, expression, policy):
        cron = Cron(expression, change.tz, gap, fold)
        fired = list(cron.fire_times(start - SECOND, end - SECOND))
        assert written(fired, expression) == times, (gap, fold)


@pytest.mark.parametrize(("change", "expression", "policy", "times"), CASES)
def test_the_oracle_says_the_same(change: Change, expression: str, policy: str, times: str) -> None:
    start, end = ((one - EPOCH) // SECOND for one in window(change, expression))
    rule = read(expression)
    for gap, fold in pairs(change, expression, policy):
        fires = walk(change.tz, start, end, 60).fires(rule, policy_of(rule, gap, fold))
        assert written([EPOCH + at * SECOND for at in fires], expression) == times, (gap, fold)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: f"{change.tz}-{change.at[:10]}")
def test_no_policy_is_left_out_of_the_table(change: Change) -> None:
    named: dict[str, list[str]] = {}
    for expression, policies, _ in change.rows:
        named.setdefault(expression, []).extend(policies.split())
    assert len(named) == len(AROUND) + 1
    for expression, found in named.items():
        assert sorted(found) in EVERY_POLICY, expression


def window(change: Change, expression: str) -> tuple[datetime, datetime]:
    """The instants from which and before which a job is shown."""
    at, around = datetime.fromisoformat(change.at), AROUND.get(expression, AROUND_DAILY)
    if expression == EVERY_SECOND and change.is_gap:
        around = AROUND_GAP
    return at - around, at + around


def pairs(change: Change, expression: str, policy: str) -> list[tuple[Gap | None, Fold | None]]:
    """The pairs of policies that a row speaks of: in a gap the fold may be anything, and the reverse.

    For jobs of a second, which fire too often to try everything, the other one stays open.
    """
    named = None if policy == "default" else policy
    open_only = expression == EVERY_SECOND
    if change.is_gap:
        return [(gap, fold) for gap in GAPS if gap == named for fold in FOLDS[: 1 if open_only else None]]
    return [(gap, fold) for fold in FOLDS if fold == named for gap in GAPS[: 1 if open_only else None]]


def written(fired: list[datetime], expression: str) -> str:
    """The times in the words of the table."""
    if expression != EVERY_SECOND:
        form = "%H:%M" if expression in AROUND else "%dT%H:%M"
        return " ".join(one.strftime(form) for one in fired)
    breaks = [pair for pair in pairwise(fired) if pair[1] - pair[0] != SECOND]
    edges = [fired[0], *(edge for pair in breaks for edge in pair), fired[-1]]
    return " ".join(
        f"{begin:%H:%M:%S}-{end:%H:%M:%S}" for begin, end in zip(edges[::2], edges[1::2], strict=True)
    )
