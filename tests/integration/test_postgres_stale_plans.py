"""A plan that PostgreSQL made for an empty table takes no row too many once the table has some."""

import asyncpg
import pytest

from fencepost.stores.queries import load_queries

pytestmark = pytest.mark.postgres

PARKED, LIMITED = 8, 16
WAITING = """
INSERT INTO fencepost.runs (
    namespace, run_key, job, fire_time, state, queue, priority, run_at, schedule_id, held
)
SELECT 'default', number::text, 'mail', now(), 'ready', 'default', 1, now(), 'nightly', $1
FROM generate_series(1, 4) AS number
"""
NESTED = "SET plan_cache_mode = force_generic_plan; SET enable_hashjoin = off; SET enable_mergejoin = off"
"""Plans are kept, and of two ways to join the one is left that asks again for each row."""
CASES = [
    pytest.param("ledger.sql", "unpark", PARKED, [10], id="unpark"),
    pytest.param("lines.sql", "ring_ticks", LIMITED, [10], id="ring_ticks"),
]


@pytest.mark.parametrize(("file", "name", "held", "arguments"), CASES)
async def test_one_tick_of_a_schedule_is_released(
    postgres_url: str, file: str, name: str, held: int, arguments: list[object]
) -> None:
    connection = await asyncpg.connect(postgres_url)
    try:
        await connection.execute("VACUUM ANALYZE fencepost.runs")
        await connection.execute(NESTED)
        statement = await connection.prepare(load_queries("fencepost.stores.postgres", file)[name])
        await statement.fetch(*arguments)
        await connection.execute(WAITING, held)
        await statement.fetch(*arguments)
        released = await connection.fetchval("SELECT count(*) FROM fencepost.runs WHERE held = 0")
    finally:
        await connection.close()
    assert released == 1
