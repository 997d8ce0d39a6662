"""The schema's way from one release to the next: numbered files, each applied once, in one transaction."""

from __future__ import annotations

import apsw

from fencepost.errors import UsageError
from fencepost.stores.migrations import Migration, check_newest, missing, read_migrations
from fencepost.stores.queries import load_queries

QUERIES = load_queries(__package__, "migrations.sql")
WORDS = {
    **dict.fromkeys(("name", "text", "json"), "TEXT"),
    **dict.fromkeys(("smallint", "integer", "bigint", "boolean", "time"), "INTEGER"),
    "serial": "INTEGER PRIMARY KEY",
    "real": "REAL",
    "false": "0",
    "bytes": "BLOB",
    "strict": " STRICT",
}


def migrations() -> list[Migration]:
    """All steps, in order."""
    return read_migrations(__package__, WORDS)


def is_empty(connection: apsw.Connection) -> bool:
    """Whether this database has no table yet."""
    return not connection.execute(QUERIES["tables"]).get


def apply(connection: apsw.Connection, url: str, shards: int) -> list[str]:
    """Bring the schema up to this release; the names applied. Runs under the write lock."""
    schema = _schema(connection)
    steps = missing(migrations(), schema, url)
    for step in steps:
        try:
            connection.execute(step.script)
        except apsw.SQLError as error:
            raise UsageError(f"store {url}: migration {step.name} does not fit: {error}") from error
        _set_meta(connection, "schema", step.number)
    if not schema:
        _set_meta(connection, "shards", shards)
    return [one.name for one in steps]


def check(connection: apsw.Connection, url: str, *, unfinished: bool = False) -> None:
    """Refuse a database whose schema is not this release's."""
    check_newest(migrations(), _schema(connection), url, unfinished=unfinished)


def _schema(connection: apsw.Connection) -> int:
    """The number of the schema; 0 where there is none."""
    if not connection.execute(QUERIES["has_meta"]).get:
        return 0
    return int(connection.execute(QUERIES["schema"]).get or 0)


def _set_meta(connection: apsw.Connection, name: str, value: int) -> None:
    connection.execute(QUERIES["set_meta"], {"name": name, "value": str(value)})
