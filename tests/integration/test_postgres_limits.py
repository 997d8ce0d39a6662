"""Rivals for the last slot and for the rate of a job, on a real server."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from threading import Thread

import pytest

from fencepost.clock import SystemClock
from fencepost.core.limits import decide
from fencepost.core.verdict import judge
from fencepost.model.claiming import ClaimRequest
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import DEFAULT_NAMESPACE, DEFAULT_QUEUE, JobName, NodeId, RunKey
from fencepost.model.job import JobSpec
from fencepost.model.limits import JobLimit, LimitFacts, LimitVerdict
from fencepost.model.run import Claim, Hold, NewRun, Outcome, RunRecord, RunState
from fencepost.rules import jobs
from fencepost.stores.postgres import PostgresStore, open_store
from fencepost.stores.postgres.address import parse_address
from fencepost.stores.postgres.connection import connect
from tests.integration.waiting import until_blocked

pytestmark = pytest.mark.postgres

NS, JOB = DEFAULT_NAMESPACE, JobName("j")
WORKERS, RUNS, SLOTS, TURNS_MAX = 4, 60, 3, 10_000
LOCK_RUN = "SELECT 1 FROM fencepost.runs WHERE namespace = $1 AND run_key = $2 FOR UPDATE"
LOCK = "SELECT 1 FROM fencepost.limits WHERE namespace = $1 AND job = $2 FOR UPDATE"


@pytest.fixture
async def store(emptied_postgres_url: str) -> AsyncIterator[PostgresStore]:
    opened = await open_store(emptied_postgres_url, clock=SystemClock(), pool_max=WORKERS + 2)
    yield opened
    await opened.close()


def claim_request(number: int) -> ClaimRequest:
    return ClaimRequest(NodeId(f"w{number}"), (DEFAULT_QUEUE,), (JOB,), 30.0)


async def prepare(store: PostgresStore, limit: JobLimit, runs: int = RUNS) -> None:
    await store.jobs.register(NS, [JobSpec(JOB, open_payload=True, limit=limit)])
    new = [NewRun(RunKey(f"j#{n}"), JOB, {"customer": n % 2}, DEFAULT_QUEUE, 2) for n in range(runs)]
    await store.ledger.enqueue(NS, new)


async def take(store: PostgresStore, number: int, most: int = 5) -> list[Claim]:
    """One pass of one claimer over all kinds."""
    wanted, ledger = claim_request(number), store.ledger
    found = list(await ledger.claim_direct(wanted, most))
    found += await ledger.claim_lined(wanted, most, decide)
    return [*found, *await ledger.claim_ticks(wanted, most, judge, decide)]


async def test_a_job_whose_limits_another_has_is_passed_over(
    store: PostgresStore, emptied_postgres_url: str
) -> None:
    await prepare(store, JobLimit(1))
    rival = await connect(parse_address(emptied_postgres_url))
    async with rival.transaction():
        await rival.fetch(LOCK, NS, JOB)
        assert await take(store, 0) == []
    assert len(await take(store, 0)) == 1
    await rival.close()


async def test_two_at_the_last_slot_do_not_both_get_it(store: PostgresStore) -> None:
    await prepare(store, JobLimit(1))
    for _ in range(10):
        batches = await asyncio.gather(*(take(store, number) for number in range(WORKERS)))
        claims = [one for batch in batches for one in batch]
        claims += await take(store, 0)
        assert len(claims) == 1
        await store.ledger.finish([Outcome(claims[0].ticket, RunState.SUCCEEDED)])


async def test_a_slot_that_becomes_free_while_a_claim_finds_it_taken_does_not_stay_empty(
    store: PostgresStore, emptied_postgres_url: str
) -> None:
    """The end is committed after the claim has counted, and before it has held its run: neither sees the
    other."""
    await prepare(store, JobLimit(1), runs=2)
    (first,) = await take(store, 0)

    async def end() -> None:
        other = await open_store(emptied_postgres_url, clock=SystemClock(), pool_max=2)
        await other.ledger.finish([Outcome(first.ticket, RunState.SUCCEEDED)])
        await other.close()

    def slowly(facts: LimitFacts, now: StoreTime, room: int) -> LimitVerdict:
        if facts.candidates:
            ending = Thread(target=lambda: asyncio.run(end()))
            ending.start()
            ending.join()
        return decide(facts, now, room)

    await store.jobs.register(NS, [JobSpec(JOB, open_payload=True, limit=JobLimit(1, rate="99/s"))])
    await store.ledger.claim_direct(claim_request(1), 5)
    assert list(await store.ledger.claim_lined(claim_request(1), 5, slowly)) == []
    waiting = await store.ledger.get(NS, RunKey("j#1"))
    assert waiting is not None
    assert waiting.held is Hold.PACED
    assert len(await take(store, 1)) == 1


async def test_a_change_of_limits_does_not_lock_runs_in_another_order_than_that_of_their_keys(
    store: PostgresStore, emptied_postgres_url: str
) -> None:
    """What waits is released. A freeze locks by key as well."""
    await prepare(store, JobLimit(rate="1/d"), runs=0)
    for number in (9, 5, 1):
        key = RunKey(f"j#{number}")
        await store.ledger.enqueue(NS, [NewRun(key, JOB, {}, DEFAULT_QUEUE, 2)])
        await store.ledger.claim_direct(claim_request(0), 5)
    rival = await connect(parse_address(emptied_postgres_url))
    async with rival.transaction():
        await rival.fetch(LOCK_RUN, NS, "j#1")
        change = store.jobs.register(NS, [JobSpec(JOB, open_payload=True, limit=JobLimit(3, "customer"))])
        changing = asyncio.create_task(change)
        await until_blocked(rival)
        await rival.fetch(f"{LOCK_RUN} NOWAIT", NS, "j#9")
    await changing
    await rival.close()


async def test_a_change_of_limits_does_not_wait_for_a_run_in_a_transaction_of_its_own(
    store: PostgresStore, emptied_postgres_url: str
) -> None:
    """It goes on counting for what it did."""
    await prepare(store, JobLimit(5), runs=1)
    await take(store, 0)
    rival = await connect(parse_address(emptied_postgres_url))
    async with rival.transaction():
        await rival.fetch(LOCK_RUN, NS, "j#0")
        limit = JobLimit(3, "customer")
        await store.jobs.register(NS, [JobSpec(JOB, open_payload=True, limit=limit)])
    assert await rival.fetchval("SELECT slot FROM fencepost.runs") == ""
    await rival.close()


async def test_a_long_limit_queue_is_not_released_in_one_go_and_no_run_is_left(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "RELEASE_MAX", 2)
    await prepare(store, JobLimit(1), runs=8)
    await take(store, 0, most=20)
    await store.jobs.register(NS, [JobSpec(JOB, open_payload=True)])
    assert len(await store.ledger.claim_direct(claim_request(0), 20)) == 7


async def test_what_was_not_released_by_a_process_that_died_is_not_forgotten(
    store: PostgresStore, emptied_postgres_url: str
) -> None:
    await prepare(store, JobLimit(1), runs=3)
    await take(store, 0)
    rival = await connect(parse_address(emptied_postgres_url))
    await rival.execute("DELETE FROM fencepost.limits")
    await rival.close()
    await store.ledger.unpark(100)
    assert len(await store.ledger.claim_direct(claim_request(0), 20)) == 2


async def test_limits_of_a_newer_release_do_not_keep_a_worker_awake(
    store: PostgresStore, emptied_postgres_url: str
) -> None:
    await prepare(store, JobLimit(1), runs=3)
    await store.ledger.claim_direct(claim_request(0), 20)
    assert (await store.ledger.outlook(claim_request(0))).lined
    rival = await connect(parse_address(emptied_postgres_url))
    await rival.execute("UPDATE fencepost.limits SET terms = '{\"v\": 99}'")
    await rival.close()
    assert not (await store.ledger.outlook(claim_request(0))).is_anything_due
    assert await take(store, 0) == []


@pytest.mark.parametrize("key", [None, "customer"])
async def test_never_more_run_than_may_and_no_run_is_forgotten(store: PostgresStore, key: str | None) -> None:
    """Without the net: every bell is heard, or seen by the claimer that could have missed it."""
    await prepare(store, JobLimit(SLOTS, key))
    done: set[RunKey] = set()

    async def work(number: int) -> None:
        for _ in range(TURNS_MAX):
            if len(done) == RUNS:
                return
            for claim in await take(store, number, most=2):
                await store.ledger.finish([Outcome(claim.ticket, RunState.SUCCEEDED)])
                done.add(claim.run_key)
            await asyncio.sleep(0)

    await asyncio.gather(*(work(number) for number in range(WORKERS)))
    assert len(done) == RUNS
    records = [await store.ledger.get(NS, RunKey(f"j#{n}")) for n in range(RUNS)]
    spans = [span_of(one, key) for one in records if one is not None]
    for slot, began, _ in spans:
        beside = [one for one in spans if one[0] == slot and one[1] <= began < one[2]]
        assert len(beside) <= SLOTS


def span_of(run: RunRecord, key: str | None) -> tuple[object, datetime, datetime]:
    """What a run counted for, from when to when, by the ledger."""
    assert run.started_at is not None
    assert run.finished_at is not None
    return run.payload["customer"] if key else None, run.started_at, run.finished_at


async def test_the_rate_is_not_exceeded_by_two_workers(store: PostgresStore) -> None:
    limit = JobLimit(rate="40/s")
    await prepare(store, limit, runs=30)
    claims: list[Claim] = []
    for _ in range(TURNS_MAX):
        for batch in await asyncio.gather(*(take(store, number) for number in range(WORKERS))):
            claims += batch
        if len(claims) == 30:
            break
    starts = sorted(one.started_at for one in claims)
    assert len(starts) == 30
    assert limit.every_s is not None
    for first in range(len(starts)):
        for last in range(first, len(starts)):
            intervals = (starts[last] - starts[first]) / timedelta(seconds=limit.every_s)
            assert last - first + 1 <= intervals + limit.burst + 1e-6
