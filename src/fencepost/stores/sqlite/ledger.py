"""The ledger in SQLite: what is done or read often has a statement of its own, the rest is by the rules."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import partial

import apsw

from fencepost.model.audit import Author
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace
from fencepost.model.run import NewRun, Outcome, Receipt
from fencepost.rules.orders import marks
from fencepost.rules.rows import payload_text
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite import reports
from fencepost.stores.sqlite.claims import SqliteClaims
from fencepost.stores.sqlite.moments import to_us
from fencepost.stores.sqlite.runs import SqliteRuns
from fencepost.stores.sqlite.views import SqliteViews

QUERIES = load_queries(__package__, "ledger.sql")


class SqliteLedger(SqliteClaims, SqliteRuns, SqliteViews):
    """See `ports.ledger`."""

    async def enqueue(
        self, namespace: Namespace, runs: Sequence[NewRun], *, author: Author | None = None
    ) -> Sequence[bool]:
        if author is not None or not all(run.is_plain for run in runs):
            return await super().enqueue(namespace, runs, author=author)
        fresh = await self._database.transact(partial(write_runs, namespace, runs))
        self._hint_if(any(fresh))
        return fresh

    async def finish(self, outcomes: Sequence[Outcome]) -> Sequence[Receipt]:
        receipts, hints = await self._database.transact(partial(reports.finish, outcomes))
        for topic in hints:
            self._rows.signals.hint(topic)
        return receipts


def write_runs(
    namespace: Namespace, runs: Sequence[NewRun], connection: apsw.Connection, now: StoreTime
) -> Sequence[bool]:
    """Write runs by hand; which of them are new."""
    before, changes, now_us = connection.execute(QUERIES["last"]).get, connection.total_changes(), to_us(now)
    connection.executemany(QUERIES["enqueue"], (_values(namespace, run, now_us) for run in runs))
    if connection.total_changes() - changes == len(runs):
        return [True] * len(runs)
    new = {run_key for (run_key,) in connection.execute(QUERIES["behind"], (before,))}
    return marks([run.run_key for run in runs], new)


def _values(namespace: Namespace, run: NewRun, now_us: int) -> tuple[str | int, ...]:
    assert not isinstance(run.run_at, timedelta)
    run_at = now_us if run.run_at is None else to_us(run.run_at)
    state = "planned" if run_at > now_us else "ready"
    name = (namespace, run.run_key, run.job)
    return *name, run_at, state, run.queue, run.priority, payload_text(run.payload), now_us
