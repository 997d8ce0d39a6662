"""Calendars of countries, their regions and markets, as the `holidays` package knows them.

The result is an inline calendar like any other: dates, and no link back to the package. Once it is stored, an
update of the package changes nothing; an operator decides on a new revision. Needs the extra `holidays`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from difflib import get_close_matches
from itertools import islice
from types import ModuleType
from typing import TYPE_CHECKING

from fencepost.errors import InvalidTrigger, MissingExtra
from fencepost.model.quoting import quoted
from fencepost.triggers.business.calendar import Calendar
from fencepost.triggers.business.days import WEEK

if TYPE_CHECKING:
    from holidays import HolidayBase

YEARS_MAX = 50
SUGGESTIONS_MAX = 3
REGION_LENGTH_MAX = 64
DAY = timedelta(days=1)


def regional_calendar(name: str, region: str, years: Iterable[int]) -> Calendar:
    """The business days of a country (`DE`), a part of it (`DE-BY`) or a market (`XNYS`) in some years.

    A year's weekends are those of its own law: where a country has changed them, the weekend is that of
    the last year, and other years differ from it by holidays and workdays of their own.
    """
    wanted = _checked_years(years)
    known = _known(region, wanted)
    weekend = _weekend(known, wanted[-1])
    holidays, workdays = set(known), set[date]()
    for day in _days_of(wanted):
        if known.is_working_day(day):
            holidays.discard(day)
            if day.weekday() in weekend:
                workdays.add(day)
        elif day.weekday() not in weekend:
            holidays.add(day)
    kept = {day for day in holidays if day.year in wanted}
    return Calendar(name, [WEEK[number] for number in weekend], kept, workdays)


def _known(region: str, years: list[int]) -> HolidayBase:
    library = _library()
    code, dash, part = _checked_region(region).upper().partition("-")
    countries, markets = library.list_supported_countries(), library.list_supported_financial()
    if code not in countries and code not in markets:
        raise InvalidTrigger(_complaint(region, [*countries, *markets]))
    make = library.country_holidays if code in countries else library.financial_holidays
    parts: dict[str, str] = {one.upper(): one for one in (countries | markets)[code]}
    if dash and part not in parts:
        raise InvalidTrigger(_complaint(region, [code, *(f"{code}-{one}" for one in parts.values())]))
    _check_range(region, make(code, subdiv=parts.get(part), expand=False), years)
    known: HolidayBase = make(code, subdiv=parts.get(part), years=years, expand=False)
    return known


def _library() -> ModuleType:
    try:
        import holidays
    except ModuleNotFoundError as error:
        if error.name != "holidays":
            raise
        raise MissingExtra(
            "a regional calendar needs the holidays package; run: pip install 'fencepost[holidays]'"
        ) from error
    return holidays


def _checked_region(region: object) -> str:
    if isinstance(region, str) and 1 <= len(region) <= REGION_LENGTH_MAX:
        return region
    raise InvalidTrigger(f"region {quoted(region)}: expected a code such as DE, DE-BY or XNYS")


def _checked_years(years: object) -> list[int]:
    wanted = list(islice(years, YEARS_MAX + 1)) if isinstance(years, Iterable) else []
    if not 1 <= len(wanted) <= YEARS_MAX:
        expected = f"expected 1 to {YEARS_MAX} years, such as range(2026, 2031)"
        raise InvalidTrigger(f"years {quoted(years)}: {expected}")
    for year in wanted:
        if type(year) is not int or not date.min.year <= year <= date.max.year:
            raise InvalidTrigger(f"year {quoted(year)}: expected a year such as 2026")
    return sorted(set(wanted))


def _check_range(region: str, known: HolidayBase, years: list[int]) -> None:
    """Outside of its range the package answers with no holidays at all, which is no answer."""
    for year in years:
        if not known.start_year <= year <= known.end_year:
            span = f"{known.start_year} to {known.end_year}"
            raise InvalidTrigger(f"region {quoted(region)}: holidays of {year} are not known, only {span}")


def _days_of(years: list[int]) -> Iterable[date]:
    for year in years:
        day = date(year, 1, 1)
        while day.year == year:
            yield day
            day += DAY


def _weekend(known: HolidayBase, year: int) -> list[int]:
    """The weekdays that were weekend at the end of a year."""
    last_week = (date(year, 12, 31) - number * DAY for number in range(len(WEEK)))
    return sorted(day.weekday() for day in last_week if known.is_weekend(day))


def _complaint(region: str, codes: list[str]) -> str:
    by_folded = {code.casefold(): code for code in codes}
    near = get_close_matches(region.casefold(), by_folded, n=SUGGESTIONS_MAX)
    hint = f"did you mean {' or '.join(by_folded[one] for one in near)}?" if near else ""
    return f"region {quoted(region)} is unknown, {hint or 'expected a code such as DE, DE-BY or XNYS'}"
