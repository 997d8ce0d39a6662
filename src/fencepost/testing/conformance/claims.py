"""The behaviour of claims that need no verdict, of the outlook, and of adoption."""

from __future__ import annotations

import asyncio

from fencepost.model.claiming import Head
from fencepost.model.identifiers import JobName, Queue
from fencepost.model.run import RunState
from fencepost.testing.conformance.builders import (
    ALICE,
    BOB,
    JOB,
    MANY,
    NS,
    OTHER_JOB,
    OTHER_NS,
    SCHEDULE,
    Witness,
    at,
    by_hand,
    claim,
    claim_one,
    claim_request,
    due_ticks,
    enqueue,
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
)
from fencepost.testing.conformance.harness import StoreHarness

HEAVY = Queue("heavy")


class ClaimContract:
    """Runs by hand, and retries."""

    async def test_a_claim_is_not_silent_about_the_run(self, harness: StoreHarness) -> None:
        await enqueue(harness, "one", payload={"n": 1})
        await harness.advance(5)
        (claimed,) = await claim(harness)
        record = await read(harness, claimed.run_key)
        assert (record.state, record.worker, record.attempt) == (RunState.RUNNING, ALICE, 1)
        assert (claimed.attempt, claimed.fence) == (1, record.fence)
        assert claimed.started_at == record.started_at == harness.now
        assert (claimed.payload, claimed.job, claimed.namespace) == ({"n": 1}, JOB, NS)
        assert (claimed.fire_time, claimed.run_at) == (record.fire_time, record.run_at)
        assert (claimed.schedule_id, claimed.version, claimed.epoch) == (None, 0, 0)
        assert claimed.previous is None

    async def test_a_claimed_run_is_not_claimed_again(self, harness: StoreHarness) -> None:
        await claim_one(harness)
        assert await claim(harness, BOB) == []

    async def test_claims_at_the_same_time_do_not_share_a_run(self, harness: StoreHarness) -> None:
        await enqueue(harness, *(f"run-{number}" for number in range(20)))
        batches = await asyncio.gather(*(claim(harness, limit=7) for _ in range(5)))
        claimed = [one.run_key for batch in batches for one in batch]
        rest = [one.run_key for one in await claim(harness)]
        assert len(claimed + rest) == len(set(claimed + rest)) == 20

    async def test_claim_does_not_take_future_runs(self, harness: StoreHarness) -> None:
        (key,) = await enqueue(harness, "one", run_at=at(harness, 60))
        await harness.advance(59)
        assert await claim(harness) == []
        await harness.advance(1)
        assert [one.run_key for one in await claim(harness)] == [key]

    async def test_claim_order_is_priority_then_run_at(self, harness: StoreHarness) -> None:
        times = {"a": (3, 1), "b": (1, 3), "c": (2, 2), "d": (1, 2), "e": (2, 1)}
        for key, (priority, after_s) in times.items():
            await enqueue(harness, key, priority=priority, run_at=at(harness, after_s))
        await harness.advance(10)
        order = []
        for _ in times:
            (claimed,) = await claim(harness, limit=1)
            order.append(claimed.run_key.partition("#")[2])
        assert order == ["d", "b", "e", "c", "a"]

    async def test_a_batch_does_not_leave_the_order(self, harness: StoreHarness) -> None:
        for key, priority in (("a", 4), ("b", 1), ("c", 3), ("d", 2)):
            await enqueue(harness, key, priority=priority)
        batch = await claim(harness, limit=3)
        assert [one.run_key for one in batch] == ["report#b", "report#d", "report#c"]

    async def test_claim_does_not_exceed_its_limit(self, harness: StoreHarness) -> None:
        await enqueue(harness, "a", "b", "c")
        assert len(await claim(harness, limit=2)) == 2
        assert len(await claim(harness, limit=2)) == 1

    async def test_claim_does_not_take_foreign_jobs_or_queues(self, harness: StoreHarness) -> None:
        await enqueue(harness, "queue", queue=HEAVY)
        await enqueue(harness, "job", job=JobName("unheard-of"))
        (mine,) = await enqueue(harness, "mine")
        assert [one.run_key for one in await claim(harness)] == [mine]

    async def test_claim_does_not_cross_namespaces(self, harness: StoreHarness) -> None:
        (foreign,) = await enqueue(harness, "one", namespace=OTHER_NS)
        assert await claim(harness) == []
        theirs = claim_request(namespace=OTHER_NS)
        assert (await harness.store.ledger.outlook(claim_request())).direct is None
        assert (await harness.store.ledger.outlook(theirs)).direct is not None
        assert [one.run_key for one in await harness.store.ledger.claim_direct(theirs, MANY)] == [foreign]

    async def test_fences_rise_strictly(self, harness: StoreHarness) -> None:
        fences = []
        for key in ("a", "b", "c"):
            claimed = await claim_one(harness, key)
            fences.append(claimed.fence)
            await finish(harness, retry(claimed.ticket))
            (again,) = await claim(harness, BOB)
            fences.append(again.fence)
        assert fences == sorted(set(fences))

    async def test_fences_of_one_batch_are_not_the_same(self, harness: StoreHarness) -> None:
        await enqueue(harness, "a", "b", "c")
        assert len({one.fence for one in await claim(harness)}) == 3

    async def test_a_tick_is_not_claimed_as_direct(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await due_ticks(harness, 60)
        assert await claim(harness) == []
        assert await states(harness, key) == [RunState.READY]

    async def test_a_retry_is_claimed_as_direct_without_a_judge(self, harness: StoreHarness) -> None:
        first = await start_tick(harness)
        await finish(harness, retry(first.ticket))
        witness = Witness()
        await harness.store.ledger.claim_ticks(claim_request(), MANY, witness)
        assert witness.due == set()
        (second,) = await claim(harness)
        assert (second.run_key, second.attempt) == (first.run_key, 2)
        assert (second.schedule_id, second.version) == (SCHEDULE, first.version)
        assert (second.epoch, second.payload) == (first.epoch, first.payload)

    async def test_a_retry_is_not_claimed_before_its_time(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await finish(harness, retry(claimed.ticket, in_s=10))
        await harness.advance(9)
        assert await claim(harness) == []
        await harness.advance(1)
        assert len(await claim(harness)) == 1


class OutlookContract:
    """What a worker may look forward to."""

    async def test_nothing_is_not_something(self, harness: StoreHarness) -> None:
        outlook = await harness.store.ledger.outlook(claim_request())
        assert outlook.now == harness.now
        assert (outlook.direct, outlook.tick, outlook.next_due_at) == (None, None, None)

    async def test_the_head_is_not_the_oldest_but_the_first_by_priority(self, harness: StoreHarness) -> None:
        for priority, after_s in ((3, 1), (1, 3), (1, 2)):
            run_at = at(harness, after_s)
            await enqueue(harness, f"{priority}-{after_s}", priority=priority, run_at=run_at)
        await harness.advance(10)
        outlook = await harness.store.ledger.outlook(claim_request())
        assert (outlook.direct, outlook.tick) == (Head(1, at(harness, -8)), None)

    async def test_a_tick_is_not_taken_for_a_direct_run(self, harness: StoreHarness) -> None:
        await put(harness, make_spec(priority=3))
        await due_ticks(harness, 60)
        outlook = await harness.store.ledger.outlook(claim_request())
        assert (outlook.direct, outlook.tick) == (None, Head(3, harness.now))

    async def test_a_retry_is_not_taken_for_a_tick(self, harness: StoreHarness) -> None:
        claimed = await start_tick(harness)
        await finish(harness, retry(claimed.ticket, in_s=10))
        outlook = await harness.store.ledger.outlook(claim_request())
        assert (outlook.tick, outlook.next_due_at) == (None, at(harness, 10))
        await harness.advance(10)
        outlook = await harness.store.ledger.outlook(claim_request())
        assert (outlook.tick, outlook.direct) == (None, Head(2, harness.now))

    async def test_the_next_due_is_not_due_yet(self, harness: StoreHarness) -> None:
        await put(harness)
        await plan_ticks(harness, 30, 60)
        await enqueue(harness, "one", run_at=at(harness, 45))
        for passed_s, next_s in ((0, 30), (30, 15), (15, 15)):
            await harness.advance(passed_s)
            outlook = await harness.store.ledger.outlook(claim_request())
            assert outlook.next_due_at == at(harness, next_s)
        await harness.advance(15)
        assert (await harness.store.ledger.outlook(claim_request())).next_due_at is None

    async def test_foreign_work_is_not_in_sight(self, harness: StoreHarness) -> None:
        await enqueue(harness, "queue", queue=HEAVY)
        await enqueue(harness, "later", queue=HEAVY, run_at=at(harness, 60))
        await put(harness, make_spec(job=JobName("unheard-of")))
        await due_ticks(harness, 30)
        outlook = await harness.store.ledger.outlook(claim_request())
        assert (outlook.direct, outlook.tick, outlook.next_due_at) == (None, None, None)

    async def test_running_and_ended_runs_are_not_in_sight(self, harness: StoreHarness) -> None:
        await claim_one(harness, "running")
        done = await claim_one(harness, "done")
        await finish(harness, success(done.ticket))
        outlook = await harness.store.ledger.outlook(claim_request())
        assert (outlook.direct, outlook.next_due_at) == (None, None)


class AdoptionContract:
    """The answer to a claim may be lost; the claim is not."""

    async def test_a_claim_whose_answer_was_lost_is_not_lost(self, harness: StoreHarness) -> None:
        lost = await claim_one(harness, "one")
        known = await claim_one(harness, "two")
        (adopted,) = await harness.store.ledger.adopt(ALICE, [known.fence])
        assert adopted.ticket == lost.ticket
        assert (adopted.payload, adopted.started_at) == (lost.payload, lost.started_at)
        assert await finish(harness, success(adopted.ticket)) == "accepted"

    async def test_a_tick_is_adopted_with_the_payload_of_its_version(self, harness: StoreHarness) -> None:
        await put(harness, make_spec(payload={"n": 1}))
        await due_ticks(harness, 60)
        (lost,) = await start_ticks(harness)
        await put(harness, make_spec(payload={"n": 2}))
        (adopted,) = await harness.store.ledger.adopt(ALICE, [])
        assert (adopted.ticket, adopted.payload) == (lost.ticket, {"n": 1})

    async def test_does_not_adopt_what_is_anothers(self, harness: StoreHarness) -> None:
        await claim_one(harness)
        assert list(await harness.store.ledger.adopt(BOB, [])) == []

    async def test_does_not_adopt_what_is_not_running(self, harness: StoreHarness) -> None:
        await harness.store.ledger.enqueue(NS, [by_hand("a"), by_hand("b", job=OTHER_JOB)])
        one, two = await claim(harness)
        await finish(harness, success(one.ticket))
        await finish(harness, retry(two.ticket))
        assert list(await harness.store.ledger.adopt(ALICE, [])) == []

    async def test_adoption_does_not_change_the_run(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        before = await read(harness, claimed.run_key)
        await harness.advance(1)
        await harness.store.ledger.adopt(ALICE, [])
        assert await read(harness, claimed.run_key) == before
