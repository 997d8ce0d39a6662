"""The behaviour of parked ticks: every end of a run of their schedule wakes one of them, and no more."""

from __future__ import annotations

from fencepost.model.claiming import ScheduleFacts, Start, Stop, Verdict, Wait
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import RunKey
from fencepost.model.rescue import Rescue
from fencepost.model.run import Claim, Hold, RunState
from fencepost.ports.signals import Topic
from fencepost.testing.conformance.builders import (
    MANY,
    NS,
    OTHER_NS,
    OTHER_SCHEDULE,
    death,
    due_ticks,
    finish,
    plan_ticks,
    put,
    retry,
    start_tick,
    states,
    success,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.operators import ANNA, decide, holds, is_anything_due, is_asked, park
from fencepost.testing.conformance.signals import hint

FREE, PARKED = Hold.NONE, Hold.PARKED
HOUR_S = 3600.0


class ParkingContract:
    """Wake-ups, and `unpark` for those that were missed."""

    async def test_a_finished_run_does_not_leave_all_waiting(self, harness: StoreHarness) -> None:
        claimed, first, second = await one_runs_two_wait(harness)
        async with hint(harness, Topic.RUNS):
            await finish(harness, success(claimed.ticket))
        assert await holds(harness, first, second) == [FREE, PARKED]
        assert await is_anything_due(harness)

    async def test_a_failed_run_does_not_leave_all_waiting(self, harness: StoreHarness) -> None:
        claimed, first, second = await one_runs_two_wait(harness)
        await finish(harness, death(claimed.ticket, detail="Traceback"))
        assert await holds(harness, first, second) == [FREE, PARKED]

    async def test_a_retry_does_not_ring(self, harness: StoreHarness) -> None:
        claimed, first, second = await one_runs_two_wait(harness)
        await finish(harness, retry(claimed.ticket, in_s=600))
        assert await holds(harness, first, second) == [PARKED, PARKED]
        assert not await is_asked(harness)

    async def test_a_run_that_stops_on_request_does_not_leave_all_waiting(
        self, harness: StoreHarness
    ) -> None:
        claimed, first, second = await one_runs_two_wait(harness)
        await harness.store.ledger.cancel(NS, claimed.run_key, "enough")
        assert await holds(harness, first, second) == [PARKED, PARKED]
        await finish(harness, retry(claimed.ticket))
        assert await holds(harness, first, second) == [FREE, PARKED]

    async def test_a_cancelled_retry_does_not_leave_all_waiting(self, harness: StoreHarness) -> None:
        claimed, first, second = await one_runs_two_wait(harness)
        await finish(harness, retry(claimed.ticket, in_s=600))
        async with hint(harness, Topic.RUNS):
            await harness.store.ledger.cancel(NS, claimed.run_key, "enough")
        assert await holds(harness, first, second) == [FREE, PARKED]

    async def test_a_rescue_to_the_end_does_not_leave_all_waiting(self, harness: StoreHarness) -> None:
        claimed, first, second = await one_runs_two_wait(harness)
        await harness.advance(HOUR_S)
        await harness.store.ledger.rescue([Rescue(claimed.ticket, RunState.DEAD, "lost")])
        assert await holds(harness, first, second) == [FREE, PARKED]

    async def test_a_rescue_to_another_attempt_does_not_ring(self, harness: StoreHarness) -> None:
        claimed, first, second = await one_runs_two_wait(harness)
        await harness.advance(HOUR_S)
        await harness.store.ledger.rescue([Rescue(claimed.ticket, RunState.READY, "lost")])
        assert await holds(harness, first, second) == [PARKED, PARKED]

    async def test_a_terminated_run_does_not_leave_all_waiting(self, harness: StoreHarness) -> None:
        claimed, first, second = await one_runs_two_wait(harness)
        await due_ticks(harness, 300)
        await decide(harness, Stop(claimed.run_key, "terminated", at_once=True))
        assert await holds(harness, first, second) == [FREE, PARKED]

    async def test_a_skipped_tick_does_not_leave_the_next_waiting(self, harness: StoreHarness) -> None:
        _, first, second = await one_runs_two_wait(harness)
        await harness.store.ledger.skip(NS, first, ANNA)
        assert await holds(harness, first, second) == [FREE, FREE]

    async def test_a_refused_report_does_not_ring(self, harness: StoreHarness) -> None:
        claimed, first, second = await one_runs_two_wait(harness)
        await finish(harness, success(claimed.ticket))
        await finish(harness, success(claimed.ticket))
        assert await holds(harness, first, second) == [FREE, PARKED]

    async def test_the_end_of_another_schedules_run_does_not_ring(self, harness: StoreHarness) -> None:
        _, first, second = await one_runs_two_wait(harness)
        await put(harness, schedule_id=OTHER_SCHEDULE)
        (other,) = await due_ticks(harness, 60, schedule_id=OTHER_SCHEDULE)
        (claimed,) = await decide(harness, Start(other))
        await finish(harness, success(claimed.ticket))
        assert await holds(harness, first, second) == [PARKED, PARKED]

    async def test_the_newest_is_not_woken_first(self, harness: StoreHarness) -> None:
        claimed = await start_tick(harness)
        late, early = await plan_ticks(harness, 120, 60)
        await harness.advance(120)
        await park(harness, late, early)
        await finish(harness, success(claimed.ticket))
        assert await holds(harness, early, late) == [FREE, PARKED]

    async def test_unpark_does_not_leave_a_tick_waiting_for_nothing(self, harness: StoreHarness) -> None:
        claimed = await start_tick(harness)
        keys = await due_ticks(harness, 60, 120)
        await finish(harness, success(claimed.ticket))
        await park(harness, *keys)
        async with hint(harness, Topic.RUNS):
            assert await harness.store.ledger.unpark(MANY) == 1
        assert await holds(harness, *keys) == [FREE, PARKED]

    async def test_unpark_does_not_wait_for_a_run_to_end(self, harness: StoreHarness) -> None:
        _, first, second = await one_runs_two_wait(harness)
        assert await harness.store.ledger.unpark(MANY) == 1
        assert await holds(harness, first, second) == [FREE, PARKED]

    async def test_a_wake_up_is_not_wasted_on_a_held_tick(self, harness: StoreHarness) -> None:
        claimed, first, second = await one_runs_two_wait(harness)
        await harness.store.ledger.hold(NS, first, ANNA)
        await finish(harness, success(claimed.ticket))
        assert await holds(harness, first, second) == [PARKED | Hold.OPERATOR, FREE]
        assert await harness.store.ledger.unpark(MANY) == 0

    async def test_a_tick_that_is_parked_as_the_run_before_it_is_stopped_does_not_miss_the_wake_up(
        self, harness: StoreHarness
    ) -> None:
        claimed = await start_tick(harness)
        await finish(harness, retry(claimed.ticket, in_s=600))
        (tick,) = await due_ticks(harness, 60)
        await decide(harness, Stop(claimed.run_key, "make way", at_once=False), Wait(tick, "waits"))
        assert await states(harness, claimed.run_key) == [RunState.CANCELLED]
        assert await holds(harness, tick) == [FREE]

    async def test_unpark_does_not_exceed_its_limit_or_miss_a_namespace(self, harness: StoreHarness) -> None:
        await put(harness)
        (mine,) = await due_ticks(harness, 60)
        await park(harness, mine)
        await put(harness, namespace=OTHER_NS)
        (other,) = await due_ticks(harness, 60, namespace=OTHER_NS)
        await harness.advance(1)
        ledger = harness.store.ledger
        await ledger.sweep_late(0, MANY, let_all_wait)
        assert [await ledger.unpark(1) for _ in range(3)] == [1, 1, 0]
        run = await ledger.get(OTHER_NS, other)
        assert run is not None
        assert (run.held, await holds(harness, mine)) == (FREE, [FREE])


async def one_runs_two_wait(harness: StoreHarness) -> tuple[Claim, RunKey, RunKey]:
    """A run, and two later ticks of its schedule that wait behind it."""
    claimed = await start_tick(harness)
    first, second = await due_ticks(harness, 60, 120)
    await park(harness, first, second)
    return claimed, first, second


def let_all_wait(facts: ScheduleFacts, now: StoreTime, room: int) -> list[Verdict]:
    """A judge that puts everything off."""
    return [Wait(tick.run_key, "waits") for tick in facts.due]
