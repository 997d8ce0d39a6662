"""What people read about the next change of the clocks, for zones whose changes are unlike each other."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from fencepost.triggers import At, Cron, Every
from fencepost.triggers.combine import Combinable
from fencepost.triggers.localtime.dst import Fold, Gap
from fencepost.triggers.preview import ChangePreview, preview

BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"
SAO_PAULO, APIA, TEHRAN = "America/Sao_Paulo", "Pacific/Apia", "Asia/Tehran"

SPRING, AUTUMN = datetime(2027, 1, 1, tzinfo=UTC), datetime(2026, 9, 1, tzinfo=UTC)
BERLIN_GAP = "On 2027-03-28 the clocks in Berlin go from 02:00 to 03:00: "
BERLIN_FOLD = "On 2026-10-25 the clocks in Berlin go back from 03:00 to 02:00: "
KEEPS_BEAT = "it keeps its beat: no fire time is lost or doubled in elapsed time."
UNTOUCHED = "nothing it does is touched."

BERLIN_GAPS: list[tuple[str, Gap | None, str, str]] = [
    ("30 2 * * *", None, "02:30 does not exist that day", "it fires once at 03:00 (2027-03-28T01:00:00Z)."),
    ("30 2 * * *", "skip", "02:30 does not exist that day", "it does not fire for it."),
    (
        "9 5 2 * * *",
        None,
        "02:05:09 does not exist that day",
        "it fires once at 03:00 (2027-03-28T01:00:00Z).",
    ),
    (
        *("15,45 2 * * *", None),
        *("02:15 and 02:45 do not exist that day", "it fires once for both at 03:00 (2027-03-28T01:00:00Z)."),
    ),
    (
        *("0-50/10 2 * * *", None, "6 of its wall times, 02:00 to 02:50, do not exist that day"),
        "it fires once for all of them at 03:00 (2027-03-28T01:00:00Z).",
    ),
    (
        *("0 2,3 * * *", None, "02:00 does not exist that day"),
        "the fire time at 03:00 (2027-03-28T01:00:00Z) stands for it too.",
    ),
    ("0 2,3 * * *", "skip", "02:00 does not exist that day", "it does not fire for it."),
    ("*/15 * * * *", None, "4 of its wall times, 02:00 to 02:45, do not exist that day", KEEPS_BEAT),
    ("0 * * * *", None, "02:00 does not exist that day", KEEPS_BEAT),
    ("0 */2 * * *", None, "02:00 does not exist that day", "it does not fire for it."),
    (
        *("*/7 * * * *", None),
        *("9 of its wall times, 02:00 to 02:56, do not exist that day", "it does not fire for them."),
    ),
]


@pytest.mark.parametrize(("expression", "gap", "walls", "fate"), BERLIN_GAPS)
def test_a_gap_is_told(expression: str, gap: Gap | None, walls: str, fate: str) -> None:
    assert sentence(Cron(expression, BERLIN, gap=gap), SPRING) == f"{BERLIN_GAP}{walls}; {fate}"


BERLIN_FOLDS: list[tuple[str, Fold | None, str, str]] = [
    ("30 2 * * *", None, "02:30 comes twice", "it fires at the first (2026-10-25T00:30:00Z)."),
    ("30 2 * * *", "last", "02:30 comes twice", "it fires at the second (2026-10-25T01:30:00Z)."),
    (
        *("30 2 * * *", "both", "02:30 comes twice"),
        "it fires at both (2026-10-25T00:30:00Z and 2026-10-25T01:30:00Z).",
    ),
    ("0 2,3 * * *", None, "02:00 comes twice", "it fires at the first (2026-10-25T00:00:00Z)."),
    (
        *("15,45 2 * * *", None, "02:15 and 02:45 come twice"),
        "it fires at the first of each, from 2026-10-25T00:15:00Z on.",
    ),
    (
        *("15,45 2 * * *", "last", "02:15 and 02:45 come twice"),
        "it fires at the second of each, from 2026-10-25T01:15:00Z on.",
    ),
    ("*/15 * * * *", None, "4 of its wall times, 02:00 to 02:45, come twice", KEEPS_BEAT),
    (
        *("*/15 * * * *", "first", "4 of its wall times, 02:00 to 02:45, come twice"),
        "it fires at the first of each, from 2026-10-25T00:00:00Z on.",
    ),
    (
        *("0 */2 * * *", None, "02:00 comes twice"),
        "it fires at both (2026-10-25T00:00:00Z and 2026-10-25T01:00:00Z).",
    ),
]


@pytest.mark.parametrize(("expression", "fold", "walls", "fate"), BERLIN_FOLDS)
def test_a_fold_is_told(expression: str, fold: Fold | None, walls: str, fate: str) -> None:
    assert sentence(Cron(expression, BERLIN, fold=fold), AUTUMN) == f"{BERLIN_FOLD}{walls}; {fate}"


@pytest.mark.parametrize("expression", ["0 9 * * *", "0 3 * * *", "59 1 * * *", "30 2 * * MON"])
def test_what_is_not_touched_is_not_alarmed(expression: str) -> None:
    assert sentence(Cron(expression, BERLIN), SPRING) == BERLIN_GAP + UNTOUCHED
    assert sentence(Cron(expression, BERLIN), AUTUMN) == BERLIN_FOLD + UNTOUCHED


def test_a_beat_in_elapsed_time_is_not_touched_though_it_has_a_zone() -> None:
    beat = Cron("@every 5m", BERLIN)
    assert sentence(beat, SPRING) == f"{BERLIN_GAP}it counts elapsed time, {UNTOUCHED}"
    assert sentence(beat, AUTUMN) == f"{BERLIN_FOLD}it counts elapsed time, {UNTOUCHED}"


LORD_HOWE_GAP = "On 2026-10-04 the clocks in Lord Howe go from 02:00 to 02:30: "
LORD_HOWE_FOLD = "On 2026-04-05 the clocks in Lord Howe go back from 02:00 to 01:30: "
APIA_GAP = "The clocks in Apia go from 2011-12-30 00:00 to 2011-12-31 00:00: "

ELSEWHERE = [
    (
        *(
            NEW_YORK,
            "30 2 * * *",
            "2027-01-01",
            "On 2027-03-14 the clocks in New York go from 02:00 to 03:00: ",
        ),
        "02:30 does not exist that day; it fires once at 03:00 (2027-03-14T07:00:00Z).",
    ),
    (
        *(NEW_YORK, "30 1 * * *", "2026-09-01"),
        "On 2026-11-01 the clocks in New York go back from 02:00 to 01:00: ",
        "01:30 comes twice; it fires at the first (2026-11-01T05:30:00Z).",
    ),
    (
        *(LORD_HOWE, "15 2 * * *", "2026-08-01", LORD_HOWE_GAP),
        "02:15 does not exist that day; it fires once at 02:30 (2026-10-03T15:30:00Z).",
    ),
    (
        *(LORD_HOWE, "0 * * * *", "2026-08-01", LORD_HOWE_GAP),
        "02:00 does not exist that day; it does not fire for it.",
    ),
    (
        *(LORD_HOWE, "*/10 * * * *", "2026-03-01", LORD_HOWE_FOLD),
        f"01:30, 01:40 and 01:50 come twice; {KEEPS_BEAT}",
    ),
    (
        *(SAO_PAULO, "0 0 * * *", "2018-10-01"),
        "On 2018-11-04 the clocks in Sao Paulo go from 00:00 to 01:00: ",
        "00:00 does not exist that day; it fires once at 01:00 (2018-11-04T03:00:00Z).",
    ),
    (
        *(SAO_PAULO, "30 23 * * *", "2018-02-01"),
        "The clocks in Sao Paulo go back from 2018-02-18 00:00 to 2018-02-17 23:00: ",
        "2018-02-17 23:30 comes twice; it fires at the first (2018-02-18T01:30:00Z).",
    ),
    (
        *(APIA, "0 12 * * *", "2011-12-01", APIA_GAP),
        "2011-12-30 12:00 does not exist; it fires once at 2011-12-31 00:00 (2011-12-30T10:00:00Z).",
    ),
    (
        *(APIA, "0 * * * *", "2011-12-01", APIA_GAP),
        f"24 of its wall times, 2011-12-30 00:00 to 2011-12-30 23:00, do not exist; {KEEPS_BEAT}",
    ),
    (
        *(APIA, "* * * * * *", "2011-12-01", APIA_GAP),
        "10000 or more of its wall times from 2011-12-30 00:00 on do not exist; it does not fire for them.",
    ),
    (
        *(TEHRAN, "30 0 * * *", "2022-01-01", "On 2022-03-22 the clocks in Tehran go from 00:00 to 01:00: "),
        "00:30 does not exist that day; it fires once at 01:00 (2022-03-21T20:30:00Z).",
    ),
    (
        *(TEHRAN, "30 23 * * *", "2022-09-01"),
        "The clocks in Tehran go back from 2022-09-22 00:00 to 2022-09-21 23:00: ",
        "2022-09-21 23:30 comes twice; it fires at the first (2022-09-21T19:00:00Z).",
    ),
    (
        *("US/Eastern", "0 9 * * *", "2026-09-01"),
        *("On 2026-11-01 the clocks of US Eastern time go back from 02:00 to 01:00: ", UNTOUCHED),
    ),
]


@pytest.mark.parametrize(("tz", "expression", "after", "change", "effect"), ELSEWHERE)
def test_every_kind_of_change_reads_right(
    tz: str, expression: str, after: str, change: str, effect: str
) -> None:
    moment = datetime.fromisoformat(after).replace(tzinfo=UTC)
    assert sentence(Cron(expression, tz), moment) == change + effect


def test_a_preview_holds_the_change_and_its_fire_times() -> None:
    (found,) = preview(Cron("30 2 * * *", BERLIN, fold="both"), AUTUMN)
    assert found == ChangePreview(
        tz=BERLIN,
        at=datetime(2026, 10, 25, 1, tzinfo=UTC),
        kind="fold",
        length=timedelta(hours=1),
        wall_from=datetime.fromisoformat("2026-10-25T03:00"),
        wall_to=datetime.fromisoformat("2026-10-25T02:00"),
        fire_times=(datetime(2026, 10, 25, 0, 30, tzinfo=UTC), datetime(2026, 10, 25, 1, 30, tzinfo=UTC)),
        count=2,
        sentence=found.sentence,
    )
    assert (found.since, found.until) == (found.at - found.length, found.at + found.length)


def test_steps_of_the_calendar_are_wall_times_too() -> None:
    every = Every("1 day", "2026-01-01T02:30", BERLIN)
    assert sentence(every, SPRING) == sentence(Cron("30 2 * * *", BERLIN), SPRING)
    assert sentence(every, AUTUMN) == sentence(Cron("30 2 * * *", BERLIN), AUTUMN)
    skipping = Every("1 day", "2026-01-01T02:30", BERLIN, gap="skip")
    assert sentence(skipping, SPRING) == sentence(Cron("30 2 * * *", BERLIN, gap="skip"), SPRING)


COMBINED = [
    (
        Cron("30 2 * * *", BERLIN) | Every("10m"),
        "it fires 6 times in the hour before and 6 times in the hour after, first at 2026-10-25T00:00:00Z.",
    ),
    (
        Cron("30 2 * * *", BERLIN) - Cron("0 12 * * *"),
        "it fires once in the hour before and never in the hour after, first at 2026-10-25T00:30:00Z.",
    ),
    (
        Cron("0 12 * * *", BERLIN).between("2020-01-01"),
        "it fires neither in the hour before nor in the hour after.",
    ),
    (
        Cron("* * * * * *", BERLIN) & Cron("0 30 * * * *") & Cron("0 0 * * * *"),
        "it fires neither in the hour before nor in the hour after.",
    ),
]


@pytest.mark.parametrize(("trigger", "words"), COMBINED, ids=["union", "difference", "untouched", "never"])
def test_a_combination_is_compared_around_the_change(trigger: Combinable, words: str) -> None:
    assert sentence(trigger, AUTUMN) == BERLIN_FOLD + words


def test_a_search_that_gives_up_is_taken_up_again() -> None:
    late = Cron("*/4 * * * * *", APIA) - Cron("*/4 * 0-22 * * *")
    assert sentence(late, datetime(2011, 12, 1, tzinfo=UTC)) == (
        f"{APIA_GAP}it fires 900 times in the 24 hours before and 900 times in the 24 hours after,"
        " first at 2011-12-29T23:00:00Z."
    )


def test_each_zone_has_its_change_the_earliest_first() -> None:
    union = Cron("30 1 * * *", NEW_YORK) | Cron("30 2 * * *", BERLIN) | Cron("0 0 * * *", "UTC") | Every("1h")
    assert [found.tz for found in preview(union, AUTUMN)] == [BERLIN, NEW_YORK]
    assert [found.tz for found in preview(union, datetime(2026, 10, 28, tzinfo=UTC))] == [NEW_YORK, BERLIN]


@pytest.mark.parametrize(
    "trigger",
    [
        Cron("0 2 * * *"),
        Cron("0 2 * * *", "Asia/Tokyo"),
        Cron("0 2 * * *", TEHRAN),
        Every("1h"),
        At("2026-12-24"),
    ],
    ids=["utc", "tokyo", "tehran", "exact", "list"],
)
def test_clocks_that_are_never_set_leave_nothing_to_tell(trigger: Combinable) -> None:
    assert preview(trigger, AUTUMN) == []


def test_a_change_is_not_the_next_one_of_its_own_instant() -> None:
    (first,) = preview(Cron("30 2 * * *", BERLIN), AUTUMN)
    (again,) = preview(Cron("30 2 * * *", BERLIN), first.at - timedelta.resolution)
    (later,) = preview(Cron("30 2 * * *", BERLIN), first.at)
    assert again == first
    assert later.at == datetime(2027, 3, 28, 1, tzinfo=UTC)


def sentence(trigger: Combinable, after: datetime) -> str:
    (found,) = preview(trigger, after)
    return found.sentence
