"""The behaviour of limits: never more of a job than may run, never faster than its rate, no run forgotten."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from fencepost.core.limits import decide
from fencepost.model.claiming import ClaimRequest, Head, LaneLimit
from fencepost.model.freeze import Scope, ScopeKind
from fencepost.model.identifiers import DEFAULT_QUEUE, JobName, NodeId, Queue, RunKey
from fencepost.model.job import JobSpec
from fencepost.model.limits import JobLimit
from fencepost.model.rescue import Rescue
from fencepost.model.run import Claim, Hold, RunState
from fencepost.ports.signals import Topic
from fencepost.testing.conformance.builders import (
    ALICE,
    BOB,
    JOB,
    MANY,
    NS,
    OTHER_JOB,
    OTHER_NS,
    at,
    claim,
    claim_request,
    enqueue,
    finish,
    read,
    retry,
    success,
    sweep,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.operators import ANNA, holds
from fencepost.testing.conformance.signals import hint

MAIL = Queue("mail")
BOTH = (DEFAULT_QUEUE, MAIL)
LIMITED, PACED, FREE = Hold.LIMITED, Hold.PACED, Hold.NONE


class SlotContract:
    """How many run at a time."""

    async def test_no_more_run_than_may(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=2)
        await enqueue(harness, "a", "b", "c", "d")
        assert names(await take(harness)) == ["a", "b"]
        assert await take(harness, BOB) == []

    async def test_who_finds_no_slot_is_not_walked_again(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=1)
        _, second, third = await enqueue(harness, "a", "b", "c")
        await take(harness)
        assert await holds(harness, second, third) == [LIMITED, LIMITED]
        assert (await read(harness, second)).reason == "waits for a slot of job report (1 running)"
        assert not (await harness.store.ledger.outlook(claim_request())).is_anything_due

    async def test_the_end_of_a_run_does_not_leave_its_slot_empty(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=1)
        _, second, third = await enqueue(harness, "a", "b", "c")
        (first,) = await take(harness)
        async with hint(harness, Topic.RUNS):
            await finish(harness, success(first.ticket))
        assert await holds(harness, second, third) == [PACED, LIMITED]
        assert (await harness.store.ledger.outlook(claim_request())).lined
        assert names(await take(harness, BOB)) == ["b"]

    async def test_a_retry_does_not_keep_its_slot(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=1)
        await enqueue(harness, "a", "b")
        (first,) = await take(harness)
        await finish(harness, retry(first.ticket, in_s=5))
        (second,) = await take(harness)
        await harness.advance(5)
        assert (names([second]), await take(harness)) == (["b"], [])
        await finish(harness, success(second.ticket))
        (again,) = await take(harness)
        assert (names([again]), again.attempt) == (["a"], 2)

    async def test_a_retry_in_line_does_not_lose_its_reason(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=1)
        (run_key,) = await enqueue(harness, "a")
        (first,) = await take(harness)
        await finish(harness, retry(first.ticket, reason="tried again"))
        await harness.store.ledger.claim_direct(claim_request(), MANY)
        assert await holds(harness, run_key) == [PACED]
        assert (await read(harness, run_key)).reason == "tried again"

    async def test_a_rescue_does_not_leak_the_slot(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=1)
        await enqueue(harness, "a", "b")
        (first,) = await take(harness)
        await harness.advance(3600)
        await harness.store.ledger.rescue([Rescue(first.ticket, RunState.READY, "lost", 60.0)])
        assert names(await take(harness, BOB)) == ["b"]

    async def test_a_run_does_not_lose_its_place_nor_its_lateness(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=1)
        _, second = await enqueue(harness, "a", "b")
        before = await read(harness, second)
        (first,) = await take(harness)
        await harness.advance(30)
        await enqueue(harness, "c")
        await take(harness)
        await finish(harness, success(first.ticket))
        (claimed,) = await take(harness)
        assert (names([claimed]), claimed.run_at) == (["b"], before.run_at)

    async def test_a_more_urgent_run_does_not_wait_behind_others(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=1)
        await enqueue(harness, "a", "b")
        (first,) = await take(harness)
        await enqueue(harness, "urgent", priority=1)
        await take(harness)
        await finish(harness, success(first.ticket))
        assert names(await take(harness)) == ["urgent"]

    async def test_who_is_called_and_overtaken_does_not_stay_in_line(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=1)
        _, second = await enqueue(harness, "a", "b")
        (first,) = await take(harness)
        await finish(harness, success(first.ticket))
        await enqueue(harness, "urgent", priority=1)
        assert names(await take(harness)) == ["urgent"]
        assert await holds(harness, second) == [LIMITED]
        assert not (await harness.store.ledger.outlook(claim_request())).is_anything_due

    async def test_a_lowered_limit_stops_nothing_and_lets_nothing_start(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=3)
        await enqueue(harness, "a", "b", "c", "d")
        running = await take(harness)
        await limit(harness, concurrency=1)
        for one in running[:2]:
            await finish(harness, success(one.ticket))
            assert await take(harness) == []
        await finish(harness, success(running[2].ticket))
        assert names(await take(harness)) == ["d"]

    async def test_a_raised_limit_leaves_no_run_waiting(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=1)
        await enqueue(harness, "a", "b", "c", "d")
        await take(harness)
        await limit(harness, concurrency=3)
        assert names(await take(harness)) == ["b", "c"]

    async def test_a_limit_that_is_gone_holds_no_run(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=1)
        await enqueue(harness, "a", "b", "c")
        await take(harness)
        await harness.store.jobs.register(NS, [JobSpec(JOB, open_payload=True)])
        assert names(await claim(harness)) == ["b", "c"]

    async def test_what_ran_before_the_limit_does_not_count_for_nothing(self, harness: StoreHarness) -> None:
        await enqueue(harness, "a")
        (first,) = await claim(harness)
        await enqueue(harness, "b")
        await limit(harness, concurrency=1)
        assert await take(harness) == []
        await finish(harness, success(first.ticket))
        assert names(await take(harness)) == ["b"]

    async def test_a_key_does_not_wait_for_another(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=1, key="customer")
        for key, customer in (("a", 7), ("b", 7), ("c", 8), ("d", "x"), ("e", None)):
            await enqueue(harness, key, payload={"customer": customer} if customer else {})
        running = await take(harness)
        assert names(running) == ["a", "c", "d", "e"]
        waiting = await read(harness, RunKey("report#b"))
        assert waiting.reason == "waits for a slot of job report with customer 7 (1 running)"
        await finish(harness, success(running[1].ticket))
        assert await take(harness) == []
        await finish(harness, success(running[0].ticket))
        assert names(await take(harness)) == ["b"]

    async def test_a_job_without_limits_is_not_held_up(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=1)
        await enqueue(harness, "a", "b", "c")
        await enqueue(harness, "x", "y", job=OTHER_JOB)
        assert sorted(names(await take(harness, limit=3))) == ["a", "x", "y"]

    async def test_another_namespace_does_not_share_the_slots(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=1)
        await enqueue(harness, "a")
        await enqueue(harness, "b", namespace=OTHER_NS)
        await take(harness)
        theirs = claim_request(namespace=OTHER_NS)
        assert names(list(await harness.store.ledger.claim_direct(theirs, MANY))) == ["b"]

    async def test_a_foreign_queue_is_not_taken_from_the_line(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=5)
        await enqueue(harness, "a", queue=MAIL)
        await take(harness, wanted=claim_request(queues=(MAIL,), jobs=(OTHER_JOB,)))
        await harness.store.ledger.claim_direct(claim_request(queues=(MAIL,)), MANY)
        assert not (await harness.store.ledger.outlook(claim_request())).is_anything_due
        assert await take(harness) == []

    async def test_a_line_does_not_hide_the_queue_behind_its_head(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=5)
        await enqueue(harness, "a", queue=MAIL, priority=1)
        await enqueue(harness, "b", "c", priority=3)
        await line_up(harness)
        outlook = await harness.store.ledger.outlook(claim_request(queues=BOTH))
        assert set(outlook.lined) == {Head(1, harness.now, MAIL), Head(3, harness.now, DEFAULT_QUEUE)}
        assert (outlook.directs, outlook.ticks) == ((), ())

    async def test_a_line_does_not_give_one_queue_the_share_of_another(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=9)
        await enqueue(harness, *(f"mail-{number}" for number in range(5)), queue=MAIL, priority=1)
        await enqueue(harness, *(f"default-{number}" for number in range(5)))
        await line_up(harness)
        lane_limits = LaneLimit(MAIL, 1, 2), LaneLimit(DEFAULT_QUEUE, 2, 3)
        taken = await harness.store.ledger.claim_lined(shares_of(*lane_limits), 8, decide)
        assert Counter(one.queue for one in taken) == {MAIL: 2, DEFAULT_QUEUE: 3}
        assert list(await harness.store.ledger.claim_lined(shares_of(LaneLimit(MAIL, 1, 9)), 2, decide)) != []

    async def test_a_line_is_not_gone_through_in_another_order_than_that_of_the_portions(
        self, harness: StoreHarness
    ) -> None:
        await limit(harness, concurrency=9)
        await enqueue(harness, "a", queue=MAIL, priority=1)
        await enqueue(harness, "b", "c", priority=4)
        await enqueue(harness, "d", priority=1)
        await line_up(harness)
        lanes = LaneLimit(DEFAULT_QUEUE, 4, 1), LaneLimit(MAIL, 1, 9), LaneLimit(DEFAULT_QUEUE, 1, 9)
        taken = await harness.store.ledger.claim_lined(shares_of(*lanes), MANY, decide)
        assert names(list(taken)) == ["b", "a", "d"]

    async def test_the_depth_does_not_hide_who_waits_for_limits(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=1, rate="6/m")
        await enqueue(harness, "a", "b", "c")
        await take(harness)
        await enqueue(harness, "d", job=OTHER_JOB)
        await harness.advance(5)
        depth = await harness.store.ledger.depth(NS)
        assert (depth.ready, depth.running, depth.waiting) == (1, 1, 2)
        assert depth.oldest_waiting_s == 5.0

    async def test_unpark_does_not_forget_a_missed_wake_up(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=1)
        _, second = await enqueue(harness, "a", "b")
        (first,) = await take(harness)
        await harness.store.ledger.hold(NS, second, ANNA)
        await finish(harness, success(first.ticket))
        await harness.store.ledger.release(NS, second, ANNA)
        assert await take(harness) == []
        assert await harness.store.ledger.unpark(MANY) == 1
        assert names(await take(harness)) == ["b"]

    async def test_unpark_does_not_end_at_slots_that_are_full(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=1, key="customer")
        for customer in range(1, 4):
            await enqueue(harness, f"a{customer}", f"b{customer}", payload={"customer": customer})
        last, (*_, first) = RunKey("report#b3"), await take(harness)
        await harness.store.ledger.hold(NS, last, ANNA)
        await finish(harness, success(first.ticket))
        await harness.store.ledger.release(NS, last, ANNA)
        assert await harness.store.ledger.unpark(1) == 1
        assert names(await take(harness)) == ["b3"]

    async def test_unpark_does_not_wake_a_run_without_a_slot(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=1)
        await enqueue(harness, "a", "b")
        await take(harness)
        assert await harness.store.ledger.unpark(MANY) == 0

    async def test_a_frozen_namespace_does_not_start_from_its_lines(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=1)
        await enqueue(harness, "a", "b")
        (first,) = await take(harness)
        await finish(harness, success(first.ticket))
        await harness.store.freezes.freeze(NS, Scope(ScopeKind.ALL), ANNA)
        assert await take(harness) == []

    async def test_a_waiting_run_can_be_called_off(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=1)
        _, second = await enqueue(harness, "a", "b")
        (first,) = await take(harness)
        await harness.store.ledger.cancel(NS, second, "enough")
        await finish(harness, success(first.ticket))
        assert await take(harness) == []
        assert (await read(harness, second)).state is RunState.CANCELLED


class RateContract:
    """How fast runs start."""

    async def test_no_faster_than_the_rate(self, harness: StoreHarness) -> None:
        await limit(harness, rate="6/m")
        await enqueue(harness, "a", "b", "c")
        assert names(await take(harness)) == ["a"]
        outlook = await harness.store.ledger.outlook(claim_request())
        assert (outlook.is_anything_due, outlook.next_due_at) == (False, at(harness, 10))
        await harness.advance(9.9)
        assert await take(harness, BOB) == []
        await harness.advance(0.1)
        assert names(await take(harness, BOB)) == ["b"]

    async def test_a_clock_set_back_does_not_stop_the_rate_for_an_hour(self, harness: StoreHarness) -> None:
        await limit(harness, rate="6/m")
        await enqueue(harness, "a", "b")
        assert names(await take(harness)) == ["a"]
        await sweep(harness)
        await harness.set_back(3600)
        await sweep(harness)
        await enqueue(harness, "c", "d")
        await take(harness)
        await harness.advance(10)
        assert names(await take(harness)) == ["c"]

    async def test_a_burst_is_not_more_than_small(self, harness: StoreHarness) -> None:
        await limit(harness, rate="60/m")
        await enqueue(harness, *(f"run-{number}" for number in range(9)))
        assert len(await take(harness)) == 3
        await harness.advance(1)
        assert len(await take(harness)) == 1

    async def test_an_ended_run_does_not_buy_a_start(self, harness: StoreHarness) -> None:
        await limit(harness, rate="6/m")
        await enqueue(harness, "a", "b")
        (first,) = await take(harness)
        await finish(harness, success(first.ticket))
        assert await take(harness) == []

    async def test_who_waits_for_a_slot_does_not_use_up_the_rate(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=1, key="customer", rate="6/m")
        await enqueue(harness, "a", "b", payload={"customer": 1})
        await enqueue(harness, "c", payload={"customer": 2})
        await take(harness)
        await harness.advance(10)
        assert names(await take(harness)) == ["c"]

    async def test_who_waits_for_the_rate_says_so(self, harness: StoreHarness) -> None:
        await limit(harness, rate="6/m")
        _, second = await enqueue(harness, "a", "b")
        await take(harness)
        record = await read(harness, second)
        assert (record.held, record.reason) == (PACED, "waits for the rate of job report (6/m)")

    async def test_a_raised_rate_does_not_wait_for_the_old_one(self, harness: StoreHarness) -> None:
        await limit(harness, rate="1/d")
        await enqueue(harness, "a", "b", "c")
        assert names(await take(harness)) == ["a"]
        await limit(harness, rate="6/m")
        assert await take(harness) == []
        await harness.advance(10)
        assert names(await take(harness)) == ["b"]


async def limit(harness: StoreHarness, job: JobName = JOB, **terms: Any) -> None:
    """Let the job have these limits."""
    await harness.store.jobs.register(NS, [JobSpec(job, open_payload=True, limit=JobLimit(**terms))])


async def line_up(harness: StoreHarness) -> None:
    """Let due runs of limited jobs get into their limit queues; all of them are of such jobs."""
    assert list(await harness.store.ledger.claim_direct(claim_request(queues=BOTH), MANY)) == []


def shares_of(*lane_limits: LaneLimit) -> ClaimRequest:
    """A claim request for these lanes only."""
    return replace(claim_request(queues=BOTH), lane_limits=lane_limits)


async def take(
    harness: StoreHarness, worker: NodeId = ALICE, limit: int = MANY, wanted: ClaimRequest | None = None
) -> list[Claim]:
    """Claim runs that need no verdict, then those of the limit queues."""
    ledger, wanted = harness.store.ledger, replace(wanted or claim_request(), worker=worker)
    direct = list(await ledger.claim_direct(wanted, limit))
    return [*direct, *await ledger.claim_lined(wanted, limit - len(direct), decide)]


def names(claims: list[Claim]) -> list[str]:
    """The idempotency keys of these runs."""
    return [one.run_key.partition("#")[2] for one in claims]
