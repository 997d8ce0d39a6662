"""What a cron expression is told when it cannot be read: the field, the value, and what was expected."""

from __future__ import annotations

import pytest

from fencepost.errors import InvalidTrigger
from fencepost.triggers import Cron

COUNTED = "expected 5 (minute hour day month weekday) or 6 (second first)"

REFUSED = [
    ("61 * * * *", "minute 61 is out of range", "expected 0-59"),
    ("* 24 * * *", "hour 24 is out of range", "expected 0-23"),
    ("60 * * * * *", "second 60 is out of range", "expected 0-59"),
    ("* * 0 * *", "day 0 is out of range", "expected 1-31"),
    ("* * 32 * *", "day 32 is out of range", "expected 1-31"),
    ("* * * 13 *", "month 13 is out of range", "expected 1-12 or JAN-DEC"),
    ("* * * 0 *", "month 0 is out of range", "expected 1-12 or JAN-DEC"),
    ("* * * * 8", "weekday 8 is out of range", "expected 0-7 or SUN-SAT"),
    ("* * * * MOON", 'weekday "MOON" is not a value', "expected 0-7 or SUN-SAT"),
    ("* * * MON *", 'month "MON" is not a value', "expected 1-12 or JAN-DEC"),
    ("MON * * * *", 'minute "MON" is not a value', "expected 0-59"),
    ("-5 * * * *", 'minute "" is not a value', "expected 0-59"),
    ("1- * * * *", 'minute "" is not a value', "expected 0-59"),
    ("1-2-3 * * * *", 'minute "2-3" is not a value', "expected 0-59"),
    ("1,,2 * * * *", 'minute "" is not a value', "expected 0-59"),
    ("1, * * * *", 'minute "" is not a value', "expected 0-59"),
    ("*-5 * * * *", 'minute "*" is not a value', "expected 0-59"),
    ("** * * * *", 'minute "**" is not a value', "expected 0-59"),
    ("1.5 * * * *", 'minute "1.5" is not a value', "expected 0-59"),
    ("٣ * * * *", 'minute "٣" is not a value', "expected 0-59"),
    ("３ * * * *", 'minute "３" is not a value', "expected 0-59"),
    ("² * * * *", 'minute "²" is not a value', "expected 0-59"),
    ("? * * * *", 'minute "?" is not a value', "expected 0-59"),
    ("* * * ? *", 'month "?" is not a value', "expected 1-12 or JAN-DEC"),
    ("* * ?/2 * *", 'day "?" is not a value', "expected 1-31"),
    ("*/0 * * * *", "minute step 0 is out of range", "expected 1-60"),
    ("*/90 * * * *", "minute step 90 is out of range", "expected 1-60"),
    ("*/x * * * *", 'minute step "x" is not a number', "expected 1-60"),
    ("*/ * * * *", 'minute step "" is not a number', "expected 1-60"),
    ("*/5/5 * * * *", 'minute step "5/5" is not a number', "expected 1-60"),
    ("*/-5 * * * *", 'minute step "-5" is not a number', "expected 1-60"),
    ("* * * * */8", "weekday step 8 is out of range", "expected 1-7"),
    ("0 0 * * FRI-MON", "weekday range FRI-MON runs backwards", "write FRI-SAT,SUN-MON"),
    ("0 0 * * SAT-MON", "weekday range SAT-MON runs backwards", "write SAT,SUN-MON"),
    ("0 0 * * 5-0", "weekday range 5-0 runs backwards", "write 5-6,0"),
    ("50-10 * * * *", "minute range 50-10 runs backwards", "write 50-59,0-10"),
    ("0 0 1 NOV-FEB *", "month range NOV-FEB runs backwards", "write NOV-DEC,JAN-FEB"),
    ("L * * * *", 'minute "L" is not a value', "expected 0-59"),
    ("0 0 * L *", 'month "L" is not a value', "expected 1-12 or JAN-DEC"),
    ("0 0 L-0 * *", 'day "L-0" is out of range', "expected L-1 to L-30"),
    ("0 0 L-31 * *", 'day "L-31" is out of range', "expected L-1 to L-30"),
    ("0 0 L- * *", 'day "L-"', "expected L-1 to L-30"),
    ("0 0 L-x * *", 'day "L-x"', "expected L-1 to L-30"),
    ("0 0 L/2 * *", 'day "L" is not a value', "expected 1-31"),
    ("0 0 1-L * *", 'day "L" is not a value', "expected 1-31"),
    ("0 0 32W * *", "day 32 is out of range", "expected 1-31"),
    ("0 0 0W * *", "day 0 is out of range", "expected 1-31"),
    ("0 0 W * *", 'day "" is not a value', "expected 1-31"),
    ("0 0 1-5W * *", 'day "1-5" is not a value', "expected 1-31"),
    ("0 0 15W/2 * *", 'day "15W" is not a value', "expected 1-31"),
    ("0 0 * * 15W", 'weekday "15W" is not a value', "expected 0-7 or SUN-SAT"),
    ("0 0 * * L", 'weekday "L" stands alone', "expected the weekday before it, such as FRIL"),
    ("0 0 * * 8L", "weekday 8 is out of range", "expected 0-7 or SUN-SAT"),
    ("0 0 * * MON-FRIL", 'weekday "MON-FRI" is not a value', "expected 0-7 or SUN-SAT"),
    ("0 0 * * MON#0", 'weekday "MON#0" is out of range', "expected #1 to #5"),
    ("0 0 * * MON#6", 'weekday "MON#6" is out of range', "expected #1 to #5"),
    ("0 0 * * MON#", 'weekday "MON#"', "expected #1 to #5"),
    ("0 0 * * #2", 'weekday "" is not a value', "expected 0-7 or SUN-SAT"),
    ("0 0 * * *#2", 'weekday "*" is not a value', "expected 0-7 or SUN-SAT"),
    ("0 0 MON#1 * *", 'day "MON#1" is not a value', "expected 1-31"),
    ("0 0 * * +", 'weekday "" is not a value', "expected 0-7 or SUN-SAT"),
    ("0 0 * * ++MON", 'weekday "+MON" is not a value', "expected 0-7 or SUN-SAT"),
    ("0 0 +1 * MON", 'day "+1" is not a value', "expected 1-31"),
    ("H(5) * * * *", 'minute "H(5)" has no range', "expected H(LOW-HIGH)"),
    ("H() * * * *", 'minute "H()" has no range', "expected H(LOW-HIGH)"),
    ("H(0-60) * * * *", "minute 60 is out of range", "expected 0-59"),
    ("H(9-2) * * * *", "minute range 9-2 runs backwards", "write "),
    ("H/0 * * * *", "minute step 0 is out of range", "expected 1-60"),
    ("H( * * * *", 'minute "H(" is not a value', "expected 0-59"),
    ("H5 * * * *", 'minute "H5" is not a value', "expected 0-59"),
    ("0-H * * * *", 'minute "H" is not a value', "expected 0-59"),
    ("", "has 0 fields", COUNTED),
    ("* * * *", "has 4 fields", COUNTED),
    ("* * * * * * *", "has 7 fields", COUNTED),
    ("@reboot", "is no macro", "expected one of @yearly, @annually, "),
    ("@daily 5", "is no macro", "expected one of @yearly, @annually, "),
    ("@every", "is no macro", "@every 5m"),
    ("@every 5", 'duration "5"', "expected a length of time such as 90s"),
    ("@every -5m", 'duration "-5m"', "expected a length of time such as 90s"),
    ("@every 0s", "expected whole seconds", "such as @every 5m"),
    ("@every 1500ms", "expected whole seconds", "such as @every 5m"),
]

