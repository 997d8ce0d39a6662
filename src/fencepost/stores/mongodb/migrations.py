"""The schema: collections and indexes by the declared tables, and its number beside them.

To make what is there already changes nothing, so any number of migrators may start at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from secrets import token_hex
from typing import Any

from pymongo import AsyncMongoClient, IndexModel
from pymongo.errors import CollectionInvalid, OperationFailure

from fencepost.drivers.mongodb.address import Target, read_url
from fencepost.drivers.mongodb.calls import in_time
from fencepost.drivers.mongodb.faults import translated_at_open
from fencepost.drivers.mongodb.opening import check, connect, disconnect, is_router
from fencepost.errors import InvalidSettings, SchemaMismatch
from fencepost.model.address import mask
from fencepost.model.table import Table
from fencepost.model.tables import ATTEMPTS, META, MISSED_RANGES, RUNS, TABLES, UNFINISHED, unfinished_copy
from fencepost.ports.rows import Transaction
from fencepost.stores.mongodb.documents import in_order, indexes_of, to_document, to_row
from fencepost.stores.mongodb.rows import MongoRows
from fencepost.stores.mongodb.sharding import commands, spread
from fencepost.stores.mongodb.transaction import COUNTERS, SIGNALS, TURNS

SCHEMA = 6
OLDEST = 2
"""The first schema that can be brought up to date."""
STEPS = {3: "0002_indexes_in_order", 4: "0003_everyday_use", 5: "0004_notifications", 6: "0005_plain_names"}
"""What makes each schema of the one before."""
FOUND_BY_NEW_INDEXES = 4
RENAMED = {"met": "blocked_by", "begun_at": "first_started_at", "spent": "attempts_before_replay"}
"""Columns of runs before the sixth schema, and their names since."""
UNRELEASED = "its schema was never released; name another database, and run migrate again"
VERSION_MIN = 6
NAMESPACE_EXISTS = 48
INDEX_NOT_FOUND = 27
UNAUTHORIZED = 13
MAY_NOT_SHARD = (
    "the user of the store's URL may not shard it; grant the role clusterManager on admin, or have an "
    "administrator run sh.shardCollection({!r}, {{_id: 1}}); until then the store works on one shard"
)
HINTS_KEPT_S = 600
MIGRATE_TIMEOUT_S = 600.0


async def migrate(url: str, *, shards: int) -> list[str]:
    """Bring the store's schema up to date, and return what was applied."""
    target = read_url(url, "store")
    client = connect(target)
    try:
        with translated_at_open(target):
            return await in_time(_migrate(client, target, shards), MIGRATE_TIMEOUT_S)
    finally:
        await disconnect(client)


async def check_version(client: AsyncMongoClient[dict[str, Any]], target: Target) -> None:
    """Refuse a server that is too old."""
    build = await client.admin.command("buildInfo")
    if build["versionArray"][0] < VERSION_MIN:
        raise target.address.refuse(
            f"it is MongoDB {build['version']}, and a store needs {VERSION_MIN}.0 or newer; upgrade it"
        )


async def check_schema(rows: MongoRows, target: Target, *, unfinished: bool = False) -> None:
    """Refuse a store whose schema is not this program's, and one that is the `unfinished` target of a copy
    unless that is what is asked for."""
    schema, store = await rows.read(_schema), mask(target.url)
    schema = schema % UNFINISHED if unfinished else schema
    _refuse_newer(schema, store)
    if schema < SCHEMA:
        has = f"its schema is {schema} and this program needs {SCHEMA}" if schema else "it has no schema yet"
        raise SchemaMismatch(f"store {store}: {has}; run: fencepost migrate --store {store}")


async def _migrate(client: AsyncMongoClient[dict[str, Any]], target: Target, shards: int) -> list[str]:
    hello = await check(client, target)
    await check_version(client, target)
    rows = MongoRows(client, target)
    rows.is_sharded = is_router(hello)
    there = await rows.database.list_collection_names()
    schema = await rows.read(_schema) if META.name in there else 0
    _refuse_newer(schema, mask(target.url))
    if 0 < schema < OLDEST:
        raise SchemaMismatch(f"store {mask(target.url)}: {UNRELEASED}")
    if schema:
        for name in sorted({one.name for one in TABLES} - set(there)):
            await _make_collection(rows, name)
        made = await _make_indexes(rows, since=schema)
        return [*made, *await _shard(client, rows, hello)]
    for name in [*(one.name for one in TABLES), COUNTERS, TURNS, SIGNALS]:
        await _make_collection(rows, name)
    for table in TABLES:
        if indexes := indexes_of(table):
            await rows.database[table.name].create_indexes(indexes)
    await rows.database[SIGNALS].create_index("at", expireAfterSeconds=HINTS_KEPT_S)
    first = {"shards": str(shards), "incarnation": f"1-{token_hex(16)}", "schema": str(SCHEMA)}
    written = [{"name": name, "value": value} for name, value in first.items()]
    await rows.write(lambda tx: tx.put_if_absent(META, written))
    return ["0001_collections", *await _shard(client, rows, hello)]


