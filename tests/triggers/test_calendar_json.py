"""The stable JSON form of calendars, and how they travel."""

from __future__ import annotations

import json
import pickle
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import InvalidTrigger
from fencepost.model.json import JsonObject, JsonValue
from fencepost.triggers.business.calendar import Calendar
from fencepost.triggers.business.days import WEEK

NEW_YEAR = date(2026, 1, 1)

FORMS: list[tuple[Calendar, JsonObject]] = [
    (Calendar("de"), {"name": "de"}),
    (Calendar("week", ""), {"name": "week", "weekend": "", "holidays": "", "workdays": ""}),
    (
        Calendar("cn", "SUN,SAT", holidays=["2026-02-17", "2026-02-16"], workdays=[date(2026, 2, 14)]),
        {
            "name": "cn",
            "weekend": "SAT SUN",
            "holidays": "2026-02-16 2026-02-17",
            "workdays": "2026-02-14",
        },
    ),
    (
        Calendar("ae", "FRI,SAT", revision=3),
        {"name": "ae", "weekend": "FRI SAT", "holidays": "", "workdays": "", "revision": 3},
    ),
]


@pytest.mark.parametrize(("calendar", "form"), FORMS, ids=["reference", "inline", "dates", "snapshot"])
def test_the_form_is_fixed_and_leads_back(calendar: Calendar, form: JsonObject) -> None:
    assert calendar.to_json() == form
    assert Calendar.from_json(json.loads(json.dumps(form))) == calendar


dates = st.sets(st.dates(), max_size=30)


@given(
    weekend=st.sets(st.sampled_from(WEEK), max_size=6),
    holidays=dates,
    workdays=dates,
    revision=st.none() | st.integers(1),
)
def test_every_calendar_comes_back_as_it_went(
    weekend: set[str], holidays: set[date], workdays: set[date], revision: int | None
) -> None:
    calendar = Calendar("made", weekend, holidays - workdays, workdays, revision)
    again = Calendar.from_json(json.loads(json.dumps(calendar.to_json())))
    pickled = pickle.loads(pickle.dumps(calendar))
    assert calendar == again == pickled
    assert hash(calendar) == hash(again) == hash(pickled)
    assert repr(calendar) == repr(again) == repr(pickled)


def test_a_name_alone_stays_a_name_through_pickle() -> None:
    calendar = pickle.loads(pickle.dumps(Calendar("de")))
    assert calendar == Calendar("de")
    assert calendar.is_reference


def test_the_three_forms_of_a_name_are_different_calendars() -> None:
    reference, inline, snapshot = (
        Calendar("de"),
        Calendar("de", "SAT,SUN"),
        Calendar("de", revision=1, holidays=[]),
    )
    assert len({reference, inline, snapshot}) == 3
    assert [one.is_reference for one in (reference, inline, snapshot)] == [True, False, False]
    assert [one.is_stored for one in (reference, inline, snapshot)] == [True, False, True]


def test_a_date_takes_eleven_bytes() -> None:
    calendar = Calendar("full", holidays=[NEW_YEAR + timedelta(days=2 * number) for number in range(5_000)])
    assert len(json.dumps(calendar.to_json())) < 11 * 5_000 + 100


WHOLE: JsonObject = {"name": "de", "weekend": "SAT SUN", "holidays": "2026-12-25", "workdays": ""}
REFUSED: list[tuple[str, JsonValue, str]] = [
    ("list", [], "calendar []: expected an object with a name"),
    ("text", "de", 'calendar "de": expected an object with a name'),
    ("empty", {}, "calendar: name is None, expected a text"),
    ("name", {"name": 5}, "calendar: name is 5, expected a text"),
    ("member", {**WHOLE, "colour": "red"}, 'calendar: "colour" is unknown'),
    ("part", {"name": "de", "weekend": "SUN"}, "calendar: holidays is None, expected a text"),
    ("null", {**WHOLE, "weekend": None}, "calendar: weekend is None, expected a text"),
    ("dates", {**WHOLE, "holidays": ["2026-12-25"]}, "calendar: holidays is ['2026-12-25'], expected a text"),
    (
        "date",
        {**WHOLE, "workdays": "2026-12-32"},
        'calendar "de": workdays has "2026-12-32": day is out of range for month',
    ),
    ("revision", {**WHOLE, "revision": "3"}, 'calendar: revision is "3", expected a whole number'),
    ("truth", {**WHOLE, "revision": True}, "calendar: revision is True, expected a whole number"),
    ("zero", {**WHOLE, "revision": 0}, 'calendar "de": revision 0, expected a whole number from 1 on'),
    ("only", {"name": "de", "revision": 3}, "calendar: weekend is None, expected a text"),
]


@pytest.mark.parametrize(("data", "message"), [pytest.param(*rest, id=name) for name, *rest in REFUSED])
def test_an_unknown_form_is_refused(data: JsonValue, message: str) -> None:
    with pytest.raises(InvalidTrigger) as refusal:
        Calendar.from_json(data)
    assert str(refusal.value) == message
