"""The schema: numbered files, each applied once, in its own transaction.

Migrators take turns by an advisory lock that ends with the transaction, and read what is applied only
after they have it; so any number of them may start at once. A migration waits for the locks of its tables
only briefly and gives up, rather than stop every lease and claim that queues behind it. What it then does
takes as long as it takes: an index over many runs is longer in the making than any other statement may last.
"""

from __future__ import annotations

from fencepost.stores.migrations import Migration, check_newest, missing, read_migrations
from fencepost.stores.postgres.address import Address, parse_address
from fencepost.stores.postgres.connection import Connection, Database, connect
from fencepost.stores.postgres.faults import translated, translated_at_open
from fencepost.stores.queries import load_queries

QUERIES = load_queries(__package__, "migrations.sql")
WORDS = {
    "name": 'text COLLATE "C"',
    "text": "text",
    "smallint": "smallint",
    "integer": "integer",
    "bigint": "bigint",
    "serial": "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    "real": "double precision",
    "boolean": "boolean",
    "false": "false",
    "time": "timestamptz",
    "json": "jsonb",
    "bytes": "bytea",
    "strict": "",
}
TURN_TIMEOUT = "60s"
TABLE_TIMEOUT = "5s"


def migrations() -> list[Migration]:
    """All steps, in order."""
    return read_migrations(__package__, WORDS)


async def migrate(url: str, *, shards: int) -> list[str]:
    """Bring the store's schema up to date, and return the names of the migrations applied.

    A new store is set up with that many shards; in one that has been set up already it stays as it was.
    """
    assert shards > 0
    address = parse_address(url)
    with translated_at_open(address):
        connection = await connect(address, patient=True)
    try:
        with translated():
            return await _migrate(connection, address.shown, shards)
    finally:
        await connection.close()


async def check_schema(database: Database, address: Address, *, unfinished: bool = False) -> None:
    """Refuse a store whose schema is not this program's."""
    is_set_up = await database.fetch_value(QUERIES["is_set_up"])
    schema = await database.fetch_value(QUERIES["schema"]) if is_set_up else 0
    check_newest(migrations(), int(schema), address.shown, unfinished=unfinished)


async def _migrate(connection: Connection, store: str, shards: int) -> list[str]:
    applied: list[str] = []
    steps = migrations()
    for _ in range(len(steps) + 1):
        name = await _apply_next(connection, steps, store, shards)
        if name is None:
            return applied
        applied.append(name)
    raise AssertionError("a migration did not record itself")


async def _apply_next(connection: Connection, steps: list[Migration], store: str, shards: int) -> str | None:
    """Apply the first migration that is missing; None where there is none."""
    async with connection.transaction():
        await connection.fetch(QUERIES["bounds"], TURN_TIMEOUT)
        await connection.fetch(QUERIES["lock"])
        await connection.fetch(QUERIES["bounds"], TABLE_TIMEOUT)
        is_set_up = await connection.fetchval(QUERIES["is_set_up"])
        schema = await connection.fetchval(QUERIES["schema"]) if is_set_up else 0
        for step in missing(steps, int(schema), store):
            await connection.execute(step.script)
            await connection.fetch(QUERIES["record"], str(step.number))
            await connection.fetch(QUERIES["record_shards"], str(shards))
            return step.name
        return None
