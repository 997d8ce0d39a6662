"""Many clients at once, with bad luck: what a lease store tells them is one life of each lease.

The store in memory lives in virtual time, many lives long; the others one short life each, in real time.
"""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fencepost.clock import Clock, SystemClock
from fencepost.leases.kubernetes import KubernetesLeases, open_leases
from fencepost.model.address import parse_address
from fencepost.model.identifiers import Epoch, NodeId, Shard
from fencepost.model.lease import Acquisition, LeaseRecord, Release, Renewal
from fencepost.ports.leases import LeaseStore
from fencepost.stores import sqlite
from fencepost.stores.memory import MemoryStore
from fencepost.testing.conformance.lease_harness import LeaseHarness
from tests.leases.etcd.harness import open_harness
from tests.leases.histories import TOLERANCE_S, Workload, judge, live
from tests.leases.kubernetes.harness import KubernetesHarness
from tests.leases.kubernetes.on_double import harness_on_double
from tests.leases.mongodb.harness import mongo_harness
from tests.leases.postgres.harness import postgres_harness
from tests.leases.redis.harness import redis_harness
from tests.linearizability.checker import Unexplained
from tests.linearizability.lease_history import LeaseHistory, LeaseRules
from tests.linearizability.model import MUTANTS, TTL_S, Model
from tests.servers.process import Address
from tests.virtual_loop import LoopClock, run_virtually

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LIVES_MAX = 40


class Clients:
    """A harness of clients that are opened by a function; nothing lies between them and their store."""

    slack_s = 0.0

    def __init__(self, ttl_s: float, clock: Clock, leases: LeaseStore, another: Opener) -> None:
        self.ttl_s = ttl_s
        self.leases = leases
        self._clock = clock
        self._another = another

    async def another(self) -> LeaseStore:
        return await self._another()

    async def advance(self, seconds: float) -> None:
        await self._clock.sleep(seconds)

    async def set_back(self, seconds: float) -> bool:
        raise NotImplementedError

    @asynccontextmanager
    async def losing_answers(self) -> AsyncIterator[None]:
        yield

    @asynccontextmanager
    async def away(self) -> AsyncIterator[None]:
        yield


Opener = Callable[[], Awaitable[LeaseStore]]


@pytest.mark.parametrize("seed", range(LIVES_MAX))
def test_memory_tells_no_life_that_a_lease_cannot_have(seed: int) -> None:
    workload = Workload(seed, calls_per_client=60)

    async def main() -> LeaseHistory:
        clock = LoopClock(START)
        leases = MemoryStore(clock).leases
        return await live(Clients(TTL_S, clock, leases, lambda: given(leases)), clock, workload)

    judge(run_virtually(main()), LeaseRules(TTL_S, slack_s=0, tolerance_s=1e-5), workload)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_no_wrong_store_gets_through_the_workload(mutant: Callable[[], Model]) -> None:
    async def main(seed: int) -> LeaseHistory:
        clock = LoopClock(START)
        leases = ModelLeases(mutant, clock)
        clients = Clients(TTL_S, clock, leases, lambda: given(leases))
        return await live(clients, clock, Workload(seed))

    rules = LeaseRules(TTL_S, slack_s=0, tolerance_s=1e-5)
    verdicts = (run_virtually(main(seed)).verdicts(rules).values() for seed in range(LIVES_MAX))
    assert any(isinstance(one, Unexplained) for life in verdicts for one in life)


async def test_sqlite_tells_no_life_that_a_lease_cannot_have(tmp_path: Path) -> None:
    clock = SystemClock()
    async with AsyncExitStack() as stack:

        async def another() -> LeaseStore:
            store = await sqlite.open_store(f"sqlite:///{tmp_path / 'leases.db'}", clock=clock)
            stack.push_async_callback(store.close)
            return store.leases

        await explain(Clients(0.4, clock, await another(), another))


