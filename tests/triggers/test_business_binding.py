"""Names become days when a schedule is stored; what was stored stays as it was."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from fencepost.errors import InvalidTrigger
from fencepost.model.json import JsonObject, JsonValue
from fencepost.triggers import Cron, Every, decode
from fencepost.triggers.business.calendar import Calendar
from fencepost.triggers.business.trigger import BusinessDay, Shifted
from fencepost.triggers.combine import Combinable
from fencepost.triggers.localtime.times import WallTrigger
from fencepost.triggers.series import Binding

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
NAME = Calendar("de")
OLD = Calendar("de", holidays="2026-01-02", revision=2)
STORED = Calendar("de", holidays="2026-01-02 2026-01-05", revision=3)
INLINE = Calendar("de", "SUN")
BINDING = Binding("invoices", {"de": STORED})

MAKERS: dict[str, Callable[[Calendar], WallTrigger]] = {
    "day": lambda calendar: BusinessDay(calendar, "09:00", 1, "Europe/Berlin"),
    "shift": lambda calendar: Shifted(Cron("0 9 1 * *"), calendar, "next"),
    "within": lambda calendar: Shifted(BusinessDay(calendar, "09:00"), Calendar("inline", "SUN"), "skip"),
}


@pytest.fixture(params=MAKERS)
def maker(request: pytest.FixtureRequest) -> str:
    name = request.param
    assert isinstance(name, str)
    return name


def made(maker: str, calendar: Calendar) -> WallTrigger:
    return MAKERS[maker](calendar)


def test_a_name_is_bound_to_the_days_of_the_store(maker: str) -> None:
    trigger = made(maker, NAME)
    assert trigger.calendar_names() == {"de"}
    assert trigger.bound(BINDING) == made(maker, STORED)
    with pytest.raises(InvalidTrigger, match='"de" is only a name here'):
        trigger.next_after(NEW_YEAR)
    assert trigger.bound(BINDING).next_after(NEW_YEAR) is not None


def test_binding_changes_nothing_but_the_days() -> None:
    given = NAME.business_day(-2, ["09:00", "17:00"], "Asia/Tokyo", "MAR,DEC", gap="skip", fold="last")
    stored = STORED.business_day(-2, ["09:00", "17:00"], "Asia/Tokyo", "MAR,DEC", gap="skip", fold="last")
    assert given.bound(BINDING) == stored
    moved = Shifted(Cron("0 9 1 * *", "Asia/Tokyo", "skip", "last"), NAME, "previous")
    assert moved.bound(BINDING) == Shifted(moved.of, STORED, "previous")


def test_an_older_snapshot_is_bound_anew_and_one_as_new_is_kept(maker: str) -> None:
    assert made(maker, OLD).calendar_names() == {"de"}
    assert made(maker, OLD).bound(BINDING) == made(maker, STORED)
    current = made(maker, STORED)
    assert current.bound(BINDING) is current
    assert current.bound(Binding("invoices", {"de": OLD})) is current


def test_a_calendar_that_never_was_in_the_store_is_not_looked_for(maker: str) -> None:
    trigger = made(maker, INLINE)
    assert trigger.calendar_names() == frozenset()
    assert trigger.bound(BINDING) is trigger
    assert trigger.bound(Binding("invoices")) is trigger


@pytest.mark.parametrize("calendars", [{}, {"fr": STORED}, {"de": NAME}], ids=["none", "other", "name"])
@pytest.mark.parametrize("calendar", [NAME, STORED], ids=["reference", "snapshot"])
def test_a_calendar_that_the_store_lacks_is_named(
    maker: str, calendar: Calendar, calendars: dict[str, Calendar]
) -> None:
    with pytest.raises(InvalidTrigger) as refusal:
        made(maker, calendar).bound(Binding("invoices", calendars))
    assert str(refusal.value) == 'calendar "de" is not in the store; run: fencepost calendars set de'


def test_the_trigger_within_is_bound_too() -> None:
    hashed = Shifted(Cron("H 9 * * *"), NAME, "skip")
    bound = hashed.bound(BINDING)
    assert bound.of == Cron("H 9 * * *", seed="invoices")
    assert bound.calendar == STORED
    assert bound.next_after(NEW_YEAR) is not None


def test_all_calendars_of_a_combination_are_asked_for() -> None:
    fallback = Shifted(Shifted(Cron("0 9 1 * *"), Calendar("bank")), Calendar("plant"), "previous")
    assert (fallback | NAME.business_days("09:00")).calendar_names() == {"bank", "plant", "de"}


def test_what_would_never_fire_is_refused_when_its_days_are_known() -> None:
    saturdays = Shifted(Cron("0 9 * * SAT"), NAME, "skip")
    with pytest.raises(InvalidTrigger, match="never fires"):
        saturdays.bound(BINDING)
    mondays = Calendar("de", "TUE WED THU FRI SAT SUN", revision=1)
    with pytest.raises(InvalidTrigger, match="never fires"):
        NAME.business_day(6, "09:00").bound(Binding("invoices", {"de": mondays}))


def test_a_shift_starts_where_its_times_can_land() -> None:
    begins = datetime(2026, 1, 3, 9, tzinfo=UTC)

    class Started(Cron):
        """A cron with a beginning, as a recurrence rule has one."""

        @property
        def starts(self) -> datetime:
            return begins

    inner = Started("0 9 * * *")
    assert Shifted(inner, INLINE, "next").starts == Shifted(inner, INLINE, "skip").starts == begins
    earlier = Shifted(inner, INLINE, "previous").starts
    assert earlier is not None
    assert 1_000 <= (begins - earlier).days <= 1_003
    assert Shifted(Cron("0 9 * * *"), INLINE, "previous").starts is None


def test_it_says_what_becomes_of_other_days() -> None:
    inner = Cron("0 9 1 * *", "Europe/Berlin")
    words = {otherwise: made_words(inner, otherwise) for otherwise in ("next", "previous", "skip")}
    assert words == {
        "next": ", moved to the next business day where needed (calendar de)",
        "previous": ", moved to the previous business day where needed (calendar de)",
        "skip": ", on business days only (calendar de)",
    }


def made_words(inner: Cron, otherwise: str) -> str:
    return Shifted(inner, NAME, otherwise).describe().removeprefix(inner.describe())  # type: ignore[arg-type]


FORMS: list[tuple[Combinable, JsonObject]] = [
    (
        NAME.business_day(-1, at="18:00", tz="Europe/Berlin"),
        {
            "v": 1,
            "kind": "business_day",
            "calendar": {"name": "de"},
            "nth": -1,
            "at": ["18:00"],
            "tz": "Europe/Berlin",
            "months": None,
            "gap": None,
            "fold": None,
        },
    ),
    (
        OLD.business_days(at=["18:00:30", "09:00"], months="DEC,MAR", gap="skip", fold="last"),
        {
            "v": 1,
            "kind": "business_day",
            "calendar": {
                "name": "de",
                "weekend": "SAT SUN",
                "holidays": "2026-01-02",
                "workdays": "",
                "revision": 2,
            },
            "nth": None,
            "at": ["09:00", "18:00:30"],
            "tz": "UTC",
            "months": "MAR,DEC",
            "gap": "skip",
            "fold": "last",
        },
    ),
    (
        Shifted(Cron("0 9 1 * *"), INLINE, "previous"),
        {
            "v": 1,
            "kind": "business_shift",
            "of": {
                "v": 1,
                "kind": "cron",
                "expression": "0 9 1 * *",
                "tz": "UTC",
                "gap": None,
                "fold": None,
            },
            "calendar": {"name": "de", "weekend": "SUN", "holidays": "", "workdays": ""},
            "otherwise": "previous",
        },
    ),
]
FORM_NAMES = ["nth", "every", "shift"]


@pytest.mark.parametrize(("trigger", "form"), FORMS, ids=FORM_NAMES)
def test_the_form_is_fixed_and_leads_back(trigger: Combinable, form: JsonObject) -> None:
    assert trigger.to_json() == form
    assert decode(json.loads(json.dumps(form))) == trigger


@pytest.mark.parametrize(("trigger", "form"), FORMS, ids=FORM_NAMES)
def test_a_trigger_survives_pickle(trigger: Combinable, form: JsonObject) -> None:
    again = pickle.loads(pickle.dumps(trigger))
    assert again == trigger
    assert hash(again) == hash(trigger)
    assert again.to_json() == form


DAY, EVERY, SHIFT = (form for _, form in FORMS)
REFUSED: list[tuple[str, JsonValue, str]] = [
    ("nth", {**DAY, "nth": "last"}, 'business_day trigger: nth is "last", expected a whole number'),
    ("calendar", {**DAY, "calendar": "de"}, 'business_day trigger: calendar is "de", expected an object'),
    ("at", {**DAY, "at": "18:00"}, 'business_day trigger: at is "18:00", expected a list of texts'),
    ("months", {**DAY, "months": ["MAR"]}, "business_day trigger: months is ['MAR'], expected a text"),
    ("member", {**DAY, "until": "2030"}, 'business_day trigger: "until" is unknown'),
    ("word", {**SHIFT, "otherwise": "up"}, 'otherwise "up" is unknown, expected next, previous or skip'),
    (
        "beat",
        {**SHIFT, "of": {"v": 1, "kind": "every", "interval": "1h"}},
        f"{Every('1h').describe()}: only cron and business-day triggers can be kept to business days",
    ),
]


@pytest.mark.parametrize(("data", "message"), [pytest.param(*rest, id=name) for name, *rest in REFUSED])
def test_an_unknown_form_is_refused(data: JsonValue, message: str) -> None:
    with pytest.raises(InvalidTrigger) as refusal:
        decode(data)
    assert str(refusal.value) == message


def test_a_bound_trigger_fires_as_it_did_however_the_calendar_changes() -> None:
    kept = json.dumps(Shifted(Cron("0 9 2 1 *"), NAME, "next").bound(BINDING).to_json())
    assert decode(json.loads(kept)).next_after(NEW_YEAR) == datetime(2026, 1, 6, 9, tzinfo=UTC)


def test_a_calendar_keeps_a_trigger_to_its_days() -> None:
    cron = Cron("0 9 1 * *", "Europe/Berlin")
    calendar = Calendar("de", holidays=["2026-05-01"])
    assert calendar.keep(cron, otherwise="previous") == Shifted(cron, calendar, "previous")
    assert calendar.keep(cron) == Shifted(cron, calendar, "next")
