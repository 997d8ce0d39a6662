"""What people asked for outlives the worker that was to hear it, and the backfill that it came from."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fencepost.model.audit import Author
from fencepost.model.backfill import FillTick, NewBackfill
from fencepost.model.claiming import ScheduleFacts, Verdict, Wait
from fencepost.model.clocks import StoreTime
from fencepost.model.rescue import Rescue
from fencepost.model.run import STOPPED_ON_REQUEST, Hold, Origin, Receipt, RunState
from fencepost.testing.conformance.builders import (
    NS,
    SCHEDULE,
    at,
    claim_with,
    death,
    due_ticks,
    finish,
    put,
    read,
    start_tick,
    start_ticks,
)
from tests.conformance.clocked import ClockHarness
from tests.conformance.on_sqlite import open_sqlite

ANNA = Author("anna", "test", "because")


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[ClockHarness]:
    opened = await open_sqlite(tmp_path / "fencepost.db")
    yield opened
    await opened.close()


def let_all_wait(facts: ScheduleFacts, now: StoreTime, room: int) -> list[Verdict]:
    return [Wait(tick.run_key, "waits") for tick in facts.due]


async def test_a_run_that_was_asked_to_stop_is_not_tried_again_when_its_worker_is_lost(
    harness: ClockHarness,
) -> None:
    claimed = await start_tick(harness)
    (waiting,) = await due_ticks(harness, 60)
    await claim_with(harness, let_all_wait)
    assert (await read(harness, waiting)).held is Hold.PARKED
    await harness.store.ledger.cancel(NS, claimed.run_key, "enough")
    await harness.advance(60)
    silent = Rescue(claimed.ticket, RunState.READY, "no sign of life")
    assert await harness.store.ledger.rescue([silent]) == [Receipt.ACCEPTED]
    run = await read(harness, claimed.run_key)
    assert (run.state, run.reason, run.error) == (RunState.CANCELLED, STOPPED_ON_REQUEST, silent.reason)
    assert run.finished_at is not None
    assert run.fence > claimed.fence
    (kept,) = await harness.store.ledger.attempts(NS, claimed.run_key)
    assert (kept.outcome, kept.error) == ("lost", silent.reason)
    assert (await read(harness, waiting)).held is Hold.NONE, "its end rings the bell"


async def test_a_run_replayed_by_hand_does_not_stay_with_its_backfill(harness: ClockHarness) -> None:
    await put(harness)
    asked = NewBackfill(SCHEDULE, at(harness, -120), harness.now)
    backfill = await harness.store.backfills.start(NS, asked, ANNA)
    assert backfill is not None
    assert (
        await harness.store.backfills.fill(backfill, [FillTick(at(harness, -60), 1)], asked.until, ANNA) == 1
    )
    (claimed,) = await start_ticks(harness)
    assert (await read(harness, claimed.run_key)).backfill_id == backfill.backfill_id
    await finish(harness, death(claimed.ticket))
    assert await harness.store.ledger.replay(NS, [claimed.run_key], 0.0, ANNA) == [claimed.run_key]
    run = await read(harness, claimed.run_key)
    assert (run.origin, run.backfill_id) == (Origin.REPLAY, None)
    known = await harness.store.backfills.get(NS, backfill.backfill_id)
    assert known is not None
    assert known.over
