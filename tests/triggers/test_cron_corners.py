"""Corners of cron in which something could fall over: the ends of the calendar, odd letters, odd seeds."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from fencepost.errors import InvalidTrigger
from fencepost.triggers import Cron
from fencepost.triggers.series import Binding

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
MESSAGE_LENGTH_MAX = 300


@pytest.mark.parametrize("tz", ["UTC", "Pacific/Kiritimati", "Pacific/Niue"])
@pytest.mark.parametrize("expression", ["0 0 * * *", "* * * * * *", "0 0 29 2 +MON", "@every 7h"])
def test_the_ends_of_the_calendar_do_no_harm(expression: str, tz: str) -> None:
    cron = Cron(expression, tz)
    assert cron.next_after(LAST) is None
    assert cron.next_after(FIRST) is not None
    assert cron.previous(LAST) is not None
    assert LAST not in cron


@pytest.mark.parametrize("tz", ["UTC", "Pacific/Kiritimati", "Pacific/Niue"])
@pytest.mark.parametrize("expression", ["0 0 * * *", "* * * * * *", "0 0 29 2 +MON", "@every 7h"])
def test_nothing_comes_before_the_calendar(expression: str, tz: str) -> None:
    cron = Cron(expression, tz)
    assert cron.previous(FIRST) is None
    assert FIRST not in cron


@pytest.mark.parametrize("year", [2, 9, 10, 11, 12, 40, 110, 9880, 9980, 9985, 9989, 9990, 9998])
def test_a_search_that_runs_out_of_the_calendar_ends(year: int) -> None:
    moment = datetime(year, 1, 1, tzinfo=UTC)
    for weekday in range(7):
        cron = Cron(f"0 0 29 2 +{weekday}")
        following, past = cron.next_after(moment), cron.previous(moment)
        assert following is None or following > moment
        assert past is None or past < moment


@pytest.mark.parametrize(
    "text", ["0 0 * * \u017fun", "0 0 1 \u017fep *", "@wee\u212aly"], ids=["sun", "sep", "weekly"]
)
def test_a_letter_that_only_becomes_one_by_its_case_is_none(text: str) -> None:
    with pytest.raises(InvalidTrigger):
        Cron(text)


def test_from_sunday_to_sunday_by_name_is_one_day_as_by_number() -> None:
    assert Cron("0 0 * * SUN-SUN").next(NOW, 3) == Cron("0 0 * * 0-0").next(NOW, 3)


@pytest.mark.parametrize("seed", ["\ud800", "a\udfffb"], ids=["alone", "in a text"])
def test_half_a_character_is_refused_as_a_seed_or_hashed(seed: str) -> None:
    try:
        cron = Cron("H * * * *", seed=seed)
    except InvalidTrigger:
        return
    assert cron.next_after(NOW) is not None


def test_a_wait_for_an_id_does_not_refuse_what_some_id_can_do() -> None:
    expression = "0 0 15W * +H(5-6)"
    assert Cron(expression).bound(Binding("a")) == Cron(expression, seed="a")


@pytest.mark.parametrize(
    "text", ["9" * 500 + " * * * *", "*/" + "9" * 500 + " * * * *", "0 0 " + "9" * 490 + "W * *"]
)
def test_a_long_number_is_not_repeated_in_full(text: str) -> None:
    with pytest.raises(InvalidTrigger) as refusal:
        Cron(text)
    assert len(str(refusal.value)) <= MESSAGE_LENGTH_MAX
