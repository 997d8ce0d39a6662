"""The oracle of fire times against tables by hand and against the engine."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from fencepost.model.json import JsonObject
from fencepost.triggers import At, Cron, Every, RRule, Solar
from fencepost.triggers.combine import Combinable
from fencepost.triggers.stored import bind
from tests.history import oracle

BEFORE_SPRING = datetime(2026, 3, 28, 22, 0, tzinfo=UTC)
BEFORE_AUTUMN = datetime(2026, 10, 24, 21, 30, 0, 500, tzinfo=UTC)
HOURS = 8


def told(form: JsonObject, since: datetime, hours: float = HOURS, name: str = "some") -> list[str]:
    found = oracle.fire_times(form, name, since, since + timedelta(hours=hours))
    return [one.strftime("%d %H:%M:%S") for one in found]


TABLE: list[tuple[str, Combinable, datetime, list[str]]] = [
    ("shifted out of a gap", Cron("30 2 * * *", tz="Europe/Berlin"), BEFORE_SPRING, ["29 01:00:00"]),
    ("skipped in a gap", Cron("30 2 * * *", tz="Europe/Berlin", gap="skip"), BEFORE_SPRING, []),
    ("once in a fold", Cron("30 2 * * *", tz="Europe/Berlin"), BEFORE_AUTUMN, ["25 00:30:00"]),
    (
        "both in a fold",
        Cron("30 2 * * *", tz="Europe/Berlin", fold="both"),
        BEFORE_AUTUMN,
        ["25 00:30:00", "25 01:30:00"],
    ),
    ("seconds", Cron("0,40 0 3 * * *"), BEFORE_SPRING, ["29 03:00:00", "29 03:00:40"]),
    (
        "a steady beat",
        Every("3h", anchor="2026-01-01T01:00:00Z"),
        BEFORE_SPRING,
        ["29 01:00:00", "29 04:00:00"],
    ),
    (
        "a step of the calendar",
        Every("1 day", anchor="2026-01-01T02:30:00", tz="Europe/Berlin"),
        BEFORE_AUTUMN,
        ["25 00:30:00"],
    ),
    (
        "the last day of a short month",
        Every("1 month", anchor="2026-01-31T05:00:00"),
        datetime(2026, 2, 28, tzinfo=UTC),
        ["28 05:00:00"],
    ),
    (
        "after, and through",
        At(["2026-03-28T22:00:00Z", "2026-03-29T06:00:00Z"]),
        BEFORE_SPRING,
        ["29 06:00:00"],
    ),
    ("union", Every("8h") | Every("6h"), BEFORE_SPRING, ["29 00:00:00", "29 06:00:00"]),
    ("intersection", Every("2h") & Every("3h"), BEFORE_SPRING, ["29 00:00:00", "29 06:00:00"]),
    ("difference", Every("2h") - Every("3h"), BEFORE_SPRING, ["29 02:00:00", "29 04:00:00"]),
    (
        "with a start and before an end",
        Every("1h").between("2026-03-29T02:00:00Z", "2026-03-29T04:00:00Z"),
        BEFORE_SPRING,
        ["29 02:00:00", "29 03:00:00"],
    ),
    (
        "the first three, two of them before",
        Every("1h").between("2026-03-28T21:00:00Z").limit(3),
        BEFORE_SPRING,
        ["28 23:00:00"],
    ),
    (
        "outside of windows",
        Every("1h").outside(Every("3h"), "2h"),
        BEFORE_SPRING,
        ["28 23:00:00", "29 02:00:00", "29 05:00:00"],
    ),
    (
        "a recurrence",
        RRule("FREQ=DAILY;BYHOUR=2,4", start="2026-01-01T00:30:00", tz="Europe/Berlin"),
        BEFORE_AUTUMN,
        ["25 00:30:00", "25 03:30:00"],
    ),
]


@pytest.mark.parametrize(("what", "trigger", "since", "expected"), TABLE, ids=[one[0] for one in TABLE])
def test_fire_times_are_these(what: str, trigger: Combinable, since: datetime, expected: list[str]) -> None:
    assert told(trigger.to_json(), since) == expected


@pytest.mark.parametrize("seed", range(60))
def test_the_engine_says_the_same(seed: int) -> None:
    dice = Random(seed)
    trigger = _any_trigger(dice, depth=2)
    since = dice.choice([BEFORE_SPRING, BEFORE_AUTUMN]) + timedelta(seconds=dice.randrange(20_000))
    through = since + timedelta(hours=dice.choice([1, 6, 26]))
    engine = list(bind(trigger, {}, "some").fire_times(since, through))
    assert oracle.fire_times(trigger.to_json(), "some", since, through) == engine


def test_an_h_is_hashed_by_the_schedule() -> None:
    form = Cron("H H * * *").to_json()
    one, other = (told(form, BEFORE_SPRING, 24, name) for name in ("one", "other"))
    assert len(one) == len(other) == 1
    assert one != other


@pytest.mark.parametrize(
    "form",
    [
        Solar("sunrise", latitude=52.5, longitude=13.4).to_json(),
        RRule("FREQ=DAILY;UNTIL=20270101", start="2026-01-01").to_json(),
        {"v": 2, "kind": "every", "interval": "1h"},
        {"v": 1, "kind": "tea time"},
    ],
)
def test_a_form_that_the_oracle_does_not_read_is_refused(form: JsonObject) -> None:
    with pytest.raises(oracle.Unread, match="does not read"):
        told(form, BEFORE_SPRING)


def _any_trigger(dice: Random, depth: int) -> Combinable:
    if not depth or dice.random() < 0.4:
        return _any_leaf(dice)
    one, other = _any_trigger(dice, depth - 1), _any_leaf(dice)
    ways = (
        lambda: one | other,
        lambda: one & other,
        lambda: one - other,
        lambda: one.between(BEFORE_SPRING + timedelta(hours=dice.randrange(8))),
        lambda: one.outside(Every(f"{dice.randint(40, 90)}m"), f"{dice.randint(1, 30)}m"),
    )
    return dice.choice(ways)()


def _any_leaf(dice: Random) -> Combinable:
    tz = dice.choice(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
    number = dice.randint(1, 30)
    ways = (
        lambda: Every(f"{dice.randint(5, 5000)}s", anchor=BEFORE_SPRING - timedelta(seconds=number)),
        lambda: Every(f"{number} days", anchor="2026-01-01T02:30:00", tz=tz),
        lambda: Cron(f"*/{number} {dice.choice(['*', '1-3', '*/2'])} * * *", tz=tz),
        lambda: Cron(f"{number} {dice.randint(0, 3)} * * *", tz=tz, fold=dice.choice([None, "last", "both"])),
        lambda: Cron(f"*/{number} {number} * * * *", tz=tz),
        lambda: Cron("H H(0-5) * * *", tz=tz),
        lambda: At([BEFORE_SPRING + timedelta(minutes=7 * number), BEFORE_AUTUMN.replace(microsecond=0)]),
        lambda: RRule(f"FREQ=MINUTELY;INTERVAL={number}", start="2026-03-01T00:00:00", tz=tz),
        lambda: RRule("FREQ=DAILY;BYHOUR=1,2,3;BYMINUTE=0,30", start="2026-03-01T00:00:00", tz=tz),
    )
    return dice.choice(ways)()
