"""A calendar from the words of people who write no Python, told by their own names for them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from fencepost.errors import InvalidSpec
from fencepost.model.quoting import quoted
from fencepost.triggers.business.calendar import Calendar
from fencepost.triggers.business.regions import YEARS_MAX, regional_calendar
from fencepost.triggers.wording import Voice, refuse

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
