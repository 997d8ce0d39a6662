"""The behaviour of limits towards ticks: what is judged starts within them, and is not judged in vain."""

from __future__ import annotations

from fencepost.core.limits import decide
from fencepost.core.verdict import judge
from fencepost.model.identifiers import RunKey, ScheduleId
from fencepost.model.policies import CatchUp, parse_overlap
from fencepost.model.run import Claim, Hold, RunState
from fencepost.testing.conformance.builders import (
    MANY,
    OTHER_SCHEDULE,
    SCHEDULE,
    claim_request,
    due_ticks,
    enqueue,
    finish,
    make_spec,
    put,
    read,
    start_all,
    success,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.limits import limit, names, take
from fencepost.testing.conformance.operators import holds

LIMITED, FREE = Hold.LIMITED, Hold.NONE


class LimitedTickContract:
    """Ticks of limited jobs."""

    async def test_a_tick_does_not_start_beyond_the_limit(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=1)
        first, second = await two_schedules(harness)
        (started,) = await take_ticks(harness)
        waiting = second if started.run_key == first else first
        assert await holds(harness, waiting) == [LIMITED]
        assert await take_ticks(harness) == []
        await finish(harness, success(started.ticket))
        assert [one.run_key for one in await take_ticks(harness)] == [waiting]

    async def test_a_tick_does_not_start_where_a_direct_run_has_the_slot(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=1)
        await enqueue(harness, "a")
        (first,) = await take(harness)
        await put(harness)
        (tick,) = await due_ticks(harness, 5)
        assert await take_ticks(harness) == []
        await finish(harness, success(first.ticket))
        assert await holds(harness, tick) == [FREE]
        assert [one.run_key for one in await take_ticks(harness)] == [tick]

    async def test_a_direct_run_does_not_start_where_a_tick_has_the_slot(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=1)
        await put(harness)
        await due_ticks(harness, 5)
        (started,) = await take_ticks(harness)
        await enqueue(harness, "a")
        assert await take(harness) == []
        await finish(harness, success(started.ticket))
        assert names(await take(harness)) == ["a"]

    async def test_a_tick_does_not_start_faster_than_the_rate(self, harness: StoreHarness) -> None:
        await limit(harness, rate="6/m")
        await two_schedules(harness)
        (started,) = await take_ticks(harness)
        assert not (await harness.store.ledger.outlook(claim_request())).is_anything_due
        await harness.advance(10)
        assert (await harness.store.ledger.outlook(claim_request())).lined
        assert await take(harness) == []
        (later,) = await take_ticks(harness)
        assert later.run_key != started.run_key

    async def test_waiting_for_a_slot_does_not_stop_lateness(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=1)
        await enqueue(harness, "a")
        await take(harness)
        await put(harness, make_spec(catch_up=CatchUp("none")))
        (tick,) = await due_ticks(harness, 5)
        await harness.store.ledger.claim_ticks(claim_request(), MANY, judge, decide)
        assert await holds(harness, tick) == [LIMITED]
        await harness.advance(24 * 3600)
        assert await harness.store.ledger.unpark(MANY) == 1
        await harness.store.ledger.claim_ticks(claim_request(), MANY, judge, decide)
        assert (await read(harness, tick)).state is RunState.MISSED

    async def test_without_a_limiter_nothing_of_a_limited_job_starts(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=1)
        await put(harness)
        (tick,) = await due_ticks(harness, 5)
        assert list(await harness.store.ledger.claim_ticks(claim_request(), MANY, start_all)) == []
        assert await holds(harness, tick) == [FREE]

    async def test_an_older_tick_is_not_overtaken_by_a_newer_one(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=1)
        await put(harness, make_spec(overlap=parse_overlap("allow")))
        first, second = await due_ticks(harness, 5, 6)
        (started,) = await take_ticks(harness)
        await harness.advance(1)
        third = (await due_ticks(harness, 5))[0]
        await take_ticks(harness)
        await finish(harness, success(started.ticket))
        (next_one,) = await take_ticks(harness)
        assert [started.run_key, next_one.run_key] == [first, second]
        assert await holds(harness, third) == [LIMITED]

    async def test_a_tick_held_beside_another_is_not_judged_over_and_over(
        self, harness: StoreHarness
    ) -> None:
        """The schedule was edited: its older tick waits for customer 7, and the newer one, of customer 8, for
        the older."""
        await limit(harness, concurrency=1, key="customer")
        await enqueue(harness, "a", payload={"customer": 7})
        (running,) = await take(harness)
        found = []
        for customer in (7, 8):
            payload = {"customer": customer}
            await put(harness, make_spec(overlap=parse_overlap("allow"), payload=payload))
            found += await due_ticks(harness, 5)
            assert await take_ticks(harness) == []
        assert await holds(harness, *found) == [LIMITED, LIMITED]
        assert not (await harness.store.ledger.outlook(claim_request())).is_anything_due
        await finish(harness, success(running.ticket))
        started = [*await take_ticks(harness), *await take_ticks(harness)]
        assert [one.run_key for one in started] == found

    async def test_a_tick_under_a_raised_rate_does_not_wait_for_the_old_one(
        self, harness: StoreHarness
    ) -> None:
        await limit(harness, rate="1/d")
        await two_schedules(harness)
        assert len(await take_ticks(harness)) == 1
        await limit(harness, rate="6/m")
        assert await take_ticks(harness) == []
        await harness.advance(10)
        await take(harness)
        assert len(await take_ticks(harness)) == 1


async def take_ticks(harness: StoreHarness) -> list[Claim]:
    """Claim ticks under a judge that lets everything start."""
    return list(await harness.store.ledger.claim_ticks(claim_request(), MANY, start_all, decide))


async def two_schedules(harness: StoreHarness) -> tuple[RunKey, RunKey]:
    """Two schedules of the limited job, each with a due tick."""
    found = []
    for schedule_id in (ScheduleId(SCHEDULE), OTHER_SCHEDULE):
        await put(harness, None, schedule_id)
        found += await due_ticks(harness, 5, schedule_id=schedule_id)
    return found[0], found[1]
