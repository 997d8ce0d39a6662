"""The behaviour of a run's own dates: when it was written, and when it last changed."""

from __future__ import annotations

from datetime import datetime

from fencepost.model.identifiers import RunKey
from fencepost.model.run import ProgressReport, RunFilter
from fencepost.testing.conformance.builders import (
    BOB,
    NS,
    SCHEDULE,
    at,
    claim,
    claim_one,
    death,
    due_ticks,
    enqueue,
    finish,
    put,
    read,
    retry,
    start_ticks,
    success,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.operators import ANNA


class RunTimesContract:
    """`created_at` and `updated_at`."""

    async def test_a_run_by_hand_was_not_written_before_it_was_enqueued(self, harness: StoreHarness) -> None:
        (key,) = await enqueue(harness, "one")
        written = harness.now
        await harness.advance(5)
        assert await times(harness, key) == (written, written)

    async def test_a_tick_was_not_written_when_it_fires_but_when_it_was_planned(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        written = harness.now
        (key,) = await due_ticks(harness, 60)
        assert await times(harness, key) == (written, written)
        (claimed,) = await start_ticks(harness)
        assert await times(harness, key) == (written, harness.now)
        await harness.advance(5)
        await finish(harness, success(claimed.ticket))
        assert await times(harness, key) == (written, harness.now)

    async def test_each_change_of_a_run_is_its_last(self, harness: StoreHarness) -> None:
        written = harness.now
        first = await claim_one(harness)
        key = first.run_key
        await harness.advance(5)
        await harness.store.ledger.report_progress([ProgressReport(first.ticket, "0.5")])
        assert await times(harness, key) == (written, harness.now)
        await harness.advance(5)
        await finish(harness, retry(first.ticket))
        await harness.advance(5)
        (second,) = await claim(harness, BOB)
        assert await times(harness, key) == (written, harness.now)
        await harness.advance(5)
        await finish(harness, death(second.ticket))
        ended = harness.now
        await harness.advance(5)
        assert await times(harness, key) == (written, ended)

    async def test_a_replay_does_not_make_a_run_younger(self, harness: StoreHarness) -> None:
        written = harness.now
        first = await claim_one(harness)
        await finish(harness, death(first.ticket))
        await harness.advance(5)
        await harness.store.ledger.replay(NS, [first.run_key], 0.0, ANNA)
        await harness.advance(5)
        (second,) = await claim(harness, BOB)
        assert await times(harness, second.run_key) == (written, harness.now)

    async def test_no_reading_shows_other_dates(self, harness: StoreHarness) -> None:
        await put(harness)
        written = harness.now
        (key,) = await due_ticks(harness, 60)
        await start_ticks(harness)
        ledger, found = harness.store.ledger, (written, harness.now)
        (listed,) = await ledger.list(NS, RunFilter(schedule_id=SCHEDULE))
        (tick,) = await ledger.ticks(NS, SCHEDULE, at(harness, -3600), at(harness, 3600), None, 10)
        (running,) = await ledger.running(NS, 10)
        many = await ledger.get_many(NS, [key])
        for one in (listed, tick, running, many[key]):
            assert (one.created_at, one.updated_at) == found


async def times(harness: StoreHarness, run_key: RunKey) -> tuple[datetime | None, datetime | None]:
    """When a run was written, and when it last changed."""
    run = await read(harness, run_key)
    return run.created_at, run.updated_at
