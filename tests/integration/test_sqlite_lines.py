"""A long line of ticks behind live work: it hides neither the live ticks nor its own end."""

from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path

import pytest

from fencepost.core.verdict import judge
from fencepost.model.audit import Author
from fencepost.model.backfill import FillTick, NewBackfill
from fencepost.model.claiming import ScheduleFacts
from fencepost.model.policies import Overlap
from fencepost.model.run import Claim, Hold, Origin, RunFilter
from fencepost.rules.facts import DUE_MAX
from fencepost.testing.conformance.builders import (
    MANY,
    NS,
    SCHEDULE,
    Witness,
    at,
    claim_request,
    due_ticks,
    finish,
    make_spec,
    put,
    success,
)
from tests.conformance.clocked import ClockHarness
from tests.conformance.on_sqlite import open_sqlite

LINE = 2 * DUE_MAX + 50
ANNA = Author("anna", "test")


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[ClockHarness]:
    opened = await open_sqlite(tmp_path / "fencepost.db")
    await put(opened, make_spec(overlap=Overlap.BUFFER_ONE))
    yield opened
    await opened.close()


async def line_up(harness: ClockHarness) -> None:
    """A backfill of more ticks than a judge is shown at once, one at a time."""
    asked = NewBackfill(SCHEDULE, at(harness, -LINE), harness.now)
    backfill = await harness.store.backfills.start(NS, asked, ANNA)
    assert backfill is not None
    ticks = [FillTick(at(harness, -number), 1) for number in range(LINE)]
    assert await harness.store.backfills.fill(backfill, ticks, asked.until, ANNA) == LINE


async def judged(harness: ClockHarness) -> list[Claim]:
    return list(await harness.store.ledger.claim_ticks(claim_request(), MANY, judge))


async def facts_of(harness: ClockHarness) -> ScheduleFacts:
    witness = Witness()
    await harness.store.ledger.claim_ticks(claim_request(), MANY, witness)
    (facts,) = witness.facts
    return facts


async def parked(harness: ClockHarness) -> list[datetime]:
    listed = await harness.store.ledger.list(NS, RunFilter(held=True, limit=LINE))
    assert {one.held for one in listed} <= {Hold.PARKED}
    return [one.fire_time for one in listed]


async def test_the_end_of_a_line_is_not_hidden_by_those_that_are_parked(harness: ClockHarness) -> None:
    await line_up(harness)
    (first,) = await judged(harness)
    assert first.fire_time == at(harness, 1 - LINE)
    while (await harness.store.ledger.outlook(claim_request())).tick is not None:
        before = len(await parked(harness))
        assert await judged(harness) == []
        assert len(await parked(harness)) > before, "a worker would ask for ever"
    assert len(await parked(harness)) == LINE - 1


async def test_the_next_of_a_line_is_not_any_but_the_first(harness: ClockHarness) -> None:
    await line_up(harness)
    for place in range(3):
        (claimed,) = await judged(harness)
        assert claimed.fire_time == at(harness, 1 - LINE + place)
        await finish(harness, success(claimed.ticket))


async def test_live_ticks_are_not_hidden_by_a_line(harness: ClockHarness) -> None:
    await line_up(harness)
    (live,) = await due_ticks(harness, 60)
    facts = await facts_of(harness)
    assert (facts.due[0].run_key, facts.due[0].origin) == (live, Origin.LIVE)
    assert facts.newest_due == facts.due[0].fire_time
    assert {one.origin for one in facts.due[1:]} == {Origin.BACKFILL}
