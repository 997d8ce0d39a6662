"""The schema: migrations are safe to race, refuse what does not fit, and add up to the
tables that are declared."""

import asyncio

import asyncpg
import pytest

from fencepost.clock import SystemClock
from fencepost.errors import SchemaMismatch
from fencepost.model import tables as declared
from fencepost.model.run import RunState
from fencepost.model.table import ColumnKind, Table
from fencepost.stores.postgres import migrate, open_store
from fencepost.stores.postgres.migrations import migrations
from fencepost.stores.postgres.runs import QUERIES as RUN_QUERIES
from fencepost.stores.postgres.views import QUERIES as VIEW_QUERIES
from tests.servers.postgres import PostgresDatabases, execute

pytestmark = pytest.mark.postgres

COLUMNS = """
    SELECT table_name, column_name, data_type
    FROM information_schema.columns
    WHERE table_schema = 'fencepost' AND table_name <> 'test_time'
"""
OF_THE_SERVER = {("nodes", "session_key"), ("leases", "session_key"), ("leases", "session_epoch")}
"""By which it is known that a node's session has ended."""
TYPES = {
    ColumnKind.TEXT: {"text"},
    ColumnKind.INTEGER: {"smallint", "integer", "bigint"},
    ColumnKind.REAL: {"double precision"},
    ColumnKind.BOOLEAN: {"boolean"},
    ColumnKind.TIME: {"timestamp with time zone"},
    ColumnKind.BYTES: {"bytea"},
    ColumnKind.JSON: {"jsonb"},
}


async def test_all_migrations_add_up_to_the_tables_that_are_declared(postgres_url: str) -> None:
    connection = await asyncpg.connect(postgres_url)
    found = {(row[0], row[1]): row[2] for row in await connection.fetch(COLUMNS)}
    await connection.close()
    tables = [one for one in vars(declared).values() if isinstance(one, Table)]
    kinds = {(one.name, column): kind for one in tables for column, kind in one.columns.items()}
    assert found.keys() - OF_THE_SERVER == kinds.keys()
    assert {column: kind for column, kind in kinds.items() if found[column] not in TYPES[kind]} == {}


async def test_no_migration_is_applied_twice_by_migrators_that_race(
    empty_postgres_url: str,
) -> None:
    applied = await asyncio.gather(*(migrate(empty_postgres_url, shards=4) for _ in range(8)))
    names = [name for each in applied for name in each]
    # Each step is a turn of its own, so that two migrators may share the steps; the numbers give the order.
    assert sorted(names) == [one.name for one in migrations()]


async def test_migrating_again_does_nothing(postgres_url: str) -> None:
    assert await migrate(postgres_url, shards=4) == []


async def test_migrating_does_not_change_the_number_of_shards(empty_postgres_url: str) -> None:
    await migrate(empty_postgres_url, shards=16)
    await migrate(empty_postgres_url, shards=3)
    store = await open_store(empty_postgres_url, clock=SystemClock())
    assert await store.epochs.shards() == 16
    await store.close()


async def test_a_store_without_a_schema_is_not_opened(empty_postgres_url: str) -> None:
    line = await refusal(empty_postgres_url)
    remedy = f"run: fencepost migrate --store {empty_postgres_url}"
    assert line == f"store {empty_postgres_url}: it has no schema yet; {remedy}"


async def test_an_older_schema_is_not_opened(postgres_url: str) -> None:
    await set_schema(postgres_url, 9)
    line = await refusal(postgres_url)
    assert f"run: fencepost migrate --store {postgres_url}" in line


@pytest.mark.parametrize("schema", [1, 8])
async def test_a_schema_from_before_the_first_migration_is_neither_opened_nor_migrated(
    postgres_url: str, schema: int
) -> None:
    await set_schema(postgres_url, schema)
    line = await refusal(postgres_url)
    assert line.startswith(
        f"store {postgres_url}: its schema is {schema} and this program migrates from 9 on;"
    )
    assert "\n" not in line
    with pytest.raises(SchemaMismatch, match="migrate of an earlier commit"):
        await migrate(postgres_url, shards=4)


async def test_a_newer_schema_is_neither_opened_nor_migrated(postgres_url: str) -> None:
    await set_schema(postgres_url, 9999)
    assert "pip install --upgrade fencepost" in await refusal(postgres_url)
    with pytest.raises(SchemaMismatch, match="9999"):
        await migrate(postgres_url, shards=4)


async def test_a_failed_migration_leaves_nothing_behind(
    empty_postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = [migrations()[0]]
    object.__setattr__(broken[0], "script", broken[0].script + "; SELECT no_such_column")
    monkeypatch.setattr("fencepost.stores.postgres.migrations.migrations", lambda: broken)
    with pytest.raises(asyncpg.UndefinedColumnError):
        await migrate(empty_postgres_url, shards=4)
    monkeypatch.undo()
    assert await migrate(empty_postgres_url, shards=4) == [one.name for one in migrations()]


async def test_a_migration_that_takes_long_does_not_fail_for_that(
    empty_postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = migrations()[0]
    object.__setattr__(slow, "script", slow.script + "; SELECT pg_sleep(1)")
    monkeypatch.setattr("fencepost.stores.postgres.migrations.migrations", lambda: [slow])
    monkeypatch.setattr("fencepost.stores.postgres.connection.COMMAND_TIMEOUT_S", 0.5)
    assert await migrate(empty_postgres_url, shards=4) == [slow.name]


def test_a_clone_of_the_template_has_the_schema(postgres_server: PostgresDatabases) -> None:
    url = postgres_server.create_database()
    postgres_server.execute("SELECT fencepost.now()", url)
    postgres_server.drop_database(url)


async def refusal(url: str) -> str:
    with pytest.raises(SchemaMismatch) as caught:
        await open_store(url, clock=SystemClock())
    return str(caught.value)


async def set_schema(url: str, number: int) -> None:
    await execute(url, f"UPDATE fencepost.meta SET value = '{number}' WHERE name = 'schema'")


def test_lists_and_counts_of_all_runs_leave_out_no_state() -> None:
    for query in (RUN_QUERIES["all"], VIEW_QUERIES["traffic"], VIEW_QUERIES["tally_by_job"]):
        assert [state for state in RunState if f"'{state}'" not in query] == []
