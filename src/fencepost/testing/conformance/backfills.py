"""The behaviour of backfills: a range is filled once, however often it is tried."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fencepost.model.audit import Action
from fencepost.model.backfill import Backfill, BackfillState, FillMode, FillTick, NewBackfill
from fencepost.model.freeze import Scope, ScopeKind
from fencepost.model.identifiers import RunKey, tick_key
from fencepost.model.job import PRIORITY_BEHIND
from fencepost.model.missed import MissedTicks
from fencepost.model.policies import Overlap
from fencepost.model.run import Hold, Origin, RunFilter, RunState
from fencepost.ports.signals import Topic
from fencepost.testing.conformance.builders import (
    MANY,
    NS,
    OTHER_NS,
    OTHER_SCHEDULE,
    SCHEDULE,
    at,
    due_ticks,
    finish,
    make_spec,
    plan_ticks,
    put,
    read,
    retry,
    start_tick,
    start_ticks,
    states,
    success,
    write_missed,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.operators import ANNA, BEN, claim_judged, entries, facts_of, holds
from fencepost.testing.conformance.signals import hint

ACTIVE, FILLED, CANCELLED = BackfillState.ACTIVE, BackfillState.FILLED, BackfillState.CANCELLED
READY, SUCCEEDED = RunState.READY, RunState.SUCCEEDED
HOUR_S = 3600.0


class BackfillContract:
    """Starting, filling, cancelling."""

    async def test_a_new_backfill_has_written_nothing(self, harness: StoreHarness) -> None:
        backfill = await begun(harness)
        assert (backfill.state, backfill.filled_through) == (ACTIVE, at(harness, -HOUR_S))
        assert (backfill.namespace, backfill.created_at, dict(backfill.runs)) == (NS, harness.now, {})
        assert await harness.store.backfills.get(NS, backfill.backfill_id) == backfill

    async def test_those_who_fill_are_told_of_a_new_backfill(self, harness: StoreHarness) -> None:
        async with hint(harness, Topic.SCHEDULES):
            await begun(harness)

    @pytest.mark.parametrize(("mode", "runs"), [("missing", 0), ("missed", 0), ("all", 1)])
    async def test_what_retention_forgot_does_not_run_again(
        self, harness: StoreHarness, mode: str, runs: int
    ) -> None:
        claimed = await start_tick(harness)
        await finish(harness, success(claimed.ticket))
        await harness.advance(HOUR_S / 2)
        assert await harness.store.ledger.forget(60, MANY) == 1
        backfill = await begun(harness, mode=FillMode(mode))
        assert await fill(harness, backfill, -HOUR_S / 2) == runs

    async def test_a_backfill_of_nothing_is_not_started(self, harness: StoreHarness) -> None:
        request = NewBackfill(SCHEDULE, at(harness, -HOUR_S), harness.now)
        assert await harness.store.backfills.start(NS, request, ANNA) is None
        assert await entries(harness) == []

    async def test_filled_runs_do_not_pass_for_live_ones(self, harness: StoreHarness) -> None:
        backfill = await begun(harness)
        (key,) = await filled(harness, backfill, -600)
        run = await read(harness, key)
        assert (run.state, run.origin, run.priority) == (READY, Origin.BACKFILL, PRIORITY_BEHIND)
        assert (run.backfill_id, run.version, run.epoch) == (backfill.backfill_id, 1, 0)
        assert (run.fire_time, run.run_at) == (at(harness, -600), harness.now)

    async def test_a_fill_moves_the_mark_and_no_further(self, harness: StoreHarness) -> None:
        backfill = await begun(harness)
        await filled(harness, backfill, -600)
        after = await again(harness, backfill)
        assert (after.state, after.filled_through) == (ACTIVE, at(harness, -600))
        assert dict(after.runs) == {READY: 1}
        assert await harness.store.backfills.fill(after, [], harness.now, ANNA) == 0
        assert (await again(harness, backfill)).state is FILLED

    async def test_two_that_fill_at_once_do_not_fill_twice(self, harness: StoreHarness) -> None:
        backfill = await begun(harness)
        await filled(harness, backfill, -600)
        ticks = [FillTick(at(harness, -300), 1)]
        assert await harness.store.backfills.fill(backfill, ticks, harness.now, ANNA) is None
        after = await again(harness, backfill)
        assert (after.state, after.filled_through) == (ACTIVE, at(harness, -600))
        assert dict(after.runs) == {READY: 1}

    async def test_a_full_backfill_is_not_filled_again(self, harness: StoreHarness) -> None:
        backfill = await begun(harness)
        await harness.store.backfills.fill(backfill, [], harness.now, ANNA)
        full = await again(harness, backfill)
        ticks = [FillTick(at(harness, -300), 1)]
        assert await harness.store.backfills.fill(full, ticks, harness.now, ANNA) is None

    async def test_filled_runs_do_not_wait_for_the_poll(self, harness: StoreHarness) -> None:
        backfill = await begun(harness)
        async with hint(harness, Topic.RUNS):
            await filled(harness, backfill, -600)

    async def test_filled_runs_do_not_come_faster_than_asked(self, harness: StoreHarness) -> None:
        backfill = await begun(harness, every_s=60.0)
        keys = await filled(harness, backfill, -600, -540)
        keys += await filled(harness, await again(harness, backfill), -480)
        due = [(await read(harness, key)).run_at for key in keys]
        assert [one - due[0] for one in due] == [at(harness, 60 * nth) - harness.now for nth in range(3)]
        assert harness.now <= due[0] <= at(harness, 60)

    async def test_filled_runs_wait_for_each_other(self, harness: StoreHarness) -> None:
        await put(harness, make_spec(overlap=Overlap.ALLOW))
        backfill = await begun(harness, at_once_max=2)
        keys = await filled(harness, backfill, -600, -540, -480)
        assert [tick.at_once_max for tick in (await facts_of(harness)).due] == [2, 2, 2]
        claims = await claim_judged(harness)
        assert [one.run_key for one in claims] == keys[:2]
        assert await holds(harness, keys[2]) == [Hold.PARKED]
        await finish(harness, success(claims[0].ticket))
        assert [one.run_key for one in await claim_judged(harness)] == keys[2:]

    async def test_runs_of_a_frozen_schedule_are_filled_and_held(self, harness: StoreHarness) -> None:
        backfill = await begun(harness)
        await harness.store.freezes.freeze(NS, Scope(ScopeKind.SCHEDULE, SCHEDULE), ANNA)
        (key,) = await filled(harness, backfill, -600)
        assert await holds(harness, key) == [Hold.FROZEN]

    async def test_a_cancelled_backfill_does_not_go_on(self, harness: StoreHarness) -> None:
        backfill = await begun(harness)
        keys = await filled(harness, backfill, -600, -540, -480)
        first, second = (await start_ticks(harness))[:2]
        await finish(harness, retry(second.ticket, in_s=60))
        cancelled = await harness.store.backfills.cancel(NS, backfill.backfill_id, BEN)
        assert cancelled is not None
        assert (cancelled.state, cancelled.over) == (CANCELLED, False)
        stopped = RunState.CANCELLED
        assert await states(harness, *keys) == [RunState.RUNNING, stopped, RunState.RUNNING]
        await finish(harness, success(first.ticket))
        ticks = [FillTick(at(harness, -300), 1)]
        assert await harness.store.backfills.fill(cancelled, ticks, harness.now, ANNA) is None

    async def test_what_waits_when_a_backfill_is_cancelled_does_not_run(self, harness: StoreHarness) -> None:
        backfill = await begun(harness)
        keys = await filled(harness, backfill, -600, -540)
        (live,) = await due_ticks(harness, 60)
        cancelled = await harness.store.backfills.cancel(NS, backfill.backfill_id, BEN)
        assert cancelled is not None
        assert cancelled.over
        assert await states(harness, *keys) == [RunState.MISSED] * 2
        assert [one.run_key for one in await start_ticks(harness)] == [live]

    async def test_a_backfill_is_not_cancelled_twice(self, harness: StoreHarness) -> None:
        backfill = await begun(harness)
        backfills = harness.store.backfills
        first = await backfills.cancel(NS, backfill.backfill_id, BEN)
        assert await backfills.cancel(NS, backfill.backfill_id, ANNA) == first
        assert await backfills.cancel(NS, 999, ANNA) is None
        assert await backfills.cancel(OTHER_NS, backfill.backfill_id, ANNA) is None
        (entry,) = await entries(harness, action=Action.BACKFILL_CANCEL)
        assert (entry.author, entry.subject) == (BEN, str(backfill.backfill_id))

    async def test_a_backfill_is_not_started_in_silence(self, harness: StoreHarness) -> None:
        backfill = await begun(harness)
        await filled(harness, backfill, -600)
        (entry,) = await entries(harness)
        assert (entry.action, entry.author) == (Action.BACKFILL_START, ANNA)
        assert (entry.subject, entry.before) == (str(backfill.backfill_id), {})
        assert entry.after

    async def test_backfills_are_listed_and_not_mixed(self, harness: StoreHarness) -> None:
        first, second = await begun(harness), await begun(harness)
        await put(harness, namespace=OTHER_NS)
        request = replace(first.request, mode=FillMode.ALL, at_once_max=3, every_s=1.5)
        other = await harness.store.backfills.start(OTHER_NS, request, ANNA)
        backfills = harness.store.backfills
        assert list(await backfills.list(NS, MANY)) == [second, first]
        assert list(await backfills.list(NS, 1)) == [second]
        assert list(await backfills.list(NS, MANY, second.backfill_id)) == [first]
        assert list(await backfills.list(NS, MANY, first.backfill_id)) == []
        assert list(await backfills.list(OTHER_NS, MANY)) == [other]
        assert other is not None
        assert other.request == request
        assert await backfills.get(OTHER_NS, first.backfill_id) is None
        await backfills.fill(first, [], harness.now, ANNA)
        assert list(await backfills.active(MANY)) == [second, other]
        assert list(await backfills.active(1)) == [second]
        assert list(await backfills.active(1, {NS})) == [other]
        assert list(await backfills.active(MANY, {NS, OTHER_NS})) == []

    async def test_progress_is_not_guessed(self, harness: StoreHarness) -> None:
        backfill = await begun(harness)
        keys = await filled(harness, backfill, -600, -540, -480)
        (live,) = await due_ticks(harness, 60)
        for claimed in (await start_ticks(harness))[:2]:
            await finish(harness, success(claimed.ticket))
        assert await states(harness, live) == [SUCCEEDED]
        assert dict((await again(harness, backfill)).runs) == {SUCCEEDED: 1, RunState.RUNNING: 2}
        listed = await harness.store.ledger.list(NS, RunFilter(backfill_id=backfill.backfill_id))
        assert [one.run_key for one in listed] == keys[::-1]


class FillModeContract:
    """Which fire times a backfill touches."""

    @pytest.mark.parametrize("mode", list(FillMode))
    async def test_what_waits_or_runs_is_left_alone(self, harness: StoreHarness, mode: FillMode) -> None:
        await put(harness)
        running, waiting = await due_ticks(harness, 30, 60)
        (claimed,) = await start_ticks(harness, limit=1)
        backfill = await begun(harness, mode=mode)
        assert await fill(harness, backfill, -30, 0) == 0
        assert await states(harness, running, waiting) == [RunState.RUNNING, READY]
        assert (await read(harness, running)).fence == claimed.fence
        assert (await read(harness, waiting)).origin is Origin.LIVE

    @pytest.mark.parametrize(
        ("mode", "counts"),
        [(FillMode.MISSING, (0, 0)), (FillMode.MISSED, (1, 0)), (FillMode.ALL, (1, 1))],
    )
    async def test_what_has_ended_runs_again_only_where_asked(
        self, harness: StoreHarness, mode: FillMode, counts: tuple[int, int]
    ) -> None:
        await put(harness)
        skipped, good = await due_ticks(harness, 30, 60)
        await harness.store.ledger.skip(NS, skipped, BEN)
        (claimed,) = await start_ticks(harness)
        await finish(harness, success(claimed.ticket))
        backfill = await begun(harness, mode=mode)
        assert await fill(harness, backfill, -30) == counts[0]
        assert await fill(harness, await again(harness, backfill), 0) == counts[1]
        assert sum((await again(harness, backfill)).runs.values()) == sum(counts)
        expected = [(RunState.SKIPPED, READY)[counts[0]], (SUCCEEDED, READY)[counts[1]]]
        assert await states(harness, skipped, good) == expected

    async def test_a_run_that_is_filled_again_keeps_its_attempts_and_its_number(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        (key,) = await due_ticks(harness, 60)
        (claimed,) = await start_ticks(harness)
        await finish(harness, success(claimed.ticket))
        backfill = await begun(harness, mode=FillMode.ALL)
        await fill(harness, backfill, 0)
        run = await read(harness, key)
        assert (run.attempt, run.attempts_before_replay, run.fence) == (1, 1, 0)
        assert (run.backfill_id, run.priority) == (backfill.backfill_id, PRIORITY_BEHIND)
        (entry,) = await entries(harness, subject=key)
        assert (entry.action, entry.author) == (Action.RUN_REPLAY, ANNA)

    @pytest.mark.parametrize("mode", list(FillMode))
    async def test_a_withdrawn_run_does_not_account_for_its_fire_time(
        self, harness: StoreHarness, mode: FillMode
    ) -> None:
        await put(harness)
        (withdrawn,) = await plan_ticks(harness, 60)
        await put(harness, make_spec(every_s=90))
        await harness.advance(120)
        backfill = await begun(harness, mode=mode)
        assert await fill(harness, backfill, -60, version=2) == 1
        run = await read(harness, tick_key(SCHEDULE, at(harness, -60), 2))
        assert (run.origin, run.state) == (Origin.BACKFILL, READY)
        assert await states(harness, withdrawn) == [RunState.WITHDRAWN]

    @pytest.mark.parametrize("mode", list(FillMode))
    async def test_a_withdrawn_key_is_made_ready_and_not_written_twice(
        self, harness: StoreHarness, mode: FillMode
    ) -> None:
        await put(harness)
        (key,) = await plan_ticks(harness, 60)
        await harness.store.schedules.pause(NS, SCHEDULE, "holidays")
        await harness.advance(120)
        backfill = await begun(harness, mode=mode)
        assert await fill(harness, backfill, -60) == 1
        run = await read(harness, key)
        assert (run.state, run.origin, run.backfill_id) == (READY, Origin.BACKFILL, backfill.backfill_id)
        assert (run.finished_at, run.reason, run.run_at) == (None, None, harness.now)
        assert [one.run_key for one in await start_ticks(harness)] == [key]
        assert len(await entries(harness, subject=key)) == 1

    async def test_a_missed_range_is_left_alone_by_a_backfill_of_what_is_missing(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        await three_missed(harness)
        backfill = await begun(harness)
        assert await fill(harness, backfill, -120) == 0
        assert await range_counts(harness) == [3]

    @pytest.mark.parametrize("mode", [FillMode.MISSED, FillMode.ALL])
    async def test_a_filled_fire_time_is_not_counted_as_missed_any_more(
        self, harness: StoreHarness, mode: FillMode
    ) -> None:
        await put(harness)
        await three_missed(harness)
        backfill = await begun(harness, mode=mode)
        assert await fill(harness, backfill, -120) == 1
        assert await range_counts(harness) == [2]
        assert await fill(harness, await again(harness, backfill), -60) == 1
        assert await range_counts(harness) == [1]

    async def test_a_range_that_is_filled_entirely_is_gone(self, harness: StoreHarness) -> None:
        await put(harness)
        await three_missed(harness)
        backfill = await begun(harness, mode=FillMode.MISSED)
        assert await fill(harness, backfill, -180, -120, -60) == 3
        assert sum(await range_counts(harness)) == 0

    async def test_another_schedules_runs_do_not_account_for_a_fire_time(self, harness: StoreHarness) -> None:
        await put(harness)
        await put(harness, schedule_id=OTHER_SCHEDULE)
        await due_ticks(harness, 60, schedule_id=OTHER_SCHEDULE)
        assert await fill(harness, await begun(harness), 0) == 1


async def begun(harness: StoreHarness, **fields: Any) -> Backfill:
    """A backfill of the last hour of the one schedule."""
    if await harness.store.schedules.get(NS, SCHEDULE) is None:
        await put(harness)
    request = NewBackfill(SCHEDULE, at(harness, -HOUR_S), harness.now, **fields)
    backfill = await harness.store.backfills.start(NS, request, ANNA)
    assert backfill is not None
    assert backfill.request == request
    return backfill


async def again(harness: StoreHarness, backfill: Backfill) -> Backfill:
    """The backfill as it is now."""
    known = await harness.store.backfills.get(NS, backfill.backfill_id)
    assert known is not None
    return known


async def fill(harness: StoreHarness, backfill: Backfill, *after_s: float, version: int = 1) -> int:
    """Fill in ticks at these seconds from now, up to the last of them; how many runs that made."""
    ticks = [FillTick(at(harness, seconds), version) for seconds in after_s]
    count = await harness.store.backfills.fill(backfill, ticks, ticks[-1].fire_time, ANNA)
    assert count is not None
    return count


async def filled(harness: StoreHarness, backfill: Backfill, *after_s: float) -> list[RunKey]:
    """Fill in ticks that nothing accounts for; their keys."""
    assert await fill(harness, backfill, *after_s) == len(after_s)
    return [tick_key(SCHEDULE, at(harness, seconds), 1) for seconds in after_s]


async def three_missed(harness: StoreHarness) -> None:
    """A range of three missed ticks, 180, 120 and 60 seconds ago."""
    times = tuple(at(harness, seconds) for seconds in (60, 120, 180))
    await write_missed(harness, MissedTicks(times, "too late"))
    await harness.advance(240)


async def range_counts(harness: StoreHarness) -> list[int]:
    """How many ticks each missed range still counts."""
    ledger = harness.store.ledger
    return [one.count for one in await ledger.missed_ranges(NS, SCHEDULE, at(harness, -HOUR_S), harness.now)]
