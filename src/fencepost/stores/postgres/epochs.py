"""What every node asks for every few seconds, by one statement in PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable

from fencepost.model.high_water import HighWater
from fencepost.model.identifiers import Fence
from fencepost.rules.epochs import EpochRules
from fencepost.stores.postgres.connection import Database
from fencepost.stores.postgres.rows import PostgresRows
from fencepost.stores.queries import load_queries

QUERIES = load_queries(__package__, "epochs.sql")


class PostgresEpochs(EpochRules):
    """See `ports.epochs`."""

    def __init__(self, rows: PostgresRows, unique: Callable[[], str], database: Database) -> None:
        super().__init__(rows, unique)
        self._database = database

    async def shards(self) -> int:
        return int(await self._database.fetch_value(QUERIES["shards"]))

    async def high_water(self) -> HighWater:
        row = await self._database.fetch_one(QUERIES["high_water"])
        assert row is not None
        return HighWater(row["incarnation"], Fence(row["fence"]), row["epochs"], row["older"])