async def _shard(
    client: AsyncMongoClient[dict[str, Any]], rows: MongoRows, hello: Mapping[str, Any]
) -> list[str]:
    """Spread what grows over the shards of a cluster. To spread it again changes nothing."""
    asked = commands(hello, rows.database.name, await spread(rows.database) if rows.is_sharded else ())
    for one in asked:
        try:
            await client.admin.command(one)
        except OperationFailure as error:
            if error.code != UNAUTHORIZED:
                raise
            name = one["shardCollection"]
            raise InvalidSettings(f"{name}: {MAY_NOT_SHARD.format(name)}") from error
    return [f"sharding of {one['shardCollection']}" for one in asked]


async def index_differences(rows: MongoRows) -> list[tuple[Table, str, bool]]:
    """Indexes that are either declared or there, and whether they are there."""
    found = []
    for table in TABLES:
        there = (await rows.database[table.name].index_information()).keys() - {"_id_"}
        found += [(table, name, name in there) for name in sorted(there ^ _declared(table).keys())]
    return found


async def _make_indexes(rows: MongoRows, since: int) -> list[str]:
    """Those that are missing, with their collections. Before the third schema an index had whole entries, by
    the name of their field; those are dropped when the new ones are there."""
    there = await rows.database.list_collection_names()
    for name in [one.name for one in TABLES if one.name not in there]:
        await _make_collection(rows, name)
    differences = await index_differences(rows)
    missing = [(table, name) for table, name, is_there in differences if not is_there]
    for table, name in missing:
        await rows.database[table.name].create_indexes([_declared(table)[name]])
    if since < FOUND_BY_NEW_INDEXES:
        for table in (ATTEMPTS, MISSED_RANGES):
            await _write_again(rows, table)
    if since < SCHEMA:
        older = {"$or": [{name: {"$exists": True}} for name in RENAMED]}
        await rows.database[RUNS.name].update_many(older, {"$rename": RENAMED})
        await rows.write(_note_schema)
    for table, name, is_there in differences:
        if is_there and in_order(name) in _declared(table):
            await _drop_index(rows, table, name)
    made = [f"index {name} of {table.name}" for table, name in missing]
    steps = [name for schema, name in STEPS.items() if since < schema]
    return steps or made


async def _write_again(rows: MongoRows, table: Table) -> None:
    """Give the documents what a new index finds them by."""
    collection = rows.database[table.name]
    async for one in collection.find():
        await collection.replace_one({"_id": one["_id"]}, to_document(table, to_row(table, one)))


async def _drop_index(rows: MongoRows, table: Table, name: str) -> None:
    """Another migrator may be faster."""
    try:
        await rows.database[table.name].drop_index(name)
    except OperationFailure as error:
        if error.code != INDEX_NOT_FOUND:
            raise


async def _note_schema(tx: Transaction) -> None:
    await tx.change(META, [(row, {"value": str(SCHEMA)}) for row in await tx.lock(META.at("schema"))])


def _declared(table: Table) -> dict[str, IndexModel]:
    return {one.document["name"]: one for one in indexes_of(table)}


async def _make_collection(rows: MongoRows, name: str) -> None:
    """The driver looks whether it is there, and another migrator may make it in between."""
    try:
        await rows.database.create_collection(name)
    except CollectionInvalid:
        return
    except OperationFailure as error:
        if error.code != NAMESPACE_EXISTS:
            raise


async def _schema(tx: Transaction) -> int:
    known = await tx.find(META.at("schema"))
    return int(known[0]["value"]) if known else 0


def _refuse_newer(schema: int, store: str) -> None:
    if schema > UNFINISHED:
        raise SchemaMismatch(unfinished_copy(store))
    if schema > SCHEMA:
        raise SchemaMismatch(
            f"store {store}: its schema is {schema} and this program knows only {SCHEMA}; "
            "upgrade it: pip install --upgrade fencepost"
        )
