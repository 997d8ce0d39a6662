"""Opening a SQLite file: what is set up, what is refused, and in which words."""

import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

import apsw
import pytest

from fencepost.clock import SystemClock
from fencepost.errors import FencepostError, SchemaMismatch, UsageError
from fencepost.model import tables as declared
from fencepost.model.table import ColumnKind, Table
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite import SqliteStore, migrate, migrations, open_store, opening

SHARDS = 3
OF_THE_FILE = {("sequences", "name"), ("sequences", "value")}
"""The fences that were given out."""
COLUMNS = """
    SELECT s.name, c.name, c.type
    FROM sqlite_schema s JOIN pragma_table_info(s.name) c
    WHERE s.type = 'table'
"""
TYPES = {
    ColumnKind.TEXT: "TEXT",
    ColumnKind.INTEGER: "INTEGER",
    ColumnKind.REAL: "REAL",
    ColumnKind.BOOLEAN: "INTEGER",
    ColumnKind.TIME: "INTEGER",
    ColumnKind.BYTES: "BLOB",
    ColumnKind.JSON: "TEXT",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "fencepost.db"


def open_at(path: Path, shards: int = SHARDS) -> Awaitable[SqliteStore]:
    return open_store(f"sqlite:///{path}", clock=SystemClock(), shards=shards)


async def test_all_migrations_add_up_to_the_tables_that_are_declared(path: Path) -> None:
    await migrate(f"sqlite:///{path}", shards=SHARDS)
    connection = apsw.Connection(str(path))
    rows = connection.execute(COLUMNS)
    found = {(table, column): kind for table, column, kind in rows if not table.startswith("sqlite_")}
    connection.close()
    tables = [one for one in vars(declared).values() if isinstance(one, Table)]
    kinds = {(one.name, column): kind for one in tables for column, kind in one.columns.items()}
    assert found.keys() - OF_THE_FILE == kinds.keys()
    assert {column: kind for column, kind in kinds.items() if found[column] != TYPES[kind]} == {}


async def test_a_missing_database_needs_no_setting_up(path: Path) -> None:
    store = await open_at(path)
    assert await store.epochs.shards() == SHARDS
    await store.close()


async def test_shards_do_not_change_with_the_next_opening(path: Path) -> None:
    await (await open_at(path)).close()
    store = await open_at(path, shards=SHARDS + 1)
    assert await store.epochs.shards() == SHARDS
    await store.close()


async def test_a_migration_is_not_applied_twice(path: Path) -> None:
    url = f"sqlite:///{path}"
    assert await migrate(url, shards=SHARDS) == [one.name for one in migrations.migrations()]
    assert await migrate(url, shards=SHARDS) == []


async def test_an_older_schema_is_not_used(path: Path) -> None:
    await (await open_at(path)).close()
    set_schema(path, 9)
    with pytest.raises(SchemaMismatch, match=r"run: fencepost migrate --store sqlite:///"):
        await open_at(path)


@pytest.mark.parametrize("schema", [1, 8])
async def test_a_schema_from_before_the_first_migration_is_neither_used_nor_migrated(
    path: Path, schema: int
) -> None:
    await (await open_at(path)).close()
    set_schema(path, schema)
    url = f"sqlite:///{path}"
    for attempt in (open_at(path), migrate(url, shards=SHARDS)):
        with pytest.raises(SchemaMismatch, match="migrate of an earlier commit") as refused:
            await attempt
        line = str(refused.value)
        assert line.startswith(f"store {url}: its schema is {schema} and this program migrates from 9 on;")
        assert "\n" not in line


async def test_a_newer_schema_is_neither_used_nor_migrated(path: Path) -> None:
    await (await open_at(path)).close()
    set_schema(path, migrations.migrations()[-1].number + 1)
    with pytest.raises(SchemaMismatch, match="pip install --upgrade fencepost"):
        await open_at(path)
    with pytest.raises(SchemaMismatch, match="pip install --upgrade fencepost"):
        await migrate(f"sqlite:///{path}", shards=SHARDS)


async def test_a_database_of_another_program_is_not_set_up_unasked(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE places (name TEXT)")
    connection.close()
    with pytest.raises(SchemaMismatch, match="run: fencepost migrate"):
        await open_at(path)


async def test_a_table_in_the_way_is_named_and_nothing_is_written(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE runs (distance REAL)")
    with pytest.raises(UsageError, match="table runs already exists"):
        await migrate(f"sqlite:///{path}", shards=SHARDS)
    assert list(connection.execute("SELECT name FROM sqlite_schema")) == [("runs",)]
    connection.close()


def no_folder(folder: Path) -> Path:
    return folder / "missing" / "fencepost.db"


def no_database(folder: Path) -> Path:
    (folder / "notes.db").write_text("not a database, but long enough to look like one\n" * 100)
    return folder / "notes.db"


def no_file(folder: Path) -> Path:
    return folder


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (no_folder, "does not exist; create it first"),
        (no_database, "is not a SQLite database"),
        (no_file, "cannot be opened for writing"),
    ],
)
async def test_what_cannot_be_opened_is_said_in_one_line(
    tmp_path: Path, make: Callable[[Path], Path], complaint: str
) -> None:
    with pytest.raises(FencepostError, match=complaint) as refused:
        await open_at(make(tmp_path))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///", "sqlite:fencepost.db", "sqlite:///:memory:", "sqlite:///a.db?mode=ro"]
)
def test_a_url_without_a_file_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match=r"expected a file, as in sqlite:///fencepost\.db"):
        opening.path_of(url)


def test_urls_are_relative_with_three_slashes_and_absolute_with_four() -> None:
    assert opening.path_of("sqlite:///a/b.db") == Path("a/b.db")
    assert opening.path_of("sqlite:////a/b.db") == Path("/a/b.db")


def test_an_old_library_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    opening.warn_of_old_sqlite.cache_clear()
    with caplog.at_level(logging.WARNING):
        opening.warn_of_old_sqlite("3.51.2")
        opening.warn_of_old_sqlite("3.51.2")
        opening.warn_of_old_sqlite("3.51.3")
    assert len(caplog.records) == 1
    assert "3.51.2" in caplog.text


async def test_an_acknowledged_commit_is_not_left_to_the_page_cache(path: Path) -> None:
    store = await open_at(path)
    settings = await store._database.read(
        lambda connection, _: (connection.pragma("journal_mode"), connection.pragma("synchronous"))
    )
    assert settings == ("wal", 2)
    await store.close()


def set_schema(path: Path, version: int) -> None:
    connection = apsw.Connection(str(path))
    query = load_queries("fencepost.stores.sqlite", "migrations.sql")["set_meta"]
    connection.execute(query, {"name": "schema", "value": str(version)})
    connection.close()
