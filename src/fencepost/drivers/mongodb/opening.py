"""The first connection: what must be true of the server before anything hangs on it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pymongo
from pymongo import AsyncMongoClient
from pymongo.driver_info import DriverInfo
from pymongo.errors import ConfigurationError, InvalidURI, PyMongoError, ServerSelectionTimeoutError
from pymongo.server_type import SERVER_TYPE

from fencepost.drivers.mongodb.address import Target
from fencepost.drivers.mongodb.calls import DRIVER_TIMEOUT_S, in_time
from fencepost.drivers.mongodb.faults import refused_by_driver

SELECTION_TIMEOUT_S = 3.0
"""A primary that is being elected just now is waited for."""
LEAVE_S = 1.0
"""The driver takes leave of its server, which may be away."""

ALONE = (
    "this server stands alone, and a majority needs a replica set, be it of one member; "
    "start mongod with --replSet NAME and run rs.initiate()"
)
NOT_INITIATED = "this server belongs to a replica set that was never initiated; run rs.initiate()"
MISPLACED = (
    "no server of this URL belongs to the replica set that it names; correct replicaSet, "
    "or, where mongod stands alone, start it with --replSet NAME and run rs.initiate()"
)
ROUTER = (
    "this is a mongos, and each of them judges time by a clock of its own; "
    "name the members of a replica set instead, or leave the leases in the store"
)


def connect(target: Target) -> AsyncMongoClient[dict[str, Any]]:
    """A client that has not gone anywhere yet. Its time limits are ours: each call has one of its own, and
    none may cut a change stream that has nothing to tell."""
    limit_ms = int(DRIVER_TIMEOUT_S * 1000)
    try:
        return AsyncMongoClient(
            target.url,
            driver=DriverInfo("fencepost"),
            connectTimeoutMS=limit_ms,
            serverSelectionTimeoutMS=limit_ms,
            waitQueueTimeoutMS=limit_ms,
            socketTimeoutMS=None,
            timeoutMS=None,
        )
    except (ConfigurationError, InvalidURI, ValueError, TypeError, OSError) as error:
        raise refused_by_driver(target, error) from None


async def disconnect(client: AsyncMongoClient[dict[str, Any]]) -> None:
    """Close all that the client has open."""
    with suppress(PyMongoError, TimeoutError), pymongo.timeout(LEAVE_S):
        await in_time(client.close(), LEAVE_S + DRIVER_TIMEOUT_S)


async def check(client: AsyncMongoClient[dict[str, Any]], target: Target) -> Mapping[str, Any]:
    """What the server says of itself. One that is not fit is refused."""
    hello: Mapping[str, Any] = {}
    try:
        hello = await client.admin.command("hello")
        complaint = unfit(hello, target.address.what)
    except ServerSelectionTimeoutError:
        complaint = _missing(client)
        if not complaint:
            raise
    if complaint:
        raise target.address.refuse(complaint)
    return hello


def is_router(hello: Mapping[str, Any]) -> bool:
    """Whether the server is a mongos, before a sharded cluster."""
    return hello.get("msg") == "isdbgrid"


def behind_router(client: Any) -> bool:
    """Whether a client talks to routers, as it has heard with its first call."""
    known = client.topology_description
    servers = known.server_descriptions().values()
    return known.topology_type_name == "Sharded" or any(
        one.server_type == SERVER_TYPE.Mongos for one in servers
    )


def unfit(hello: Mapping[str, Any], what: str) -> str:
    """Why a server of this kind cannot be used for the leases or the store; nothing where it can."""
    if is_router(hello):
        return ROUTER if what == "leases" else ""
    if hello.get("isreplicaset"):
        return NOT_INITIATED
    return "" if "setName" in hello else ALONE


def _missing(client: AsyncMongoClient[dict[str, Any]]) -> str:
    """Why there is no primary, where waiting will not help. The driver drops servers that answer and do not
    belong to the replica set that was asked for; a single server it keeps, with its error."""
    known = client.topology_description.server_descriptions().values()
    if all(isinstance(one.error, ConfigurationError) for one in known):
        return MISPLACED
    return NOT_INITIATED if any(one.server_type == SERVER_TYPE.RSGhost for one in known) else ""
