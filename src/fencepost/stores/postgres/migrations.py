"""The schema: numbered files, each applied once; `migrator` applies them."""

from __future__ import annotations

from contextlib import AsyncExitStack

from fencepost.errors import InvalidSettings
from fencepost.model.migration_progress import Tell, say_nothing
from fencepost.stores.migrations import Migration, check_newest, missing, read_migrations
from fencepost.stores.postgres.address import CACHE_PARAMETER, Address, parse_address
from fencepost.stores.postgres.connection import Connection, Database, connect
from fencepost.stores.postgres.faults import translated, translated_at_open
from fencepost.stores.postgres.migrator import Migrator
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


def migrations() -> list[Migration]:
    """All steps, in order."""
    return read_migrations(__package__, WORDS)


async def migrate(url: str, *, shards: int, tell: Tell = say_nothing) -> list[str]:
    """Bring the store's schema up to date, and return the names of the migrations applied.

    A new store is set up with that many shards; in one that has been set up already it stays as it was.
    """
    assert shards > 0
    address = parse_address(url)
    if address.pooled:
        raise InvalidSettings(
            f"store {address.shown}: a migration needs sessions of its own, and {CACHE_PARAMETER}=0 says "
            "that a pooler shares them; give fencepost migrate a URL that leads to the server itself"
        )
    with translated():
        async with AsyncExitStack() as opened:
            with translated_at_open(address):
                work, turn = [await _connected(address, opened) for _ in range(2)]
            migrator = Migrator(work, turn, tell)
            await migrator.take_turn()
            steps = missing(migrations(), await _schema(work), address.shown)
            for step in steps:
                await migrator.apply(step, shards)
            return [one.name for one in steps]


async def check_schema(database: Database, address: Address, *, unfinished: bool = False) -> None:
    """Refuse a store whose schema is not this program's."""
    is_set_up = await database.fetch_value(QUERIES["is_set_up"])
    schema = await database.fetch_value(QUERIES["schema"]) if is_set_up else 0
    check_newest(migrations(), int(schema), address.shown, unfinished=unfinished)


async def _connected(address: Address, opened: AsyncExitStack) -> Connection:
    connection = await connect(address, patient=True)
    opened.push_async_callback(connection.close)
    return connection


async def _schema(connection: Connection) -> int:
    is_set_up = await connection.fetchval(QUERIES["is_set_up"])
    return int(await connection.fetchval(QUERIES["schema"])) if is_set_up else 0
