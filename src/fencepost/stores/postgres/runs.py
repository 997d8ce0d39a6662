"""What people read of the ledger in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.model.identifiers import Namespace, RunKey
from fencepost.model.run import Attempt, RunFilter, RunRecord, RunState
from fencepost.model.status import QueueDepth
from fencepost.stores.postgres.connection import Database
from fencepost.stores.queries import load_queries
from fencepost.stores.rows import to_attempt, to_depth, to_run_record

QUERIES = load_queries(__package__, "runs.sql")


class PostgresRuns:
    """The reading part of `ports.ledger`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, namespace: Namespace, run_key: RunKey) -> RunRecord | None:
        row = await self._database.fetch_one(QUERIES["get"], namespace, run_key)
        return None if row is None else to_run_record(row)

    async def attempts(self, namespace: Namespace, run_key: RunKey) -> Sequence[Attempt]:
        rows = await self._database.fetch(QUERIES["attempts"], namespace, run_key)
        return [to_attempt(row) for row in rows]

    async def depth(self, namespace: Namespace) -> QueueDepth:
        row = await self._database.fetch_one(QUERIES["depth"], namespace)
        assert row is not None
        return to_depth(row)

    async def tally(self, namespace: Namespace, since_s: float) -> dict[RunState, int]:
        rows = await self._database.fetch(QUERIES["tally"], namespace, since_s)
        return {RunState(row["state"]): row["runs"] for row in rows}

    async def list(self, namespace: Namespace, filter: RunFilter) -> Sequence[RunRecord]:
        wanted = filter.job, filter.since, filter.until, filter.state, filter.limit
        if filter.schedule_id is None:
            rows = await self._database.fetch(QUERIES["list"], namespace, *wanted)
        else:
            rows = await self._database.fetch(
                QUERIES["list_of_schedule"], namespace, *wanted, filter.schedule_id
            )
        return [to_run_record(row) for row in rows]
