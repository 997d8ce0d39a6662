"""Short ways to ask for the one shard, and to wait for what comes of it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from fencepost.leases.etcd import EtcdLeases
from fencepost.model.identifiers import Epoch, NodeId, Shard
from fencepost.model.lease import Acquisition, Granted, Release, Renewal

SHARD = Shard(7)
ALICE, BOB = NodeId("alice-1"), NodeId("bob-1")
LONG_S = 30.0
TRIES = 600
PAUSE_S = 0.05


async def ask(leases: EtcdLeases, holder: NodeId, ttl_s: float = LONG_S) -> Acquisition:
    return (await leases.acquire([SHARD], holder, ttl_s))[SHARD]


async def grant(leases: EtcdLeases, holder: NodeId, ttl_s: float = LONG_S) -> Granted:
    answer = await ask(leases, holder, ttl_s)
    assert isinstance(answer, Granted), answer
    return answer


async def renew(leases: EtcdLeases, holder: NodeId, epoch: Epoch, ttl_s: float = LONG_S) -> Renewal:
    return (await leases.renew({SHARD: epoch}, holder, ttl_s))[SHARD]


async def release(leases: EtcdLeases, holder: NodeId, epoch: Epoch) -> Release:
    return (await leases.release({SHARD: epoch}, holder))[SHARD]


async def expires_in_s(leases: EtcdLeases) -> float:
    (record,) = await leases.read()
    return record.expires_in_s


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait for it, not for ever."""
    for _ in range(TRIES):
        if await holds():
            return
        await asyncio.sleep(PAUSE_S)
    raise AssertionError("it never came true")


@asynccontextmanager
async def heard(leases: EtcdLeases) -> AsyncIterator[None]:
    """Demand a hint from what is done inside."""
    told = asyncio.Event()
    stop = await leases.watch(told.set)
    try:
        assert not told.is_set()
        yield
        async with asyncio.timeout(LONG_S):
            await told.wait()
    finally:
        stop()
