"""A replica set that loses its primary, or its majority, under a store: what was acknowledged stays, and
nothing is acknowledged that a majority does not have."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import TypeVar
from uuid import uuid4

import pytest

from fencepost.errors import StoreUnavailable
from fencepost.model.claiming import ClaimRequest
from fencepost.model.identifiers import DEFAULT_NAMESPACE as NS
from fencepost.model.identifiers import DEFAULT_QUEUE, JobName, NodeId, RunKey
from fencepost.model.run import Claim, NewRun, Outcome, RunFilter, RunState
from fencepost.ports.signals import Topic
from fencepost.stores.mongodb import MongoStore, migrate, open_store
from fencepost.stores.mongodb.rows import REQUEST_TIMEOUT_S
from tests.leases.test_mongodb_failover import kill, pause_secondaries, step_down
from tests.servers.mongodb import MongoReplicaSet

pytestmark = [pytest.mark.proof, pytest.mark.timeout(300)]

T = TypeVar("T")
JOB = JobName("report")
RUNS, BATCH = 200, 10
PATIENCE_S = 60.0


@pytest.fixture
async def store(mongo_replica_set: MongoReplicaSet) -> AsyncIterator[MongoStore]:
    url = mongo_replica_set.url.replace("/?", f"/failover_{uuid4().hex}?")
    await answered(lambda: migrate(url, shards=8))
    opened = await open_store(url)
    yield opened
    await opened.close()


@pytest.mark.parametrize("lose_primary", [kill, step_down])
async def test_what_was_acknowledged_stays_when_the_primary_is_lost_in_the_midst_of_it(
    mongo_replica_set: MongoReplicaSet,
    store: MongoStore,
    lose_primary: Callable[[MongoReplicaSet], None],
) -> None:
    """About 20 s: elections take a second or two each."""
    written: list[RunKey] = []
    claims: list[Claim] = []
    ended: list[Claim] = []
    halfway = asyncio.Event()

    async def enqueue() -> None:
        for start in range(0, RUNS, BATCH):
            keys = [RunKey(f"report#{number}") for number in range(start, start + BATCH)]
            runs = [NewRun(key, JOB, {}, DEFAULT_QUEUE, 2) for key in keys]
            await answered(partial(store.ledger.enqueue, NS, runs))
            written.extend(keys)

    async def work(name: str) -> None:
        claim_request = ClaimRequest(NodeId(name), (DEFAULT_QUEUE,), (JOB,), 600.0, NS)
        while len(ended) < RUNS:
            mine = [*await answered(partial(store.ledger.claim_direct, claim_request, BATCH))]
            known = [claim.fence for claim in (*claims, *mine)]
            mine += await answered(partial(store.ledger.adopt, claim_request.worker, known))
            claims.extend(mine)
            outcomes = [Outcome(claim.ticket, RunState.SUCCEEDED) for claim in mine]
            if outcomes:
                await answered(partial(store.ledger.finish, outcomes))
                ended.extend(mine)
            if len(ended) >= RUNS // 4:
                halfway.set()
            await asyncio.sleep(0)

    async with asyncio.timeout(PATIENCE_S * 3), asyncio.TaskGroup() as group:
        group.create_task(enqueue())
        for name in ("a", "b"):
            group.create_task(work(name))
        await halfway.wait()
        await asyncio.to_thread(lose_primary, mongo_replica_set)

    kept = {run.run_key: run for run in await store.ledger.list(NS, RunFilter(limit=10 * RUNS))}
    assert set(written) == set(kept)
    assert {run.state for run in kept.values()} == {RunState.SUCCEEDED}
    assert {run.attempt for run in kept.values()} == {1}
    assert len({claim.fence for claim in claims}) == len({claim.run_key for claim in claims}) == RUNS


async def test_nothing_is_acknowledged_without_a_majority(
    mongo_replica_set: MongoReplicaSet, store: MongoStore
) -> None:
    """About 15 s: a call that no majority confirms is given up after its time."""
    pause_secondaries(mongo_replica_set)
    run = NewRun(RunKey("report#alone"), JOB, {}, DEFAULT_QUEUE, 2)
    async with asyncio.timeout(REQUEST_TIMEOUT_S + 5):
        with pytest.raises(StoreUnavailable):
            await store.ledger.enqueue(NS, [run])
    await asyncio.to_thread(mongo_replica_set.restore)
    await answered(lambda: store.ledger.enqueue(NS, [run]))
    found = await answered(lambda: store.ledger.list(NS, RunFilter(limit=10)))
    assert [one.run_key for one in found] == [run.run_key]


async def test_a_listener_does_not_go_deaf_with_the_primary(
    mongo_replica_set: MongoReplicaSet, store: MongoStore
) -> None:
    heard = asyncio.Event()
    stop = await store.signals.listen(Topic.RUNS, heard.set)
    await asyncio.to_thread(mongo_replica_set.kill_primary)
    first, second = (NewRun(RunKey(f"report#{n}"), JOB, {}, DEFAULT_QUEUE, 2) for n in (1, 2))
    await answered(lambda: store.ledger.enqueue(NS, [first]))
    await asyncio.wait_for(heard.wait(), PATIENCE_S)
    heard.clear()
    await answered(lambda: store.ledger.enqueue(NS, [second]))
    await asyncio.wait_for(heard.wait(), PATIENCE_S)
    stop()


async def answered(ask: Callable[[], Awaitable[T]]) -> T:
    """Ask until the store answers."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                return await ask()
            except StoreUnavailable:
                await asyncio.sleep(0.1)
