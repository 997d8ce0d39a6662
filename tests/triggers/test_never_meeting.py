"""Combinations that never fire are given up after a bounded number of looks; what fires rarely is found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import InvalidTrigger, SearchExhausted, SearchTooLong
from fencepost.model.json import JsonObject
from fencepost.triggers import At, Combinable, Cron, Every, RRule, Solar, combine, patience
from fencepost.triggers.patience import LIST_PATIENCE, PATIENCE
from fencepost.triggers.preview import preview
from tests.properties import examples

NOW = datetime(2026, 3, 28, tzinfo=UTC)
YEARS = 5
DAYS = YEARS * 366
ASKED_IN_A_LOOK = 2
"""A member is asked where it could fire, and whether it does."""
FEW_LOOKS = 120


@dataclass(frozen=True)
class Counted(Combinable):
    """Fires as another trigger does, and counts how often it is asked."""

    of: Combinable
    asked: list[None] = field(default_factory=list, compare=False)

    def next_after(self, after: datetime) -> datetime | None:
        self.asked.append(None)
        return self.of.next_after(after)

    def previous(self, before: datetime) -> datetime | None:
        self.asked.append(None)
        return self.of.previous(before)

    def fire_times(self, after: datetime, through: datetime) -> Iterator[datetime]:
        raise NotImplementedError

    def to_json(self) -> JsonObject:
        return self.of.to_json()

    def describe(self) -> str:
        return self.of.describe()


BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"
NEVER_MEET: dict[str, tuple[Combinable, Combinable, int]] = {
    "noon and half past": (Cron("0 12 * * *"), Cron("30 12 * * *"), DAYS),
    "zones": (Cron("0 9 * * *", BERLIN), Cron("0 9 * * *", NEW_YORK), DAYS),
    "rules": (
        RRule("FREQ=DAILY;BYHOUR=9", start="2026-01-01T09:00"),
        RRule("FREQ=DAILY;BYHOUR=10", start="2026-01-01T09:00"),
        DAYS,
    ),
    "the sun": (Solar("sunrise", 52.5, 13.4), Solar("sunset", 52.5, 13.4), DAYS),
    "odd and even days": (Cron("* * 1-31/2 1 *"), Cron("*/2 * 2-30/2 * *"), 32 * (YEARS + 1)),
    "months": (Cron("* * * 1 *"), Cron("* * * 2 *"), 100),
    "leap days": (Cron("0 0 29 2 *", BERLIN), Cron("0 0 28 2 *", NEW_YORK), 100),
}


@pytest.fixture
def short_horizon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "HORIZON", timedelta(days=DAYS - 10))


@pytest.mark.usefixtures("short_horizon")
@pytest.mark.parametrize("name", NEVER_MEET)
def test_what_never_meets_is_not_looked_for_beyond_the_horizon(name: str) -> None:
    one, other, looks_max = NEVER_MEET[name]
    members = Counted(one), Counted(other)
    with pytest.raises(SearchExhausted, match="it may never fire: see that its parts meet within"):
        (members[0] & members[1]).next(NOW)
    assert all(0 < len(member.asked) <= ASKED_IN_A_LOOK * looks_max for member in members)


@pytest.mark.usefixtures("short_horizon")
@pytest.mark.parametrize("name", [name for name in NEVER_MEET if name != "rules"])
def test_nor_is_it_looked_for_so_far_back(name: str) -> None:
    one, other, looks_max = NEVER_MEET[name]
    members = Counted(one), Counted(other)
    with pytest.raises(InvalidTrigger, match="found no fire time back to"):
        (members[0] & members[1]).previous(NOW)
    assert all(0 < len(member.asked) <= ASKED_IN_A_LOOK * looks_max for member in members)


minutes = st.lists(st.integers(0, 59), min_size=1, max_size=4, unique=True)
rest = st.tuples(
    st.sampled_from(["*", "*/2", "9-17", "0"]),
    st.sampled_from(["*", "1", "29", "L", "*/2"]),
    st.sampled_from(["*", "2", "1-6"]),
    st.sampled_from(["*", "MON", "MON-FRI"]),
)


@st.composite
def apart(draw: st.DrawFn) -> tuple[Counted, Counted]:
    """Two expressions of one zone that have no minute of the hour in common."""
    first = draw(minutes)
    second = draw(minutes.filter(lambda found: not set(found) & set(first)))
    made = [Cron(" ".join([",".join(map(str, those)), *draw(rest)])) for those in (first, second)]
    return Counted(made[0]), Counted(made[1])


@examples(60)
@given(pair=apart(), excepting=st.booleans())
def test_whatever_never_meets_is_given_up_in_so_many_looks(
    pair: tuple[Counted, Counted], excepting: bool
) -> None:
    one, other = pair
    never = (one & other) if not excepting else one - (Counted(one.of) | other)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(combine, "LOOKS_MAX", FEW_LOOKS)
        with pytest.raises(SearchExhausted):
            never.next(NOW, 5)
    assert len(one.asked) <= ASKED_IN_A_LOOK * FEW_LOOKS // never.price * PATIENCE


@pytest.mark.parametrize("day", ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"])
@pytest.mark.parametrize("year", [2026, 2080, 2096])
def test_leap_days_on_a_weekday_are_found_though_a_century_leaves_one_out(day: str, year: int) -> None:
    trigger = Cron("0 0 29 2 *") & Cron(f"0 0 * * {day}") & Cron("0 0 * * *")
    after = datetime(year, 3, 1, tzinfo=UTC)
    leaps = [
        datetime(one, 2, 29, tzinfo=UTC) for one in range(year + 4 - year % 4, year + 60, 4) if one != 2100
    ]
    wanted = next(one for one in leaps if one.strftime("%a").upper() == day)
    assert trigger.next(after) == [wanted]
    assert trigger.next_after(after) == wanted
    assert trigger.last(wanted + timedelta(days=1)) == [wanted]


def test_what_is_looked_at_rarely_is_found_beyond_the_horizon() -> None:
    days = At([datetime(2100, 1, 1, 12, tzinfo=UTC), "2200-01-01T12:00:00Z", "2300-01-01T00:00:00Z"])
    midnight = Every("1d") & days
    assert midnight.next(NOW) == [datetime(2300, 1, 1, tzinfo=UTC)]
    assert midnight.next_after(NOW) == datetime(2300, 1, 1, tzinfo=UTC)


def test_what_is_40_years_of_days_away_is_found() -> None:
    last = datetime(2066, 3, 1, tzinfo=UTC)
    one_day = Every("1d") - Every("1d").between(end=last)
    assert one_day.next(NOW) == [last]


def test_what_begins_beyond_the_horizon_is_found() -> None:
    later = (Cron("0 0 * * *") & Cron("0 0 * * MON")).between("2500-01-01")
    assert later.next(NOW, 2) == [datetime(2500, 1, 4, tzinfo=UTC), datetime(2500, 1, 11, tzinfo=UTC)]


def test_a_list_of_fire_times_that_takes_too_many_looks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(combine, "LOOKS_MAX", 20)
    monkeypatch.setattr(combine, "LOOKS_BACK_MAX", 20 * PATIENCE)
    each_minute = Counted(Every("1s"))
    trigger = each_minute - Cron("1-59 * * * * *")
    looks_max = 10 * PATIENCE * (LIST_PATIENCE + 1)
    for ask in (trigger.next, trigger.last):
        assert len(ask(NOW, 5)) == 5
        each_minute.asked.clear()
        with pytest.raises(SearchExhausted, match="ask for fewer"):
            ask(NOW, 100)
        assert len(each_minute.asked) <= ASKED_IN_A_LOOK * looks_max


@pytest.mark.parametrize(
    "trigger", [Every("5m"), Cron("*/5 * * * *") & Every("10m"), At(NOW - timedelta(days=1))]
)
def test_the_last_ones_are_the_next_ones_of_before(trigger: Combinable) -> None:
    last = trigger.last(NOW, 3)
    assert last
    assert all(one < NOW for one in last)
    assert trigger.next(last[-1] - timedelta.resolution, len(last)) == last[::-1]
    assert trigger.last(NOW, 0) == []
    with pytest.raises(InvalidTrigger, match="last -1: expected a whole number of fire times"):
        trigger.last(NOW, -1)


def test_a_preview_of_many_zones_is_given_up_where_there_is_too_much_to_look_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fencepost.triggers.preview.EFFORT_MAX", 100)
    zones = ["America/New_York", "Australia/Sydney", "Europe/Berlin", "Europe/London", "Pacific/Auckland"]
    busy = combine.Union(tuple(Cron("*/15 * * * *", one) for one in zones))
    with pytest.raises(SearchExhausted, match="too much to look at"):
        preview(busy, NOW)
    assert len(preview(Cron("*/15 * * * *", BERLIN), NOW)) == 1


@dataclass(frozen=True)
class Dear(Counted):
    """Costs as much to look at as the sun."""

    @property
    def price(self) -> int:
        return patience.PRICE_SUN


@pytest.mark.usefixtures("short_horizon")
def test_dear_triggers_are_looked_at_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(combine, "LOOKS_MAX", 1_000)
    asked = []
    for kind in (Counted, Dear):
        members = kind(Cron("0 12 * * *")), kind(Cron("30 12 * * *"))
        with pytest.raises(SearchExhausted):
            (members[0] & members[1]).next_after(NOW)
        asked.append(len(members[0].asked))
    assert asked == [ASKED_IN_A_LOOK * 500, ASKED_IN_A_LOOK * 1_000 // (2 * patience.PRICE_SUN)]


@pytest.mark.parametrize(
    ("trigger", "price"),
    [
        (Cron("* * * * *"), 1),
        (RRule("FREQ=DAILY", start="2026-01-01T09:00"), 3),
        (Every("1s").between(NOW), 1),
    ],
)
def test_the_price_of_a_trigger_is_that_of_its_kind(trigger: Combinable, price: int) -> None:
    assert trigger.price == price
    assert (trigger | Solar("sunrise", 52.5, 13.4)).price == price + patience.PRICE_SUN


LONG: dict[str, Combinable] = {
    "never meets": Cron("0 12 * * *") & Cron("30 12 * * *"),
    "a list": Every("1s"),
    "a limit": Every("1s").between(NOW).limit(5_000),
    "a union": Cron("0 12 * * *") | Every("7s"),
}


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("way", ["next", "last"])
def test_a_search_ends_where_its_time_is_over(name: str, way: str) -> None:
    looks = iter(range(1_000_000))
    with patience.within(50, lambda: next(looks)), pytest.raises(SearchTooLong, match="longer than 50 s"):
        getattr(LONG[name], way)(NOW + timedelta(days=1), 100)
    assert next(looks) < 60
    patience.keep_on()
