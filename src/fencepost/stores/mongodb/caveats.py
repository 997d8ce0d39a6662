"""What the servers are set up not to promise, and what a check-up finds besides.

To look at the replica set takes more rights than to use a database of it. What a user may not see is said in
the check-up; a process that starts goes on without.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any

from pymongo import AsyncMongoClient
from pymongo.errors import OperationFailure

from fencepost.model.caveat import Caveat
from fencepost.model.durations import format_duration
from fencepost.model.table import Table
from fencepost.stores.mongodb.migrations import UNAUTHORIZED, index_differences
from fencepost.stores.mongodb.rows import MongoRows
from fencepost.stores.mongodb.sharding import SPREAD, spread

Answer = Mapping[str, Any]
Client = AsyncMongoClient[dict[str, Any]]

HOLDS_DATA = frozenset({"PRIMARY", "SECONDARY"})
WINDOW_MIN = timedelta(hours=1)
LIFETIME, LIFETIME_MAX_S = "transactionLifetimeLimitSeconds", 20
FULL = 0.8
"""From here on an oplog forgets its oldest entries to have room for the next."""
JOURNAL = Caveat(
    "the replica set counts a write as majority before it is in the journals "
    "(writeConcernMajorityJournalDefault=false): what was read may be gone after a crash of several members",
    "set writeConcernMajorityJournalDefault to true with rs.reconfig()",
)
UNSEEN = Caveat(
    "the user of the store's URL may not look at the replica set; members, journals and oplog are unknown",
    "grant it the role clusterMonitor on admin, and read on local",
)


async def read_caveats(client: Client) -> list[Caveat]:
    """What every process tells when it starts."""
    config = await _seen(client, "replSetGetConfig")
    return [] if config is None else journal(config["config"])


async def examine(client: Client, rows: MongoRows) -> list[Caveat]:
    """What a check-up finds besides. Through a router the members of the shards are not seen."""
    indexes = [_index(*one) for one in await index_differences(rows)]
    if rows.is_sharded:
        return [*indexes, *_unspread(await spread(rows.database))]
    return [*indexes, *await _lifetime(client), *await _of_replica_set(client)]


async def _lifetime(client: Client) -> list[Caveat]:
    """How long the rows of a process that was killed in the middle of a write stay locked."""
    try:
        answer = await client.admin.command({"getParameter": 1, LIFETIME: 1})
    except OperationFailure as error:
        if error.code != UNAUTHORIZED:
            raise
        return []
    if answer[LIFETIME] <= LIFETIME_MAX_S:
        return []
    told = f"{LIFETIME} is {answer[LIFETIME]}: a process that is killed in a write keeps its locks for longer"
    set_to = f"db.adminCommand({{setParameter: 1, {LIFETIME}: 10}}) on every node, and in its configuration"
    return [Caveat(told, set_to)]


def _index(table: Table, name: str, is_there: bool) -> Caveat:
    if is_there:
        told = f"{table.name} has an index {name} that Fencepost does not use: every write pays for it"
        return Caveat(told, f'db.{table.name}.dropIndex("{name}")')
    told = f"{table.name} has no index {name}: what it would find is searched for among all documents"
    return Caveat(told, "run: fencepost migrate")


def _unspread(done: Collection[str]) -> list[Caveat]:
    left = [table.name for table in SPREAD if table.name not in done]
    told = f"{', '.join(left)}: on one shard of the cluster alone"
    return [Caveat(told, "run: fencepost migrate")] if left else []


async def _of_replica_set(client: Client) -> list[Caveat]:
    config, status = await _seen(client, "replSetGetConfig"), await _seen(client, "replSetGetStatus")
    if config is None or status is None:
        return [UNSEEN]
    try:
        oplog = await client.local.command("collStats", "oplog.rs")
        ends = [await client.local["oplog.rs"].find_one(sort=[("$natural", way)]) for way in (1, -1)]
    except OperationFailure as error:
        if error.code != UNAUTHORIZED:
            raise
        return [*members(config["config"], status), UNSEEN]
    first, last = (one["ts"].as_datetime() for one in ends if one is not None)
    return [*members(config["config"], status), *window(oplog, last - first)]


async def _seen(client: Client, command: str) -> Answer | None:
    """What the primary says; None where it says it only to others."""
    try:
        return await client.admin.command(command)
    except OperationFailure as error:
        if error.code != UNAUTHORIZED:
            raise
        return None


def journal(config: Answer) -> list[Caveat]:
    return [] if config.get("writeConcernMajorityJournalDefault", True) else [JOURNAL]


def members(config: Answer, status: Answer) -> list[Caveat]:
    """How many members may be lost before writes stop."""
    voters = {one["_id"] for one in config["members"] if one["votes"] and not one["arbiterOnly"]}
    states = {one["name"]: one["stateStr"] for one in status["members"] if one["_id"] in voters}
    away = [f"{name} is {state}" for name, state in states.items() if state not in HOLDS_DATA]
    up, need = len(states) - len(away), status["writeMajorityCount"]
    stands = f"{up} of {len(states)} voting members with data are up, and a write needs {need}"
    if away:
        return [Caveat(f"{stands}: {', '.join(away)}", "bring them back; rs.status() shows them")]
    if status["votingMembersCount"] > 1 and up <= need:
        told = f"{stands}: when one of them is away, nothing is written"
        return [Caveat(told, "add a member that holds data; an arbiter holds none")]
    return []


def window(oplog: Answer, covers: timedelta) -> list[Caveat]:
    """How long a change stream may be away and go on where it was."""
    if oplog["size"] < FULL * oplog["maxSize"] or covers >= WINDOW_MIN:
        return []
    told = f"the oplog covers {format_duration(covers)}: a member or a change stream that was away longer "
    return [Caveat(f"{told}begins anew", "enlarge it: db.adminCommand({replSetResizeOplog: 1, size: MB})")]
