"""The behaviour of what is asked about many runs at once: each has its own fate, and its own entry."""

from __future__ import annotations

from fencepost.model.audit import Action
from fencepost.model.identifiers import RunKey
from fencepost.model.run import Hold, RunState
from fencepost.ports.signals import Topic
from fencepost.testing.conformance.builders import (
    NS,
    OTHER_NS,
    claim_one,
    due_ticks,
    enqueue,
    finish,
    read,
    retry,
    start_tick,
    states,
    success,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.operators import ANNA, entries, holds, park
from fencepost.testing.conformance.signals import hint

ABSENT = RunKey("job#absent")


class ManyRunsContract:
    """Runs read and cancelled a batch at a time."""

    async def test_runs_that_are_read_together_are_no_others_and_none_is_missing(
        self, harness: StoreHarness
    ) -> None:
        one, two, _ = await enqueue(harness, "one", "two", "three")
        (far,) = await enqueue(harness, "far", namespace=OTHER_NS)
        found = await harness.store.ledger.get_many(NS, [two, ABSENT, one, two, far])
        assert dict(found) == {key: await read(harness, key) for key in (one, two)}
        assert await harness.store.ledger.get_many(NS, []) == {}

    async def test_runs_that_are_cancelled_together_do_not_share_a_fate(self, harness: StoreHarness) -> None:
        ended = await claim_one(harness, "ended")
        await finish(harness, success(ended.ticket))
        runs = await claim_one(harness, "runs")
        (waits,) = await enqueue(harness, "waits")
        asked = [waits, ABSENT, runs.run_key, ended.run_key, waits]
        found = await harness.store.ledger.cancel_many(NS, asked, "enough", author=ANNA)
        keys = ended.run_key, runs.run_key, waits
        assert {key: one.run for key, one in found.items()} == {key: await read(harness, key) for key in keys}
        assert [one.refused for one in found.values()] == [None] * 3
        expected = [RunState.SUCCEEDED, RunState.RUNNING, RunState.CANCELLED]
        assert [found[key].run.state for key in keys] == expected
        assert (found[waits].run.reason, found[runs.run_key].run.cancel_requested) == ("enough", True)
        written = [(one.action, one.subject) for one in await entries(harness)]
        assert written == [(Action.RUN_CANCEL, runs.run_key), (Action.RUN_CANCEL, waits)]
        again = await harness.store.ledger.cancel_many(NS, asked, "enough", author=ANNA)
        assert again == found
        assert len(await entries(harness)) == 2

    async def test_runs_of_another_namespace_are_not_cancelled(self, harness: StoreHarness) -> None:
        (far,) = await enqueue(harness, "far", namespace=OTHER_NS)
        assert await harness.store.ledger.cancel_many(NS, [far], "enough", author=ANNA) == {}
        assert (await read(harness, far, OTHER_NS)).state is RunState.READY

    async def test_no_attempt_of_a_run_that_was_cancelled_with_others_owns_it(
        self, harness: StoreHarness
    ) -> None:
        """Each gets a fence of its own, larger than that of the attempt before."""
        first, second = await claim_one(harness, "first"), await claim_one(harness, "second")
        for claimed in (first, second):
            await finish(harness, retry(claimed.ticket, in_s=600))
        found = await harness.store.ledger.cancel_many(NS, [first.run_key, second.run_key], "enough")
        fences = [found[one.run_key].run.fence for one in (first, second)]
        assert min(fences) > max(first.ticket.fence, second.ticket.fence)
        assert len(set(fences)) == 2

    async def test_ticks_that_are_cancelled_together_ring_for_one_that_waits_and_no_more(
        self, harness: StoreHarness
    ) -> None:
        await start_tick(harness)
        parked = await due_ticks(harness, 60, 120, 180, 240)
        await park(harness, *parked)
        async with hint(harness, Topic.RUNS):
            await harness.store.ledger.cancel_many(NS, parked[:2], "enough")
        assert await states(harness, *parked[:2]) == [RunState.CANCELLED] * 2
        assert await holds(harness, *parked[2:]) == [Hold.NONE, Hold.PARKED]
