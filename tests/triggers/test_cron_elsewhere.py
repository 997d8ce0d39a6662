"""What cron expressions mean to others, and what the guide says of the differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from pathlib import Path

import pytest
from apscheduler.triggers.cron import CronTrigger
from celery.schedules import crontab_parser
from croniter import croniter
from cronsim import CronSim

from fencepost import Cron
from fencepost.errors import InvalidTrigger

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
END = BEGIN + timedelta(days=400)
SECOND = timedelta(seconds=1)
FRIDAY_13 = "0 0 13 * FRI"
ODD_MONDAY = "0 0 */2 * MON"
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "time.md"
LAST_SUNDAY_OF_MARCH = "30 2 25-31 3 +SUN"


def days(fits: Callable[[datetime], bool]) -> list[datetime]:
    """The days after the first whose midnight fits."""
    found = (BEGIN + timedelta(days=number) for number in range(1, 400))
    return [day for day in found if fits(day)]


def is_friday(day: datetime) -> bool:
    return day.isoweekday() == 5


def is_monday(day: datetime) -> bool:
    return day.isoweekday() == 1


THE_13TH_AND_FRIDAYS = days(lambda day: day.day == 13 or is_friday(day))
FRIDAYS_THE_13TH = days(lambda day: day.day == 13 and is_friday(day))
ODD_MONDAYS = days(lambda day: day.day % 2 == 1 and is_monday(day))
ODD_DAYS_AND_MONDAYS = days(lambda day: day.day % 2 == 1 or is_monday(day))


def until_the_end(times: Iterable[datetime]) -> list[datetime]:
    return list(takewhile(lambda one: one < END, times))


def fencepost(expression: str) -> list[datetime]:
    return until_the_end(Cron(expression).between(BEGIN + SECOND, END))


def by_croniter(expression: str) -> list[datetime]:
    times = croniter(expression, BEGIN)
    return until_the_end(iter(lambda: times.get_next(datetime), None))


def by_cronsim(expression: str) -> list[datetime]:
    return until_the_end(CronSim(expression, BEGIN))


def by_apscheduler(expression: str) -> list[datetime]:
    def times() -> Iterator[datetime]:
        trigger, after = CronTrigger.from_crontab(expression, timezone="UTC"), BEGIN
        while True:
            after = trigger.get_next_fire_time(None, after + SECOND)
            yield after

    return until_the_end(times())


def by_celery(expression: str) -> list[datetime]:
    """Its `crontab` asks for a day that is in the sets of both."""
    _, _, day, _, weekday = expression.split()
    in_month, in_week = crontab_parser(31, 1).parse(day), {"MON": 1, "FRI": 5}[weekday]
    return days(lambda one: one.day in in_month and one.isoweekday() == in_week)


@pytest.mark.parametrize(
    ("name", "reader", "friday_13", "odd_monday"),
    [
        ("Fencepost", fencepost, THE_13TH_AND_FRIDAYS, ODD_MONDAYS),
        ("cronsim", by_cronsim, THE_13TH_AND_FRIDAYS, ODD_MONDAYS),
        ("croniter", by_croniter, THE_13TH_AND_FRIDAYS, ODD_DAYS_AND_MONDAYS),
        ("APScheduler", by_apscheduler, FRIDAYS_THE_13TH, ODD_MONDAYS),
        ("Celery", by_celery, FRIDAYS_THE_13TH, ODD_MONDAYS),
    ],
)
def test_the_guide_says_how_others_read_the_day_fields(
    name: str,
    reader: Callable[[str], list[datetime]],
    friday_13: list[datetime],
    odd_monday: list[datetime],
) -> None:
    lines = GUIDE.read_text("utf-8").splitlines()
    (row,) = (one for one in lines if one.startswith("| ") and name in one.split("|")[1] and "13th" in one)
    assert ("a Friday the 13th" in row) == (friday_13 == FRIDAYS_THE_13TH)
    assert ("odd days that are Mondays" in row) == (odd_monday == ODD_MONDAYS)
    assert reader(FRIDAY_13) == friday_13
    assert reader(ODD_MONDAY) == odd_monday


def test_either_and_both_can_be_said() -> None:
    assert fencepost("0 0 1-31/2 * MON") == ODD_DAYS_AND_MONDAYS
    assert fencepost("0 0 */2 * +MON") == ODD_MONDAYS


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        (ODD_MONDAY, "1-31/2 in its place"),
        ("0 0 13 * */2", "0-6/2 in its place"),
        ("0 0 0 */2 * MON", "+MON where both are meant"),
        ("0 0 12 ? * 6#3", "Quartz"),
        ("0 0 12 ? * 2-6", "Quartz"),
        ("0 12 ? * 6L", "Quartz"),
    ],
)
def test_what_others_read_differently_is_warned_of(expression: str, said: str) -> None:
    (caution,) = Cron(expression).cautions()
    assert said in caution


@pytest.mark.parametrize(
    "expression",
    [
        *(FRIDAY_13, "0 0 */2 * *", "0 0 */2 * ?", "0 0 */2 * +MON", "*/5 * * * *", "0 0 ? * MON-FRI"),
        *("0 0 ? * FRI#3", "@daily", "@every 5m", "0 0 * * 6", "0 0 L * ?"),
    ],
)
def test_what_all_read_alike_is_not_warned_of(expression: str) -> None:
    assert Cron(expression).cautions() == ()


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("0 0 L-5W * ?", "L-5 is that day, LW the last weekday"),
        ("0 0 12 ? * FRI 2026", "there is no year as in Quartz, leave it out"),
    ],
)
def test_what_only_quartz_has_is_refused_in_words_of_its_own(expression: str, said: str) -> None:
    with pytest.raises(InvalidTrigger, match=said):
        Cron(expression)


@pytest.mark.parametrize(
    "expression",
    [
        *("15 10 * * *", "30 8 * jan Mon", "5-59/15 9 * * *", "0 12 1 * MON", "0 12 1-31 * MON"),
        *("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly", "@Daily"),
        *("30 15 10 * * *", "0 0 L * *", "0 0 * * FRI#L", "0 0 * * 5L", "0 0 * * TUE#3", "0 12 15W * *"),
        *("0 12 1 * +MON", "0 12 ? * MON", "0 12 15W,20 * *"),
    ],
)
def test_patterns_of_the_specification_are_read(expression: str) -> None:
    assert Cron(expression).next(BEGIN)


@pytest.mark.parametrize(
    "expression",
    [
        *("60 0 * * *", "0 0 10-5 * *", "0 0 /30 * *", "0 0 */0 * *", "@daily 0 0 * * *", "0 12 1-15W * *"),
        *("0 12 +1 * MON", "? 12 * * *", "0 0 31 2 *", "@reboot", "0 15 10 * * * 2026"),
    ],
)
def test_what_the_specification_or_the_guide_says_is_refused_is(expression: str) -> None:
    with pytest.raises(InvalidTrigger):
        Cron(expression)


@pytest.mark.parametrize(
    ("trigger", "barren"),
    [
        (Cron(LAST_SUNDAY_OF_MARCH, tz="Europe/Berlin", gap="skip"), True),
        (Cron("*/15 2 25-31 3 +SUN", tz="Europe/Berlin"), True),
        (Cron(LAST_SUNDAY_OF_MARCH, tz="Europe/Berlin"), False),
        (Cron(LAST_SUNDAY_OF_MARCH, tz="America/New_York", gap="skip"), False),
        (Cron("30 2 * * *", tz="Europe/Berlin", gap="skip"), False),
    ],
)
def test_what_its_clocks_always_skip_is_told_from_what_they_show(trigger: Cron, barren: bool) -> None:
    assert trigger.is_barren(BEGIN) is barren
