"""Job specs in PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fencepost.model.codec import job_from_text, job_to_text
from fencepost.model.identifiers import JobName, Namespace
from fencepost.model.job import JobSpec
from fencepost.rules.jobs import JobRules
from fencepost.stores.postgres import lines
from fencepost.stores.postgres.connection import Database
from fencepost.stores.postgres.rows import PostgresRows
from fencepost.stores.queries import load_queries

QUERIES = load_queries(__package__, "jobs.sql")


class PostgresJobs(JobRules):
    """See `ports.jobs`."""

    def __init__(self, rows: PostgresRows, database: Database) -> None:
        super().__init__(rows)
        self._database = database

    async def register(self, namespace: Namespace, specs: Sequence[JobSpec]) -> None:
        latest = list({spec.name: spec for spec in specs}.values())
        async with self._database.transaction() as session:
            await session.fetch(
                QUERIES["register"],
                namespace,
                [spec.name for spec in latest],
                [job_to_text(spec) for spec in latest],
                [spec.queue for spec in latest],
                [spec.priority for spec in latest],
            )
            changed = await lines.put(session, namespace, latest)
        await lines.release(self._database, namespace, changed)

    async def all(self, namespace: Namespace) -> Mapping[JobName, JobSpec]:
        rows = await self._database.fetch(QUERIES["all"], namespace)
        return {row["name"]: job_from_text(row["spec"]) for row in rows}
