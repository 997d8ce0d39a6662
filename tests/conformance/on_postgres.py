"""The PostgreSQL store under the contracts' clock: its server's time stands still where it was told to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import asyncpg

from fencepost.model.clocks import StoreTime
from fencepost.ports.store import Store
from fencepost.stores import postgres
from fencepost.testing.clock import VirtualClock
from tests.conformance.clocked import START
from tests.servers.postgres import MOVE, SHARDS, freeze_time

# Rows are few and indexes many: to delete is far quicker than to truncate.
CLEAR = f"""
DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT tablename FROM pg_tables
        WHERE schemaname = 'fencepost' AND tablename NOT IN ('meta', 'test_time')
    LOOP EXECUTE format('DELETE FROM fencepost.%I', name); END LOOP;
END $$;
DELETE FROM fencepost.meta
WHERE name IN ('forgotten_before', 'gone_nodes', 'grace_until', 'older', 'swept_at');
UPDATE fencepost.meta SET value = '{SHARDS}' WHERE name = 'shards';
SELECT setval('fencepost.backfills_backfill_id_seq', 1, false);
SELECT setval('fencepost.audit_log_number_seq', 1, false);
"""


@dataclass
class PostgresHarness:
    """A store with the hand on its server's clock, and a connection of its own to do it by."""

    store: Store
    connection: asyncpg.Connection[asyncpg.Record]
    now: StoreTime
    shards: int = SHARDS

    async def advance(self, seconds: float) -> None:
        self.now = StoreTime(self.now + timedelta(seconds=seconds))
        await self.connection.execute(MOVE.format(at=self.now.isoformat()))

    async def set_back(self, seconds: float) -> None:
        await self.advance(-seconds)

    async def empty(self) -> None:
        """Remove what a test left, and set the clock to where all begin."""
        await self.connection.execute(CLEAR)
        self.now = StoreTime(START)
        await self.advance(0)

    async def close(self) -> None:
        await self.store.close()
        await self.connection.close()


async def open_postgres(url: str) -> PostgresHarness:
    """A store in a database that has its schema; what a test before left there is removed."""
    await freeze_time(url, START)
    connection = await asyncpg.connect(url)
    await connection.execute(CLEAR)
    store = await postgres.open_store(url, clock=VirtualClock(START))
    return PostgresHarness(store, connection, StoreTime(START))
