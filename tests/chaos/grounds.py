"""Where a chaos fleet stands: its ledger, its lease store, and what can happen to either."""

from __future__ import annotations

import asyncio
import itertools
import shutil
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import asyncpg

from fencepost.stores import mongodb, postgres, sqlite
from tests.chaos import lease_places, recording
from tests.chaos.lease_places import ETCD, KUBERNETES, MONGODB, POSTGRES, REDIS, SQLITE, LeasePlace
from tests.chaos.ledgers import Ledger, SqliteLedger
from tests.chaos.mongodb import MongoLedger, MongoSource
from tests.chaos.recording import PostgresSource, Source, SqliteSource
from tests.leases.test_mongodb_failover import step_down
from tests.servers.etcd import EtcdServer
from tests.servers.kubernetes import KubernetesServer
from tests.servers.mongodb import MongoReplicaSet, MongoServer
from tests.servers.postgres import PostgresServer
from tests.servers.postgres_pair import PostgresPair
from tests.servers.process import Server, wait_until
from tests.servers.redis import RedisServer

SHARDS = 4
PATIENCE_S = 120.0
ANSWER_S = 10.0
AGAIN_S = 0.2
PLAIN = "?sslmode=disable"
"""The driver would ask for TLS first, and tell everybody where a connection breaks at that moment."""
FAULTS = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError)
STORE_RESTART, FAILOVER = "store restart", "failover"
LEASE_RESTART, LEASE_WIPE = "lease store restart", "lease store wiped"

ABANDONED_S = 10
"""How long MongoDB keeps the transaction of a process that was killed. By default a minute: for that long its
rows cannot be written."""

Misfortune = Callable[[], Awaitable[object]]


class PatientLedger:
    """A ledger that is asked until it answers: its server is killed now and then."""

    def __init__(self, url: str) -> None:
        self.url = url

    async def query(self, sql: str, *moments: datetime) -> Sequence[Mapping[str, Any]]:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                async with asyncio.timeout(ANSWER_S):
                    return await self._ask(sql.format("fencepost."), *moments)
            except FAULTS:
                if time.monotonic() > deadline:
                    raise
            await asyncio.sleep(AGAIN_S)

    async def is_locked(self) -> bool:
        """Never: rows are locked there, and for a while only."""
        return False

    async def close(self) -> None:
        """There is nothing to close."""

    async def _ask(self, sql: str, *moments: datetime) -> Sequence[Mapping[str, Any]]:
        connection = await asyncpg.connect(self.url)
        try:
            return [dict(row) for row in await connection.fetch(sql, *moments)]
        finally:
            await connection.close(timeout=1)


@dataclass
class Ground:
    """A fresh ledger that is recorded, where its leases are, and what can happen to either."""

    name: str
    ledger: Ledger
    source: Source
    place: LeasePlace
    misfortunes: Mapping[str, Misfortune] = field(default_factory=dict)


async def on_pair(exits: AsyncExitStack) -> Ground:
    """A primary and its synchronous standby."""
    pair = await PostgresPair.open()
    exits.push_async_callback(pair.close)
    url = pair.url + PLAIN
    await prepare_postgres(url)

    async def restart() -> None:
        await asyncio.to_thread(_lose_power, pair.primary)
        await asyncio.to_thread(pair.wait_until_in_sync)

    return Ground(
        POSTGRES,
        PatientLedger(url),
        PostgresSource(url),
        lease_places.own(POSTGRES),
        {STORE_RESTART: restart, FAILOVER: pair.fail_over},
    )


async def on_server(server: PostgresServer, place: LeasePlace, leases: Server | None = None) -> Ground:
    """A database of its own on that server, with leases in it or elsewhere."""
    url = await asyncio.to_thread(server.create_empty_database) + PLAIN
    await prepare_postgres(url)
    misfortunes: dict[str, Misfortune] = {STORE_RESTART: lambda: asyncio.to_thread(_lose_power, server)}
    if leases is not None:
        misfortunes |= _misfortunes_of(leases)
    return Ground(place.name, PatientLedger(url), PostgresSource(url), place, misfortunes)


async def on_file(path: Path) -> Ground:
    """One file for several processes."""
    await sqlite.migrate(f"sqlite:///{path}", shards=SHARDS)
    recording.install_sqlite(path)
    return Ground(SQLITE, SqliteLedger(path), SqliteSource(path), lease_places.own(SQLITE))


async def on_replica_set(exits: AsyncExitStack) -> Ground:
    """Three members: the primary is killed and comes back, steps down, or stalls until another is elected."""
    members = await asyncio.to_thread(
        lambda: MongoReplicaSet(transactionLifetimeLimitSeconds=str(ABANDONED_S))
    )
    exits.push_async_callback(asyncio.to_thread, members.close)
    url = members.url.replace("/?", "/drill?")
    await mongodb.migrate(url, shards=SHARDS)
    ledger = MongoLedger(url)
    source = MongoSource(ledger)
    exits.push_async_callback(asyncio.to_thread, source.close)
    await asyncio.to_thread(source.start)

    def restart() -> None:
        members.kill_primary()
        members.primary()
        members.restore()

    ways = itertools.cycle([_stall, step_down])

    def fail_over() -> None:
        next(ways)(members)
        members.wait_until_whole()

    misfortunes: dict[str, Misfortune] = {
        STORE_RESTART: lambda: asyncio.to_thread(restart),
        FAILOVER: lambda: asyncio.to_thread(fail_over),
    }
    return Ground(MONGODB, ledger, source, lease_places.own(MONGODB), misfortunes)


async def on_leases(kind: str, server: PostgresServer, exits: AsyncExitStack, folder: Path) -> Ground:
    """A database with its leases on a server of that kind; `ServerMissing` where there is none to be had."""
    if kind == KUBERNETES:
        kubernetes = await asyncio.to_thread(KubernetesServer)
        exits.push_async_callback(asyncio.to_thread, kubernetes.close)
        return await on_server(server, lease_places.on_kubernetes(kubernetes, folder))
    start, place = {
        ETCD: (EtcdServer, lease_places.on_etcd),
        REDIS: (RedisServer, lease_places.on_redis),
        MONGODB: (MongoServer, lease_places.on_mongodb),
    }[kind]
    leases: Server = await asyncio.to_thread(start)
    exits.push_async_callback(asyncio.to_thread, leases.close)
    return await on_server(server, place(leases.url), leases)


async def prepare_postgres(url: str) -> None:
    """The schema, and the recorder on it."""
    await postgres.migrate(url, shards=SHARDS)
    await recording.install_postgres(url)


def _misfortunes_of(leases: Server) -> dict[str, Misfortune]:
    """Redis keeps nothing on disk: it forgets with every restart."""
    misfortunes: dict[str, Misfortune] = {}
    if not isinstance(leases, RedisServer):
        misfortunes[LEASE_RESTART] = lambda: asyncio.to_thread(_lose_power, leases)
    if not isinstance(leases, MongoServer):
        misfortunes[LEASE_WIPE] = lambda: asyncio.to_thread(_lose_memory, leases)
    return misfortunes


def _stall(members: MongoReplicaSet) -> None:
    """The primary goes on, with what it was asked meanwhile, when another has been elected."""
    stale = members.primary()
    stale.pause()
    members.primary()
    stale.resume()


def _lose_power(server: Server) -> None:
    server.kill()
    server.start()
    if isinstance(server, MongoServer):
        wait_until(server.is_primary, lambda: f"no primary: {server.log[-2000:]}")


def _lose_memory(server: Server) -> None:
    server.kill()
    shutil.rmtree(server.folder / "data", ignore_errors=True)
    server.start()
