"""What people read about a cron expression: exact words, in one line, for everything that Cron accepts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import InvalidTrigger
from fencepost.triggers import Cron

LENGTH_MAX = 300

TIMES = [
    ("* * * * *", "every minute"),
    ("*/5 * * * *", "every 5 minutes"),
    ("0,15,30,45 * * * *", "every 15 minutes"),
    ("2/5 * * * *", "every 5 minutes from minute 2 of the hour"),
    ("0 * * * *", "every hour on the hour"),
    ("30 * * * *", "every hour at minute 30"),
    ("*/7 * * * *", "at every 7th minute from 0 to 56 of every hour, UTC"),
    ("5,20 * * * *", "at minutes 5 and 20 of every hour, UTC"),
    ("1-4,9 * * * *", "at minutes 1 to 4 and 9 of every hour, UTC"),
    ("0 9-17 * * *", "every hour from 09:00 to 17:00, UTC"),
    ("30 9-17 * * *", "every hour from 09:30 to 17:30, UTC"),
    ("*/5 9-17 * * *", "every 5 minutes from 09:00 to 17:55, UTC"),
    ("10/20 9-10 * * *", "every 20 minutes from 09:10 to 10:50, UTC"),
    ("* 9 * * *", "every minute from 09:00 to 09:59, UTC"),
    ("*/5 9,17 * * *", "every 5 minutes from 09:00 to 09:55 and from 17:00 to 17:55, UTC"),
    ("5 1-5,9-12 * * *", "every hour from 01:05 to 05:05 and from 09:05 to 12:05, UTC"),
    ("0 5,9-15 * * *", "every hour from 09:00 to 15:00 and at 05:00, UTC"),
    ("0 */2 * * *", "every 2 hours from 00:00 to 22:00, UTC"),
    ("0 1/2 * * *", "every 2 hours from 01:00 to 23:00, UTC"),
    ("0 */5 * * *", "every 5 hours from 00:00 to 20:00, UTC"),
    ("0 */6 * * *", "at 00:00, 06:00, 12:00 and 18:00 every day, UTC"),
    ("*/7 9-17 * * *", "at every 7th minute from 0 to 56 of hours 9 to 17, UTC"),
    ("*/5 */2 * * *", "at every 5th minute from 0 to 55 of every 2nd hour from 0 to 22, UTC"),
    ("1,5,9,22 3,7 * * *", "at minutes 1, 5, 9 and 22 of hours 3 and 7, UTC"),
    ("30 2 * * *", "at 02:30 every day, UTC"),
    ("30 2,8,14 * * *", "at 02:30, 08:30 and 14:30 every day, UTC"),
    ("0,30 8,14,20 * * *", "at 08:00, 08:30, 14:00, 14:30, 20:00 and 20:30 every day, UTC"),
    ("0 0 * * *", "at midnight every day, UTC"),
    ("0 12 * * *", "at noon every day, UTC"),
    ("0 9 ? * ?", "at 09:00 every day, UTC"),
]

SECONDS = [
    ("* * * * * *", "every second"),
    ("*/10 * * * * *", "every 10 seconds"),
    ("5/10 * * * * *", "every 10 seconds from second 5 of the minute"),
    ("15 * * * * *", "every minute at second 15"),
    ("15 */5 * * * *", "every 5 minutes from minute 0, second 15 of the hour"),
    ("15 0 * * * *", "every hour at minute 0, second 15"),
    ("0 30 2 * * *", "at 02:30 every day, UTC"),
    ("15 30 2 * * *", "at 02:30:15 every day, UTC"),
    ("0,15 30 2 * * *", "at 02:30:00 and 02:30:15 every day, UTC"),
    ("*/10 * 9-17 * * *", "every 10 seconds from 09:00:00 to 17:59:50, UTC"),
    ("7,9 */7 * * * *", "at seconds 7 and 9 of every 7th minute from 0 to 56 of every hour, UTC"),
    ("* 1,3 5,8 * * *", "at every second of minutes 1 and 3 of hours 5 and 8, UTC"),
]

DAYS = [
    ("0 0 1 * *", "at midnight on the 1st of every month, UTC"),
    ("0 0 1,15 * *", "at midnight on the 1st and 15th of every month, UTC"),
    ("0 9 1,5-9,20,21 * *", "at 09:00 on the 1st, 5th to 9th, 20th and 21st of every month, UTC"),
    ("0 9 22,23 * *", "at 09:00 on the 22nd and 23rd of every month, UTC"),
    ("0 9 11,12,13 * *", "at 09:00 from the 11th to the 13th of every month, UTC"),
    ("0 9 20-31 * *", "at 09:00 from the 20th to the end of every month, UTC"),
    ("0 9 20-30 * *", "at 09:00 from the 20th to the 30th of the month, UTC"),
    ("0 9 29-31 * *", "at 09:00 from the 29th to the end of the month, UTC"),
    ("0 9 31 * *", "at 09:00 on the 31st of every month that has one, UTC"),
    ("0 9 1,31 * *", "at 09:00 on the 1st and 31st of the month, UTC"),
    ("0 9 */2 * *", "at 09:00 on every 2nd day from the 1st to the 31st of the month, UTC"),
    ("0 0 L * *", "at midnight on the last day of every month, UTC"),
    ("0 0 L-3 * *", "at midnight on the 4th-last day of every month, UTC"),
    ("0 0 L-30 * *", "at midnight on the 31st-last day of every month that has one, UTC"),
    ("0 0 15W * *", "at midnight on the weekday nearest the 15th of every month, UTC"),
    ("0 0 31W * *", "at midnight on the weekday nearest the 31st of every month that has one, UTC"),
    ("0 0 LW * *", "at midnight on the last weekday of every month, UTC"),
    ("0 0 1,15,L * *", "at midnight on the 1st, 15th and the last day of every month, UTC"),
    ("0 9 * * MON-FRI", "at 09:00 on weekdays, UTC"),
    ("0 9 * * SAT,SUN", "at 09:00 on weekends, UTC"),
    ("0 9 * * 0", "at 09:00 on Sundays, UTC"),
    ("0 9 * * 7", "at 09:00 on Sundays, UTC"),
    ("0 9 * * TUE-SUN", "at 09:00 on Tuesdays to Sundays, UTC"),
    ("0 9 * * 1,3,5", "at 09:00 on Mondays, Wednesdays and Fridays, UTC"),
    ("0 9 * * 0-6", "at 09:00 every day, UTC"),
    ("0 9 * * MON#2", "at 09:00 on the second Monday of every month, UTC"),
    ("0 9 * * MON#5", "at 09:00 on the fifth Monday of every month that has one, UTC"),
    ("0 9 * * FRI#L", "at 09:00 on the last Friday of every month, UTC"),
    ("0 9 * * 5L", "at 09:00 on the last Friday of every month, UTC"),
    ("0 9 * * MON#1,MON#3", "at 09:00 on the first Monday and the third Monday of every month, UTC"),
    ("0 9 * * MON,FRI#L", "at 09:00 on Mondays and on the last Friday of the month, UTC"),
    ("*/5 * * * SAT", "every 5 minutes on Saturdays, UTC"),
]

MONTHS = [
    ("0 0 1 1,7 *", "at midnight on the 1st of January and July, UTC"),
    ("0 9 1 3-5 *", "at 09:00 on the 1st of every month from March to May, UTC"),
    ("0 9 31 3-5 *", "at 09:00 on the 31st of the month from March to May, UTC"),
    ("0 9 29 2 *", "at 09:00 on the 29th of February, UTC"),
    ("0 9 * 1,7 *", "at 09:00 every day in January and July, UTC"),
    ("0 9 * JUN-AUG *", "at 09:00 every day from June to August, UTC"),
    ("0 9 * 1,6-8 MON", "at 09:00 on Mondays in January and June to August, UTC"),
    ("0 9 * 1 FRI#L", "at 09:00 on the last Friday of January, UTC"),
    ("0 9 * 1 MON,FRI#L", "at 09:00 in January on Mondays and on the last Friday of the month, UTC"),
    ("* * * 12 *", "every minute in December, UTC"),
    ("0 9 * */3 *", "at 09:00 every day in January, April, July and October, UTC"),
]

BOTH_DAYS = [
    ("0 0 1 * MON", "at midnight on the 1st of the month or on Mondays, UTC"),
    ("0 0 31 * FRI#L", "at midnight on the 31st of the month or on the last Friday of the month, UTC"),
    ("0 0 1 1-3 MON", "at midnight from January to March on the 1st of the month or on Mondays, UTC"),
    ("0 0 1-31 * MON", "at midnight every day, UTC"),
    ("0 0 1 * 0-6", "at midnight every day, UTC"),
    ("0 0 1 * +MON", "at midnight on the 1st of the month where that is a Monday, UTC"),
    ("0 0 1 * +MON-FRI", "at midnight on the 1st of the month where that is a weekday, UTC"),
    (
        "0 9 1-7 1 +MON,FRI",
        "at 09:00 in January from the 1st to the 7th of the month where that is a Monday or Friday, UTC",
    ),
    (
        "0 9 L * +FRI#L",
        "at 09:00 on the last day of the month where that is the last Friday of the month, UTC",
    ),
    (
        "0 9 */9 * SAT",
        "at 09:00 on every 9th day from the 1st to the 28th of the month where that is a Saturday, UTC",
    ),
    ("0 0 1-31 * +MON", "at midnight on Mondays, UTC"),
    ("0 0 1 * +*", "at midnight on the 1st of every month, UTC"),
]

MACROS = [
    ("@yearly", "at midnight on the 1st of January, UTC"),
    ("@monthly", "at midnight on the 1st of every month, UTC"),
    ("@Weekly", "at midnight on Sundays, UTC"),
    ("@daily", "at midnight every day, UTC"),
    ("@hourly", "every hour on the hour"),
    ("@every 5m", "every 5 minutes"),
    ("@every 1h", "every hour"),
    ("@every 90m", "every 90 minutes"),
    ("@every 1d", "every 24 hours"),
    ("@every 2h30m", "every 2 hours 30 minutes"),
]

HASHED = [
    ("H H * * *", "at a time of its own every day, UTC"),
    ("H H * * MON-FRI", "at a time of its own on weekdays, UTC"),
    ("H * * * *", "at a minute of its own in every hour, UTC"),
    ("H/15 * * * *", "at every 15th minute from one of its own in every hour, UTC"),
    ("H(0-29) 2 * * *", "at a minute of its own (0 to 29) in hour 2, UTC"),
    ("H(0-29)/10 2,4 * * *", "at every 10th minute from one of its own (0 to 29) in hours 2 and 4, UTC"),
    ("5,H 2 * * *", "at minute 5 and a minute of its own in hour 2, UTC"),
    ("H H(0-7) * * *", "at a minute of its own in an hour of its own (0 to 7), UTC"),
    ("H 30 2 * * *", "at a second of its own in minute 30 of hour 2, UTC"),
    ("0 2 H * *", "at 02:00 on a day of its own in every month, UTC"),
    ("0 2 H(1-7) H *", "at 02:00 on a day of its own (the 1st to the 7th) in a month of its own, UTC"),
    ("0 2 * H(JAN-MAR) *", "at 02:00 every day in a month of its own (January to March), UTC"),
    ("0 2 * * H", "at 02:00 on a day of the week of its own, UTC"),
    ("0 2 * * H(MON-FRI)", "at 02:00 on a day of the week of its own (Monday to Friday), UTC"),
    ("0 2 1 * +H", "at 02:00 on the 1st of the month where that is a day of the week of its own, UTC"),
    (
        "0 2 H * +MON#1",
        "at 02:00 on a day of its own of the month where that is the first Monday of the month, UTC",
    ),
    ("H(7-7) 2 * * *", "at 02:07 every day, UTC"),
    ("H/1 2 * * *", "every minute from 02:00 to 02:59, UTC"),
    ("*,H * * * *", "every minute"),
]

# A fixed time fires once in a fold and so keeps no beat through it, though it names every hour.
FIXED_TIMES = [
    ("0 0-23 * * *", "every hour from 00:00 to 23:00, UTC"),
    ("0,30 0-23 * * *", "every 30 minutes from 00:00 to 23:30, UTC"),
    ("5,20 0-23 * * *", "at minutes 5 and 20 of hours 0 to 23, UTC"),
]

SHORTENED = [
    ("1,2,4,6,8,11,13,15,17,19,22 * * * *", "at 11 minutes of every hour, UTC"),
    ("0 9 1,3,5,6,9,11,13,18,20,25 * *", "at 09:00 on 10 days of every month, UTC"),
    ("0 9 L,L-1,L-3,L-5,L-7,L-9,1W,9W,LW * *", "at 09:00 on up to 9 days by rule of every month, UTC"),
]

TABLE = [
    *(*TIMES, *SECONDS, *DAYS, *MONTHS, *BOTH_DAYS),
    *(*MACROS, *HASHED, *FIXED_TIMES, *SHORTENED),
]


@pytest.mark.parametrize(("expression", "words"), TABLE)
def test_an_expression_has_its_words(expression: str, words: str) -> None:
    assert Cron(expression).describe() == words


ZONES = [
    ("30 2 * * MON-FRI", "Europe/Berlin", "at 02:30 on weekdays, Berlin time"),
    ("0 0 * * *", "America/Sao_Paulo", "at midnight every day, Sao Paulo time"),
    ("30 2 * * *", "Etc/UTC", "at 02:30 every day, UTC"),
    ("30 2 * * *", "Etc/GMT+5", "at 02:30 every day, UTC-5"),
    ("*/5 * * * *", "Europe/Berlin", "every 5 minutes"),
    ("@every 5m", "Europe/Berlin", "every 5 minutes"),
    ("0 * * * *", "Asia/Kathmandu", "every hour on the hour, Kathmandu time"),
    ("2/5 * * * *", "Europe/Berlin", "every 5 minutes from minute 2 of the hour, Berlin time"),
    ("*/5 * * 1 *", "Europe/Berlin", "every 5 minutes in January, Berlin time"),
]


@pytest.mark.parametrize(("expression", "tz", "words"), ZONES)
def test_the_zone_is_named_where_its_clocks_matter(expression: str, tz: str, words: str) -> None:
    assert Cron(expression, tz).describe() == words


def test_a_seed_makes_the_hashed_time_known() -> None:
    assert Cron("H H * * *", seed="reports").describe() == "at 02:00 every day, UTC"
    assert Cron("H H * * *", seed="invoices").describe() != Cron("H H * * *", seed="reports").describe()


def test_explicit_policies_do_not_change_the_words() -> None:
    assert Cron("0 2 * * *", gap="skip", fold="both").describe() == "at 02:00 every day, UTC"


SPANS = {
    "second": (0, 59),
    "minute": (0, 59),
    "hour": (0, 23),
    "day": (1, 31),
    "month": (1, 12),
    "weekday": (0, 7),
}
SPECIALS = {"day": ["L", "LW", "L-3", "15W", "31W"], "weekday": ["MON#1", "FRI#L", "2L", "SAT#5"]}


def items(name: str) -> st.SearchStrategy[str]:
    """One item of a field's list, valid or nearly so."""
    low, high = SPANS[name]
    number = st.integers(low, high)
    pair = st.tuples(number, number).map(lambda ends: f"{min(ends)}-{max(ends)}")
    step = st.integers(1, high).map(lambda size: f"/{size}")
    base = st.one_of(number.map(str), pair, st.just("*"), st.just("H"), pair.map(lambda ends: f"H({ends})"))
    return st.one_of(
        st.tuples(base, st.just("") | step).map("".join), st.sampled_from(SPECIALS.get(name, ["*"]))
    )


