"""The behaviour of lanes: a claim walks them in the order of its lane limits, and no further than they
say."""

from __future__ import annotations

from dataclasses import replace

from fencepost.model.claiming import Head, LaneLimit
from fencepost.model.identifiers import DEFAULT_QUEUE, Queue, ScheduleId
from fencepost.model.job import JobSpec
from fencepost.model.limits import JobLimit
from fencepost.model.run import Claim
from fencepost.testing.conformance.builders import (
    ALICE,
    MANY,
    NS,
    OTHER_JOB,
    at,
    claim_request,
    due_ticks,
    enqueue,
    make_spec,
    put,
    start_all,
)
from fencepost.testing.conformance.harness import StoreHarness

MAIL = Queue("mail")
BOTH = (DEFAULT_QUEUE, MAIL)


class LaneContract:
    """Lane limits, and the heads that they are made of."""

    async def test_the_outlook_does_not_hide_a_lane_behind_another(self, harness: StoreHarness) -> None:
        await enqueue(harness, "a", queue=MAIL, priority=3)
        await enqueue(harness, "b", priority=1, run_at=at(harness, 1))
        await enqueue(harness, "c", priority=1, run_at=at(harness, 2))
        await put(harness, make_spec(queue=MAIL, priority=4))
        await due_ticks(harness, 60)
        outlook = await harness.store.ledger.outlook(claim_request(queues=BOTH))
        directs = {Head(3, at(harness, -60), MAIL), Head(1, at(harness, -59), DEFAULT_QUEUE)}
        assert set(outlook.directs) == directs
        assert outlook.ticks == (Head(4, harness.now, MAIL),)
        assert outlook.lined == ()

    async def test_lanes_are_not_walked_in_another_order_than_that_of_the_portions(
        self, harness: StoreHarness
    ) -> None:
        for queue in BOTH:
            for priority in (1, 4):
                await enqueue(harness, f"{queue}-{priority}", queue=queue, priority=priority)
        lanes = [(MAIL, 4), (DEFAULT_QUEUE, 1), (MAIL, 1), (DEFAULT_QUEUE, 4)]
        claims = await claim_lane_limits(harness, *(LaneLimit(queue, each, 5) for queue, each in lanes))
        assert names(claims) == ["mail-4", "default-1", "mail-1", "default-4"]

    async def test_a_lane_does_not_give_more_than_its_portion(self, harness: StoreHarness) -> None:
        await enqueue(harness, "a", "b", "c", queue=MAIL)
        await enqueue(harness, "d", "e", "f")
        lane_limits = LaneLimit(MAIL, 2, 1), LaneLimit(DEFAULT_QUEUE, 2, 2)
        assert len(await claim_lane_limits(harness, *lane_limits)) == 3
        assert {one.queue for one in await claim_lane_limits(harness, LaneLimit(MAIL, 2, 9))} == {MAIL}

    async def test_runs_of_a_limited_job_do_not_buy_their_lane_another_portion(
        self, harness: StoreHarness
    ) -> None:
        await harness.store.jobs.register(NS, [JobSpec(OTHER_JOB, limit=JobLimit(1))])
        await enqueue(harness, "a", "b", "c", run_at=at(harness, -1))
        await enqueue(harness, "x", "y", job=OTHER_JOB, run_at=at(harness, -2))
        await enqueue(harness, "d", run_at=at(harness, -1), queue=MAIL)
        await enqueue(harness, "e", "f", queue=MAIL)
        await enqueue(harness, "z", job=OTHER_JOB, run_at=at(harness, -2), queue=MAIL)
        claims = await claim_lane_limits(harness, LaneLimit(DEFAULT_QUEUE, 2, 3), LaneLimit(MAIL, 2, 1))
        assert sorted(names(claims)) == ["a", "b", "c", "d"]

    async def test_a_lane_without_a_portion_is_not_walked(self, harness: StoreHarness) -> None:
        await enqueue(harness, "a", priority=1)
        await enqueue(harness, "b", priority=2)
        assert names(await claim_lane_limits(harness, LaneLimit(DEFAULT_QUEUE, 2, 9))) == ["b"]

    async def test_portions_do_not_exceed_the_limit(self, harness: StoreHarness) -> None:
        await enqueue(harness, "a", "b", queue=MAIL)
        await enqueue(harness, "c", "d")
        lane_limits = LaneLimit(MAIL, 2, 2), LaneLimit(DEFAULT_QUEUE, 2, 2)
        assert len(await claim_lane_limits(harness, *lane_limits, limit=3)) == 3

    async def test_a_claim_is_not_silent_about_its_queue(self, harness: StoreHarness) -> None:
        await enqueue(harness, "a", queue=MAIL)
        (claimed,) = await claim_lane_limits(harness, LaneLimit(MAIL, 2, 1))
        assert claimed.queue == MAIL
        (adopted,) = await harness.store.ledger.adopt(ALICE, [])
        assert adopted.queue == MAIL

    async def test_ticks_do_not_leave_the_order_of_the_portions(self, harness: StoreHarness) -> None:
        for number, (queue, priority) in enumerate([(DEFAULT_QUEUE, 1), (MAIL, 4), (MAIL, 2)]):
            name = ScheduleId(f"s{number}")
            await put(harness, make_spec(queue=queue, priority=priority), name)
            await due_ticks(harness, 60, schedule_id=name)
        lanes = LaneLimit(MAIL, 4, 5), LaneLimit(MAIL, 2, 5), LaneLimit(DEFAULT_QUEUE, 1, 5)
        wanted = replace(claim_request(queues=BOTH), lane_limits=lanes)
        claims = await harness.store.ledger.claim_ticks(wanted, MANY, start_all)
        assert [one.schedule_id for one in claims] == ["s1", "s2", "s0"]

    async def test_a_lane_does_not_give_more_schedules_than_its_portion(self, harness: StoreHarness) -> None:
        for number in range(3):
            await put(harness, make_spec(), ScheduleId(f"s{number}"))
            await due_ticks(harness, 60, schedule_id=ScheduleId(f"s{number}"))
        wanted = replace(claim_request(), lane_limits=(LaneLimit(DEFAULT_QUEUE, 2, 2),))
        assert len(await harness.store.ledger.claim_ticks(wanted, MANY, start_all)) == 2


async def claim_lane_limits(harness: StoreHarness, *lane_limits: LaneLimit, limit: int = MANY) -> list[Claim]:
    """Claim direct runs of both queues in these lane limits."""
    wanted = replace(claim_request(queues=BOTH), lane_limits=lane_limits)
    return list(await harness.store.ledger.claim_direct(wanted, limit))


def names(claims: list[Claim]) -> list[str]:
    """The idempotency keys of these runs."""
    return [one.run_key.partition("#")[2] for one in claims]
