"""Leases in PostgreSQL: one row a shard, judged by the server's clock after any wait for the row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fencepost.model.identifiers import Epoch, NodeId, Shard
from fencepost.model.lease import Acquisition, Granted, LeaseRecord, Lost, Renewal
from fencepost.stores.postgres.connection import Database
from fencepost.stores.queries import load_queries
from fencepost.stores.rows import to_acquisition, to_lease_record

QUERIES = load_queries(__package__, "leases.sql")


class PostgresLeases:
    """See `ports.leases`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def acquire(
        self, shards: Sequence[Shard], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Acquisition]:
        wanted = sorted(set(shards))
        rows = await self._database.fetch(QUERIES["acquire"], wanted, holder, ttl_s)
        return {row["shard"]: to_acquisition(row) for row in rows}

    async def renew(
        self, held: Mapping[Shard, Epoch], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Renewal]:
        shards, epochs = list(held), list(held.values())
        rows = await self._database.fetch(QUERIES["renew"], shards, epochs, holder, ttl_s)
        extended = {row["shard"]: Granted(row["epoch"]) for row in rows}
        return {shard: extended.get(shard, Lost()) for shard in held}

    async def release(self, held: Mapping[Shard, Epoch], holder: NodeId) -> None:
        await self._database.fetch(QUERIES["release"], list(held), list(held.values()), holder)

    async def read(self) -> Sequence[LeaseRecord]:
        return [to_lease_record(row) for row in await self._database.fetch(QUERIES["read"])]
