"""What a run costs the server, counted in records of its log instead of seconds: a record is a row or an
entry of an index that was written. A bound that has to be raised is a run that has become dearer."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fencepost.stores.postgres.address import parse_address
from fencepost.stores.postgres.claims import QUERIES as CLAIMS
from fencepost.stores.postgres.columns import joined
from fencepost.stores.postgres.connection import connect
from fencepost.stores.postgres.entries import QUERIES as ENTRIES
from fencepost.stores.postgres.ledger import QUERIES as LEDGER
from fencepost.stores.postgres.verdicts import QUERIES as RULINGS

pytestmark = pytest.mark.postgres

RUNS = 500
SLACK = 0.25
"""Records of splits, of new pages and of the sequence of fences, for each run."""
INSERT, LOCK = 1, 1
INSERT_OR_FIND = 2
"""What may meet a row of its key is inserted in two steps."""
UPDATE = 2
"""A new version that has no room on the page of the old one locks that first."""
KEYS = [f"{n:05}" for n in range(RUNS)]
TICKS = f"""
    INSERT INTO fencepost.runs (
        namespace, run_key, schedule_id, job, fire_time, version, state, queue, priority, run_at
    )
    SELECT 'default', to_char(n, 'FM00000'), 's' || n, 'j', now(), 1, 'planned', 'default', 2, now()
    FROM generate_series(0, {RUNS - 1}) AS n
"""


@pytest.fixture
async def connection(postgres_url: str) -> AsyncIterator[Any]:
    opened = await connect(parse_address(postgres_url))
    yield opened
    await opened.close()


async def test_a_run_by_hand_writes_three_indexes_at_each_of_its_moves(connection: Any) -> None:
    alike = ["j"], ["default"], [2]
    payloads = joined(["{}"] * RUNS), RUNS
    enqueued = await records(connection, ENTRIES["enqueue"], "default", joined(KEYS), *alike, [], *payloads)
    assert enqueued <= INSERT_OR_FIND + 3 + SLACK
    lanes = ["default"], ["j"], RUNS, "w", 30.0, "default", [2], [RUNS]
    assert await records(connection, CLAIMS["claim_direct"], *lanes) <= LOCK + UPDATE + 3 + SLACK
    assert await finished(connection) <= UPDATE + 3 + SLACK


async def test_a_tick_writes_at_most_six_indexes_at_each_of_its_moves(connection: Any) -> None:
    assert await records(connection, TICKS) <= INSERT + 5 + SLACK
    given = ["default"] * RUNS, KEYS, "w", 30.0, [None] * RUNS, [None] * RUNS
    assert await records(connection, RULINGS["start"], *given) <= UPDATE + 5 + SLACK
    assert await finished(connection) <= UPDATE + 6 + SLACK


async def finished(connection: Any) -> float:
    """The same for the report that all of them have succeeded."""
    rows = await connection.fetch("SELECT run_key, fence FROM fencepost.runs WHERE state = 'running'")
    assert len(rows) == RUNS
    tickets = ["default"], joined(row["run_key"] for row in rows), [1], [row["fence"] for row in rows]
    return await records(connection, LEDGER["finish"], *tickets, ["succeeded"], *[[]] * 5, "stopped")


async def records(connection: Any, query: str, *arguments: Any) -> float:
    """Run the statement; how many records of the write-ahead log it left for each run."""
    text = await connection.fetchval(f"EXPLAIN (ANALYZE, WAL, FORMAT JSON) {query}", *arguments)
    return float(json.loads(text)[0]["Plan"]["WAL Records"]) / RUNS
