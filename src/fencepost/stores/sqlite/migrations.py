"""The schema's way from one release to the next: numbered files, each applied once, in one transaction."""

from __future__ import annotations

from importlib import resources

import apsw

from fencepost.errors import SchemaMismatch, UsageError
from fencepost.stores.queries import load_queries

QUERIES = load_queries("fencepost.stores.sqlite", "migrations.sql")
FOLDER = resources.files("fencepost.stores.sqlite").joinpath("migrations")


def migration_names() -> list[str]:
    """All migrations this release knows, in order; the n-th begins with n."""
    return sorted(one.name.removesuffix(".sql") for one in FOLDER.iterdir() if one.name.endswith(".sql"))


def is_empty(connection: apsw.Connection) -> bool:
    """Whether nobody has set up anything in this database yet."""
    return not connection.execute(QUERIES["tables"]).get


def apply(connection: apsw.Connection, url: str, shards: int) -> list[str]:
    """Bring the schema up to this release; the names applied. Runs under the write lock."""
    applied, known = schema_version(connection), migration_names()
    if applied > len(known):
        raise _too_new(url)
    for name in known[applied:]:
        _run_script(connection, url, name)
    if not applied:
        set_meta(connection, "shards", shards)
    set_meta(connection, "schema", len(known))
    return known[applied:]


def check(connection: apsw.Connection, url: str) -> None:
    """Refuse a database whose schema is not this release's."""
    applied, known = schema_version(connection), len(migration_names())
    if applied < known:
        raise SchemaMismatch(f"store {url}: its schema is older; run: fencepost migrate --store {url}")
    if applied > known:
        raise _too_new(url)


def schema_version(connection: apsw.Connection) -> int:
    """How many migrations have been applied."""
    return _meta(connection, "schema") if connection.execute(QUERIES["has_meta"]).get else 0


def read_shards(connection: apsw.Connection) -> int:
    """How many shards the store was set up with."""
    return _meta(connection, "shards")


def set_meta(connection: apsw.Connection, name: str, value: int) -> None:
    """Write down a fact about the database itself."""
    connection.execute(QUERIES["set_meta"], {"name": name, "value": str(value)})


def _meta(connection: apsw.Connection, name: str) -> int:
    value = connection.execute(QUERIES["meta"], {"name": name}).get
    return 0 if value is None else int(value)


def _run_script(connection: apsw.Connection, url: str, name: str) -> None:
    script = FOLDER.joinpath(f"{name}.sql").read_text("utf-8")
    try:
        connection.execute(script)
    except apsw.SQLError as error:
        raise UsageError(f"store {url}: migration {name} does not fit: {error}") from error


def _too_new(url: str) -> SchemaMismatch:
    return SchemaMismatch(f"store {url}: its schema is newer than this program; upgrade fencepost")
