"""Changes of the clocks, beside the table of `test_dst_table`: fixed times, beats and odd corners."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from fencepost.errors import InvalidTrigger
from fencepost.triggers import Cron, Fold, Gap

BERLIN, APIA, CAIRO = "Europe/Berlin", "Pacific/Apia", "Africa/Cairo"
TICK = timedelta.resolution


def fired(cron: Cron, start: str, hours: int) -> list[str]:
    """What fires from `start` on, shortened to day, hour and minute of UTC."""
    begin = datetime.fromisoformat(start)
    times = cron.fire_times(begin - TICK, begin + timedelta(hours=hours) - TICK)
    return [f"{one:%dT%H:%M:%S}".removesuffix(":00") for one in times]


BY_DEFAULT = [
    # A fixed time: the minute and the hour name their values, in lists, ranges and bounded steps too.
    ("0,30 2,3 * * *", BERLIN, "2026-03-29T00:00:00Z", 24, ["29T01:00", "29T01:30"]),
    ("0-30/30 2-3 * * *", BERLIN, "2026-03-29T00:00:00Z", 24, ["29T01:00", "29T01:30"]),
    ("H(30-31) 2 * * *", BERLIN, "2026-03-29T00:00:00Z", 24, ["29T01:00"]),
    ("15 30 2 * * *", BERLIN, "2026-03-29T00:00:00Z", 24, ["29T01:00"]),
    ("*/20 30 2 * * *", BERLIN, "2026-10-25T00:30:00Z", 24, ["25T00:30", "25T00:30:20", "25T00:30:40"]),
    ("30 2 L-2 3 *", BERLIN, "2026-03-29T00:00:00Z", 24, ["29T01:00"]),
    # A beat: a star, or a step to the end of the field.
    ("30 */2 * * *", BERLIN, "2026-03-28T23:00:00Z", 4, ["28T23:30", "29T02:30"]),
    ("*/30 2 * * *", BERLIN, "2026-03-29T00:00:00Z", 24, []),
    ("0/30 2 * * *", BERLIN, "2026-03-29T00:00:00Z", 24, []),
    ("30 2/12 * * *", BERLIN, "2026-03-29T00:00:00Z", 13, ["29T12:30"]),
    ("H/30 2 * * *", BERLIN, "2026-03-29T00:00:00Z", 24, []),
    ("0/30 2 * * *", BERLIN, "2026-10-25T00:00:00Z", 2, ["25T00:00", "25T00:30", "25T01:00", "25T01:30"]),
    # A day that never was, and days that begin at one.
    ("0 0 30 * *", APIA, "2011-12-29T00:00:00Z", 72, ["30T10:00"]),
    ("0 0 * * *", APIA, "2011-12-29T00:00:00Z", 72, ["29T10:00", "30T10:00", "31T10:00"]),
    ("0 12 LW * *", APIA, "2011-12-29T00:00:00Z", 72, ["30T10:00"]),
    ("* * 30 12 *", APIA, "2011-12-29T00:00:00Z", 72, []),
    ("0 0 * * *", CAIRO, "2025-04-24T00:00:00Z", 48, ["24T22:00", "25T21:00"]),
]


@pytest.mark.parametrize(("expression", "tz", "start", "hours", "expected"), BY_DEFAULT)
def test_default_follows_the_kind_of_job(
    expression: str, tz: str, start: str, hours: int, expected: list[str]
) -> None:
    assert fired(Cron(expression, tz, seed="invoices"), start, hours) == expected


GAP_CASES: list[tuple[str, Gap, list[str]]] = [
    ("30 2 * * *", "shift", ["29T01:00"]),
    ("30 2 * * *", "skip", []),
    ("*/20 2 * * *", "shift", ["29T01:00"]),
    ("0 2,3 * * *", "shift", ["29T01:00"]),
    ("0 2,3 * * *", "skip", ["29T01:00"]),
]


@pytest.mark.parametrize(("expression", "gap", "expected"), GAP_CASES)
def test_a_gap_is_treated_as_asked(expression: str, gap: Gap, expected: list[str]) -> None:
    assert fired(Cron(expression, BERLIN, gap=gap), "2026-03-29T00:00:00Z", 12) == expected


FOLD_CASES: list[tuple[str, Fold, list[str]]] = [
    ("30 2 * * *", "first", ["25T00:30"]),
    ("30 2 * * *", "last", ["25T01:30"]),
    ("30 2 * * *", "both", ["25T00:30", "25T01:30"]),
    ("*/30 2 * * *", "first", ["25T00:00", "25T00:30"]),
    ("*/30 2 * * *", "last", ["25T01:00", "25T01:30"]),
]


@pytest.mark.parametrize(("expression", "fold", "expected"), FOLD_CASES)
def test_a_fold_is_treated_as_asked(expression: str, fold: Fold, expected: list[str]) -> None:
    assert fired(Cron(expression, BERLIN, fold=fold), "2026-10-25T00:00:00Z", 12) == expected


def test_a_search_begun_between_the_two_occurrences_does_not_return_the_first() -> None:
    after = datetime.fromisoformat("2026-10-25T00:45:00Z")
    once, twice = Cron("30 2 * * *", BERLIN), Cron("30 2 * * *", BERLIN, fold="both")

    assert once.next_after(after) == datetime.fromisoformat("2026-10-26T01:30:00Z")
    assert twice.next_after(after) == datetime.fromisoformat("2026-10-25T01:30:00Z")


def test_many_seconds_in_a_gap_do_not_fire_many_times() -> None:
    assert fired(Cron("* 30 2 * * *", BERLIN), "2026-03-29T00:00:00Z", 12) == ["29T01:00"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"gap": "jump"}, 'gap "jump" is unknown, expected shift or skip'),
        ({"fold": "second"}, 'fold "second" is unknown, expected first, last or both'),
        ({"gap": ""}, 'gap "" is unknown, expected shift or skip'),
    ],
)
def test_an_unknown_policy_is_refused(arguments: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidTrigger) as refusal:
        Cron("0 0 * * *", **arguments)  # type: ignore[arg-type]
    assert str(refusal.value) == message
