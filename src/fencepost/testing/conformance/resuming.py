"""The behaviour of a resumption that takes back some of the pause."""

from __future__ import annotations

from fencepost.model.identifiers import tick_key
from fencepost.model.run import RunState
from fencepost.testing.conformance.builders import (
    NS,
    SCHEDULE,
    at,
    make_plan,
    plan_ticks,
    put,
    read_cursor,
    states,
    write,
)
from fencepost.testing.conformance.harness import StoreHarness


class ResumingContract:
    """How far back a resumed schedule plans."""

    async def test_a_resumed_schedule_does_not_plan_its_pause(self, harness: StoreHarness) -> None:
        await paused_for(harness, 600)
        await harness.store.schedules.resume(NS, SCHEDULE)
        assert (await read_cursor(harness)).planned_through == harness.now

    async def test_so_much_of_the_pause_is_planned_after_all(self, harness: StoreHarness) -> None:
        await paused_for(harness, 600)
        assert await harness.store.schedules.resume(NS, SCHEDULE, back_s=200)
        cursor, since = await read_cursor(harness), at(harness, -200)
        assert (cursor.version, cursor.planned_through) == (2, since)
        versions = await harness.store.schedules.history(NS, SCHEDULE)
        assert (versions[-1].in_force_from, versions[-1].in_force_until) == (since, None)
        await write(harness, make_plan(cursor, at(harness, -120), at(harness, -60)))
        key = tick_key(SCHEDULE, at(harness, -60), 2)
        assert await states(harness, key) == [RunState.READY]

    async def test_no_more_than_the_pause_is_taken_back(self, harness: StoreHarness) -> None:
        await paused_for(harness, 600)
        await harness.store.schedules.resume(NS, SCHEDULE, back_s=10_000)
        assert (await read_cursor(harness)).planned_through == at(harness, -600)

    async def test_what_ran_before_the_pause_does_not_run_again(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await plan_ticks(harness, 60)
        await harness.advance(60)
        await harness.store.schedules.pause(NS, SCHEDULE, "holidays")
        await harness.advance(600)
        await harness.store.schedules.resume(NS, SCHEDULE, back_s=10_000)
        cursor = await read_cursor(harness)
        receipt = await write(harness, make_plan(cursor, at(harness, -600), at(harness, -60)))
        assert receipt.runs_written == 1
        assert await states(harness, key) == [RunState.READY]

    async def test_what_the_pause_withdrew_stays_withdrawn_beside_its_successor(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        (old,) = await plan_ticks(harness, 60)
        fire_time = at(harness, 60)
        await harness.store.schedules.pause(NS, SCHEDULE, "holidays")
        await harness.advance(600)
        await harness.store.schedules.resume(NS, SCHEDULE, back_s=10_000)
        await write(harness, make_plan(await read_cursor(harness), fire_time))
        new = tick_key(SCHEDULE, fire_time, 2)
        assert await states(harness, old, new) == [RunState.WITHDRAWN, RunState.READY]


async def paused_for(harness: StoreHarness, seconds: float) -> None:
    """A schedule that has been paused for so long."""
    await put(harness)
    await harness.advance(60)
    await harness.store.schedules.pause(NS, SCHEDULE, "holidays")
    await harness.advance(seconds)
