"""What runs goes on counting for its limits, also where only a newer release can read them."""

from __future__ import annotations

from fencepost.core.limits import decide
from fencepost.model.identifiers import JobName
from fencepost.model.job import JobSpec
from fencepost.model.limits import JobLimit
from fencepost.model.tables import LIMITS, RUNS
from fencepost.stores.memory import MemoryStore
from fencepost.testing.clock import VirtualClock
from fencepost.testing.conformance.builders import JOB, MANY, NS, claim_request, enqueue
from fencepost.testing.conformance.limits import limit
from tests.conformance.clocked import START, ClockHarness
from tests.rows import put, row_of


async def test_a_limit_that_cannot_be_read_does_not_stop_counting_what_runs() -> None:
    clock = VirtualClock(START)
    store = MemoryStore(clock)
    harness = ClockHarness(store, clock)
    await limit(harness, concurrency=2)
    (key,) = await enqueue(harness, "first")
    await store.ledger.claim_direct(claim_request(), MANY)
    assert len(await store.ledger.claim_lined(claim_request(), MANY, decide)) == 1
    put(store, LIMITS, **{**row_of(store, LIMITS, NS, JOB), "terms": '{"v": 99}'})
    other = JobSpec(JobName("other"), open_payload=True, limit=JobLimit(1))
    await store.jobs.register(NS, [other])
    await store.ledger.unpark(MANY)
    assert row_of(store, RUNS, NS, key)["slot"] == ""
