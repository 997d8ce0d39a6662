"""The bare loops are limits: their claims walk the index on what is due, and sort nothing."""

from __future__ import annotations

import apsw
import asyncpg
import pytest

from benchmarks import raw_postgres, raw_sqlite
from benchmarks.peers.measuring import Options

INDEXES = {"lean": "lean_due", "runs": "runs_due_direct"}


@pytest.mark.postgres
@pytest.mark.parametrize("table", INDEXES)
async def test_on_postgresql_the_claim_walks_the_index_on_what_is_due(
    table: str, empty_postgres_url: str
) -> None:
    options = Options(empty_postgres_url, table=table, count=20)
    await raw_postgres.install(options)
    await raw_postgres.bulk(options)
    connection = await asyncpg.connect(empty_postgres_url, server_settings=raw_postgres.SETTINGS)
    try:
        await connection.execute("VACUUM ANALYZE")
        claim = raw_postgres.SQL[f"{table}_claim"].replace("$1", "10")
        plan = "\n".join(row[0] for row in await connection.fetch(f"EXPLAIN {claim}"))
    finally:
        await connection.close()
    assert f"using {INDEXES[table]} on" in plan, plan
    assert "Sort" not in plan, plan


@pytest.mark.parametrize("table", INDEXES)
def test_on_sqlite_the_claim_walks_the_index_on_what_is_due(table: str, tmp_path: object) -> None:
    options = Options(f"sqlite:///{tmp_path}/jobs.db", table=table, count=20)
    raw_sqlite.install(options)
    raw_sqlite.bulk(options)
    connection = apsw.Connection(f"{tmp_path}/jobs.db")
    claim = raw_sqlite.SQL[f"{table}_claim"]
    plan = "\n".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {claim}", (1, 10)))
    connection.close()
    assert f"USING COVERING INDEX {INDEXES[table]}" in plan or f"USING INDEX {INDEXES[table]}" in plan, plan
    assert "ORDER BY" not in plan, plan


@pytest.mark.postgres
@pytest.mark.parametrize("table", INDEXES)
async def test_on_postgresql_the_loop_drains_what_was_enqueued(table: str, empty_postgres_url: str) -> None:
    options = Options(empty_postgres_url, table=table, count=300)
    await raw_postgres.install(options)
    await raw_postgres.copy(options)
    assert (await raw_postgres.drain(options))["per_s"] > 0


@pytest.mark.postgres
@pytest.mark.parametrize("table", INDEXES)
async def test_on_postgresql_the_loop_picks_up_what_it_is_told_of(
    table: str, empty_postgres_url: str
) -> None:
    options = Options(empty_postgres_url, table=table, count=5)
    await raw_postgres.install(options)
    assert (await raw_postgres.pick_up(options))["ran"] == 5


@pytest.mark.parametrize("table", INDEXES)
def test_on_sqlite_the_loop_drains_what_was_enqueued(table: str, tmp_path: object) -> None:
    options = Options(f"sqlite:///{tmp_path}/jobs.db", table=table, count=300)
    raw_sqlite.install(options)
    raw_sqlite.bulk(options)
    assert raw_sqlite.drain(options)["per_s"] > 0
