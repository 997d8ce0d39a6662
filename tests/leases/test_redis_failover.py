"""A failover in the midst of a lease: the new master is found, and nobody is told less than the truth."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress

import pytest

from fencepost.model.identifiers import NodeId, Shard
from fencepost.model.lease import Granted, HeldBy, Unknown
from tests.leases.redis.harness import RedisHarness, sentinel_harness, wait_until_caught_up
from tests.servers.process import wait_until
from tests.servers.redis import RedisSentinel, RedisServer

pytestmark = pytest.mark.proof

ALICE, BOB = NodeId("alice"), NodeId("bob")
SHARD = Shard(0)
TTL_S = 300.0
PATIENCE_S = 60.0
TRIES = 1200


@pytest.fixture
async def harness(redis_sentinel: RedisSentinel) -> AsyncIterator[RedisHarness]:
    async with sentinel_harness(redis_sentinel) as harness:
        yield harness


async def replicated_grant(harness: RedisHarness, servers: RedisSentinel) -> Granted:
    """A lease that every replica has heard of."""
    answer = (await harness.leases.acquire([SHARD], ALICE, TTL_S))[SHARD]
    assert isinstance(answer, Granted), answer
    master = servers.master()
    for server in servers.servers:
        if server is not master:
            await asyncio.to_thread(wait_until_caught_up, server, master)
    return answer


def another_master(servers: RedisSentinel, old: RedisServer) -> RedisServer | None:
    """The master, unless it is that one."""
    port = servers.sentinels[0].master_port()
    return next((one for one in servers.servers if one.port == port and one is not old), None)


def is_replica(server: RedisServer) -> bool:
    """Whether it says so. A server that is being made one hangs up on everybody."""
    try:
        return not server.is_master()
    except server.faults:
        return False


async def first_answer(ask: Callable[[], Awaitable[Mapping[Shard, object]]]) -> object:
    """What is answered when anything is."""
    answer: object = None
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_S):
            for _ in range(TRIES):
                if not isinstance(answer := (await ask())[SHARD], Unknown):
                    return answer
                await asyncio.sleep(0.05)
    raise AssertionError(f"no answer ever came, in the end {answer}")


async def test_a_lease_that_was_replicated_does_not_end_with_its_master(
    harness: RedisHarness, redis_sentinel: RedisSentinel
) -> None:
    held = await replicated_grant(harness, redis_sentinel)
    await asyncio.to_thread(redis_sentinel.kill_master)
    renewal = await first_answer(lambda: harness.leases.renew({SHARD: held.epoch}, ALICE, TTL_S))
    assert isinstance(renewal, Granted)
    assert renewal.epoch == held.epoch
    assert renewal.lineage != held.lineage
    rival = await harness.another()
    assert isinstance((await rival.acquire([SHARD], BOB, TTL_S))[SHARD], HeldBy)


async def test_a_master_that_came_back_as_a_replica_is_not_asked_any_more(
    harness: RedisHarness, redis_sentinel: RedisSentinel
) -> None:
    held = await replicated_grant(harness, redis_sentinel)
    old = redis_sentinel.master()
    old.pause()
    new = await asyncio.to_thread(
        wait_until, lambda: another_master(redis_sentinel, old), lambda: old.log, PATIENCE_S
    )
    old.resume()
    await asyncio.to_thread(wait_until, lambda: is_replica(old), lambda: old.log)
    renewal = await first_answer(lambda: harness.leases.renew({SHARD: held.epoch}, ALICE, TTL_S))
    assert isinstance(renewal, Granted)
    assert new.replication()["master_replid"] in renewal.lineage


async def test_a_master_that_is_stalled_does_not_hold_up_the_fleet(
    harness: RedisHarness, redis_sentinel: RedisSentinel
) -> None:
    held = await replicated_grant(harness, redis_sentinel)
    old = redis_sentinel.master()
    old.pause()
    renewal = await first_answer(lambda: harness.leases.renew({SHARD: held.epoch}, ALICE, TTL_S))
    assert isinstance(renewal, Granted)
    assert renewal.lineage != held.lineage


async def test_hints_do_not_end_with_the_master(harness: RedisHarness, redis_sentinel: RedisSentinel) -> None:
    held = await replicated_grant(harness, redis_sentinel)
    told = asyncio.Event()
    await harness.leases.watch(told.set)
    await asyncio.to_thread(redis_sentinel.kill_master)
    await asyncio.wait_for(told.wait(), PATIENCE_S)
    told.clear()
    await first_answer(lambda: harness.leases.release({SHARD: held.epoch}, ALICE))
    await asyncio.wait_for(told.wait(), PATIENCE_S)


async def test_one_sentinel_is_enough_whichever_it_is(
    harness: RedisHarness, redis_sentinel: RedisSentinel
) -> None:
    silent, dead, _ = redis_sentinel.sentinels
    silent.pause()
    dead.kill()
    another = await harness.another()
    assert isinstance((await another.acquire([SHARD], ALICE, TTL_S))[SHARD], Granted)
