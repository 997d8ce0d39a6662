"""The behaviour of jobs that run after several others: what joins them comes when all have ended, once."""

from __future__ import annotations

import asyncio

import pytest

from fencepost.model.chain import Successor
from fencepost.model.identifiers import JobName, Queue, RunKey, ScheduleId
from fencepost.model.job import AfterOn, JobSpec
from fencepost.model.run import Claim, Outcome, RunState
from fencepost.testing.conformance.builders import (
    JOB,
    MANY,
    NS,
    OTHER_JOB,
    SCHEDULE,
    by_hand,
    claim,
    claim_request,
    death,
    enqueue,
    finish,
    make_spec,
    plan_ticks,
    put,
    start_ticks,
    states,
    success,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.operators import ANNA
from fencepost.testing.conformance.successors import (
    DEAD,
    LOAD,
    READY,
    SUCCEEDED,
    claim_chained,
    follow,
    succeeded,
    there,
)


class JoinContract:
    """A job that runs after several others."""

    JOINED = RunKey("load#join#one")

    async def begin(self, harness: StoreHarness, on: AfterOn = AfterOn.SUCCESS) -> tuple[Claim, Claim]:
        """Runs of both predecessors under one key."""
        await follow(harness, JOB, OTHER_JOB, on=on)
        await enqueue(harness, "one")
        await enqueue(harness, "one", job=OTHER_JOB)
        first, second = sorted(await claim(harness), key=lambda one: one.job)
        return first, second

    async def test_a_join_does_not_come_before_all_have_ended(self, harness: StoreHarness) -> None:
        first, second = await self.begin(harness)
        await finish(harness, success(first.ticket, output="a"))
        assert not await there(harness, self.JOINED)
        waiting = (await harness.store.ledger.chain(NS, first.run_key)).then
        assert waiting == (Successor(self.JOINED, LOAD, None),)
        await finish(harness, success(second.ticket))
        assert await states(harness, self.JOINED) == [READY]
        chain = await harness.store.ledger.chain(NS, self.JOINED)
        assert {(one.key, one.result) for one in chain.after} == {
            (first.run_key, "a"),
            (second.run_key, None),
        }

    async def test_a_join_of_one_batch_is_not_lost_and_not_double(self, harness: StoreHarness) -> None:
        claims = await self.begin(harness)
        await harness.store.ledger.finish([success(one.ticket) for one in claims])
        assert [one.run_key for one in await claim_chained(harness)] == [self.JOINED]

    async def test_a_join_of_two_reports_at_once_is_not_lost(self, harness: StoreHarness) -> None:
        await follow(harness, JOB, OTHER_JOB)
        keys = [f"k{number}" for number in range(10)]
        await enqueue(harness, *keys)
        await enqueue(harness, *keys, job=OTHER_JOB)
        claims = await claim(harness)
        await asyncio.gather(*(finish(harness, success(one.ticket)) for one in claims))
        found = {one.run_key for one in await claim_chained(harness)}
        assert found == {RunKey(f"load#join#{key}") for key in keys}

    @pytest.mark.parametrize(
        ("on", "one", "other", "comes"),
        [
            (AfterOn.SUCCESS, SUCCEEDED, DEAD, False),
            (AfterOn.FAILURE, SUCCEEDED, DEAD, True),
            (AfterOn.FAILURE, DEAD, DEAD, True),
            (AfterOn.FAILURE, SUCCEEDED, SUCCEEDED, False),
            (AfterOn.ANY, SUCCEEDED, DEAD, True),
            (AfterOn.ANY, DEAD, DEAD, True),
        ],
    )
    async def test_a_join_does_not_come_of_other_ends(
        self, harness: StoreHarness, on: AfterOn, one: RunState, other: RunState, comes: bool
    ) -> None:
        first, second = await self.begin(harness, on)
        await finish(harness, Outcome(first.ticket, one))
        await finish(harness, Outcome(second.ticket, other))
        assert await there(harness, self.JOINED) is comes

    async def test_a_replay_makes_a_join_complete_once(self, harness: StoreHarness) -> None:
        first, second = await self.begin(harness)
        await finish(harness, success(first.ticket))
        await finish(harness, death(second.ticket))
        for _ in range(2):
            await harness.store.ledger.replay(NS, [second.run_key], 0.0, ANNA)
            (again,) = await claim(harness)
            await finish(harness, success(again.ticket))
            assert await states(harness, self.JOINED) == [READY]
        assert [one.run_key for one in await claim_chained(harness)] == [self.JOINED]

    async def test_ticks_of_one_fire_time_do_not_miss_each_other(self, harness: StoreHarness) -> None:
        await follow(harness, JOB, OTHER_JOB)
        await put(harness, make_spec(JOB))
        await put(harness, make_spec(OTHER_JOB), ScheduleId("another"))
        await put(harness, make_spec(OTHER_JOB), ScheduleId("another"))
        for name in (SCHEDULE, ScheduleId("another")):
            await plan_ticks(harness, 60, 120, schedule_id=name)
        await harness.advance(120)
        claims = await start_ticks(harness)
        await harness.store.ledger.finish([success(one.ticket) for one in claims[:-1]])
        assert len(await claim_chained(harness)) == 1
        await finish(harness, success(claims[-1].ticket))
        (last,) = await claim_chained(harness)
        assert last.run_key.startswith("load#join#")
        assert last.fire_time == claims[-1].fire_time

    async def test_a_fork_does_not_fail_to_join(self, harness: StoreHarness) -> None:
        """One run, two that follow it, and one that follows both."""
        left, right = JobName("left"), JobName("right")
        chains = Queue("chains")
        specs = [JobSpec(JOB), *(JobSpec(one, chains, after=(JOB,)) for one in (left, right))]
        await harness.store.jobs.register(NS, [*specs, JobSpec(LOAD, chains, after=(left, right))])
        await succeeded(harness)
        wanted = claim_request(queues=(chains,), jobs=(left, right))
        both = await harness.store.ledger.claim_direct(wanted, MANY)
        assert len(both) == 2
        for one in both:
            await finish(harness, success(one.ticket))
        assert [one.run_key for one in await claim_chained(harness)] == [RunKey("load#join#one")]

    async def test_an_unknown_key_is_in_no_chain(self, harness: StoreHarness) -> None:
        chain = await harness.store.ledger.chain(NS, by_hand("absent").run_key)
        assert (chain.after, chain.then) == ((), ())
