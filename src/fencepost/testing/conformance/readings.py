"""The behaviour of what people and services read of the ledger."""

from __future__ import annotations

from datetime import datetime

import pytest

from fencepost.model.clocks import later
from fencepost.model.identifiers import RunKey
from fencepost.model.run import Origin, RunFilter, RunState
from fencepost.testing.conformance.builders import (
    MANY,
    NS,
    OTHER_NS,
    OTHER_SCHEDULE,
    SCHEDULE,
    at,
    claim,
    claim_one,
    death,
    due_ticks,
    enqueue,
    finish,
    plan_ticks,
    put,
    read,
    retry,
    start_ticks,
    success,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.operators import ANNA, admit

TYPICAL_OF = 20


class ReadingContract:
    """Lists, pages, averages."""

    async def test_an_origin_is_not_confused_with_another(self, harness: StoreHarness) -> None:
        await put(harness)
        late, live = await due_ticks(harness, 30, 60)
        await admit(harness, late)
        manual = await harness.store.ledger.trigger(NS, SCHEDULE, at(harness, -1))
        assert await listed(harness, RunFilter(origin=Origin.CATCH_UP)) == [late]
        assert await listed(harness, RunFilter(origin=Origin.MANUAL)) == [manual]
        assert await listed(harness, RunFilter(origin=Origin.LIVE)) == [live]
        assert await listed(harness, RunFilter(schedule_id=SCHEDULE, origin=Origin.LIVE)) == [live]

    async def test_an_error_is_found_by_any_part_of_it_and_nothing_else(self, harness: StoreHarness) -> None:
        keys = await enqueue(harness, "one", "two", "three")
        errors = {keys[0]: "Timeout: 100% of a_b", keys[1]: "Timeout: 100 or axb", keys[2]: None}
        for claimed in await claim(harness):
            error = errors[claimed.run_key]
            outcome = success(claimed.ticket) if error is None else death(claimed.ticket, error)
            await finish(harness, outcome)
        assert set(await listed(harness, RunFilter(error="Timeout"))) == set(keys[:2])
        assert await listed(harness, RunFilter(error="100%")) == [keys[0]]
        assert await listed(harness, RunFilter(error="a_b")) == [keys[0]]
        assert await listed(harness, RunFilter(error="Refused")) == []
        assert await listed(harness, RunFilter(error="Timeout", state=RunState.SUCCEEDED)) == []

    async def test_a_page_of_ticks_neither_repeats_nor_leaves_out(self, harness: StoreHarness) -> None:
        start = harness.now
        await put(harness)
        await put(harness, schedule_id=OTHER_SCHEDULE)
        keys = await plan_ticks(harness, 60, 120, 180, 240)
        await plan_ticks(harness, 120, schedule_id=OTHER_SCHEDULE)
        await harness.advance(130)
        seen: list[RunKey] = []
        after: tuple[datetime, RunKey] | None = None
        for _ in range(4):
            page = await harness.store.ledger.ticks(NS, SCHEDULE, start, later(start, 240), after, 2)
            if not page:
                break
            seen += [one.run_key for one in page]
            after = page[-1].fire_time, page[-1].run_key
        assert seen == keys

    async def test_the_bounds_of_ticks_are_after_the_first_and_up_to_the_last(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        start = harness.now
        keys = await plan_ticks(harness, 60, 120, 180)
        await harness.advance(120)
        ledger = harness.store.ledger
        found = await ledger.ticks(NS, SCHEDULE, later(start, 60), later(start, 180), None, MANY)
        assert [one.run_key for one in found] == keys[1:]
        assert [one.state for one in found] == [RunState.READY, RunState.PLANNED]
        assert list(await ledger.ticks(OTHER_NS, SCHEDULE, start, harness.now, None, MANY)) == []

    async def test_ended_runs_are_found_by_their_end_and_no_others(self, harness: StoreHarness) -> None:
        await put(harness)
        start = harness.now
        keys = await due_ticks(harness, 5, 10, 15, 20)
        claims = {one.run_key: one for one in await start_ticks(harness)}
        for key in (keys[2], keys[0], keys[1]):
            await harness.advance(10)
            await finish(harness, success(claims[key].ticket))
        ledger, first = harness.store.ledger, later(start, 30)
        found = await ledger.ended(NS, SCHEDULE, first, harness.now, MANY)
        assert [one.run_key for one in found] == [keys[1], keys[0]]
        assert [one.finished_at for one in found] == [later(start, 50), later(start, 40)]
        found = await ledger.ended(NS, SCHEDULE, start, later(start, 40), 1)
        assert [one.run_key for one in found] == [keys[0]]
        assert list(await ledger.ended(OTHER_NS, SCHEDULE, start, harness.now, MANY)) == []

    async def test_running_runs_come_by_their_silence(self, harness: StoreHarness) -> None:
        first = await claim_one(harness, "one")
        second = await claim_one(harness, "two")
        await enqueue(harness, "waiting")
        await harness.advance(5)
        await harness.store.ledger.pulse([first.ticket], 30)
        ledger = harness.store.ledger
        found = await ledger.running(NS, MANY)
        assert [one.run_key for one in found] == [second.run_key, first.run_key]
        assert [one.alive_until for one in found] == [at(harness, 25), at(harness, 30)]
        assert [one.run_key for one in await ledger.running(NS, 1)] == [second.run_key]
        assert list(await ledger.running(OTHER_NS, MANY)) == []

    async def test_a_run_that_does_not_run_shows_no_life(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await finish(harness, retry(claimed.ticket, in_s=60))
        assert (await read(harness, claimed.run_key)).alive_until is None

    async def test_a_typical_run_is_not_guessed(self, harness: StoreHarness) -> None:
        await put(harness)
        ledger = harness.store.ledger
        assert await ledger.typical_run_s(NS, SCHEDULE) is None
        await ended_after(harness, 10, good=True)
        await ended_after(harness, 1000, good=False)
        await ended_after(harness, 20, good=True)
        assert await ledger.typical_run_s(NS, SCHEDULE) == pytest.approx(15)
        assert await ledger.typical_run_s(NS, OTHER_SCHEDULE) is None

    async def test_a_typical_run_is_not_one_of_long_ago(self, harness: StoreHarness) -> None:
        await put(harness)
        await ended_after(harness, 1000, good=True)
        for _ in range(TYPICAL_OF):
            await ended_after(harness, 10, good=True)
        assert await harness.store.ledger.typical_run_s(NS, SCHEDULE) == pytest.approx(10)

    async def test_what_is_held_is_not_in_the_depth_of_the_queue(self, harness: StoreHarness) -> None:
        held, _ = await enqueue(harness, "one", "two")
        await harness.store.ledger.hold(NS, held, ANNA)
        assert (await harness.store.ledger.depth(NS)).ready == 1

    async def test_a_trigger_by_hand_is_no_live_tick(self, harness: StoreHarness) -> None:
        await put(harness)
        key = await harness.store.ledger.trigger(NS, SCHEDULE, harness.now)
        assert key is not None
        assert (await read(harness, key)).origin is Origin.MANUAL


async def listed(harness: StoreHarness, wanted: RunFilter) -> list[RunKey]:
    """The keys that are listed."""
    return [one.run_key for one in await harness.store.ledger.list(NS, wanted)]


async def ended_after(harness: StoreHarness, seconds: float, *, good: bool) -> None:
    """Run a tick of the one schedule for so long."""
    await due_ticks(harness, 60)
    (claimed,) = await start_ticks(harness)
    await harness.advance(seconds)
    await finish(harness, success(claimed.ticket) if good else death(claimed.ticket))
