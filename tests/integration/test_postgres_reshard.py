"""On PostgreSQL, whoever creates a schedule and whoever cuts the shards anew wait for each other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from fencepost.clock import SystemClock
from fencepost.model.audit import HOUSE
from fencepost.model.identifiers import DEFAULT_NAMESPACE as NS
from fencepost.model.identifiers import JobName, ScheduleId, shard_of
from fencepost.model.leader import Resharding
from fencepost.model.schedule import Schedule, ScheduleSpec
from fencepost.stores.postgres import open_store
from fencepost.stores.postgres.store import PostgresStore
from fencepost.triggers import Every
from tests.integration.waiting import until_blocked
from tests.servers.postgres import SHARDS

pytestmark = pytest.mark.postgres

SHARE = "SELECT pg_advisory_xact_lock_shared(hashtextextended('fencepost.shards', 0))"
TAKE = """
    SELECT pg_advisory_xact_lock(hashtextextended('fencepost.shards', 0));
    UPDATE fencepost.meta SET value = '1' WHERE name = 'shards';
"""
LATER = 1
NAME = next(
    name
    for name in (ScheduleId(f"schedule-{number}") for number in range(100))
    if shard_of(NS, name, SHARDS) != shard_of(NS, name, LATER)
)


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    store = await open_store(postgres_url, clock=SystemClock())
    yield store
    await store.close()


@pytest.fixture
async def other(postgres_url: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """Somebody else, in the middle of a transaction."""
    connection = await asyncpg.connect(postgres_url)
    yield connection
    await connection.close()


async def create(store: PostgresStore) -> Schedule | None:
    spec = ScheduleSpec(JobName("report"), trigger=Every(60).to_json())
    return await store.schedules.put(NS, NAME, spec, tzdata="2026a", expected_version=None)


async def test_a_schedule_is_not_created_by_a_cut_that_is_being_changed(
    store: PostgresStore, other: asyncpg.Connection[asyncpg.Record]
) -> None:
    async with other.transaction():
        await other.execute(TAKE)
        creating = asyncio.create_task(create(store))
        await until_blocked(other)
        assert not creating.done()
    schedule = await creating
    assert schedule is not None
    assert schedule.shard == shard_of(NS, NAME, LATER)


async def test_no_version_is_written_by_a_cut_that_is_being_changed(
    store: PostgresStore, other: asyncpg.Connection[asyncpg.Record]
) -> None:
    """Its cursor would stay in a shard that nobody leads."""
    assert await create(store) is not None
    spec = ScheduleSpec(JobName("report"), trigger=Every(90).to_json())
    async with other.transaction():
        await other.execute(TAKE)
        put = store.schedules.put(NS, NAME, spec, tzdata="2026a", expected_version=1)
        renew = store.schedules.renew(NS, NAME, spec, tzdata="2026a", expected_version=1, reason="x")
        editing = [asyncio.create_task(put), asyncio.create_task(renew)]
        await until_blocked(other, 2)
    assert sum(one is not None for one in await asyncio.gather(*editing)) == 1


async def test_a_new_cut_does_not_overlook_a_schedule_that_is_being_created(
    store: PostgresStore, other: asyncpg.Connection[asyncpg.Record]
) -> None:
    async with other.transaction():
        await other.fetch(SHARE)
        cutting = asyncio.create_task(store.epochs.reshard(LATER, NS, HOUSE))
        await until_blocked(other)
        assert not cutting.done()
    assert await cutting == Resharding(SHARDS, LATER, 0)
