"""What an expression means, asked of a server."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from fencepost.operations.control import Control
from fencepost.operations.triggers import NextTimesRequest, TriggerRequest, explain, show_next
from fencepost.operations.wire import Parts, from_call
from fencepost.triggers import Every, tzdata_version
from tests.operations.asking import asked, refused
from tests.services.house import NS, House

BERLIN: dict[str, Any] = {"expression": "30 2 * * *", "tz": "Europe/Berlin", "after": "2026-03-28"}


@pytest.fixture
def control() -> Control:
    return Control(House().store, NS)


async def test_the_next_times_cross_a_change_of_the_clocks(control: Control) -> None:
    found = await asked(control, show_next, NextTimesRequest(**BERLIN, count=2))
    assert found.times == ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z"]
    assert (found.zones, [one.kind for one in found.changes]) == (["Europe/Berlin"], ["gap"])
    skipping = await asked(control, show_next, NextTimesRequest(**BERLIN, count=2, gap="skip"))
    assert skipping.times[1] == "2026-03-30T00:30:00Z"


async def test_without_a_moment_it_is_the_stores_time(control: Control) -> None:
    found = await asked(control, show_next, NextTimesRequest(expression="every 1h", count=1))
    assert found.times == ["2026-03-01T13:00:00Z"]
    earlier = await asked(control, show_next, NextTimesRequest(expression="every 1h", count=2, previous=True))
    assert earlier.times == ["2026-03-01T11:00:00Z", "2026-03-01T10:00:00Z"]


async def test_explaining_says_it_all(control: Control) -> None:
    found = await asked(control, explain, TriggerRequest(**BERLIN, fold="both"))
    assert (found.tz, found.tzdata) == ("Europe/Berlin", tzdata_version())
    assert found.policy is not None
    assert (found.policy.gap, found.policy.fold, found.policy.chosen) == ("shift", "both", ["fold"])
    assert (found.previous, len(found.next)) == ("2026-03-27T01:30:00Z", 3)
    form = json.dumps(found.trigger)
    again = await asked(control, explain, TriggerRequest(expression=form, after="2026-03-27T23:00:00Z"))
    assert (again.description, again.next) == (found.description, found.next)


async def test_what_has_never_fired_is_explained_all_the_same(
    control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fencepost.triggers.combine.LOOKS_BACK_MAX", 20)
    form = json.dumps((Every("1s") - Every("1s").between(end="2026-03-01T12:01:00Z")).to_json())
    found = await asked(control, explain, TriggerRequest(expression=form))
    assert (found.previous, found.next[0]) == (None, "2026-03-01T12:01:00Z")
    earlier = NextTimesRequest(expression=form, previous=True)
    assert "found no fire time back to" in await refused(control, show_next, earlier)


async def test_an_exact_interval_has_no_policy(control: Control) -> None:
    found = await asked(control, explain, TriggerRequest(expression=json.dumps(Every("15m").to_json())))
    assert (found.policy, found.zones, found.tz) == (None, [], "UTC")


async def test_what_is_hashed_needs_an_id(control: Control) -> None:
    assert "give it with schedule_id" in await refused(
        control, show_next, NextTimesRequest(expression="H H * * *")
    )
    one = await asked(control, show_next, NextTimesRequest(expression="H H * * *", schedule_id="one"))
    two = await asked(control, show_next, NextTimesRequest(expression="H H * * *", schedule_id="two"))
    assert one.times != two.times


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"expression": "99 * * * *"}, "99"),
        ({"expression": "* * * * *", "tz": "Mars/Olympus"}, "tz: "),
        ({"expression": "* * * * *", "after": "soon"}, "after: "),
        ({"expression": "* * * * *", "after": "9999-01-01T00:00:00Z"}, "expected a year"),
        ({"expression": "every 5m", "gap": "skip"}, "gap: has no meaning"),
        ({"expression": "{"}, "not JSON"),
        ({"expression": '{"v": 1}', "tz": "UTC"}, "tz: has no meaning with the stable form"),
    ],
)
async def test_a_refusal_names_the_word(control: Control, words: dict[str, Any], said: str) -> None:
    assert said in await refused(control, explain, TriggerRequest(**words))
    assert said in await refused(control, show_next, NextTimesRequest(**words))


@pytest.mark.parametrize("count", ["0", "101", "x"])
def test_no_more_are_counted_than_a_server_has_patience_for(count: str) -> None:
    query = [("expression", "* * * * *"), ("count", count)]
    with pytest.raises(msgspec.ValidationError):
        from_call(show_next, Parts({}, query))