@pytest.mark.postgres
async def test_postgres_tells_no_life_that_a_lease_cannot_have(postgres_url: str) -> None:
    async with postgres_harness(postgres_url) as harness:
        await explain(harness)


@pytest.mark.proof
async def test_redis_tells_no_life_that_a_lease_cannot_have(redis_server: Address) -> None:
    async with redis_harness(redis_server.url) as harness:
        await explain(harness)


@pytest.mark.proof
async def test_mongodb_tells_no_life_that_a_lease_cannot_have(mongo_server: Address) -> None:
    primary = parse_address(mongo_server.url, 27017).hosts[0]
    async with mongo_harness(mongo_server.url, str(primary)) as harness:
        await explain(harness)


@pytest.mark.proof
async def test_etcd_tells_no_life_that_a_lease_cannot_have(etcd_server: Address) -> None:
    harness = await open_harness(etcd_server.url)
    try:
        await explain(harness, slack_s=harness.slack_s + 1)
    finally:
        await harness.close()


@pytest.mark.proof
async def test_kubernetes_tells_no_life_that_a_lease_cannot_have(tmp_path: Path) -> None:
    """Each process judges for itself, and one that looks for the first time waits a whole term: there is no
    limit to how late a lease may end."""
    async with harness_on_double(tmp_path) as moved, AsyncExitStack() as stack:
        await explain(await InRealTime.of(moved, stack), slack_s=math.inf, one_judge=False)


async def explain(harness: LeaseHarness, slack_s: float | None = None, one_judge: bool = True) -> None:
    """Live one short life in real time, and find an explanation of it."""
    workload = Workload()
    async with asyncio.timeout(60):
        history = await live(harness, SystemClock(), workload)
    slack_s = harness.slack_s if slack_s is None else slack_s
    judge(history, LeaseRules(harness.ttl_s, slack_s, TOLERANCE_S, one_judge), workload)


class InRealTime(Clients):
    """Clients of an API server that have the system's clock, one of them through a bad network."""

    def __init__(self, moved: KubernetesHarness, leases: LeaseStore, another: Opener) -> None:
        super().__init__(1.0, SystemClock(), leases, another)
        self._moved = moved

    @classmethod
    async def of(cls, moved: KubernetesHarness, stack: AsyncExitStack) -> InRealTime:
        async def client(server: str) -> KubernetesLeases:
            leases = await open_leases(moved.url(server), clock=SystemClock())
            stack.push_async_callback(leases.close)
            return leases

        proxied = await client(f"http://{moved.proxy.address}")
        return cls(moved, proxied, lambda: client(moved.backend.url))

    @asynccontextmanager
    async def losing_answers(self) -> AsyncIterator[None]:
        async with self._moved.losing_answers():
            yield


class ModelLeases:
    """The model as a lease store. See `ports.leases`."""

    caveats: Sequence[str] = ()

    def __init__(self, model: Callable[[], Model], clock: Clock) -> None:
        self._models = defaultdict[Shard, Model](model)
        self._clock = clock

    async def acquire(
        self, shards: Sequence[Shard], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Acquisition]:
        assert ttl_s == TTL_S
        return {shard: self._models[shard].acquire(self._clock.monotonic(), holder) for shard in shards}

    async def renew(
        self, held: Mapping[Shard, Epoch], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Renewal]:
        now = self._clock.monotonic()
        return {shard: self._models[shard].renew(now, holder, epoch) for shard, epoch in held.items()}

    async def release(self, held: Mapping[Shard, Epoch], holder: NodeId) -> Mapping[Shard, Release]:
        now = self._clock.monotonic()
        return {shard: self._models[shard].release(now, holder, epoch) for shard, epoch in held.items()}

    async def read(self) -> Sequence[LeaseRecord]:
        return ()

    async def watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        return lambda: None

    async def close(self) -> None:
        return None


async def given(leases: LeaseStore) -> LeaseStore:
    return leases
