"""Many claimers at once: nothing is claimed twice, nothing overlaps, nothing is left behind."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import TypeVar

import pytest

from fencepost.clock import SystemClock
from fencepost.core.verdict import judge
from fencepost.model.claiming import ClaimRequest
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import (
    DEFAULT_NAMESPACE,
    DEFAULT_QUEUE,
    Epoch,
    JobName,
    NodeId,
    RunKey,
    ScheduleId,
    Shard,
)
from fencepost.model.plan import Plan, Tick
from fencepost.model.run import Claim, NewRun, Outcome, Receipt, RunState, Ticket
from fencepost.model.schedule import ScheduleSpec
from fencepost.stores.postgres import PostgresStore, open_store
from fencepost.testing.conformance.builders import register
from tests.integration.waiting import until_blocked
from tests.servers.postgres import freeze_time

pytestmark = pytest.mark.postgres

T = TypeVar("T")

NS, JOB, EPOCH = DEFAULT_NAMESPACE, JobName("j"), Epoch(1)
WORKERS, RUNS, SCHEDULES = 8, 400, 30
PARK_NEXT = """
    UPDATE fencepost.runs
    SET state = 'planned', held = 8, finished_at = NULL
    WHERE schedule_id = $1 AND run_key <> $2
"""


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    opened = await open_store(postgres_url, clock=SystemClock(), pool_max=WORKERS)
    yield opened
    await opened.close()


async def test_no_run_is_claimed_twice(store: PostgresStore) -> None:
    runs = [NewRun(RunKey(f"j#{n}"), JOB, {}, DEFAULT_QUEUE, 2) for n in range(RUNS)]
    await store.ledger.enqueue(NS, runs)
    claims = flat(await asyncio.gather(*(drain(store, number) for number in range(WORKERS))))
    assert sorted(claim.run_key for claim in claims) == sorted(run.run_key for run in runs)
    assert len({claim.fence for claim in claims}) == RUNS


async def test_the_next_tick_is_woken_though_it_was_judged_while_the_report_waited(
    store: PostgresStore, postgres_url: str
) -> None:
    """A claimer has the run, and parks the next tick anew, before the report of the run gets to it."""
    await plan_ticks(store, postgres_url, 2)
    (first,) = await store.ledger.claim_ticks(claim_request(1), 1, judge)
    both = first.schedule_id, first.run_key
    mine = "SELECT 1 FROM fencepost.runs WHERE schedule_id = $1 AND run_key = $2 FOR UPDATE"
    async with store._database.transaction() as claimer:
        await claimer.execute(PARK_NEXT, *both)
    async with store._database.transaction() as claimer:
        await claimer.execute(mine, *both)
        ended = asyncio.create_task(store.ledger.finish([Outcome(first.ticket, RunState.SUCCEEDED)]))
        await until_blocked(claimer)
        await claimer.execute(PARK_NEXT, *both)
    assert await ended == [Receipt.ACCEPTED]
    async with store._database.transaction() as claimer:
        next_one = "SELECT held FROM fencepost.runs WHERE schedule_id = $1 AND run_key <> $2"
        assert await claimer.fetchval(next_one, *both) == 0


async def test_no_two_ticks_of_a_schedule_run_at_once(store: PostgresStore, postgres_url: str) -> None:
    """Each schedule has three ticks due, and may run one at a time; each of the rest is accounted for."""
    await plan_ticks(store, postgres_url, 3)
    asked = (
        store.ledger.claim_ticks(claim_request(number), 5, judge)
        for number in range(WORKERS)
        for _ in range(SCHEDULES)
    )
    claims = flat(await asyncio.gather(*asked))
    schedules = [claim.schedule_id for claim in claims]
    assert len(schedules) == len(set(schedules)) == SCHEDULES
    tally = await store.ledger.tally(NS, 3600)
    assert tally == {RunState.RUNNING: SCHEDULES, RunState.SKIPPED: 2 * SCHEDULES}


async def test_of_two_reports_of_one_attempt_one_is_accepted(store: PostgresStore) -> None:
    await store.ledger.enqueue(NS, [NewRun(RunKey("j#1"), JOB, {}, DEFAULT_QUEUE, 2)])
    (claim,) = await drain(store, 0)
    outcome = Outcome(claim.ticket, RunState.SUCCEEDED)
    receipts = flat(await asyncio.gather(*(store.ledger.finish([outcome]) for _ in range(WORKERS))))
    assert receipts.count(Receipt.ACCEPTED) == 1
    assert receipts.count(Receipt.REPEATED) == WORKERS - 1


async def test_heartbeats_and_reports_of_the_same_runs_do_not_lock_each_other_out(
    store: PostgresStore,
) -> None:
    runs = [NewRun(RunKey(f"j#{n}"), JOB, {}, DEFAULT_QUEUE, 2) for n in range(RUNS)]
    await store.ledger.enqueue(NS, runs)
    tickets = [claim.ticket for claim in await store.ledger.claim_direct(claim_request(0), RUNS)]
    await asyncio.gather(
        *(store.ledger.pulse(shuffled(tickets, step), 30) for step in (1, 3, 7, 11)),
        store.ledger.finish([Outcome(one, RunState.SUCCEEDED) for one in shuffled(tickets, 9)]),
    )
    assert await store.ledger.tally(NS, 3600) == {RunState.SUCCEEDED: RUNS}


async def drain(store: PostgresStore, number: int) -> list[Claim]:
    """Claim in small batches until nothing comes any more, though others hold some for a moment."""
    claims: list[Claim] = []
    while batch := await store.ledger.claim_direct(claim_request(number), 10):
        claims += batch
    return claims


async def plan_ticks(store: PostgresStore, url: str, each: int) -> None:
    now = await store.now()
    await freeze_time(url, now)
    spec = ScheduleSpec(job=JOB, trigger={"v": 1, "kind": "every", "seconds": 1})
    for number in range(SCHEDULES):
        await store.schedules.put(
            NS, ScheduleId(f"schedule-{number}"), spec, tzdata="2026a", expected_version=0
        )
    shards = [Shard(number) for number in range(await store.epochs.shards())]
    for shard in shards:
        assert await register(store, shard, EPOCH)
    window = await store.plans.window(shards, 60, SCHEDULES)
    fire_times = [now + timedelta(seconds=1 + number) for number in range(each)]
    ticks = tuple(Tick(moment, moment) for moment in fire_times)
    plans = [Plan(one, EPOCH, ticks, fire_times[-1], None, "2026a") for one in window.cursors]
    assert (await store.plans.write(plans)).runs_written == each * SCHEDULES
    await freeze_time(url, StoreTime(now + timedelta(seconds=each)))


def claim_request(number: int) -> ClaimRequest:
    return ClaimRequest(NodeId(f"worker-{number}"), (DEFAULT_QUEUE,), (JOB,), 30.0)


def shuffled(tickets: Sequence[Ticket], step: int) -> list[Ticket]:
    """The same tickets in another order."""
    return [ticket for start in range(step) for ticket in tickets[start::step]]


def flat(parts: Sequence[Sequence[T]]) -> list[T]:
    return [one for part in parts for one in part]
