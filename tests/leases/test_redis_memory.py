"""What Redis forgets: an epoch that fell back never comes under the lineage in which it was larger."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack

import pytest

from fencepost.clock import SystemClock
from fencepost.errors import LeaseStoreUnavailable
from fencepost.leases.redis import RedisLeases, open_leases
from fencepost.model.identifiers import Epoch, NodeId, Shard
from fencepost.model.lease import Granted, Released, Unknown
from tests.leases.redis.harness import proxy_to, wait_until_caught_up
from tests.servers.fixtures import started
from tests.servers.process import wait_until
from tests.servers.redis import RedisServer

ALICE, BOB = NodeId("alice"), NodeId("bob")
SHARD = Shard(0)
TTL_S = 30.0


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with started(RedisServer) as server:
        yield server


@pytest.fixture
def replica() -> Iterator[RedisServer]:
    with started(RedisServer) as server:
        yield server


async def opened(server: RedisServer, stack: AsyncExitStack) -> RedisLeases:
    leases = await open_leases(server.url, clock=SystemClock())
    stack.push_async_callback(leases.close)
    return leases


async def grants(leases: RedisLeases, count: int) -> list[Granted]:
    """Take the shard and give it back, so many times."""
    found = []
    for _ in range(count):
        answer = (await leases.acquire([SHARD], ALICE, TTL_S))[SHARD]
        assert isinstance(answer, Granted), answer
        assert (await leases.release({SHARD: answer.epoch}, ALICE))[SHARD] == Released()
        found.append(answer)
    return found


async def follow(replica: RedisServer, port: int) -> None:
    """Make it a replica of the server at that port, and wait until it has caught up."""
    await asyncio.to_thread(replica.call, "REPLICAOF", "127.0.0.1", str(port))
    await asyncio.to_thread(
        wait_until,
        lambda: replica.replication().get("master_link_status") == "up",
        lambda: f"no replication: {replica.log}",
    )


def assert_fell_back_elsewhere(before: list[Granted], after: Granted) -> None:
    assert after.epoch <= before[-1].epoch, "nothing was forgotten: this test shows nothing"
    assert after.lineage not in {one.lineage for one in before}


async def test_a_restart_that_forgets_does_not_keep_the_lineage(
    server: RedisServer, stack: AsyncExitStack
) -> None:
    leases = await opened(server, stack)
    before = await grants(leases, 3)
    await asyncio.to_thread(server.restart)
    (after,) = await grants(leases, 1)
    assert_fell_back_elsewhere(before, after)


async def test_a_flush_does_not_keep_the_lineage(server: RedisServer, stack: AsyncExitStack) -> None:
    leases = await opened(server, stack)
    before = await grants(leases, 3)
    server.call("FLUSHALL")
    (after,) = await grants(leases, 1)
    assert_fell_back_elsewhere(before, after)


async def test_counters_that_were_dropped_alone_do_not_change_what_is_held(
    server: RedisServer, stack: AsyncExitStack
) -> None:
    leases = await opened(server, stack)
    before = await grants(leases, 3)
    held = (await leases.acquire([SHARD], ALICE, TTL_S))[SHARD]
    assert isinstance(held, Granted)
    server.call("DEL", "{fencepost}:epochs")
    assert (await leases.acquire([SHARD], ALICE, TTL_S))[SHARD] == held
    assert (await leases.renew({SHARD: held.epoch}, ALICE, TTL_S))[SHARD] == held
    await leases.release({SHARD: held.epoch}, ALICE)
    (after,) = await grants(leases, 1)
    assert_fell_back_elsewhere([*before, held], after)


async def test_a_failover_to_a_replica_that_lagged_does_not_keep_the_lineage(
    server: RedisServer, replica: RedisServer, stack: AsyncExitStack
) -> None:
    proxy = await proxy_to(server.url, stack)
    await follow(replica, proxy.port)
    leases = await opened(server, stack)
    before = await grants(leases, 5)
    await asyncio.to_thread(wait_until_caught_up, replica, server)
    proxy.cut()
    before += await grants(leases, 3)
    server.kill()
    replica.call("REPLICAOF", "NO", "ONE")
    (after,) = await grants(await opened(replica, stack), 1)
    assert after.epoch == 6
    assert_fell_back_elsewhere(before, after)
    assert replica.replication()["master_replid2"] in before[-1].lineage


async def test_a_replica_does_not_answer_not_even_where_nothing_is_written(
    server: RedisServer, replica: RedisServer, stack: AsyncExitStack
) -> None:
    leases = await opened(server, stack)
    held = (await leases.acquire([SHARD], ALICE, TTL_S))[SHARD]
    assert isinstance(held, Granted)
    await follow(replica, server.port)
    replica.call("REPLICAOF", "NO", "ONE")
    await follow(server, replica.port)
    answers = [
        (await leases.acquire([SHARD], ALICE, TTL_S))[SHARD],
        (await leases.acquire([SHARD], BOB, TTL_S))[SHARD],
        (await leases.renew({SHARD: held.epoch}, ALICE, TTL_S))[SHARD],
        (await leases.renew({SHARD: Epoch(77)}, ALICE, TTL_S))[SHARD],
        (await leases.release({SHARD: held.epoch}, BOB))[SHARD],
    ]
    assert answers == [Unknown("Redis did not answer: this server is a replica")] * len(answers)
    with pytest.raises(LeaseStoreUnavailable, match="is a replica"):
        await leases.read()
    with pytest.raises(LeaseStoreUnavailable, match="name the master, or its sentinels"):
        await open_leases(server.url, clock=SystemClock())


async def test_a_master_without_enough_replicas_is_not_taken_for_a_refusal(
    server: RedisServer, stack: AsyncExitStack
) -> None:
    leases = await opened(server, stack)
    server.call("CONFIG SET", "min-replicas-to-write", "1")
    answer = (await leases.acquire([SHARD], ALICE, TTL_S))[SHARD]
    assert isinstance(answer, Unknown)
    assert "Not enough good replicas" in answer.why
    server.call("CONFIG SET", "min-replicas-to-write", "0")
    assert isinstance((await leases.acquire([SHARD], ALICE, TTL_S))[SHARD], Granted)
