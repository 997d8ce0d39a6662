"""A plan that PostgreSQL made for an empty table takes no row too many once the table has some."""

import asyncpg
import pytest

from fencepost.stores.postgres.ledger import QUERIES

pytestmark = pytest.mark.postgres

PARKED = 8
WAITING = """
INSERT INTO fencepost.runs (
    namespace, run_key, job, fire_time, state, queue, priority, run_at, schedule_id, held
)
SELECT 'default', number::text, 'mail', now(), 'ready', 'default', 1, now(), 'nightly', $1
FROM generate_series(1, 4) AS number
"""
NESTED = "SET plan_cache_mode = force_generic_plan; SET enable_hashjoin = off; SET enable_mergejoin = off"
"""Plans are kept, and of two ways to join the one is left that asks again for each row."""


async def test_one_tick_of_a_schedule_is_released(postgres_url: str) -> None:
    connection = await asyncpg.connect(postgres_url)
    try:
        await connection.execute("VACUUM ANALYZE fencepost.runs")
        await connection.execute(NESTED)
        statement = await connection.prepare(QUERIES["unpark"])
        await statement.fetch(10)
        await connection.execute(WAITING, PARKED)
        await statement.fetch(10)
        released = await connection.fetchval("SELECT count(*) FROM fencepost.runs WHERE held = 0")
    finally:
        await connection.close()
    assert released == 1
