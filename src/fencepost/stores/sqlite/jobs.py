"""Job specs in SQLite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import apsw

from fencepost.model.clocks import StoreTime
from fencepost.model.codec import job_from_text, job_to_text
from fencepost.model.identifiers import JobName, Namespace
from fencepost.model.job import JobSpec
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite import lines
from fencepost.stores.sqlite.connection import Database
from fencepost.stores.sqlite.moments import fetch, to_us

QUERIES = load_queries("fencepost.stores.sqlite", "jobs.sql")


class SqliteJobs:
    """See `ports.jobs`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def register(self, namespace: Namespace, specs: Sequence[JobSpec]) -> None:
        def work(connection: apsw.Connection, now: StoreTime) -> None:
            connection.executemany(
                QUERIES["register"],
                (
                    {
                        "namespace": namespace,
                        "name": spec.name,
                        "spec": job_to_text(spec),
                        "queue": spec.queue,
                        "priority": spec.priority,
                        "now": to_us(now),
                    }
                    for spec in specs
                ),
            )
            lines.put(connection, namespace, specs)

        await self._database.transact(work)

    async def all(self, namespace: Namespace) -> Mapping[JobName, JobSpec]:
        def work(connection: apsw.Connection, _: StoreTime) -> Mapping[JobName, JobSpec]:
            rows = fetch(connection.execute(QUERIES["all"], {"namespace": namespace}))
            return {row["name"]: job_from_text(row["spec"]) for row in rows}

        return await self._database.read(work)
