"""A replica set that loses its primary, or its majority, while leases are held."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

import pytest
from pymongo.errors import AutoReconnect

from fencepost.clock import SystemClock
from fencepost.drivers.mongodb.calls import REQUEST_TIMEOUT_S
from fencepost.leases.mongodb import MongoLeases, open_leases
from fencepost.model.identifiers import Epoch
from fencepost.model.lease import Acquisition, Granted, HeldBy, Released, Renewal, Unknown
from fencepost.testing.conformance.builders import ALICE, BOB
from fencepost.testing.conformance.lease_steps import OTHER, SHARD, granted
from tests.leases.mongodb.harness import named
from tests.servers.mongodb import MongoReplicaSet

pytestmark = pytest.mark.proof

TTL_S = 60.0
PATIENCE_S = 30.0
OVERHEAD_S = 1.0


@pytest.fixture
async def leases(mongo_replica_set: MongoReplicaSet) -> AsyncIterator[MongoLeases]:
    opened = await open_leases(named(mongo_replica_set.url), clock=SystemClock())
    yield opened
    await opened.close()


def kill(replica_set: MongoReplicaSet) -> None:
    replica_set.kill_primary()


def step_down(replica_set: MongoReplicaSet) -> None:
    """Send the primary away. It may close the connection instead of answering, and may stand again."""
    primary = replica_set.primary()
    with suppress(AutoReconnect):
        primary.call("replSetStepDown", 20)
    primary.call("replSetFreeze", 0)


@pytest.mark.parametrize("lose_primary", [kill, step_down])
async def test_a_lease_is_not_lost_with_the_primary(
    mongo_replica_set: MongoReplicaSet,
    leases: MongoLeases,
    lose_primary: Callable[[MongoReplicaSet], None],
) -> None:
    first = granted((await leases.acquire([SHARD], ALICE, TTL_S))[SHARD])
    lose_primary(mongo_replica_set)
    assert await answered(lambda: renew(leases, first.epoch)) == first
    rival = await answered(lambda: acquire(leases))
    assert isinstance(rival, HeldBy)
    assert (rival.holder, rival.epoch) == (ALICE, first.epoch)
    assert (await leases.release({SHARD: first.epoch}, ALICE))[SHARD] == Released()
    second = granted(await answered(lambda: acquire(leases)))
    assert (second.epoch, second.lineage) == (first.epoch + 1, first.lineage)


async def test_nothing_is_granted_or_renewed_without_a_majority(
    mongo_replica_set: MongoReplicaSet, leases: MongoLeases
) -> None:
    first = granted((await leases.acquire([SHARD], ALICE, TTL_S))[SHARD])
    pause_secondaries(mongo_replica_set)
    async with asyncio.timeout(REQUEST_TIMEOUT_S + OVERHEAD_S):
        answers = await asyncio.gather(
            leases.acquire([OTHER], ALICE, TTL_S),
            leases.renew({SHARD: first.epoch}, ALICE, TTL_S),
        )
    assert all(isinstance(one, Unknown) for answer in answers for one in answer.values()), answers
    mongo_replica_set.restore()
    assert await answered(lambda: renew(leases, first.epoch)) == first


async def test_a_grant_that_no_majority_saw_is_not_confirmed_when_it_is_asked_for_again(
    mongo_replica_set: MongoReplicaSet, leases: MongoLeases
) -> None:
    """The second request changes nothing, and still rests on the first one's write."""
    pause_secondaries(mongo_replica_set)
    for _ in range(2):
        answer = (await leases.acquire([SHARD], ALICE, TTL_S))[SHARD]
        assert isinstance(answer, Unknown), answer


async def test_a_server_without_a_majority_is_not_waited_for_at_the_release(
    mongo_replica_set: MongoReplicaSet, leases: MongoLeases
) -> None:
    first = granted((await leases.acquire([SHARD], ALICE, TTL_S))[SHARD])
    killed = [node for node in mongo_replica_set.nodes if node is not mongo_replica_set.primary()]
    for node in killed:
        node.kill()
    async with asyncio.timeout(REQUEST_TIMEOUT_S + OVERHEAD_S):
        answers = await leases.release({SHARD: first.epoch}, ALICE)
    assert isinstance(answers[SHARD], Unknown)
    mongo_replica_set.restore()
    later = await answered(lambda: acquire(leases))
    assert isinstance(later, (Granted, HeldBy))
    assert later.epoch in (first.epoch, first.epoch + 1)


async def test_a_watcher_does_not_go_deaf_with_the_primary(
    mongo_replica_set: MongoReplicaSet, leases: MongoLeases
) -> None:
    heard = asyncio.Event()
    stop = await leases.watch(heard.set)
    first = granted((await leases.acquire([SHARD], ALICE, TTL_S))[SHARD])
    mongo_replica_set.kill_primary()
    assert await answered(lambda: renew(leases, first.epoch)) == first
    heard.clear()
    assert (await leases.release({SHARD: first.epoch}, ALICE))[SHARD] == Released()
    await asyncio.wait_for(heard.wait(), PATIENCE_S)
    stop()


def pause_secondaries(replica_set: MongoReplicaSet) -> None:
    primary = replica_set.primary()
    for node in replica_set.nodes:
        if node is not primary:
            node.pause()


async def renew(leases: MongoLeases, epoch: Epoch) -> Renewal:
    return (await leases.renew({SHARD: epoch}, ALICE, TTL_S))[SHARD]


async def acquire(leases: MongoLeases) -> Acquisition:
    return (await leases.acquire([SHARD], BOB, TTL_S))[SHARD]


async def answered(ask: Callable[[], Awaitable[Renewal | Acquisition]]) -> Renewal | Acquisition:
    """What is answered once the replica set can."""
    async with asyncio.timeout(PATIENCE_S):
        while isinstance(answer := await ask(), Unknown):
            pass
    return answer
