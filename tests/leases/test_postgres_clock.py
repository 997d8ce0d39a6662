"""The server's time counts when a statement has its row, not when it began to wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from fencepost.clock import SystemClock
from fencepost.model.identifiers import NodeId, Shard
from fencepost.model.lease import Granted, Lost
from fencepost.stores.postgres import open_store
from fencepost.stores.postgres.store import PostgresStore
from tests.integration.waiting import until, until_blocked

pytestmark = pytest.mark.postgres

ALICE, BOB = NodeId("alice"), NodeId("bob")
SHARD = Shard(0)
TTL_S = 1.0
EXPIRED = "SELECT expires_at < clock_timestamp() FROM fencepost.leases"


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    store = await open_store(postgres_url, clock=SystemClock())
    yield store
    await store.close()


@pytest.fixture
async def rival(postgres_url: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """Somebody who has the lease's row."""
    connection = await asyncpg.connect(postgres_url)
    yield connection
    await connection.close()


async def expired(rival: asyncpg.Connection[asyncpg.Record]) -> None:
    """Until the lease has run out, by the server's clock."""

    async def holds() -> bool:
        return bool(await rival.fetchval(EXPIRED))

    await until(holds)


async def test_a_lease_that_ran_out_while_its_row_was_waited_for_is_not_called_held(
    store: PostgresStore, rival: asyncpg.Connection[asyncpg.Record]
) -> None:
    await store.leases.acquire([SHARD], ALICE, TTL_S)
    async with rival.transaction():
        await rival.execute("SELECT 1 FROM fencepost.leases FOR UPDATE")
        asking = asyncio.create_task(store.leases.acquire([SHARD], BOB, TTL_S))
        await until_blocked(rival)
        await expired(rival)
    assert isinstance((await asking)[SHARD], Granted)


async def test_a_lease_that_ran_out_while_its_row_was_waited_for_is_not_renewed(
    store: PostgresStore, rival: asyncpg.Connection[asyncpg.Record]
) -> None:
    answer = (await store.leases.acquire([SHARD], ALICE, TTL_S))[SHARD]
    assert isinstance(answer, Granted)
    async with rival.transaction():
        await rival.execute("SELECT 1 FROM fencepost.leases FOR UPDATE")
        renewing = asyncio.create_task(store.leases.renew({SHARD: answer.epoch}, ALICE, TTL_S))
        await until_blocked(rival)
        await expired(rival)
    assert await renewing == {SHARD: Lost()}
