"""The behaviour of a trigger by hand: one extra tick, never two."""

from __future__ import annotations

from fencepost.model.identifiers import RunKey, tick_key
from fencepost.model.run import RunState
from fencepost.testing.conformance.builders import (
    NS,
    SCHEDULE,
    make_spec,
    put,
    read,
    read_cursor,
    start_ticks,
)
from fencepost.testing.conformance.harness import StoreHarness


class TriggerContract:
    """An extra tick, asked for by a person."""

    async def test_an_extra_tick_is_due_at_once(self, harness: StoreHarness) -> None:
        await put(harness)
        key = await trigger(harness)
        assert key == tick_key(SCHEDULE, harness.now, 1)
        run = await read(harness, key)
        assert (run.state, run.fire_time, run.schedule_id) == (RunState.READY, harness.now, SCHEDULE)

    async def test_does_not_trigger_what_is_not_there(self, harness: StoreHarness) -> None:
        ledger = harness.store.ledger
        assert await ledger.trigger(NS, SCHEDULE, harness.now) is None
        await put(harness)
        await harness.store.schedules.remove(NS, SCHEDULE)
        assert await ledger.trigger(NS, SCHEDULE, harness.now) is None

    async def test_a_repeated_trigger_writes_nothing_twice(self, harness: StoreHarness) -> None:
        await put(harness)
        fire_time, key = harness.now, await trigger(harness)
        (claimed,) = await start_ticks(harness)
        await harness.advance(5)
        assert await harness.store.ledger.trigger(NS, SCHEDULE, fire_time) == key
        assert (await read(harness, key)).fence == claimed.fence

    async def test_a_trigger_is_of_the_version_in_force(self, harness: StoreHarness) -> None:
        await put(harness)
        await put(harness, make_spec(every_s=90, payload={"n": 2}))
        run = await read(harness, await trigger(harness))
        assert (run.version, run.payload) == (2, {"n": 2})

    async def test_a_trigger_does_not_wait_for_a_paused_schedule(self, harness: StoreHarness) -> None:
        await put(harness)
        await harness.store.schedules.pause(NS, SCHEDULE, "holidays")
        key = await trigger(harness)
        assert [one.run_key for one in await start_ticks(harness)] == [key]

    async def test_a_trigger_does_not_move_the_cursor(self, harness: StoreHarness) -> None:
        await put(harness)
        before = await read_cursor(harness)
        await harness.advance(30)
        await trigger(harness)
        assert await read_cursor(harness) == before


async def trigger(harness: StoreHarness) -> RunKey:
    """Trigger the one schedule now."""
    key = await harness.store.ledger.trigger(NS, SCHEDULE, harness.now)
    assert key is not None
    return key
