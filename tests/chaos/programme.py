"""The fleets of a chaos run: the long one, and the short mix of it for every day."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from tests.chaos import grounds, lease_places
from tests.chaos.campaign import FAILOVERS, KILLS, REFUSED, RESCUED, RESTARTS, STALLS, TICKED, Part
from tests.chaos.grounds import FAILOVER, LEASE_RESTART, LEASE_WIPE, STORE_RESTART, Ground
from tests.chaos.lease_places import ETCD, KUBERNETES, MONGODB, POSTGRES, REDIS, SQLITE
from tests.chaos.nemesis import (
    CLOCK_JUMP,
    KILL,
    LOST_ANSWER,
    MASSACRE,
    ONE_WAY,
    PARTITION,
    RESET,
    STALL,
    STALL_IN_WRITE,
)
from tests.chaos.stage import Plan
from tests.servers import binaries
from tests.servers.binaries import ServerMissing
from tests.servers.kubernetes import kube_apiserver
from tests.servers.postgres import PostgresServer

FLOORS = {KILLS: 100, STALLS: 50, RESTARTS: 20, FAILOVERS: 5, TICKED: 100_000, REFUSED: 50}
MONGODB_FLOORS = {KILLS: 2, RESTARTS: 1, FAILOVERS: 1, RESCUED: 1}
SHORT_FLOORS = {KILLS: 6, STALLS: 3, RESTARTS: 1, REFUSED: 1, RESCUED: 1, RESET: 1, PARTITION: 1}

NETWORK = {PARTITION: 1, ONE_WAY: 1, RESET: 1, LOST_ANSWER: 1}
ON_PAIR = {KILL: 4, MASSACRE: 1, STALL_IN_WRITE: 5, STALL: 1, CLOCK_JUMP: 1, **NETWORK} | {
    STORE_RESTART: 2,
    FAILOVER: 1,
}
ON_LEASES = {KILL: 3, MASSACRE: 1, STALL_IN_WRITE: 4, STALL: 1, CLOCK_JUMP: 1, **NETWORK} | {
    STORE_RESTART: 2,
    LEASE_RESTART: 1,
    LEASE_WIPE: 1,
}
ON_FILE = {KILL: 4, MASSACRE: 1, STALL_IN_WRITE: 1, STALL: 1}
ON_REPLICA_SET = {KILL: 3, MASSACRE: 1, STALL: 1, STORE_RESTART: 2, FAILOVER: 2}
SHORT = {KILL: 3, STALL_IN_WRITE: 4, STALL: 1, STORE_RESTART: 1, **NETWORK}

PROGRAMS: Mapping[str, Callable[[], Path]] = {
    ETCD: binaries.ETCD.path,
    REDIS: binaries.REDIS.path,
    MONGODB: binaries.MONGODB.path,
    KUBERNETES: kube_apiserver,
}


class OneServer:
    """A PostgreSQL that is started when it is first asked for."""

    def __init__(self) -> None:
        self._server: PostgresServer | None = None

    async def open(self, exits: AsyncExitStack) -> PostgresServer:
        if self._server is None:
            self._server = await asyncio.to_thread(
                lambda: PostgresServer(durable=True, max_connections="200")
            )
            exits.push_async_callback(asyncio.to_thread, self._server.close)
        return self._server


def long(seed: int, rate: int) -> Sequence[Sequence[Part]]:
    """A pair of servers, a file, and every lease store that there is, one after the other; so many ticks a
    second in all."""
    server = OneServer()
    elsewhere = [
        Part(kind, partial(_on_leases, kind, server), Plan(3, 2, rate * 2 // 10), ON_LEASES, hands=2)
        for kind in PROGRAMS
        if not missing(kind)
    ]
    pair = Part(POSTGRES, _on_pair, Plan(3, 3, rate * 6 // 10), ON_PAIR, hands=2)
    file = Part(SQLITE, _on_file, Plan(2, 2, rate * 2 // 10), ON_FILE, pause_s=2)
    return _seeded(seed, [[pair], [file], elsewhere] if elsewhere else [[pair], [file]])


def short(seed: int) -> Sequence[Sequence[Part]]:
    """One server and one file, side by side, for less than a minute."""
    server = OneServer()
    return _seeded(
        seed,
        [
            [Part(POSTGRES, partial(_on_server, server), Plan(3, 2, 20), SHORT, hands=2, pause_s=0.3)],
            [Part(SQLITE, _on_file, Plan(2, 2, 10), ON_FILE, pause_s=0.5)],
        ],
    )


def on_mongodb(seed: int) -> Sequence[Sequence[Part]]:
    """One fleet on a replica set of three."""
    part = Part(MONGODB, _on_replica_set, Plan(2, 2, 3), ON_REPLICA_SET, pause_s=1)
    return _seeded(seed, [[part]])


def missing(kind: str) -> str:
    """Why there is no fleet with leases there; nothing where there is one."""
    try:
        PROGRAMS[kind]()
    except ServerMissing as error:
        return str(error)
    return ""


def _seeded(seed: int, lanes: Sequence[Sequence[Part]]) -> Sequence[Sequence[Part]]:
    """Each fleet has dice of its own, so that none depends on how fast the others are."""
    for place, lane in enumerate(lanes):
        for number, part in enumerate(lane):
            part.seed = seed * 1_000 + place * 100 + number
    return lanes


async def _on_pair(exits: AsyncExitStack, folder: Path) -> Ground:
    return await grounds.on_pair(exits)


async def _on_replica_set(exits: AsyncExitStack, folder: Path) -> Ground:
    return await grounds.on_replica_set(exits)


async def _on_file(exits: AsyncExitStack, folder: Path) -> Ground:
    return await grounds.on_file(folder.with_suffix(".db"))


async def _on_server(server: OneServer, exits: AsyncExitStack, folder: Path) -> Ground:
    return await grounds.on_server(await server.open(exits), lease_places.own(POSTGRES))


async def _on_leases(kind: str, server: OneServer, exits: AsyncExitStack, folder: Path) -> Ground:
    return await grounds.on_leases(kind, await server.open(exits), exits, folder)
