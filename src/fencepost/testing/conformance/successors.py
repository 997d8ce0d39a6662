"""The behaviour of jobs that run after others: what follows is there when its predecessor has ended, once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import pytest

from fencepost.model.chain import Successor
from fencepost.model.claiming import End, ScheduleFacts, Verdict
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import JobName, Queue, RunKey
from fencepost.model.job import PRIORITY_BEHIND, AfterOn, JobSpec
from fencepost.model.plan import Fate, Tick
from fencepost.model.rescue import Rescue
from fencepost.model.run import Claim, Predecessor, Receipt, RunState
from fencepost.ports.signals import Topic
from fencepost.testing.conformance.builders import (
    JOB,
    MANY,
    NS,
    OTHER_JOB,
    OTHER_NS,
    OTHER_SCHEDULE,
    SCHEDULE,
    at,
    by_hand,
    claim,
    claim_one,
    claim_request,
    claim_with,
    death,
    due_ticks,
    end_all,
    enqueue,
    finish,
    plan_ticks,
    put,
    read,
    retry,
    start_tick,
    start_ticks,
    states,
    success,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.operators import ANNA

LOAD, MAIL = JobName("load"), JobName("mail")
RENAMED = JobSpec(MAIL, Queue("chains"), 1, after=(JOB,), renamed_from=(LOAD,))
SUCCEEDED, DEAD, READY = RunState.SUCCEEDED, RunState.DEAD, RunState.READY
Ending = Callable[[StoreHarness], Awaitable[RunKey]]


async def follow(
    harness: StoreHarness, *after: JobName, job: JobName = LOAD, on: AfterOn = AfterOn.SUCCESS
) -> None:
    """Have a job run after these."""
    specs = [JobSpec(one) for one in after] + [JobSpec(job, Queue("chains"), 1, after=after, after_on=on)]
    await harness.store.jobs.register(NS, specs)


def after(key: str, job: JobName = LOAD) -> RunKey:
    """The key of what follows that root."""
    return RunKey(f"{job}#after#{key}")


async def there(harness: StoreHarness, key: RunKey) -> bool:
    """Whether a run is there."""
    return await harness.store.ledger.get(NS, key) is not None


async def succeeded(harness: StoreHarness, key: str = "one") -> RunKey:
    claimed = await claim_one(harness, key)
    await finish(harness, success(claimed.ticket))
    return claimed.run_key


async def succeeded_with_a_result(harness: StoreHarness) -> RunKey:
    claimed = await claim_one(harness)
    await finish(harness, success(claimed.ticket, output="7 rows"))
    return claimed.run_key


async def failed(harness: StoreHarness) -> RunKey:
    claimed = await claim_one(harness)
    await finish(harness, death(claimed.ticket))
    return claimed.run_key


async def lost(harness: StoreHarness) -> RunKey:
    claimed = await claim_one(harness)
    await harness.advance(3_600)
    await harness.store.ledger.rescue([Rescue(claimed.ticket, DEAD, "lost")])
    return claimed.run_key


async def cancelled(harness: StoreHarness) -> RunKey:
    (key,) = await enqueue(harness, "one")
    await harness.store.ledger.cancel(NS, key, "enough")
    return key


async def stopped(harness: StoreHarness) -> RunKey:
    claimed = await claim_one(harness)
    await harness.store.ledger.cancel(NS, claimed.run_key, "enough")
    await finish(harness, retry(claimed.ticket))
    return claimed.run_key


async def missed(harness: StoreHarness) -> RunKey:
    await put(harness)
    (key,) = await due_ticks(harness, 60)
    await claim_with(harness, end_all)
    return key


async def swept(harness: StoreHarness) -> RunKey:
    await put(harness)
    (key,) = await due_ticks(harness, 60)
    await harness.advance(3_600)
    await harness.store.ledger.sweep_late(60, MANY, end_all)
    return key


async def skipped(harness: StoreHarness) -> RunKey:
    await put(harness)
    (key,) = await due_ticks(harness, 60)

    def skip(facts: ScheduleFacts, now: StoreTime, room: int) -> list[Verdict]:
        return [End(tick.run_key, RunState.SKIPPED, "another runs", key) for tick in facts.due]

    await claim_with(harness, skip)
    return key


async def skipped_by_name(harness: StoreHarness) -> RunKey:
    (key,) = await enqueue(harness, "one")
    await harness.store.ledger.skip(NS, key, ANNA)
    return key


async def skipped_unplanned(harness: StoreHarness) -> RunKey:
    await put(harness)
    tick = Tick(at(harness, 60), at(harness, 60))
    (key,) = await harness.store.ledger.plan_by_name(NS, SCHEDULE, 1, [tick], ANNA, fate=Fate.SKIPPED)
    return key


async def withdrawn(harness: StoreHarness) -> RunKey:
    await put(harness)
    (key,) = await plan_ticks(harness, 60)
    await harness.store.schedules.remove(NS, SCHEDULE)
    return key


SUCCESSES: Sequence[Ending] = (succeeded, succeeded_with_a_result)
FAILURES: Sequence[Ending] = (failed, lost)
OTHERS: Sequence[Ending] = (
    cancelled,
    stopped,
    missed,
    swept,
    skipped,
    skipped_by_name,
    skipped_unplanned,
)
FOLLOWED = (
    [(AfterOn.SUCCESS, one) for one in SUCCESSES]
    + [(AfterOn.FAILURE, one) for one in FAILURES]
    + [(AfterOn.ANY, one) for one in (*SUCCESSES, *FAILURES, *OTHERS)]
)
NOT_FOLLOWED = (
    [(AfterOn.SUCCESS, one) for one in (*FAILURES, *OTHERS, withdrawn)]
    + [(AfterOn.FAILURE, one) for one in (*SUCCESSES, *OTHERS, withdrawn)]
    + [(AfterOn.ANY, withdrawn)]
)


def named(value: object) -> str:
    """The cases by what they are about."""
    return getattr(value, "__name__", str(value))


class SuccessorContract:
    """A job that runs after one other."""

    @pytest.mark.parametrize(("on", "ending"), FOLLOWED, ids=named)
    async def test_what_follows_an_end_is_not_missing(
        self, harness: StoreHarness, on: AfterOn, ending: Ending
    ) -> None:
        await follow(harness, JOB, on=on)
        key = await ending(harness)
        run = await read(harness, after(key))
        assert (run.job, run.state, run.schedule_id, run.payload) == (LOAD, READY, None, {})
        assert (run.queue, run.priority, run.run_at) == ("chains", 1, harness.now)
        assert run.fire_time == (await read(harness, key)).fire_time

    @pytest.mark.parametrize(("on", "ending"), NOT_FOLLOWED, ids=named)
    async def test_nothing_follows_an_end_of_another_kind(
        self, harness: StoreHarness, on: AfterOn, ending: Ending
    ) -> None:
        await follow(harness, JOB, on=on)
        assert not await there(harness, after(await ending(harness)))

    async def test_nothing_follows_a_run_that_goes_on(self, harness: StoreHarness) -> None:
        await follow(harness, JOB, on=AfterOn.ANY)
        claimed = await claim_one(harness)
        await finish(harness, retry(claimed.ticket))
        assert not await there(harness, after(claimed.run_key))

    async def test_a_stale_report_is_not_followed(self, harness: StoreHarness) -> None:
        await follow(harness, JOB)
        claimed = await claim_one(harness)
        await harness.advance(3_600)
        await harness.store.ledger.rescue([Rescue(claimed.ticket, READY, "silent", 0.0)])
        assert await finish(harness, success(claimed.ticket)) is Receipt.REFUSED
        assert not await there(harness, after(claimed.run_key))

    async def test_a_repeated_report_does_not_enqueue_it_again(self, harness: StoreHarness) -> None:
        await follow(harness, JOB)
        claimed = await claim_one(harness)
        first = await finish(harness, success(claimed.ticket))
        (load,) = await claim_chained(harness)
        assert (first, await finish(harness, success(claimed.ticket))) == (Receipt.ACCEPTED, Receipt.REPEATED)
        assert (await read(harness, load.run_key)).state is RunState.RUNNING

    async def test_a_batch_does_not_mix_its_receipts(self, harness: StoreHarness) -> None:
        await follow(harness, JOB)
        await enqueue(harness, "a", "b")
        await enqueue(harness, "c", job=OTHER_JOB)
        claims = {one.run_key: one for one in await claim(harness)}
        stale = replace(claims[RunKey("report#b")].ticket, attempt=9)
        tickets = [claims[RunKey("resize#c")].ticket, stale, claims[RunKey("report#a")].ticket]
        receipts = await harness.store.ledger.finish([success(one) for one in tickets])
        assert list(receipts) == [Receipt.ACCEPTED, Receipt.REFUSED, Receipt.ACCEPTED]
        assert await there(harness, after("report#a"))
        assert not await there(harness, after("report#b"))
        assert not await there(harness, after("resize#c"))

    async def test_a_replay_does_not_run_it_twice(self, harness: StoreHarness) -> None:
        await follow(harness, JOB, on=AfterOn.ANY)
        key = await failed(harness)
        (load,) = await claim_chained(harness)
        await finish(harness, success(load.ticket))
        await harness.store.ledger.replay(NS, [key], 0.0, ANNA)
        (again,) = await claim(harness)
        await finish(harness, success(again.ticket))
        assert await states(harness, key, load.run_key) == [SUCCEEDED, SUCCEEDED]
        assert await claim_chained(harness) == []

    async def test_a_replay_that_succeeds_is_followed_where_the_first_end_was_not(
        self, harness: StoreHarness
    ) -> None:
        await follow(harness, JOB)
        key = await failed(harness)
        await harness.store.ledger.replay(NS, [key], 0.0, ANNA)
        (again,) = await claim(harness)
        await finish(harness, success(again.ticket))
        run = await read(harness, after(key))
        assert (run.state, run.priority) == (READY, PRIORITY_BEHIND)

    async def test_a_chain_does_not_end_at_its_second_link(self, harness: StoreHarness) -> None:
        await follow(harness, JOB)
        await follow(harness, LOAD, job=MAIL)
        await harness.store.jobs.register(NS, [JobSpec(LOAD, Queue("chains"), after=(JOB,))])
        claimed = await start_tick(harness)
        await finish(harness, success(claimed.ticket))
        (load,) = await claim_chained(harness)
        await finish(harness, success(load.ticket))
        run = await read(harness, after(claimed.run_key, MAIL))
        assert run.fire_time == claimed.fire_time

    async def test_ticks_of_two_schedules_at_one_time_do_not_share_it(self, harness: StoreHarness) -> None:
        await follow(harness, JOB)
        for name in (SCHEDULE, OTHER_SCHEDULE):
            await put(harness, schedule_id=name)
            await plan_ticks(harness, 60, schedule_id=name)
        await harness.advance(60)
        claims = await start_ticks(harness)
        await harness.store.ledger.finish([success(one.ticket) for one in claims])
        assert len({one.run_key for one in await claim_chained(harness)}) == len(claims) == 2

    async def test_a_run_by_hand_of_the_same_key_is_not_in_its_way(self, harness: StoreHarness) -> None:
        await follow(harness, JOB)
        await enqueue(harness, "one", job=LOAD, queue=Queue("chains"))
        key = await succeeded(harness)
        assert await there(harness, after(key))

    async def test_another_namespace_is_not_followed(self, harness: StoreHarness) -> None:
        await follow(harness, JOB)
        await enqueue(harness, "one", namespace=OTHER_NS)
        (claimed,) = await harness.store.ledger.claim_direct(claim_request(namespace=OTHER_NS), MANY)
        await finish(harness, success(claimed.ticket))
        for namespace in (NS, OTHER_NS):
            assert await harness.store.ledger.get(namespace, after(claimed.run_key)) is None

    async def test_a_job_that_follows_no_more_is_not_enqueued(self, harness: StoreHarness) -> None:
        await follow(harness, JOB)
        await harness.store.jobs.register(NS, [JobSpec(LOAD)])
        assert not await there(harness, after(await succeeded(harness)))

    async def test_a_job_that_follows_otherwise_does_not_follow_as_before(
        self, harness: StoreHarness
    ) -> None:
        await follow(harness, JOB)
        await follow(harness, JOB, on=AfterOn.FAILURE)
        assert not await there(harness, after(await succeeded(harness)))
        await enqueue(harness, "two")
        (claimed,) = await claim(harness)
        await finish(harness, death(claimed.ticket))
        assert await there(harness, after(claimed.run_key))

    async def test_a_job_that_was_renamed_does_not_follow_twice(self, harness: StoreHarness) -> None:
        await follow(harness, JOB)
        first = await succeeded(harness)
        assert await there(harness, after(first))
        await harness.store.jobs.register(NS, [JobSpec(JOB), RENAMED])
        second = await succeeded(harness, "two")
        assert (await read(harness, after(second))).job == MAIL
        assert not await there(harness, after(second, MAIL))
        await harness.store.ledger.replay(NS, [first], 0.0, ANNA)
        (again,) = await claim(harness)
        await finish(harness, success(again.ticket))
        assert not await there(harness, after(first, MAIL))

    async def test_old_code_beside_new_does_not_have_it_run_twice(self, harness: StoreHarness) -> None:
        await follow(harness, JOB)
        await harness.store.jobs.register(NS, [JobSpec(JOB), RENAMED])
        await follow(harness, JOB)
        key = await succeeded(harness)
        assert (await read(harness, after(key))).job == LOAD
        assert not await there(harness, after(key, MAIL))
        await harness.store.jobs.register(NS, [JobSpec(JOB), RENAMED])
        key = await succeeded(harness, "two")
        assert (await read(harness, after(key))).job == MAIL

    async def test_runs_of_an_old_name_are_not_without_what_follows(self, harness: StoreHarness) -> None:
        new = JobName("new")
        await follow(harness, JOB, OTHER_JOB)
        first = await claim_one(harness)
        renamed = [JobSpec(new, renamed_from=(JOB,)), JobSpec(OTHER_JOB)]
        joined = JobSpec(LOAD, Queue("chains"), 1, after=(new, OTHER_JOB))
        await harness.store.jobs.register(NS, [*renamed, joined])
        await finish(harness, success(first.ticket))
        key = first.run_key.partition("#")[2]
        await harness.store.ledger.enqueue(NS, [by_hand(key, job=OTHER_JOB)])
        (other,) = await claim(harness)
        await finish(harness, success(other.ticket))
        assert await there(harness, RunKey(f"{LOAD}#join#{key}"))

    async def test_sleepers_are_not_left_waiting_for_it(self, harness: StoreHarness) -> None:
        await follow(harness, JOB)
        claimed = await claim_one(harness)
        told = asyncio.Event()
        leave = await harness.store.signals.listen(Topic.RUNS, told.set)
        await finish(harness, success(claimed.ticket))
        await asyncio.wait_for(told.wait(), 10)
        leave()

    async def test_a_run_does_not_forget_what_it_followed(self, harness: StoreHarness) -> None:
        await follow(harness, JOB)
        key = await succeeded_with_a_result(harness)
        chain = await harness.store.ledger.chain(NS, after(key))
        assert chain.after == (Predecessor(key, JOB, SUCCEEDED, "7 rows"),)
        assert (await harness.store.ledger.chain(NS, key)).then == (Successor(after(key), LOAD, READY),)

    async def test_a_failure_does_not_come_without_its_error(self, harness: StoreHarness) -> None:
        await follow(harness, JOB, on=AfterOn.FAILURE)
        key = await failed(harness)
        chain = await harness.store.ledger.chain(NS, after(key))
        assert chain.after == (Predecessor(key, JOB, DEAD, error="boom"),)

    async def test_what_retention_forgot_is_not_followed_again(self, harness: StoreHarness) -> None:
        await follow(harness, JOB)
        claimed = await start_tick(harness)
        await finish(harness, success(claimed.ticket))
        (load,) = await claim_chained(harness)
        await finish(harness, success(load.ticket))
        await harness.advance(86_401)
        await harness.store.ledger.forget(86_400.0, MANY)
        assert (await harness.store.ledger.chain(NS, load.run_key)).after == ()
        assert await there(harness, load.run_key)


async def claim_chained(harness: StoreHarness) -> list[Claim]:
    """Start what follows."""
    wanted = claim_request(queues=(Queue("chains"),), jobs=(LOAD, MAIL))
    return list(await harness.store.ledger.claim_direct(wanted, MANY))
