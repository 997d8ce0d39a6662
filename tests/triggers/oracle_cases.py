"""Expressions, zones and windows by chance, over the whole of the syntax.

Every choice goes through one `random.Random`, so that a number brings a failure back, and so that
Hypothesis, which can stand in for it, can look for the smallest example.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from random import Random
from typing import TypeAlias

from fencepost.triggers import zone
from tests.triggers.oracle import DAY, HOUR, MINUTE, MONTH, SECOND, WEEKDAY, WEEKDAYS, Field
from tests.triggers.oracle_walk import DAY_S, wall_at

ZONES = (
    "Africa/Cairo",
    "Africa/Casablanca",
    "Africa/Monrovia",
    "America/Caracas",
    "America/Havana",
    "America/New_York",
    "America/Nuuk",
    "America/Santiago",
    "America/Sao_Paulo",
    "America/St_Johns",
    "Antarctica/Troll",
    "Asia/Beirut",
    "Asia/Kathmandu",
    "Asia/Pyongyang",
    "Asia/Tehran",
    "Asia/Tokyo",
    "Australia/Adelaide",
    "Australia/Lord_Howe",
    "Europe/Amsterdam",
    "Europe/Berlin",
    "Europe/Dublin",
    "Europe/London",
    "Pacific/Apia",
    "Pacific/Chatham",
    "Pacific/Kiritimati",
    "Pacific/Kwajalein",
    "UTC",
)
SEEDS = ("invoices", "reports", "a", "", "Ω", "backup-of-the-night-" * 4)
GAPS = (None, "shift", "skip")
FOLDS = (None, "first", "last", "both")
FIRST_YEAR, LAST_YEAR = 1905, 2060
RANDOM_CHANGES = 0.75

Item: TypeAlias = Callable[[Random, Field], str]


def expression(random: Random) -> str:
    """Five or six fields of any kind."""
    fields = [field(random, MINUTE), field(random, HOUR), *_date_fields(random)]
    return " ".join(fields if random.random() < 0.6 else [field(random, SECOND), *fields])


def busy_expression(random: Random) -> str:
    """An expression that fires on most days: the better part of a window's expressions."""
    fields = [field(random, MINUTE), field(random, HOUR), *random.choice(BUSY_DATES)]
    return " ".join(fields if random.random() < 0.6 else [field(random, SECOND), *fields])


def rare_expression(random: Random) -> str:
    """One time of day, or two, on days of any kind."""
    hours = random.sample(range(24), random.choice((1, 1, 2)))
    time = [str(random.randint(0, 59)), ",".join(map(str, hours))]
    if random.random() < 0.15:
        time = [random.choice(("H", "H(10-40)")), random.choice(("H", "H(2-4)", "2"))]
    fields = [*time, *_date_fields(random)]
    return " ".join(fields if random.random() < 0.7 else [str(random.randint(0, 59)), *fields])


def _date_fields(random: Random) -> list[str]:
    """Day, month and weekday. Most often one of the three alone, so that not everything is restricted."""
    day, month, weekday = field(random, DAY), field(random, MONTH), field(random, WEEKDAY)
    if random.random() < 0.35:
        day = random.choice(("*", "*", "?"))
    if random.random() < 0.7:
        month = "*"
    if random.random() < 0.45:
        weekday = random.choice(("*", "*", "?"))
    if random.random() < 0.25:
        weekday = f"+{weekday}"
    return [day, month, weekday]


BUSY_DATES = (
    ("*", "*", "*"),
    ("*", "*", "*"),
    ("?", "*", "?"),
    ("*/2", "*", "*"),
    ("*", "*", "SUN,MON-FRI"),
    ("1,15,L", "*", "FRI-SUN"),
    ("*", "*", "SUN#L,SUN#1,SAT#L"),
    ("L,L-1,1-10", "*", "+SAT-7"),
    ("LW,1W", "*", "0,6"),
)


def field(random: Random, of: Field) -> str:
    """One field: most often a single item, else a list of a few."""
    count = random.choice((1, 1, 1, 1, 2, 3, 4))
    items = [random.choice(_kinds(of))(random, of) for _ in range(count)]
    # A question mark stands alone.
    return ",".join(items) if count == 1 or "?" not in items else "?"


