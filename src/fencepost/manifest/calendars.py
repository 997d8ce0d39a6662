"""`[calendars.NAME]`: which days are worked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from fencepost.errors import InvalidSpec
from fencepost.manifest.table import Table
from fencepost.manifest.triggers import TableVoice
from fencepost.manifest.words import Voice, refuse
from fencepost.model.quoting import quoted
from fencepost.triggers import Calendar
from fencepost.triggers.business.regions import YEARS_MAX, regional_calendar

KEYS = ("weekend", "holidays", "workdays", "region", "years")
EXPECTED_YEARS = "expected years such as 2026-2030 or 2026"

_YEARS = re.compile(r"([0-9]{4})(?:-([0-9]{4}))?", re.ASCII)


@dataclass(frozen=True)
class CalendarWords:
    """What was written of a calendar; None or nothing where a word was left out."""

    weekend: str | Sequence[str] | None = None
    holidays: Sequence[date | str] | None = None
    workdays: Sequence[date | str] | None = None
    region: str | None = None
    years: str | None = None


def read_calendar(name: str, table: Table) -> Calendar:
    """The calendar of one table."""
    table.only(*KEYS)
    words = CalendarWords(
        weekend=_weekend(table),
        holidays=_dates(table, "holidays"),
        workdays=_dates(table, "workdays"),
        region=table.text("region"),
        years=_years(table),
    )
    return build_calendar(name, words, TableVoice(table))


def build_calendar(name: str, words: CalendarWords, voice: Voice) -> Calendar:
    """The calendar that the words mean; what they say of single days wins over the region."""
    if words.region is not None:
        return _regional(name, words, words.region, voice)
    if words.years is not None:
        refuse(voice, "years", f"has no meaning without {voice.called('region')}")
    with voice.blaming(""):
        calendar = Calendar(name, words.weekend, words.holidays, words.workdays)
        if calendar.is_reference:
            known = ", ".join(map(voice.called, ("weekend", "holidays", "workdays", "region")))
            raise InvalidSpec(f"calendar {quoted(name)} has no days; give at least one of {known}")
    return calendar


def _regional(name: str, words: CalendarWords, region: str, voice: Voice) -> Calendar:
    if words.weekend is not None:
        refuse(voice, "weekend", f"has no meaning with {voice.called('region')}, which has its own")
    if words.years is None:
        refuse(voice, "region", f"needs the years to look up; add {voice.called('years')}")
    with voice.blaming("years"):
        years = parse_years(words.years)
    with voice.blaming("region"):
        base = regional_calendar(name, region, years)
    with voice.blaming(""):
        own = Calendar(name, base.weekend, words.holidays, words.workdays)
        holidays = {*base.holidays, *own.holidays}.difference(own.workdays)
        workdays = {*base.workdays, *own.workdays}.difference(own.holidays)
        return Calendar(name, base.weekend, holidays, workdays)


def parse_years(text: str) -> range:
    """The years of `2026-2030`, both ends among them, or of `2026`."""
    found = _YEARS.fullmatch(text.strip())
    if found is None:
        raise InvalidSpec(f"{quoted(text)}: {EXPECTED_YEARS}")
    first, last = int(found[1]), int(found[2] or found[1])
    if not first <= last < first + YEARS_MAX:
        raise InvalidSpec(f"{quoted(text)}: expected 1 to {YEARS_MAX} years, the first one first")
    return range(first, last + 1)


def _weekend(table: Table) -> str | list[str] | None:
    value = table.raw("weekend")
    return value if isinstance(value, str) else _list(table, "weekend", (str,), "days such as SAT,SUN")


def _dates(table: Table, key: str) -> list[Any] | None:
    return _list(table, key, (str, date), "a list of dates such as [2026-12-25]")


def _list(table: Table, key: str, kinds: tuple[type, ...], expected: str) -> list[Any] | None:
    value = table.raw(key)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(one, kinds) for one in value):
        table.refuse(key, f"= {quoted(value)}: expected {expected}")
    return value


def _years(table: Table) -> str | None:
    """A text, or a whole number for one year."""
    value = table.raw("years")
    if type(value) is int:
        return f"{value:04}"
    return table.text("years")
