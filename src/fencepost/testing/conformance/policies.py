"""The policies end to end: the real judge over a real store."""

from __future__ import annotations

from typing import Any

from fencepost.core.verdict import judge
from fencepost.model.identifiers import RunKey
from fencepost.model.policies import CatchUp, Overlap, parse_overlap
from fencepost.model.run import Claim, Hold, Origin, Receipt, RunState
from fencepost.testing.conformance.builders import (
    MANY,
    NS,
    SCHEDULE,
    at,
    due_ticks,
    finish,
    make_spec,
    put,
    read,
    retry,
    states,
    success,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.operators import ANNA, claim_judged, holds

READY, RUNNING, SKIPPED = RunState.READY, RunState.RUNNING, RunState.SKIPPED
MISSED, CANCELLED = RunState.MISSED, RunState.CANCELLED
SUCCEEDED = RunState.SUCCEEDED


class OverlapContract:
    """What a tick does beside an unfinished run."""

    async def test_skip_does_not_start_a_second_run(self, harness: StoreHarness) -> None:
        first = await one_runs(harness, overlap=Overlap.SKIP)
        (key,) = await due_ticks(harness, 60)
        assert await started(harness) == []
        run = await read(harness, key)
        assert (run.state, run.blocked_by) == (SKIPPED, first.run_key)
        assert first.run_key in str(run.reason)

    async def test_skip_does_not_let_a_tick_slip_in_behind_the_end(self, harness: StoreHarness) -> None:
        first = await one_runs(harness, overlap=Overlap.SKIP)
        (key,) = await due_ticks(harness, 60)
        await harness.advance(1)
        await finish(harness, success(first.ticket))
        assert await started(harness) == []
        assert await states(harness, key) == [SKIPPED]

    async def test_buffer_one_keeps_one_and_no_more(self, harness: StoreHarness) -> None:
        first = await one_runs(harness, overlap=Overlap.BUFFER_ONE)
        (waits,) = await due_ticks(harness, 60)
        assert await started(harness) == []
        (skipped,) = await due_ticks(harness, 60)
        assert await started(harness) == []
        assert await states(harness, waits, skipped) == [READY, SKIPPED]
        assert await holds(harness, waits) == [Hold.PARKED]
        await finish(harness, success(first.ticket))
        assert await started(harness) == [waits]

    async def test_a_buffered_tick_is_not_late_while_it_waits(self, harness: StoreHarness) -> None:
        first = await one_runs(harness, overlap=Overlap.BUFFER_ONE, catch_up=CatchUp("none", "1m"))
        (waits,) = await due_ticks(harness, 60)
        await started(harness)
        await harness.advance(7200)
        await finish(harness, success(first.ticket))
        assert await started(harness) == [waits]

    async def test_a_buffered_tick_does_not_jump_a_retry(self, harness: StoreHarness) -> None:
        first = await one_runs(harness, overlap=Overlap.BUFFER_ONE)
        (waits,) = await due_ticks(harness, 60)
        await finish(harness, retry(first.ticket, in_s=600))
        assert await started(harness) == []
        assert await states(harness, waits) == [READY]

    async def test_buffer_all_runs_each_in_its_turn(self, harness: StoreHarness) -> None:
        running = await one_runs(harness, overlap=Overlap.BUFFER_ALL)
        keys = await due_ticks(harness, 60, 120, 180)
        assert await started(harness) == []
        assert await holds(harness, *keys) == [Hold.PARKED] * 3
        for key in keys:
            await finish(harness, success(running.ticket))
            (running,) = await claim_judged(harness)
            assert running.run_key == key
            assert await claim_judged(harness) == []

    async def test_buffer_all_is_not_without_bounds(self, harness: StoreHarness) -> None:
        await one_runs(harness, overlap=parse_overlap("buffer_all(2)"))
        keys = await due_ticks(harness, 60, 120, 180)
        assert await started(harness) == []
        assert await states(harness, *keys) == [READY, READY, SKIPPED]

    async def test_a_cancelled_buffered_tick_does_not_take_its_place(self, harness: StoreHarness) -> None:
        first = await one_runs(harness, overlap=Overlap.BUFFER_ALL)
        one, two = await due_ticks(harness, 60, 120)
        await started(harness)
        await harness.store.ledger.skip(NS, one, ANNA)
        assert await started(harness) == []
        await finish(harness, success(first.ticket))
        assert await started(harness) == [two]

    async def test_cancel_other_does_not_start_before_the_other_stopped(self, harness: StoreHarness) -> None:
        first = await one_runs(harness, overlap=Overlap.CANCEL_OTHER)
        (key,) = await due_ticks(harness, 60)
        assert await started(harness) == []
        assert (await read(harness, first.run_key)).cancel_requested
        assert await finish(harness, retry(first.ticket)) is Receipt.ACCEPTED
        assert await states(harness, first.run_key, key) == [CANCELLED, READY]
        assert await started(harness) == [key]

    async def test_cancel_other_keeps_only_the_newest(self, harness: StoreHarness) -> None:
        first = await one_runs(harness, overlap=Overlap.CANCEL_OTHER)
        (old,) = await due_ticks(harness, 60)
        await started(harness)
        (new,) = await due_ticks(harness, 60)
        await started(harness)
        assert await states(harness, old, new) == [SKIPPED, READY]
        await finish(harness, success(first.ticket))
        assert await started(harness) == [new]

    async def test_terminate_other_does_not_wait(self, harness: StoreHarness) -> None:
        first = await one_runs(harness, overlap=Overlap.TERMINATE_OTHER)
        (key,) = await due_ticks(harness, 60)
        assert await started(harness) == [key]
        assert await states(harness, first.run_key, key) == [CANCELLED, RUNNING]
        assert await finish(harness, success(first.ticket)) is Receipt.REFUSED

    async def test_allow_does_not_count(self, harness: StoreHarness) -> None:
        await one_runs(harness, overlap=Overlap.ALLOW)
        keys = await due_ticks(harness, 3, 6, 9)
        assert await started(harness) == keys

    async def test_allow_of_two_does_not_start_a_third(self, harness: StoreHarness) -> None:
        await one_runs(harness, overlap=parse_overlap("allow(2)"))
        second, third = await due_ticks(harness, 3, 6)
        assert await started(harness) == [third]
        assert await states(harness, second) == [SKIPPED]

    async def test_after_an_absence_the_newest_tick_runs(self, harness: StoreHarness) -> None:
        await put(harness, make_spec(overlap=Overlap.SKIP))
        *older, newest = await due_ticks(harness, 3, 6, 9)
        assert await started(harness) == [newest]
        assert await states(harness, *older) == [SKIPPED] * 2

    async def test_an_extra_tick_is_not_above_the_policy(self, harness: StoreHarness) -> None:
        await one_runs(harness, overlap=Overlap.SKIP)
        await harness.advance(5)
        key = await harness.store.ledger.trigger(NS, SCHEDULE, harness.now)
        assert key is not None
        assert await started(harness) == []
        assert await states(harness, key) == [SKIPPED]


class CatchUpContract:
    """What becomes of late ticks."""

    async def test_none_does_not_run_what_is_too_late(self, harness: StoreHarness) -> None:
        keys = await late_ticks(harness, CatchUp("none", "1m"))
        assert await started(harness) == []
        assert await states(harness, *keys) == [MISSED] * 3

    async def test_latest_runs_one_and_accounts_for_the_others(self, harness: StoreHarness) -> None:
        keys = await late_ticks(harness, CatchUp("latest", "1h"))
        assert await started(harness) == []
        assert (await read(harness, keys[2])).origin is Origin.CATCH_UP
        assert await started(harness) == keys[2:]
        assert await states(harness, *keys) == [MISSED, MISSED, RUNNING]

    async def test_latest_does_not_run_beside_a_newer_tick(self, harness: StoreHarness) -> None:
        *_, late = await late_ticks(harness, CatchUp("latest", "1h"))
        await started(harness)
        (young,) = await due_ticks(harness, 60)
        assert await started(harness) == [young]
        assert await states(harness, late) == [MISSED]

    async def test_sequential_runs_all_and_never_two(self, harness: StoreHarness) -> None:
        keys = await late_ticks(harness, CatchUp("sequential", "1h"))
        assert await started(harness) == []
        for key in keys:
            (claimed,) = await claim_judged(harness)
            assert claimed.run_key == key
            assert await claim_judged(harness) == []
            await harness.advance(3600)
            await finish(harness, success(claimed.ticket))
        assert await states(harness, *keys) == [SUCCEEDED] * 3

    async def test_sequential_does_not_run_what_is_beyond_its_window(self, harness: StoreHarness) -> None:
        keys = await late_ticks(harness, CatchUp("sequential", "10m"))
        await started(harness)
        assert await states(harness, *keys) == [MISSED, READY, READY]
        assert await started(harness) == keys[1:2]

    async def test_parallel_does_not_exceed_its_number(self, harness: StoreHarness) -> None:
        spec = {"overlap": Overlap.ALLOW}
        keys = await late_ticks(harness, CatchUp("parallel(2)", "1h"), **spec)
        await started(harness)
        claims = await claim_judged(harness)
        assert [one.run_key for one in claims] == keys[:2]
        assert await claim_judged(harness) == []
        await harness.store.ledger.finish([success(one.ticket) for one in claims])
        assert await started(harness) == keys[2:]

    async def test_catch_up_does_not_go_before_what_is_on_time(self, harness: StoreHarness) -> None:
        keys = await late_ticks(harness, CatchUp("sequential", "1h"))
        await started(harness)
        (young,) = await due_ticks(harness, 60)
        assert await started(harness) == [young]
        assert await states(harness, *keys) == [READY] * 3

    async def test_a_sweep_admits_what_no_worker_came_for(self, harness: StoreHarness) -> None:
        keys = await late_ticks(harness, CatchUp("latest", "1h"))
        assert await harness.store.ledger.sweep_late(60, MANY, judge) == 3
        assert await states(harness, *keys) == [MISSED, MISSED, READY]
        assert (await read(harness, keys[2])).origin is Origin.CATCH_UP


async def one_runs(harness: StoreHarness, **fields: Any) -> Claim:
    """A schedule with that policy, and one of its ticks begun."""
    await put(harness, make_spec(**fields))
    await due_ticks(harness, 60)
    (claimed,) = await claim_judged(harness)
    return claimed


async def late_ticks(harness: StoreHarness, catch_up: CatchUp, **fields: Any) -> list[RunKey]:
    """Three ticks that became due ten minutes and a little more, a little less, and five minutes ago."""
    await put(harness, make_spec(catch_up=catch_up, **fields))
    keys = await due_ticks(harness, 60, 120, 360)
    await harness.advance(330)
    assert (await read(harness, keys[0])).fire_time == at(harness, -630)
    return keys


async def started(harness: StoreHarness) -> list[RunKey]:
    """The runs that the real judge lets begin now."""
    return [one.run_key for one in await claim_judged(harness)]
