"""Enqueueing in PostgreSQL: one statement, whatever the number of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fencepost.model.audit import Author
from fencepost.model.enqueueing import Entered
from fencepost.model.identifiers import Namespace
from fencepost.model.run import NewRun
from fencepost.rules.orders import marks
from fencepost.rules.rows import payload_text
from fencepost.stores.postgres.columns import alike, joined, sparse
from fencepost.stores.postgres.part import PostgresPart
from fencepost.stores.queries import load_queries

QUERIES = load_queries(__package__, "entries.sql")


class PostgresEntries(PostgresPart):
    """How runs without a schedule come into the ledger."""

    async def enqueue(
        self, namespace: Namespace, runs: Sequence[NewRun], *, author: Author | None = None
    ) -> Sequence[bool]:
        if author is not None or not all(run.is_plain for run in runs):
            fresh = await super().enqueue(namespace, runs, author=author)
        elif len(runs) == 1:
            fresh = [await self._enqueue_one(namespace, runs[0])]
        else:
            row = await self._database.fetch_one(QUERIES["enqueue"], namespace, *_columns(runs))
            assert row is not None
            keys = [run.run_key for run in runs]
            fresh = [True] * len(runs) if row["count"] == len(runs) else marks(keys, set(row["keys"] or ()))
        if not all(fresh):
            await self._database.confirm()
        return fresh

    async def enqueue_unique(
        self, namespace: Namespace, runs: Sequence[NewRun], *, author: Author | None = None
    ) -> Sequence[Entered]:
        entered = await super().enqueue_unique(namespace, runs, author=author)
        if not all(one.is_new for one in entered):
            await self._database.confirm()
        return entered

    async def _enqueue_one(self, namespace: Namespace, run: NewRun) -> bool:
        """The most common call by far, so its statement is as plain as can be."""
        terms = (run.run_key, run.job, run.queue, run.priority, run.run_at, payload_text(run.payload))
        return await self._database.fetch_one(QUERIES["enqueue_one"], namespace, *terms) is not None


def _columns(runs: Sequence[NewRun]) -> list[Any]:
    """What is alike in all of them, as nearly always in one call, is sent once."""
    return [
        joined(run.run_key for run in runs),
        alike([run.job for run in runs]),
        alike([run.queue for run in runs]),
        alike([run.priority for run in runs]),
        sparse([run.run_at for run in runs]),
        joined(payload_text(run.payload) for run in runs),
        len(runs),
    ]
