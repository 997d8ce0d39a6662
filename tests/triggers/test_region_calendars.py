"""Calendars of countries and markets, against the package that they are read from."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import date, timedelta

import holidays
import pytest

from fencepost.errors import InvalidTrigger, MissingExtra
from fencepost.triggers.business.calendar import Calendar
from fencepost.triggers.business.regions import regional_calendar

YEARS = range(2024, 2030)

# Plain weekends, worked ones, ones that were changed by law, Friday and Saturday, and markets.
REGIONS = ["DE", "DE-BY", "US-CA", "CN", "TW", "AE", "SA", "IL", "MY-01", "JP", "XNYS", "ECB"]


@pytest.mark.parametrize("years", [YEARS, range(2004, 2015)], ids=["coming", "gone"])
@pytest.mark.parametrize("region", REGIONS)
def test_every_day_is_worked_where_the_package_says_so(region: str, years: range) -> None:
    calendar = regional_calendar("made", region, years)
    country, _, part = region.partition("-")
    make = (
        holidays.country_holidays
        if country in holidays.list_supported_countries()
        else holidays.financial_holidays
    )
    known = make(country, subdiv=part or None, years=years)
    first = date(years[0], 1, 1)
    days = [first + timedelta(days=number) for number in range((date(years[-1], 12, 31) - first).days + 1)]
    assert [one for one in days if calendar.is_business_day(one) != known.is_working_day(one)] == []


def test_a_part_of_a_country_has_holidays_of_its_own() -> None:
    epiphany, women = date(2026, 1, 6), date(2027, 3, 8)
    bavaria, berlin = (regional_calendar("de", region, [2026, 2027]) for region in ("DE-BY", "de-be"))
    assert not bavaria.is_business_day(epiphany)
    assert berlin.is_business_day(epiphany)
    assert bavaria.is_business_day(women)
    assert not berlin.is_business_day(women)


def test_a_weekend_changed_by_law_is_worked_in_the_years_before() -> None:
    """The Emirates went from Friday and Saturday to Saturday and Sunday in 2022."""
    calendar = regional_calendar("ae", "AE", range(2020, 2024))
    sunday, friday = date(2021, 6, 6), date(2021, 6, 4)
    assert calendar.weekend == "SAT SUN"
    assert calendar.is_business_day(sunday)
    assert not calendar.is_business_day(friday)
    assert not calendar.is_business_day(sunday + timedelta(days=2 * 364))


def test_the_weekend_is_that_of_the_country_and_not_a_list_of_dates() -> None:
    calendar = regional_calendar("sa", "SA", YEARS)
    assert calendar.weekend == "FRI SAT"
    assert calendar.workdays == ()
    assert len(calendar.holidays) < 20 * len(YEARS)


def test_only_the_years_asked_for_are_known() -> None:
    calendar = regional_calendar("us", "US", [2027])
    assert {one.year for one in calendar.holidays} == {2027}
    assert calendar.known_through == 2027
    # New Year of 2028 falls on a Saturday and is kept on the Friday before.
    assert not calendar.is_business_day(date(2027, 12, 31))


def test_nothing_leads_back_to_the_package() -> None:
    calendar = regional_calendar("de", "DE", YEARS)
    assert not calendar.is_stored
    assert Calendar.from_json(json.loads(json.dumps(calendar.to_json()))) == calendar


CODES = "expected a code such as DE, DE-BY or XNYS"
SPAN = "expected 1 to 50 years, such as range(2026, 2031)"
REFUSED: list[tuple[str, Callable[[], object], str]] = [
    ("part", lambda: regional_calendar("x", "DE-Bayern", YEARS), "did you mean DE-BY"),
    ("trailing", lambda: regional_calendar("x", "DE-", YEARS), 'region "DE-" is unknown, did you mean DE'),
    ("market", lambda: regional_calendar("x", "XNYSE", YEARS), "did you mean XNYS"),
    ("strange", lambda: regional_calendar("x", "Westeros", YEARS), f'region "Westeros" is unknown, {CODES}'),
    ("name", lambda: regional_calendar("x", "HolidayBase", YEARS), 'region "HolidayBase" is unknown'),
    ("empty", lambda: regional_calendar("x", "", YEARS), f'region "": {CODES}'),
    ("none", lambda: regional_calendar("x", None, YEARS), f"region None: {CODES}"),  # type: ignore[arg-type]
    ("no years", lambda: regional_calendar("x", "DE", []), f"years []: {SPAN}"),
    ("many", lambda: regional_calendar("x", "DE", range(2000, 2051)), f"years range(2000, 2051): {SPAN}"),
    ("one", lambda: regional_calendar("x", "DE", 2026), f"years 2026: {SPAN}"),  # type: ignore[arg-type]
    ("text", lambda: regional_calendar("x", "DE", ["2026"]), 'year "2026": expected a year such as 2026'),  # type: ignore[list-item]
    (
        "far",
        lambda: regional_calendar("x", "DE", [2400]),
        "holidays of 2400 are not known, only ",
    ),
    ("calendar", lambda: regional_calendar("a b", "DE", YEARS), "calendar 'a b': expected 1 to 200 letters"),
]


@pytest.mark.parametrize(("make", "part"), [pytest.param(*rest, id=name) for name, *rest in REFUSED])
def test_what_the_package_does_not_know_is_refused(make: Callable[[], object], part: str) -> None:
    with pytest.raises(InvalidTrigger) as refusal:
        make()
    assert part in str(refusal.value)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "holidays", None)
    with pytest.raises(MissingExtra) as refusal:
        regional_calendar("de", "DE", YEARS)
    assert str(refusal.value) == (
        "a regional calendar needs the holidays package; run: pip install 'fencepost[holidays]'"
    )


def test_no_other_caller_pays_for_the_package() -> None:
    program = (
        "import sys, fencepost, fencepost.triggers.business.regions; sys.exit('holidays' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
