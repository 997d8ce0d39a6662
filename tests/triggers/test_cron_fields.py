"""What a cron expression may say, and what it is told when it says something else."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime

import pytest

from fencepost.errors import InvalidTrigger
from fencepost.triggers import Cron, cron_expression

NOW = datetime(2026, 1, 1, tzinfo=UTC)

SAME = [
    ("*/15 * * * *", "0,15,30,45 * * * *"),
    ("10-40/10 * * * *", "10,20,30,40 * * * *"),
    ("7/10 * * * *", "7,17,27,37,47,57 * * * *"),
    ("0 0 1 jan,Jul *", "0 0 1 1,7 *"),
    ("0 0 * * mon-FRI", "0 0 * * 1-5"),
    ("0 0 * * 7", "0 0 * * 0"),
    ("0 0 * * SUN", "0 0 * * 0"),
    ("0 0 * * FRI-SUN", "0 0 * * 5,6,0"),
    ("0 0 * * 5-7", "0 0 * * 5,6,0"),
    ("0 0 * * 0-7", "0 0 * * *"),
    ("0 0 ? * MON", "0 0 * * 1"),
    ("0 0 1 * ?", "0 0 1 * *"),
    ("*/60 * * * *", "0 * * * *"),
    ("0 12 * * *", "0 0 12 * * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@Hourly", "0 * * * *"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_two_ways_to_say_the_same(one: str, other: str) -> None:
    assert Cron(one).next(NOW, 60) == Cron(other).next(NOW, 60)


COUNTED = "expected 5 (minute hour day month weekday) or 6 (second first)"
MACROS = "@yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly"

REFUSED = [
    ("61 * * * *", "minute 61 is out of range, expected 0-59"),
    ("* 24 * * *", "hour 24 is out of range, expected 0-23"),
    ("60 * * * * *", "second 60 is out of range, expected 0-59"),
    ("* * 0 * *", "day 0 is out of range, expected 1-31"),
    ("* * 32 * *", "day 32 is out of range, expected 1-31"),
    ("* * * 13 *", "month 13 is out of range, expected 1-12 or JAN-DEC"),
    ("* * * * 8", "weekday 8 is out of range, expected 0-7 or SUN-SAT"),
    ("* * * * MOON", 'weekday "MOON" is not a value, expected 0-7 or SUN-SAT'),
    ("* * * MON *", 'month "MON" is not a value, expected 1-12 or JAN-DEC'),
    ("-5 * * * *", 'minute "" is not a value, expected 0-59'),
    ("1- * * * *", 'minute "" is not a value, expected 0-59'),
    ("1-2-3 * * * *", 'minute "2-3" is not a value, expected 0-59'),
    ("1,,2 * * * *", 'minute "" is not a value, expected 0-59'),
    ("*-5 * * * *", 'minute "*" is not a value, expected 0-59'),
    ("** * * * *", 'minute "**" is not a value, expected 0-59'),
    ("1.5 * * * *", 'minute "1.5" is not a value, expected 0-59'),
    ("٣ * * * *", 'minute "٣" is not a value, expected 0-59'),
    ("? * * * *", 'minute "?" is not a value, expected 0-59'),
    ("* * ?/2 * *", 'day "?" is not a value, expected 1-31'),
    ("*/0 * * * *", "minute step 0 is out of range, expected 1-60"),
    ("*/90 * * * *", "minute step 90 is out of range, expected 1-60"),
    ("*/x * * * *", 'minute step "x" is not a number, expected 1-60'),
    ("*/ * * * *", 'minute step "" is not a number, expected 1-60'),
    ("* * * * */8", "weekday step 8 is out of range, expected 1-7"),
    ("0 0 * * FRI-MON", "weekday range FRI-MON runs backwards, write FRI-SAT,SUN-MON"),
    ("0 0 * * SAT-MON", "weekday range SAT-MON runs backwards, write SAT,SUN-MON"),
    ("0 0 * * 5-0", "weekday range 5-0 runs backwards, write 5-6,0"),
    ("50-10 * * * *", "minute range 50-10 runs backwards, write 50-59,0-10"),
    ("0 0 1 NOV-FEB *", "month range NOV-FEB runs backwards, write NOV-DEC,JAN-FEB"),
    ("", f"has 0 fields, {COUNTED}"),
    ("* * * *", f"has 4 fields, {COUNTED}"),
    ("* * * * * * *", f"has 7 fields, {COUNTED}"),
    ("@reboot", f"is no macro, expected one of {MACROS}"),
    ("@daily 5", f"is no macro, expected one of {MACROS}"),
    ("0 0 30 2 *", 'never fires, no month in "2" has a day "30"'),
    ("0 0 31 4,6,9,11 *", 'never fires, no month in "4,6,9,11" has a day "31"'),
    ("0 0 31 FEB */2", 'never fires, no month in "FEB" has a day "31"'),
]


@pytest.mark.parametrize(("expression", "complaint"), REFUSED)
def test_a_wrong_expression_is_refused_in_one_line(expression: str, complaint: str) -> None:
    with pytest.raises(InvalidTrigger) as refusal:
        Cron(expression)
    assert str(refusal.value) == f'cron "{expression}": {complaint}'


def test_an_endless_expression_is_neither_read_nor_repeated() -> None:
    with pytest.raises(InvalidTrigger) as refusal:
        Cron("1," * 100_000 + "1 * * * *")
    assert str(refusal.value) == f'cron "{"1," * 30}…": is longer than 512 characters'


def test_a_long_list_is_refused() -> None:
    with pytest.raises(InvalidTrigger, match=r"minute has more than 100 list items$"):
        Cron(",".join("1" * 101) + " * * * *")


def test_a_line_break_does_not_reach_the_message() -> None:
    with pytest.raises(InvalidTrigger) as refusal:
        Cron("\x1b[31m\n* * * *")
    assert str(refusal.value).isprintable()


def test_what_never_fires_is_refused_without_searching(monkeypatch: pytest.MonkeyPatch) -> None:
    def searched(*_: object) -> None:
        raise AssertionError("looked at a calendar")

    monkeypatch.setattr(cron_expression, "monthrange", searched)
    monkeypatch.setattr(cron_expression.Expression, "walls", searched)
    with pytest.raises(InvalidTrigger, match="never fires"):
        Cron("1 2 30 2 *")


def test_equal_by_value_whatever_the_spacing() -> None:
    cron = Cron("0  0 * *\t*", tz="Europe/Berlin")
    assert cron == Cron("0 0 * * *", "Europe/Berlin")
    assert hash(cron) == hash(Cron("0 0 * * *", "Europe/Berlin"))
    assert cron != Cron("0 0 * * *")
    assert cron != Cron("0 0 * * *", "Europe/Berlin", gap="skip")


def test_repr_can_be_read_back() -> None:
    cron = Cron("0 0 * * *", "Europe/Berlin", fold="last")
    assert eval(repr(cron)) == cron


def test_a_pickled_cron_fires_as_before() -> None:
    cron = Cron("0 0 * * *", "Europe/Berlin", gap="skip")
    copy = pickle.loads(pickle.dumps(cron))
    assert copy == cron
    assert copy.next_after(NOW) == cron.next_after(NOW)
