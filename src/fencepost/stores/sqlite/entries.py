"""What comes into the ledger by hand, many at a time."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace
from fencepost.model.json import canonical
from fencepost.model.run import NewRun
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.moments import to_us

QUERIES = load_queries("fencepost.stores.sqlite", "ledger.sql")


def enqueue(
    namespace: Namespace, runs: Sequence[NewRun], connection: apsw.Connection, now: StoreTime
) -> Sequence[bool]:
    """Write runs by hand; which of them are new."""
    cursor = connection.executemany(
        QUERIES["enqueue"],
        (
            {
                "place": place,
                "namespace": namespace,
                "run_key": run.run_key,
                "job": run.job,
                "queue": run.queue,
                "priority": run.priority,
                "run_at": to_us(run.run_at or now),
                "payload": canonical(run.payload),
                "now": to_us(now),
            }
            for place, run in enumerate(runs)
        ),
    )
    fresh = {place for (place,) in cursor}
    return [place in fresh for place in range(len(runs))]
