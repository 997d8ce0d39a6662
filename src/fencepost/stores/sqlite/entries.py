"""What comes into the ledger by hand, is called off, and goes out of it."""

from __future__ import annotations

import json
from collections.abc import Sequence

import apsw

from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import DEFAULT_QUEUE, Namespace, RunKey, ScheduleId, tick_key
from fencepost.model.job import PRIORITY_DEFAULT
from fencepost.model.json import canonical
from fencepost.model.run import NewRun, RunRecord
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.connection import take_fences
from fencepost.stores.sqlite.moments import fetch, span_us, to_us
from fencepost.stores.sqlite.runs import get

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


def trigger(
    namespace: Namespace,
    schedule_id: ScheduleId,
    fire_time: StoreTime,
    connection: apsw.Connection,
    _: StoreTime,
) -> RunKey | None:
    """Write an extra tick under the version in force."""
    name = {"namespace": namespace, "schedule_id": schedule_id}
    defaults = {"queue": DEFAULT_QUEUE, "priority": PRIORITY_DEFAULT}
    found = fetch(connection.execute(QUERIES["in_force"], {**name, **defaults}))
    if not found:
        return None
    run_key = tick_key(schedule_id, fire_time, found[0]["version"])
    terms = {**name, **found[0], "run_key": run_key, "fire_time": to_us(fire_time)}
    connection.execute(QUERIES["trigger"], terms)
    return run_key


def cancel(
    namespace: Namespace,
    run_key: RunKey,
    reason: str,
    connection: apsw.Connection,
    now: StoreTime,
) -> RunRecord | None:
    """End a run that waits, or ask a running one to stop."""
    name = {"namespace": namespace, "run_key": run_key}
    terms = {**name, "reason": reason, "now": to_us(now), "new_fence": take_fences(connection, 1)}
    connection.execute(QUERIES["cancel"], terms)
    connection.execute(QUERIES["request_cancel"], name)
    return get(namespace, run_key, connection, now)


def forget(older_than_s: float, limit: int, connection: apsw.Connection, now: StoreTime) -> int:
    """Remove old ticks and strip old runs by hand; how many of both."""
    terms = {"cutoff": to_us(now) - span_us(older_than_s), "limit": limit}
    old = [row_id for (row_id,) in connection.execute(QUERIES["forgettable"], terms)]
    for query in ("forget_attempts", "strip", "forget"):
        connection.execute(QUERIES[query], {"old": json.dumps(old)})
    return len(old)