NEVER = [
    ("0 0 30 2 *", 'month in "2"', 'day "30"'),
    ("0 0 31 2,4,6,9,11 *", 'month in "2,4,6,9,11"', 'day "31"'),
    ("0 0 31 FEB */2", 'month in "FEB"', 'day "31"'),
    ("0 0 L-29 2 *", 'month in "2"', 'day "L-29"'),
    ("0 0 L-30 4,6,9,11 *", 'month in "4,6,9,11"', 'day "L-30"'),
    ("0 0 31W 2,4 *", 'month in "2,4"', 'day "31W"'),
    ("0 0 30 2 +MON", 'month in "2"', 'weekday "+MON"'),
    ("0 0 1 * +MON#2", 'day "1"', 'weekday "+MON#2"'),
    ("0 0 1 * +FRIL", 'day "1"', 'weekday "+FRIL"'),
    ("0 0 29 2 +MON#4", 'month in "2"', 'weekday "+MON#4"'),
    ("0 0 15W * +SAT,SUN", 'day "15W"', 'weekday "+SAT,SUN"'),
    ("0 0 LW * +6", 'day "LW"', 'weekday "+6"'),
    ("0 0 L * +MON#1", 'day "L"', 'weekday "+MON#1"'),
    ("0 0 */31 * TUE#4", 'day "*/31"', 'weekday "TUE#4"'),
    ("* * * 30,31 2 ?", 'month in "2"', 'day "30,31"'),
]

