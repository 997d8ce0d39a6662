"""Two processes' worth of connections at the last slot of a job, on one file."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from fencepost.clock import SystemClock
from fencepost.core.limits import decide
from fencepost.model.claiming import ClaimRequest
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import DEFAULT_NAMESPACE, DEFAULT_QUEUE, JobName, NodeId, RunKey
from fencepost.model.job import JobSpec
from fencepost.model.limits import JobLimit
from fencepost.model.run import Claim, NewRun, Outcome, RunState
from fencepost.stores.sqlite import SqliteStore, open_store

NS, JOB = DEFAULT_NAMESPACE, JobName("j")
RUNS = 12


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[list[SqliteStore]]:
    url = f"sqlite:///{tmp_path / 'fencepost.db'}"
    opened = [await open_store(url, clock=SystemClock()) for _ in range(2)]
    yield opened
    for one in opened:
        await one.close()


async def take(store: SqliteStore, number: int) -> list[Claim]:
    wanted = ClaimRequest(NodeId(f"w{number}"), (DEFAULT_QUEUE,), (JOB,), 30.0)
    direct = await store.ledger.claim_direct(wanted, 5)
    return [*direct, *await store.ledger.claim_lined(wanted, 5, decide)]


async def test_two_at_the_last_slot_do_not_both_get_it(stores: list[SqliteStore]) -> None:
    await stores[0].jobs.register(NS, [JobSpec(JOB, open_payload=True, limit=JobLimit(1))])
    runs = [NewRun(RunKey(f"j#{n:02}"), JOB, {}, DEFAULT_QUEUE, 2) for n in range(RUNS)]
    await stores[0].ledger.enqueue(NS, runs)
    done = []
    for _ in range(RUNS):
        batches = await asyncio.gather(*(take(store, number) for number, store in enumerate(stores)))
        (claim,) = [one for batch in batches for one in batch]
        await stores[1].ledger.finish([Outcome(claim.ticket, RunState.SUCCEEDED)])
        done.append(claim.run_key)
    assert done == [one.run_key for one in runs]


async def test_limits_of_a_newer_release_do_not_keep_a_worker_awake(stores: list[SqliteStore]) -> None:
    store, wanted = stores[0], ClaimRequest(NodeId("w"), (DEFAULT_QUEUE,), (JOB,), 30.0)
    await store.jobs.register(NS, [JobSpec(JOB, open_payload=True, limit=JobLimit(1))])
    await store.ledger.enqueue(NS, [NewRun(RunKey("j#1"), JOB, {}, DEFAULT_QUEUE, 2)])
    await store.ledger.claim_direct(wanted, 5)
    assert (await store.ledger.outlook(wanted)).lined

    def outgrow(connection: apsw.Connection, _: StoreTime) -> None:
        connection.execute("UPDATE limits SET terms = ?", ('{"v": 99}',))

    await store._database.transact(outgrow)
    assert not (await store.ledger.outlook(wanted)).is_anything_due
    assert await take(store, 0) == []
