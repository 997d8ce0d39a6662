"""Backfills, looked at first, then started, filled and cancelled."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import ValidationError

from fencepost.errors import UnknownBackfill, UnknownSchedule
from fencepost.model.backfill import BackfillState, FillMode
from fencepost.model.identifiers import Namespace
from fencepost.operations.backfills import (
    BackfillRequest,
    ChangeBackfillRequest,
    EstimateBackfillRequest,
    ListBackfillsRequest,
    StartBackfillRequest,
    cancel_backfill,
    estimate_backfill,
    fill_backfill,
    list_backfills,
    show_backfill,
    start_backfill,
)
from fencepost.operations.control import Control
from fencepost.operations.paging import encode_cursor
from fencepost.operations.responses.backfills import first_instant
from tests.operations.asking import asked, refused, there_and_back
from tests.services.house import NS, House
from tests.services.verbs_work import ANNA, open_control

PAST: dict[str, Any] = {
    "schedule_id": "invoices",
    "since": "2026-03-01T11:00:00Z",
    "until": "2026-03-01T11:05:00Z",
}


async def test_an_estimate_counts_the_first_instant_and_writes_nothing() -> None:
    control = await open_control(House())
    found = await asked(control, estimate_backfill, EstimateBackfillRequest(**PAST, at_once_max=4))
    assert (found.fire_times, found.to_run, found.states) == (6, 6, {"missing": 6})
    assert found.warnings == ["the overlap policy lets 1 run at a time, so --parallel works like 1"]
    assert first_instant(found.since) == PAST["since"]
    assert (await asked(control, list_backfills, ListBackfillsRequest())).items == []


async def test_a_length_of_time_is_before_the_stores_now() -> None:
    control = await open_control(House())
    question = EstimateBackfillRequest(schedule_id="invoices", since="5m", until="0s")
    found = await asked(control, estimate_backfill, question)
    assert (first_instant(found.since), found.until) == ("2026-03-01T11:55:00Z", "2026-03-01T12:00:00Z")


async def test_it_is_started_filled_shown_and_cancelled() -> None:
    control = await open_control(House())
    question = StartBackfillRequest(**PAST, mode=FillMode.MISSED, at_once_max=2, every_s=1.5)
    started = await asked(control, start_backfill, question)
    assert (started.state, started.over, started.runs) == (BackfillState.ACTIVE, False, {})
    assert (started.mode, started.at_once_max, started.every_s) == (FillMode.MISSED, 2, 1.5)
    one = ChangeBackfillRequest(backfill_id=started.backfill_id)
    filled = await asked(control, fill_backfill, one)
    assert (filled.state, sum(filled.runs.values())) == (BackfillState.FILLED, 6)
    assert await asked(control, fill_backfill, one) == filled
    assert await asked(control, show_backfill, BackfillRequest(backfill_id=started.backfill_id)) == filled
    cancelled = await asked(control, cancel_backfill, one)
    assert (cancelled.state, cancelled.over, cancelled.runs) == (BackfillState.CANCELLED, True, {"missed": 6})


async def test_a_call_that_is_repeated_after_a_lost_answer_starts_nothing_more() -> None:
    house = House()
    await open_control(house)
    first = await house.store.now()
    question = StartBackfillRequest(schedule_id="invoices", since="1h", until="0s", mode=FillMode.ALL)
    repeated = Control(house.store, NS, ANNA, requested_at=first, idempotency_key="k")
    started = await asked(repeated, start_backfill, question)
    house.clock.advance(5)
    assert await asked(repeated, start_backfill, question) == started


async def test_the_same_asked_for_later_by_another_call_is_another_backfill() -> None:
    house = House()
    await open_control(house)
    numbers = set()
    for key in ("k", "l"):
        control = Control(house.store, NS, ANNA, requested_at=await house.store.now(), idempotency_key=key)
        numbers.add((await asked(control, start_backfill, StartBackfillRequest(**PAST))).backfill_id)
        house.clock.advance(5)
    assert numbers == {1, 2}


async def test_backfills_are_given_in_pages_the_latest_first() -> None:
    control = await open_control(House())
    for _ in range(5):
        await asked(control, start_backfill, StartBackfillRequest(**PAST))
    walked: list[int] = []
    after: str | None = None
    for _ in range(3):
        page = await asked(control, list_backfills, ListBackfillsRequest(limit=2, after=after))
        walked += [one.backfill_id for one in page.items]
        after = page.next
    assert (walked, after) == ([5, 4, 3, 2, 1], None)


@pytest.mark.parametrize("cursor", ["x", encode_cursor("1"), encode_cursor(-1), encode_cursor(2**63)])
async def test_a_made_up_cursor_is_refused(cursor: str) -> None:
    control = await open_control(House())
    assert "cursor" in await refused(control, list_backfills, ListBackfillsRequest(after=cursor))


async def test_another_namespaces_backfill_is_not_there() -> None:
    house = House()
    control = await open_control(house)
    started = await asked(control, start_backfill, StartBackfillRequest(**PAST))
    other = Control(house.store, Namespace("billing"), ANNA)
    assert (await asked(other, list_backfills, ListBackfillsRequest())).items == []
    with pytest.raises(UnknownBackfill):
        await asked(other, show_backfill, BackfillRequest(backfill_id=started.backfill_id))
    for verb in (fill_backfill, cancel_backfill):
        with pytest.raises(UnknownBackfill):
            await asked(other, verb, ChangeBackfillRequest(backfill_id=started.backfill_id))
    with pytest.raises(UnknownSchedule):
        await asked(other, estimate_backfill, EstimateBackfillRequest(**PAST))
    now = await asked(control, show_backfill, BackfillRequest(backfill_id=started.backfill_id))
    assert now == started


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"schedule_id": "invoice"}, "did you mean invoices?"),
        ({"until": "2999-01-01T00:00:00Z"}, "lies in the future"),
        ({"until": "2h", "since": "1h"}, "an end that is later than the start"),
        ({"since": "yesterday"}, "since: "),
        ({"until": "+"}, "until: "),
    ],
)
async def test_a_wrong_range_is_refused(wrong: dict[str, Any], said: str) -> None:
    control = await open_control(House())
    assert said in await refused(control, estimate_backfill, EstimateBackfillRequest(**PAST | wrong))
    assert said in await refused(control, start_backfill, StartBackfillRequest(**PAST | wrong))


@pytest.mark.parametrize("wrong", [{"at_once_max": 0}, {"at_once_max": 10**6}, {"every_s": -1.0}])
def test_what_is_out_of_bounds_does_not_arrive(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        there_and_back(start_backfill, StartBackfillRequest(**PAST, **wrong))