def _star(_: Random, __: Field) -> str:
    return "*"


def _question(_: Random, __: Field) -> str:
    return "?"


def _starred_step(random: Random, of: Field) -> str:
    return f"*/{_step(random, of)}"


def _value(random: Random, of: Field) -> str:
    return written(random, of, random.randint(of.low, of.high))


def _open_step(random: Random, of: Field) -> str:
    return f"{_value(random, of)}/{_step(random, of)}"


def _range(random: Random, of: Field) -> str:
    low, high = sorted((random.randint(of.low, of.high), random.randint(of.low, of.high)))
    return f"{written(random, of, low)}-{written(random, of, high)}"


def _stepped_range(random: Random, of: Field) -> str:
    return f"{_range(random, of)}/{_step(random, of)}"


def _hash(random: Random, of: Field) -> str:
    low, high = sorted((random.randint(of.low, of.high), random.randint(of.low, of.high)))
    between = f"({low}-{high})" if random.random() < 0.5 else ""
    return f"H{between}" + (f"/{_step(random, of)}" if random.random() < 0.4 else "")


def _last_day(random: Random, _: Field) -> str:
    return random.choice(("L", "L", f"L-{random.randint(1, 30)}", f"L-{random.randint(1, 5)}", "LW"))


def _near_day(random: Random, _: Field) -> str:
    return f"{random.randint(1, 31)}W"


def _nth_weekday(random: Random, of: Field) -> str:
    return f"{_value(random, of)}{random.choice(('#1', '#2', '#3', '#4', '#5', '#L', 'L'))}"


PLAIN: tuple[Item, ...] = (_value, _value, _range, _stepped_range, _open_step, _starred_step, _hash)


def _kinds(of: Field) -> tuple[Item, ...]:
    if of is DAY:
        return (*PLAIN, _last_day, _last_day, _near_day, _near_day, _question)
    if of is WEEKDAY:
        return (*PLAIN, _nth_weekday, _nth_weekday, _nth_weekday, _question)
    return (*PLAIN, _star, _star, _starred_step)


def _step(random: Random, of: Field) -> int:
    return random.choice((1, 2, 3, 5, random.randint(1, of.longest_step), of.longest_step))


def written(random: Random, of: Field, number: int) -> str:
    """The number itself or, where it has one, its name in some mixture of letters."""
    if not of.names or random.random() < 0.5:
        return str(number)
    name = of.names[number - 1] if of is MONTH else WEEKDAYS[number % 7]
    return random.choice((name, name.lower(), name.title()))


def change_or_any(random: Random, tz: str, first_year: int = FIRST_YEAR) -> int:
    """An instant at which the clocks of a zone change, or any instant at all."""
    year = random.randint(first_year, LAST_YEAR)
    known = changes(tz, year)
    if known and random.random() < RANDOM_CHANGES:
        return random.choice(known)
    return _year_s(year) + random.randrange(365 * DAY_S)


@lru_cache(maxsize=8192)
def changes(tz: str, year: int) -> tuple[int, ...]:
    """The instants of a year from which a zone's clocks go by another offset."""
    days = range(_year_s(year), _year_s(year + 1) + 1, DAY_S)
    offsets = [_offset(tz, day) for day in days]
    return tuple(
        _first_with(tz, after, day)
        for day, before, after in zip(days, offsets, offsets[1:], strict=False)
        if before != after
    )


def changes_the_date(tz: str, at: int) -> bool:
    """Whether the clocks of a zone are moved by many hours near an instant."""
    before, after = wall_at(tz, at - DAY_S), wall_at(tz, at + DAY_S)
    return abs(after - before - timedelta(days=2)) > timedelta(hours=2)


def _first_with(tz: str, offset: timedelta | None, at: int) -> int:
    for step_s in (3600, 60, 1):
        while _offset(tz, at + step_s) != offset:
            at += step_s
    return at + 1


def _offset(tz: str, at: int) -> timedelta | None:
    return datetime.fromtimestamp(at, zone(tz)).utcoffset()


def _year_s(year: int) -> int:
    return int(datetime(year, 1, 1, tzinfo=UTC).timestamp())
