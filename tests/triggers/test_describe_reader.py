"""Reads descriptions of cron back: English words into seconds of the day, and into the dates of two years."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date, time, timedelta
from itertools import product

import pytest

DAY_S = 86_400
# Two years, one of them a leap year.
FIRST, LAST = date(2024, 1, 1), date(2025, 12, 31)
DATES = [FIRST + timedelta(days=day) for day in range((LAST - FIRST).days + 1)]

OnDate = Callable[[date], bool]

MONTHS = [
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
]
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
PLACES = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1}
UNITS_S = {"second": 1, "minute": 60, "hour": 3600}

TIME = r"\d\d:\d\d(?::\d\d)?"
LENGTH = r"(?:\d+ )?(?:second|minute|hour)s?(?: \d+ (?:second|minute)s?)*"
NUMBERS = r"\d+(?: to \d+)?(?:(?:, | and )\d+(?: to \d+)?)*"
NOUN = (
    rf"(?:every (?:\d+\w\w )?(?:second|minute|hour)(?: from \d+ to \d+)?|(?:second|minute|hour)s? {NUMBERS})"
)
SPAN = rf"(?:from {TIME} to {TIME}|at {TIME})"
MONTH = f"(?:{'|'.join(MONTHS)})"
MONTH_LIST = rf"{MONTH}(?: to {MONTH})?(?:(?:, | and ){MONTH}(?: to {MONTH})?)*"
IN_MONTHS = rf"(?:in {MONTH_LIST}|from {MONTH} to {MONTH})"


def test_the_reader_reads() -> None:
    assert read_times("every 20 minutes from 09:10 to 09:50") == {33_000, 34_200, 35_400}
    assert read_times("at seconds 1 and 3 to 5 of minute 0 of hour 0") == {1, 3, 4, 5}
    assert dates_read("on the last day of February") == {date(2024, 2, 29), date(2025, 2, 28)}
    assert len(dates_read("on Mondays to Thursdays in January and March")) == 70
    assert dates_read("from the 1st to the 7th of the month where that is a Monday") == dates_read(
        "on the first Monday of every month"
    )


@pytest.mark.parametrize("words", ["at teatime", "at 25:00", "every now and then"])
def test_the_reader_makes_nothing_up(words: str) -> None:
    with pytest.raises(ValueError, match=r"unread|hour must be"):
        read_times(words)


def read_times(words: str) -> set[int]:
    """The seconds of the day behind the words for a time."""
    if found := re.fullmatch(rf"at (midnight|noon|{TIME}(?:(?:, | and ){TIME})*)", words):
        return {read_time(one) for one in parts(found[1])}
    if found := re.fullmatch(rf"every ({LENGTH}) ({SPAN}(?:(?:, | and ){SPAN})*)", words):
        return {second for span in parts(found[2]) for second in read_span(span, read_length(found[1]))}
    if found := re.fullmatch(rf"every ({LENGTH})( .*)?", words):
        step = read_length(found[1])
        return set(range(read_phase(found[2] or "", step), DAY_S, step))
    if found := re.fullmatch(rf"at ({NOUN}(?: of {NOUN})*)", words):
        return read_nouns(found[1].split(" of "))
    raise ValueError(f"unread: {words}")


def read_time(words: str) -> int:
    if words in ("midnight", "noon"):
        return 43_200 if words == "noon" else 0
    read = time.fromisoformat(words)
    return read.hour * 3600 + read.minute * 60 + read.second


def read_span(words: str, step: int) -> range:
    first, last = (re.findall(TIME, words) * 2)[:2]
    return range(read_time(first), read_time(last) + 1, step)


def read_length(words: str) -> int:
    found = re.findall(r"(\d*) ?(second|minute|hour)", words)
    return sum(int(count or 1) * UNITS_S[unit] for count, unit in found)


def read_phase(words: str, step: int) -> int:
    if words == ("" if step < 3600 else " on the hour"):
        return 0
    found = re.fullmatch(
        r" (?:at|from) (?:minute (\d+))?(?:, )?(?:second (\d+))?(?: of the (minute|hour))?", words
    )
    assert found is not None, f"unread: {words}"
    return int(found[1] or 0) * 60 + int(found[2] or 0)


def read_nouns(nouns: list[str]) -> set[int]:
    ranges = {"second": 60, "minute": 60, "hour": 24}
    chosen: dict[str, list[int]] = {"second": [0]}
    for noun in nouns:
        unit = next(one for one in ranges if one in noun)
        numbers = [int(number) for number in re.findall(r"\d+", noun)]
        if noun == f"every {unit}":
            chosen[unit] = list(range(ranges[unit]))
        elif noun.startswith("every"):
            step, first, last = numbers
            chosen[unit] = list(range(first, last + 1, step))
        else:
            chosen[unit] = [number for part in parts(noun.partition(" ")[2]) for number in read_run(part)]
    return {h * 3600 + m * 60 + s for h, m, s in product(chosen["hour"], chosen["minute"], chosen["second"])}


def read_run(words: str) -> range:
    first, last = (re.findall(r"\d+", words) * 2)[:2]
    return range(int(first), int(last) + 1)


def parts(words: str) -> list[str]:
    return re.split(r", | and | or ", words)


def dates_read(words: str) -> set[date]:
    """The dates of the two years behind the words for days and months."""
    on_date = read_date(words)
    return {one for one in DATES if on_date(one)}


def read_date(words: str) -> OnDate:
    months: OnDate = always
    if found := re.match(rf"(?:every day )?({IN_MONTHS})(?= on | from the |$) ?", words):
        months, words = read_months(found[1]), words[found.end() :]
    elif found := re.search(rf" ({IN_MONTHS})$", words):
        months, words = read_months(found[1]), words[: found.start()]
    if words in ("", "every day"):
        return months
    by_day, _, noun = words.partition(" where that is ")
    clauses = [read_clause(clause) for clause in re.split(r" (?:or|and) (?=on )", by_day)]
    nouns = [read_day(one.removesuffix(" of the month")) for one in parts(noun) if one]
    return lambda one: months(one) and any_of(clauses)(one) and (not nouns or any_of(nouns)(one))


def read_months(words: str) -> OnDate:
    """In January, from March to May."""
    chosen: set[int] = set()
    for run in parts(words.removeprefix("in ").removeprefix("from ")):
        first, last = ([MONTHS.index(name) + 1 for name in run.split(" to ")] * 2)[:2]
        chosen.update(range(first, last + 1))
    return lambda one: one.month in chosen


def read_clause(words: str) -> OnDate:
    """On the 1st and 15th of every month, on Mondays."""
    months: OnDate = always
    if found := re.search(rf" of (?:(?:every|the) month(?: that has one)?|({MONTH_LIST}))$", words):
        months, words = read_months(found[1]) if found[1] else always, words[: found.start()]
    days = [read_day(item) for item in parts(words.removeprefix("on "))]
    return lambda one: months(one) and any_of(days)(one)


def read_day(words: str) -> OnDate:
    numbers = [int(number) for number in re.findall(r"\d+", words)]
    if re.fullmatch(r"(?:from )?(?:the )?\d+\w\w(?: to (?:the )?(?:\d+\w\w|end))?", words):
        last = 31 if words.endswith("end") else numbers[-1]
        return lambda one: numbers[0] <= one.day <= last
    if re.fullmatch(r"every \d+\w\w day from the \d+\w\w to the \d+\w\w", words):
        return lambda one: one.day in range(numbers[1], numbers[2] + 1, numbers[0])
    if re.fullmatch(r"the (?:\d+\w\w-)?last day", words):
        return lambda one: one.day == month_length(one) + 1 - (numbers or [1])[0]
    if words == "the last weekday":
        return lambda one: one == nearest_weekday(one.replace(day=month_length(one)))
    if re.fullmatch(r"the weekday nearest the \d+\w\w", words):
        return lambda one: (
            numbers[0] <= month_length(one) and one == nearest_weekday(one.replace(day=numbers[0]))
        )
    return read_weekday(words)


def read_weekday(words: str) -> OnDate:
    if words in ("weekdays", "a weekday"):
        return lambda one: one.weekday() < 5
    if words == "weekends":
        return lambda one: one.weekday() >= 5
    if found := re.fullmatch(rf"the ({'|'.join(PLACES)}) (\w+)", words):
        weekday, nth = WEEKDAYS.index(found[2]), PLACES[found[1]]
        return lambda one: (
            one.weekday() == weekday and one.day in days_of(one, weekday)[nth : nth + 1 or None]
        )
    names = [name.removeprefix("a ").removesuffix("s") for name in words.split(" to ")]
    if any(name not in WEEKDAYS for name in names):
        raise ValueError(f"unread: {words}")
    first, last = WEEKDAYS.index(names[0]), WEEKDAYS.index(names[-1])
    return lambda one: first <= one.weekday() <= last


def always(_: date) -> bool:
    return True


def any_of(questions: list[OnDate]) -> OnDate:
    return lambda one: any(question(one) for question in questions)


def month_length(one: date) -> int:
    return monthrange(one.year, one.month)[1]


def days_of(one: date, weekday: int) -> list[int]:
    """All days of a month that are the weekday."""
    return [day for day in range(1, month_length(one) + 1) if one.replace(day=day).weekday() == weekday]


def nearest_weekday(one: date) -> date:
    """The one of Monday to Friday that is nearest, in the same month."""
    day = timedelta(days=1)
    if one.weekday() == 5:
        return one - day if one.day > 1 else one + 2 * day
    if one.weekday() == 6:
        return one + day if one.day < month_length(one) else one - 2 * day
    return one
