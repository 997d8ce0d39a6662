"""The schema: numbered files, each applied once, in its own transaction.

Migrators take turns by an advisory lock that ends with the transaction, and read what is applied only
after they have it; so any number of them may start at once. A migration waits for the locks of its tables
only briefly and gives up, rather than stop every lease and claim that queues behind it. What it then does
takes as long as it takes: an index over many runs is longer in the making than any other statement may last.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from fencepost.errors import SchemaMismatch
from fencepost.stores.postgres.address import Address, parse_address
from fencepost.stores.postgres.connection import Connection, Database, connect
from fencepost.stores.postgres.faults import translated, translated_at_open
from fencepost.stores.queries import load_queries

if TYPE_CHECKING:
    from fencepost.stores.postgres.connection import Row

QUERIES = load_queries(__package__, "migrations.sql")
TURN_TIMEOUT = "60s"
TABLE_TIMEOUT = "5s"


@dataclass(frozen=True)
class Migration:
    """One numbered step."""

    number: int
    name: str
    script: str


@dataclass(frozen=True)
class Setup:
    """What the store says of itself: the number of its schema and how many shards it has."""

    schema: int
    shards: int


def migrations() -> list[Migration]:
    """All steps, in order."""
    folder = resources.files(__package__).joinpath("migrations")
    files = [file for file in folder.iterdir() if file.name.endswith(".sql")]
    found = [
        Migration(int(file.name[:4]), file.name.removesuffix(".sql"), file.read_text("utf-8"))
        for file in sorted(files, key=lambda file: file.name)
    ]
    assert [one.number for one in found] == list(range(1, len(found) + 1))
    return found


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
            return await _migrate(connection, shards)
    finally:
        await connection.close()


async def check_schema(database: Database, address: Address) -> Setup:
    """What the store was set up with, where this program understands it."""
    known = migrations()[-1].number
    if not await database.fetch_value(QUERIES["is_set_up"]):
        raise SchemaMismatch(f"the store has no schema yet; run: fencepost migrate --store {address.shown}")
    setup = _setup(await database.fetch(QUERIES["read"]))
    if setup.schema < known:
        raise SchemaMismatch(
            f"the store's schema is {setup.schema} and this program needs {known}; "
            f"run: fencepost migrate --store {address.shown}"
        )
    if setup.schema > known:
        raise _too_new(setup.schema, known)
    return setup


async def _migrate(connection: Connection, shards: int) -> list[str]:
    applied: list[str] = []
    steps = migrations()
    for _ in range(len(steps) + 1):
        name = await _apply_next(connection, steps, shards)
        if name is None:
            return applied
        applied.append(name)
    raise AssertionError("a migration did not record itself")


async def _apply_next(connection: Connection, steps: list[Migration], shards: int) -> str | None:
    """Apply the first migration that is missing; None where there is none."""
    async with connection.transaction():
        await connection.fetch(QUERIES["bounds"], TURN_TIMEOUT)
        await connection.fetch(QUERIES["lock"])
        await connection.fetch(QUERIES["bounds"], TABLE_TIMEOUT)
        schema = await _schema(connection)
        if schema > steps[-1].number:
            raise _too_new(schema, steps[-1].number)
        if schema == steps[-1].number:
            return None
        step = steps[schema]
        await connection.execute(step.script)
        await connection.fetch(QUERIES["record"], str(step.number))
        await connection.fetch(QUERIES["record_shards"], str(shards))
        return step.name


async def _schema(connection: Connection) -> int:
    if not await connection.fetchval(QUERIES["is_set_up"]):
        return 0
    return _setup(await connection.fetch(QUERIES["read"])).schema


def _setup(rows: list[Row]) -> Setup:
    values = {row["name"]: int(row["value"]) for row in rows}
    return Setup(values["schema"], values["shards"])


def _too_new(schema: int, known: int) -> SchemaMismatch:
    return SchemaMismatch(
        f"the store's schema is {schema} and this program knows only {known}; "
        "upgrade it: pip install --upgrade fencepost"
    )
