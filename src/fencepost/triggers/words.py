"""Places, times and lengths of time as people say them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise

from fencepost.model.times import EPOCH

UTC_NAMES = frozenset(("UTC", "Etc/UTC", "Zulu", "Etc/Zulu", "Universal", "Etc/Universal", "UCT", "Etc/UCT"))
GMT_NAMES = frozenset(("GMT", "GMT0", "GMT+0", "GMT-0", "Greenwich"))

# Names that say "time" by themselves, or that are no name of a place.
ABBREVIATIONS = frozenset(
    ("CET", "EET", "EST", "HST", "MET", "MST", "WET", "CST6CDT", "EST5EDT", "MST7MDT", "PST8PDT")
)
# The second part of these names is no city, and says nothing without the country.
COUNTRIES = frozenset(("Brazil", "Canada", "Chile", "Mexico", "US"))
COMPASS = frozenset(("Australia/North", "Australia/South", "Australia/West"))

# A number of a month is its place here; of a weekday too, as 0 or 7 for Sunday.
MONTHS = (
    *("", "January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

UNITS = (
    ("day", timedelta(days=1)),
    ("hour", timedelta(hours=1)),
    ("minute", timedelta(minutes=1)),
    ("second", timedelta(seconds=1)),
)


def place(tz: str) -> str:
    """`Berlin time` for Europe/Berlin, `UTC` for UTC."""
    where = _where(tz)
    return _without_place(tz) if where is None else f"{where} time"


def clocks(tz: str) -> str:
    """`the clocks in Berlin` for Europe/Berlin, `the clocks of US Eastern time` for US/Eastern."""
    where = _where(tz)
    if where is None or _needs_country(tz):
        return f"the clocks of {place(tz)}"
    return f"the clocks in {where}"


def time_words(*times: int) -> list[str]:
    """`02:30` for each second of the day, `02:30:15` for all of them where one has seconds."""
    fine = "seconds" if any(time_s % 60 for time_s in times) else "minutes"
    return [(EPOCH + timedelta(seconds=time_s)).time().isoformat(fine) for time_s in times]


def wall_words(wall: datetime) -> str:
    """`2026-12-24 18:00`, with seconds and their fraction only where there are any."""
    fine = "microseconds" if wall.microsecond else "seconds" if wall.second else "minutes"
    return wall.replace(tzinfo=None).isoformat(" ", fine)


def moment_words(moment: datetime) -> str:
    """`2026-12-24 18:00 UTC`."""
    return f"{wall_words(moment.astimezone(UTC))} UTC"


def duration_words(length: timedelta) -> str:
    """`15 minutes`, `90 minutes`, `2 days 3 hours`; one unit, if a small number of it says all."""
    for (unit, size), (_, larger) in zip(UNITS[1:], UNITS, strict=False):
        if not length % size and length < 2 * larger:
            return counted(length // size, unit)
    parts, rest = [], length
    for unit, size in UNITS:
        count, rest = divmod(rest, size)
        parts += [counted(count, unit)] if count else []
    if rest:
        parts.append(f"{Decimal(rest // timedelta.resolution) / 1000:f} milliseconds")
    return " ".join(parts)


def every_words(length: timedelta) -> str:
    """`every 15 minutes`, `every hour`; a day of elapsed time is `every 24 hours`, as no calendar counts."""
    words = duration_words(length)
    return f"every {words.removeprefix('1 ') if ' ' not in words.removeprefix('1 ') else words}"


def counted(count: int, unit: str) -> str:
    """`1 hour`, `2 hours`."""
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `11th`."""
    teen = number % 100 in (11, 12, 13)
    return f"{number}th" if teen else f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def listed(words: Sequence[str], joint: str = "and") -> str:
    """`one`, `one and two`, `one, two and three`."""
    *others, last = words
    return f"{', '.join(others)} {joint} {last}" if others else last


def few(words: Sequence[str], limit: int, many: str) -> list[str]:
    """The words, or where there are more than the limit `up to 17 days`, as two of them may mean one day."""
    return list(words) if len(words) <= limit else [f"up to {len(words)} {many}"]


def runs(values: Iterable[int]) -> list[tuple[int, int]]:
    """The first and the last value of each unbroken run in rising values."""
    found: list[tuple[int, int]] = []
    for value in values:
        if found and value == found[-1][1] + 1:
            found[-1] = (found[-1][0], value)
        else:
            found.append((value, value))
    return found


def run_words(values: Iterable[int], name: Callable[[int], str]) -> list[str]:
    """`1`, `2`, `5 to 9`: each value, and three or more that follow each other by their ends."""
    words: list[str] = []
    for low, high in runs(values):
        ends = [name(low)] if low == high else [name(low), name(high)]
        words += ends if high < low + 2 else [" to ".join(ends)]
    return words


def even_step(values: Iterable[int]) -> int:
    """The distance between all neighbours, or 0 where they have several or there are none."""
    steps = {later - earlier for earlier, later in pairwise(values)}
    return steps.pop() if len(steps) == 1 else 0


def _where(tz: str) -> str | None:
    """The place in a zone's name, or None where it names none."""
    area, _, city = tz.rpartition("/")
    if area == "Etc" or tz in UTC_NAMES | GMT_NAMES | ABBREVIATIONS:
        return None
    city = city.replace("_", " ")
    return f"{area} {city}" if _needs_country(tz) else city


def _needs_country(tz: str) -> bool:
    return tz.partition("/")[0] in COUNTRIES or tz in COMPASS


def _without_place(tz: str) -> str:
    if tz in UTC_NAMES:
        return "UTC"
    name = tz.removeprefix("Etc/")
    if name in GMT_NAMES:
        return "GMT"
    if name.startswith("GMT"):
        # POSIX counts hours west of Greenwich, everyone else counts them east.
        return name.replace("GMT", "UTC").translate(str.maketrans("+-", "-+"))
    return name
