"""The steps of the contracts of leases."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TypeVar

from fencepost.errors import StoreUnavailable
from fencepost.model.identifiers import Epoch, NodeId, Shard
from fencepost.model.lease import Acquisition, Granted, Release, Renewal, Unknown
from fencepost.ports.leases import LeaseStore
from fencepost.testing.conformance.builders import ALICE
from fencepost.testing.conformance.lease_harness import LeaseHarness

T = TypeVar("T")

SHARD, OTHER = Shard(0), Shard(1)
PATIENCE_S = 30.0
"""Longer than a test takes, and so the term of each lease that is not to run out in one."""
IN_TIME = 3
"""Short terms within which the next call is expected, on a busy machine too."""
RETRY_S = 0.05
ASKED_MAX = 5


async def ask(harness: LeaseHarness, holder: NodeId, ttl_s: float = PATIENCE_S) -> Acquisition:
    """Ask for the one shard."""
    return await answered(lambda: harness.leases.acquire([SHARD], holder, ttl_s))


async def grant(harness: LeaseHarness, holder: NodeId, ttl_s: float = PATIENCE_S) -> Epoch:
    """Ask for the shard and be granted it."""
    return granted(await ask(harness, holder, ttl_s)).epoch


def granted(answer: Acquisition | Renewal) -> Granted:
    """The grant that this answer must be."""
    assert isinstance(answer, Granted), answer
    return answer


async def renew(harness: LeaseHarness, holder: NodeId, epoch: Epoch, ttl_s: float = PATIENCE_S) -> Renewal:
    """Try to extend the one shard's lease."""
    return await answered(lambda: harness.leases.renew({SHARD: epoch}, holder, ttl_s))


async def release(harness: LeaseHarness, holder: NodeId, epoch: Epoch) -> Release:
    """Try to free the one shard's lease."""
    return await answered(lambda: harness.leases.release({SHARD: epoch}, holder))


async def reconnected(harness: LeaseHarness, epoch: Epoch) -> None:
    """Until the holder is granted its renewal again; it may be in doubt for a while, but it is not lost."""
    for _ in range(int(PATIENCE_S / RETRY_S)):
        answer = await outcome(harness.leases.renew({SHARD: epoch}, ALICE, PATIENCE_S))
        if isinstance(answer, Granted):
            return
        assert isinstance(answer, Unknown), answer
        await asyncio.sleep(RETRY_S)
    raise AssertionError("the store is back, and its client has not noticed")


async def expire(harness: LeaseHarness, terms: int = 1) -> None:
    """Let every lease of this number of short terms run out, and be noticed to have."""
    await harness.advance(terms * harness.ttl_s + harness.slack_s)


async def holders(harness: LeaseHarness) -> dict[Shard, NodeId]:
    """Who holds what, as people read it."""
    records = await harness.leases.read()
    return {one.shard: one.holder for one in records if one.holder is not None and one.expires_in_s > 0}


async def answered(call: Callable[[], Awaitable[Mapping[Shard, T]]]) -> T:
    """The answer of a server that is there. On a busy machine one may be slow, and is asked again."""
    answer = await outcome(call())
    for _ in range(ASKED_MAX):
        if not isinstance(answer, Unknown):
            return answer
        answer = await outcome(call())
    raise AssertionError(answer)


async def outcome(call: Awaitable[Mapping[Shard, T]]) -> T | Unknown:
    """The one answer of a call, in whichever way it was given."""
    try:
        (answer,) = (await call).values()
    except StoreUnavailable as error:
        return Unknown(str(error))
    return answer


def doubtful(answer: object, happened: type[object]) -> None:
    """Unknown, or what really happened where nothing could be lost; no false refusal."""
    assert isinstance(answer, (Unknown, happened)), answer


@asynccontextmanager
async def hint(leases: LeaseStore) -> AsyncIterator[None]:
    """Demand a hint from what is done inside."""
    heard = asyncio.Event()
    stop = await leases.watch(heard.set)
    try:
        heard.clear()
        yield
        await asyncio.wait_for(heard.wait(), PATIENCE_S)
    finally:
        stop()
