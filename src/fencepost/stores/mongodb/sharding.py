"""A sharded cluster: which collections are spread over the shards, and what a router is asked otherwise.

Documents are spread by `_id`. It is the key of the row, so one key is one document in the whole cluster, and
every write goes to one shard. It begins with the namespace, and the key of a tick with its schedule: what
belongs to one schedule lies together. All other collections stay on the primary shard of the database.

A router has a clock of its own, and so has the next. The store's clock is that of one server: the primary of
the shard that has `meta`.

A router reads the snapshot of the latest cluster time that it has heard of. What was acknowledged by way of
another router may be younger. A look at the primary shard before each transaction tells the router.

Outside of transactions a router sends an update of many documents to every shard: while documents move it
counts one twice or not at all. So what is done without a transaction on a replica set is done in one here.
And `$$NOW` is a router's clock: leases are rows here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC
from typing import Any

from fencepost.drivers.mongodb.opening import is_router
from fencepost.model.clocks import StoreTime
from fencepost.model.table import Keys
from fencepost.model.tables import ATTEMPTS, META, RUN_LINKS, RUN_LOGS, RUNS, STEPS
from fencepost.stores.mongodb.documents import filter_of

SPREAD = (RUNS, ATTEMPTS, STEPS, RUN_LOGS, RUN_LINKS)
"""The tables that grow with every run."""
SCHEMA_ROW = META.at("schema")


def commands(hello: Mapping[str, Any], database: str, done: Collection[str] = ()) -> list[dict[str, Any]]:
    """What `migrate` asks a server of this kind for, but for the collections that are spread already."""
    wanted = [table.name for table in SPREAD if table.name not in done] if is_router(hello) else []
    return [{"shardCollection": f"{database}.{name}", "key": {"_id": 1}} for name in wanted]


async def spread(database: Any) -> set[str]:
    """The collections that are spread over the shards, as the router has it."""
    stats = [await database.command("collStats", table.name) for table in SPREAD]
    return {table.name for table, one in zip(SPREAD, stats, strict=True) if one.get("sharded")}


async def catch_up(database: Any, looked_at: Keys = SCHEMA_ROW) -> None:
    """Have the next snapshot show all that was acknowledged before on the shard of this row: its answer has
    the shard's cluster time, and the driver passes it on."""
    await database[looked_at.table.name].find_one(filter_of(looked_at), {"_id": 1})


async def shard_time(database: Any) -> StoreTime:
    """The clock of the primary shard's primary: what a router says of time is its own."""
    looked = {"aggregate": META.name, "pipeline": [{"$collStats": {}}], "cursor": {}}
    answer = await database.command({**looked, "readConcern": {"level": "local"}})
    return StoreTime(answer["cursor"]["firstBatch"][0]["localTime"].replace(tzinfo=UTC))