def field_texts(name: str, items_max: int) -> st.SearchStrategy[str]:
    return st.lists(items(name), min_size=1, max_size=items_max).map(",".join)


def expressions(items_max: int) -> st.SearchStrategy[str]:
    parts = [field_texts(name, items_max) for name in SPANS]
    signed = st.tuples(st.sampled_from(["", "+"]), parts[-1]).map("".join)
    return st.tuples(*parts[:-1], signed).map(" ".join)


@given(expression=expressions(4) | expressions(16), seed=st.sampled_from([None, "reports"]))
def test_every_accepted_expression_has_one_short_line(expression: str, seed: str | None) -> None:
    try:
        cron = Cron(expression, "America/Argentina/ComodRivadavia", seed=seed)
    except InvalidTrigger:
        return
    words = cron.describe()
    assert 0 < len(words) <= LENGTH_MAX
    assert words == " ".join(words.split())
    assert words.isprintable()


@pytest.mark.parametrize("seed", [None, "reports"])
def test_the_longest_lists_still_fit_a_line(seed: str | None) -> None:
    odd = ",".join(map(str, (*range(1, 24, 2), *range(40, 60, 3))))
    hashed = ",".join(f"H({low}-{low + 9})" for low in range(1, 13))
    for minute in (odd, hashed, f"{odd},{hashed}"):
        for day in (hashed, "1,3,4,8,11,17,22,29,L,L-1,L-5,LW,1W,7W,19W,23W,H(2-9)", "*"):
            cron = Cron(
                f"{minute} {minute} 1,3,5,7,11,13,17,19,23 {day} 1,3,7,9,11 +1,3,MON#1,TUE#2", seed=seed
            )
            assert len(cron.describe()) <= LENGTH_MAX
