"""What counts as running for a limit, and what as too fast; and real claims that keep to both."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fencepost.config import Settings
from fencepost.core.limits import decide
from fencepost.model.job import JobSpec
from fencepost.model.limits import JobLimit
from fencepost.model.run import Claim, RunState
from fencepost.stores.memory import MemoryStore
from fencepost.testing.clock import VirtualClock
from fencepost.testing.conformance.builders import JOB, MANY, claim_request, enqueue, finish, success
from fencepost.testing.conformance.limits import limit
from tests.conformance.clocked import START, ClockHarness
from tests.history.checkers import limits
from tests.history.model import History
from tests.simulation.recording import RecordedRows, Recorder


async def recorded(**terms: Any) -> History:
    """Thirty runs of a limited job, with every change of a row written down."""
    clock = VirtualClock(START)
    rows = RecordedRows(clock)
    recorder = rows.recorder = Recorder(Settings(), rows.now)
    harness = ClockHarness(MemoryStore(clock, rows=rows), clock)
    await limit(harness, **terms)
    await enqueue(harness, *(f"run-{number}" for number in range(30)))
    ledger, running = harness.store.ledger, list[Claim]()
    for _ in range(60):
        await ledger.claim_direct(claim_request(), MANY)
        running += await ledger.claim_lined(claim_request(), 3, decide)
        for claim in running[:2]:
            await finish(harness, success(claim.ticket))
        del running[:2]
        await harness.advance(1)
    spec = JobSpec(JOB, open_payload=True, limit=JobLimit(**terms))
    return replace(recorder.history, jobs={JOB: spec})


async def test_real_claims_keep_to_their_slots_and_a_lower_limit_accuses_them() -> None:
    history = await recorded(concurrency=4)
    assert list(limits.check(history)) == []
    assert sum(one.starts for one in history.changes) == 30
    assert len(list(limits.check(with_limit(history, JobLimit(2))))) > 0


async def test_an_end_that_was_not_written_is_noticed() -> None:
    history = await recorded(concurrency=4)
    ends = [one for one in history.changes if one.after and one.after.state is RunState.SUCCEEDED]
    spoiled = replace(history, changes=[one for one in history.changes if one not in ends[:3]])
    assert list(limits.check(spoiled)) != []


async def test_real_claims_keep_to_their_rate_and_a_slower_one_accuses_them() -> None:
    history = await recorded(rate="30/m")
    assert list(limits.check(history)) == []
    assert list(limits.check(with_limit(history, JobLimit(rate="20/m")))) != []


def with_limit(history: History, terms: JobLimit) -> History:
    return replace(history, jobs={JOB: JobSpec(JOB, open_payload=True, limit=terms)})


async def test_nothing_is_said_of_a_job_without_limits() -> None:
    history = await recorded(concurrency=30)
    assert list(limits.check(replace(history, jobs={JOB: JobSpec(JOB)}))) == []
