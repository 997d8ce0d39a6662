"""What comes into the ledger by hand, many at a time."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace
from fencepost.model.json import canonical
from fencepost.model.run import NewRun
from fencepost.rules.desk import marks
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.moments import to_us

QUERIES = load_queries("fencepost.stores.sqlite", "ledger.sql")


def enqueue(
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
    run_at = now_us if run.run_at is None else to_us(run.run_at)
    state = "planned" if run_at > now_us else "ready"
    name = (namespace, run.run_key, run.job)
    return *name, run_at, state, run.queue, run.priority, canonical(run.payload)
