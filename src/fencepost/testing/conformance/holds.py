"""The behaviour of an operator's hold, and of calling a tick off by name."""

from __future__ import annotations

from fencepost.core.verdict import judge
from fencepost.model.claiming import Outlook, nothing_due
from fencepost.model.identifiers import RunKey
from fencepost.model.policies import CatchUp
from fencepost.model.run import Hold, Origin, RunFilter, RunState
from fencepost.ports.signals import Topic
from fencepost.testing.conformance.builders import (
    MANY,
    NS,
    OTHER_NS,
    SCHEDULE,
    at,
    claim,
    claim_one,
    claim_request,
    due_ticks,
    enqueue,
    finish,
    make_plan,
    make_spec,
    plan_ticks,
    put,
    read,
    read_cursor,
    retry,
    start_tick,
    start_ticks,
    states,
    success,
    write,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.operators import ANNA, BEN, entries, holds, park
from fencepost.testing.conformance.signals import hint

ABSENT = RunKey("absent#1")
SKIPPED, SUCCEEDED = RunState.SKIPPED, RunState.SUCCEEDED


class HoldContract:
    """Hold and release."""

    async def test_a_held_run_by_hand_is_not_claimed(self, harness: StoreHarness) -> None:
        (key,) = await enqueue(harness, "one")
        held = await harness.store.ledger.hold(NS, key, ANNA)
        assert held is not None
        assert (held.state, held.held) == (RunState.READY, Hold.OPERATOR)
        assert await claim(harness) == []
        assert await outlook(harness) == nothing_due(harness.now)

    async def test_a_held_tick_is_neither_judged_nor_swept(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await plan_ticks(harness, 60)
        await harness.store.ledger.hold(NS, key, ANNA)
        assert (await outlook(harness)).next_due_at is None
        await harness.advance(10_000)
        assert await start_ticks(harness) == []
        assert await harness.store.ledger.sweep_late(60, MANY, judge) == 0
        assert await states(harness, key) == [RunState.READY]

    async def test_a_held_retry_is_not_claimed(self, harness: StoreHarness) -> None:
        claimed = await start_tick(harness)
        await finish(harness, retry(claimed.ticket))
        await harness.store.ledger.hold(NS, claimed.run_key, ANNA)
        assert await claim(harness) == []
        await harness.store.ledger.release(NS, claimed.run_key, ANNA)
        assert len(await claim(harness)) == 1

    async def test_a_held_run_does_not_hold_others(self, harness: StoreHarness) -> None:
        await put(harness)
        first, second = await due_ticks(harness, 30, 60)
        await harness.store.ledger.hold(NS, first, ANNA)
        assert [one.run_key for one in await start_ticks(harness)] == [second]

    async def test_a_released_run_does_not_stay_behind(self, harness: StoreHarness) -> None:
        (key,) = await enqueue(harness, "one")
        await harness.store.ledger.hold(NS, key, ANNA)
        async with hint(harness, Topic.RUNS):
            released = await harness.store.ledger.release(NS, key, BEN)
        assert released is not None
        assert released.held is Hold.NONE
        assert [one.run_key for one in await claim(harness)] == [key]

    async def test_a_tick_is_not_late_by_how_long_it_was_held(self, harness: StoreHarness) -> None:
        await put(harness, make_spec(catch_up=CatchUp("none", "1m")))
        (key,) = await due_ticks(harness, 60)
        await harness.store.ledger.hold(NS, key, ANNA)
        await harness.advance(600)
        await harness.store.ledger.release(NS, key, ANNA)
        assert (await read(harness, key)).run_at == harness.now
        await harness.store.ledger.claim_ticks(claim_request(), MANY, judge)
        assert await states(harness, key) == [RunState.RUNNING]

    async def test_a_release_does_not_make_a_tick_due_before_its_time(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await plan_ticks(harness, 60)
        await harness.store.ledger.hold(NS, key, ANNA)
        await harness.store.ledger.release(NS, key, ANNA)
        assert (await read(harness, key)).run_at == at(harness, 60)

    async def test_what_runs_or_has_ended_is_not_held(self, harness: StoreHarness) -> None:
        ledger, running = harness.store.ledger, await claim_one(harness)
        held = await ledger.hold(NS, running.run_key, ANNA)
        assert held == await read(harness, running.run_key)
        await finish(harness, success(running.ticket))
        held = await ledger.hold(NS, running.run_key, ANNA)
        assert held is not None
        assert (held.state, held.held) == (SUCCEEDED, Hold.NONE)
        assert await entries(harness) == []

    async def test_an_edit_does_not_withdraw_a_held_run(self, harness: StoreHarness) -> None:
        await put(harness)
        held, other = await plan_ticks(harness, 60, 120)
        await harness.store.ledger.hold(NS, held, ANNA)
        await put(harness, make_spec(every_s=30))
        assert await states(harness, held, other) == [RunState.PLANNED, RunState.WITHDRAWN]
        assert (await read(harness, held)).origin is Origin.MANUAL
        cursor = await read_cursor(harness)
        receipt = await write(harness, make_plan(cursor, at(harness, 60), at(harness, 120)))
        assert receipt.runs_written == 1

    async def test_a_pause_withdraws_held_runs_too(self, harness: StoreHarness) -> None:
        await put(harness)
        (held,) = await plan_ticks(harness, 60)
        await harness.store.ledger.hold(NS, held, ANNA)
        await harness.store.schedules.pause(NS, SCHEDULE, "holidays")
        assert await states(harness, held) == [RunState.WITHDRAWN]

    async def test_a_release_does_not_undo_another_hold(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await due_ticks(harness, 60)
        await park(harness, key)
        ledger = harness.store.ledger
        await ledger.hold(NS, key, ANNA)
        assert await holds(harness, key) == [Hold.PARKED | Hold.OPERATOR]
        await ledger.release(NS, key, ANNA)
        assert await holds(harness, key) == [Hold.PARKED]

    async def test_nothing_is_held_or_released_twice(self, harness: StoreHarness) -> None:
        (key,) = await enqueue(harness, "one")
        ledger = harness.store.ledger
        await ledger.release(NS, key, ANNA)
        for _ in range(2):
            await ledger.hold(NS, key, ANNA)
        for _ in range(2):
            await ledger.release(NS, key, ANNA)
        assert [one.action for one in await entries(harness)] == ["run.release", "run.hold"]

    async def test_the_unknown_is_not_held(self, harness: StoreHarness) -> None:
        (key,) = await enqueue(harness, "one")
        ledger = harness.store.ledger
        assert await ledger.hold(NS, ABSENT, ANNA) is None
        assert await ledger.release(NS, ABSENT, ANNA) is None
        assert await ledger.hold(OTHER_NS, key, ANNA) is None

    async def test_what_is_held_can_be_listed(self, harness: StoreHarness) -> None:
        held, free = await enqueue(harness, "one", "two")
        ledger = harness.store.ledger
        await ledger.hold(NS, held, ANNA)
        assert [one.run_key for one in await ledger.list(NS, RunFilter(held=True))] == [held]
        assert [one.run_key for one in await ledger.list(NS, RunFilter(held=False))] == [free]
        await ledger.cancel(NS, held, "not needed")
        assert list(await ledger.list(NS, RunFilter(held=True))) == []


class SkipContract:
    """Calling a tick off."""

    async def test_a_skipped_tick_does_not_run(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await plan_ticks(harness, 60)
        skipped = await harness.store.ledger.skip(NS, key, ANNA)
        assert skipped is not None
        assert (skipped.state, skipped.reason) == (SKIPPED, ANNA.reason)
        assert (skipped.finished_at, skipped.fence) == (harness.now, 0)
        await harness.advance(60)
        assert await start_ticks(harness) == []

    async def test_a_skipped_tick_does_not_come_back_with_a_plan(self, harness: StoreHarness) -> None:
        await put(harness)
        cursor = await read_cursor(harness)
        (key,) = await plan_ticks(harness, 60)
        fire_time = (await read(harness, key)).fire_time
        await harness.store.ledger.skip(NS, key, ANNA)
        await put(harness, make_spec(every_s=90))
        receipt = await write(harness, make_plan(await read_cursor(harness), fire_time))
        assert (receipt.runs_written, cursor.version) == (0, 1)

    async def test_a_held_tick_can_be_skipped(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await due_ticks(harness, 60)
        await harness.store.ledger.hold(NS, key, ANNA)
        await harness.store.ledger.skip(NS, key, ANNA)
        run = await read(harness, key)
        assert (run.state, run.held) == (SKIPPED, Hold.NONE)

    async def test_a_run_that_has_begun_is_not_skipped(self, harness: StoreHarness) -> None:
        claimed = await start_tick(harness)
        ledger = harness.store.ledger
        assert await ledger.skip(NS, claimed.run_key, ANNA) == await read(harness, claimed.run_key)
        assert await states(harness, claimed.run_key) == [RunState.RUNNING]
        await finish(harness, retry(claimed.ticket))
        await ledger.skip(NS, claimed.run_key, ANNA)
        assert await states(harness, claimed.run_key) == [RunState.READY]
        assert await entries(harness) == []

    async def test_an_ended_run_is_not_skipped(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await plan_ticks(harness, 60)
        await harness.store.schedules.pause(NS, SCHEDULE, "holidays")
        await harness.store.ledger.skip(NS, key, ANNA)
        assert await states(harness, key) == [RunState.WITHDRAWN]
        assert await harness.store.ledger.skip(NS, ABSENT, ANNA) is None
        assert await entries(harness) == []


async def outlook(harness: StoreHarness) -> Outlook:
    """What waits for a worker of this suite."""
    return await harness.store.ledger.outlook(claim_request())
