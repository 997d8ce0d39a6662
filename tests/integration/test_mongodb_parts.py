"""Where many ticks are due on MongoDB, they are claimed in parts side by side, and each of them once."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from fencepost.core.limits import decide
from fencepost.errors import StoreUnavailable
from fencepost.model.claiming import LaneLimit
from fencepost.model.identifiers import DEFAULT_QUEUE, ScheduleId
from fencepost.model.run import Claim
from fencepost.stores.mongodb import ledger
from fencepost.testing.conformance.builders import (
    ALICE,
    MANY,
    claim_request,
    end_all,
    leave_all,
    make_spec,
    plan_ticks,
    put,
    start_all,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.limits import limit
from tests.conformance.on_mongodb import open_mongodb
from tests.integration.mongodb_commands import Listener, listening

SCHEDULES, ROOM = 10, 4


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Listener:
    return listening(monkeypatch)


@pytest.fixture
async def harness(
    mongo_store_url: str, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[StoreHarness]:
    """With one due tick of each schedule, of which some were claimed: more wait."""
    monkeypatch.setattr(ledger, "PARTS_MIN", ROOM)
    opened = await open_mongodb(mongo_store_url)
    for number in range(SCHEDULES):
        await put(opened, make_spec(), ScheduleId(f"s{number}"))
        await plan_ticks(opened, 60, schedule_id=ScheduleId(f"s{number}"))
    await opened.advance(60)
    assert len(await claim(opened)) == ROOM
    yield opened
    await opened.store.close()


async def claim(harness: StoreHarness, room: int = ROOM) -> Sequence[Claim]:
    wanted = replace(claim_request(), lane_limits=(LaneLimit(DEFAULT_QUEUE, 2, room),))
    return await harness.store.ledger.claim_ticks(wanted, room, start_all, decide)


def witness(monkeypatch: pytest.MonkeyPatch, error: Exception | None = None) -> list[Any]:
    """What each part is asked for; one of them may be lost after it was carried out."""
    asked: list[Any] = []
    inner = ledger.MongoLedger._claim_ticks

    async def watched(self: Any, *args: Any) -> Any:
        asked.append(args[4:])
        number = len(asked)
        answer = await inner(self, *args)
        if number == 1 and error is not None:
            raise error
        return answer

    monkeypatch.setattr(ledger.MongoLedger, "_claim_ticks", watched)
    return asked


async def test_each_tick_is_in_one_part(harness: StoreHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = witness(monkeypatch)
    claims = await claim(harness)
    assert len({one.schedule_id for one in claims}) == len(claims) == ROOM
    assert [len(part) for (part,) in asked] == [2, 2]
    assert len(await claim(harness)) == SCHEDULES - 2 * ROOM
    assert await claim(harness) == []
    assert len(asked) == 2 + 1 + 1, "the rest is less than a claim, and is claimed in one part"


async def test_parts_together_are_no_more_than_asked_for(
    harness: StoreHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(SCHEDULES):
        await plan_ticks(harness, 1, schedule_id=ScheduleId(f"s{number}"))
    await harness.advance(1)
    asked = witness(monkeypatch)
    assert len(await claim(harness, ROOM + 1)) == ROOM + 1
    assert [len(part) for (part,) in asked] == [3, 2]


async def test_ticks_of_several_lanes_are_claimed_in_one_part(
    harness: StoreHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is urgent comes first, and no queue gets more than its share."""
    asked = witness(monkeypatch)
    await harness.store.ledger.claim_ticks(claim_request(), ROOM, start_all, decide)
    assert [len(part) for (part,) in asked] == [4]


@pytest.mark.parametrize("error", [StoreUnavailable("the answer is lost"), AssertionError("a broken rule")])
async def test_what_one_part_was_given_is_adopted_where_the_other_fails(
    harness: StoreHarness, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    known = [one.fence for one in await harness.store.ledger.adopt(ALICE, [])]
    witness(monkeypatch, error)
    with pytest.raises(StoreUnavailable):
        await claim(harness)
    assert len(await harness.store.ledger.adopt(ALICE, known)) == ROOM


async def test_limited_jobs_are_claimed_in_one_part(
    harness: StoreHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    await limit(harness, concurrency=ROOM + 1)
    asked = witness(monkeypatch)
    assert len(await claim(harness)) == 1
    assert [len(part) for (part,) in asked] == [4]


async def test_a_claim_of_many_ticks_asks_no_more_often_than_one_of_few(
    harness: StoreHarness, listener: Listener
) -> None:
    asked = []
    for room in (1, ROOM - 1):
        listener.commands.clear()
        assert len(await claim(harness, room)) == room
        asked.append(Counter(listener.commands))
    assert asked[0] == asked[1]


async def test_late_ticks_that_only_wait_are_not_locked(harness: StoreHarness, listener: Listener) -> None:
    await harness.advance(60)
    listener.commands.clear()
    assert await harness.store.ledger.sweep_late(10, MANY, leave_all) == 0
    assert set(map(str, listener.commands)) <= {"find", "hello", "aggregate"}
    assert await harness.store.ledger.sweep_late(10, MANY, end_all) == SCHEDULES - ROOM
