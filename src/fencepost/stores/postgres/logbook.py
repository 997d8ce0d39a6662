"""The logs of runs in PostgreSQL: the pages of many attempts are one statement."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.model.run_log import LogPage
from fencepost.rules.logbook import LogbookRules
from fencepost.stores.postgres.connection import clean
from fencepost.stores.postgres.part import Accelerated
from fencepost.stores.queries import load_queries

QUERIES = load_queries(__package__, "logbook.sql")


class PostgresLogbook(Accelerated, LogbookRules):
    """See `ports.logbook`."""

    async def append(self, pages: Sequence[LogPage]) -> Sequence[bool]:
        tickets = [page.ticket for page in pages]
        chunks = [(number, one) for number, page in enumerate(pages, start=1) for one in page.chunks]
        rows = await self._database.fetch(
            QUERIES["append"],
            [one.namespace for one in tickets],
            [one.run_key for one in tickets],
            [one.attempt for one in tickets],
            [one.fence for one in tickets],
            [page.kept_through for page in pages],
            [page.kept_from for page in pages],
            [number for number, _ in chunks],
            [one.number for _, one in chunks],
            [one.first_line for _, one in chunks],
            [one.lines for _, one in chunks],
            [clean(one.text) for _, one in chunks],
        )
        taken = {row["number"] for row in rows}
        return [number in taken for number in range(len(pages))]