# What looks as if it could never be, and is.
SELDOM = [
    "0 0 30 2 MON",
    "0 0 29 2 +MON",
    "0 0 * 2 SUN#5",
    "0 0 31 * +SAT#5",
    "0 0 L-28 2 *",
    "0 0 L 2 +WED#5",
    "0 0 29W 2 +FRI",
    "0 0 1W * +MON#1",
    "0 0 31W 1,2 *",
]


@pytest.mark.parametrize(("expression", "what", "expected"), REFUSED)
def test_a_wrong_expression_is_refused_in_one_line(expression: str, what: str, expected: str) -> None:
    with pytest.raises(InvalidTrigger) as refusal:
        Cron(expression)
    message = str(refusal.value)
    assert message.startswith(f'cron "{expression}": ')
    assert what in message.removeprefix(f'cron "{expression}": ')
    assert expected in message.removeprefix(f'cron "{expression}": ')


@pytest.mark.parametrize(("expression", "one", "other"), NEVER)
def test_what_never_fires_is_refused_with_the_fields_that_never_meet(
    expression: str, one: str, other: str
) -> None:
    with pytest.raises(InvalidTrigger, match="never fires, no month in ") as refusal:
        Cron(expression)
    assert one in str(refusal.value)
    assert other in str(refusal.value)


@pytest.mark.parametrize("expression", SELDOM)
def test_what_fires_seldom_is_not_refused(expression: str) -> None:
    assert Cron(expression).expression == expression


def test_an_endless_expression_is_neither_read_nor_repeated() -> None:
    with pytest.raises(InvalidTrigger) as refusal:
        Cron("1," * 100_000 + "1 * * * *")
    assert str(refusal.value) == f'cron "{"1," * 30}…": is longer than 512 characters'


def test_a_long_list_is_refused() -> None:
    with pytest.raises(InvalidTrigger, match=r"minute has more than 100 list items$"):
        Cron(",".join("1" * 101) + " * * * *")


@pytest.mark.parametrize(
    "text", ["\x1b[31m\n* * * *", "H(\x1b[31m) * * * *", "0 0 * * \x07#2", "@every \x00"]
)
def test_nothing_unprintable_reaches_the_message(text: str) -> None:
    with pytest.raises(InvalidTrigger) as refusal:
        Cron(text, seed="invoices")
    assert str(refusal.value).isprintable()


@pytest.mark.parametrize("expression", [None, 5, b"* * * * *", ["*"] * 5])
def test_what_is_no_text_is_refused(expression: object) -> None:
    with pytest.raises(InvalidTrigger, match="expected a text"):
        Cron(expression)  # type: ignore[arg-type]
