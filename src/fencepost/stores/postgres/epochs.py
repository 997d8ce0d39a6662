"""What every node asks for every few seconds, by one statement in PostgreSQL."""

from __future__ import annotations

from fencepost.model.high_water import HighWater
from fencepost.model.identifiers import Fence
from fencepost.rules.epochs import EpochRules
from fencepost.stores.postgres.connection import Row
from fencepost.stores.postgres.part import Accelerated
from fencepost.stores.queries import load_queries

QUERIES = load_queries(__package__, "epochs.sql")


class PostgresEpochs(Accelerated, EpochRules):
    """See `ports.epochs`."""

    async def shards(self) -> int:
        return int(await self._database.fetch_value(QUERIES["shards"]))

    async def high_water(self) -> HighWater:
        row = await self._database.fetch_one(QUERIES["high_water"])
        assert row is not None
        return to_high_water(row)


def to_high_water(row: Row) -> HighWater:
    """From the columns of the part `high_water`."""
    return HighWater(row["incarnation"], Fence(row["fence"]), row["epochs"], row["older"])
