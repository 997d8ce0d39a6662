"""What people and services read from the ledger."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace, RunKey
from fencepost.model.run import Attempt, RunFilter, RunRecord, RunState
from fencepost.model.status import QueueDepth
from fencepost.stores.queries import load_queries
from fencepost.stores.rows import to_attempt, to_depth, to_run_record
from fencepost.stores.sqlite.moments import fetch, span_us, to_us

QUERIES = load_queries("fencepost.stores.sqlite", "runs.sql")
ALWAYS_US = 2**62


def get(
    namespace: Namespace, run_key: RunKey, connection: apsw.Connection, now: StoreTime
) -> RunRecord | None:
    """One run as it is to be shown."""
    terms = {"namespace": namespace, "run_key": run_key, "now": to_us(now)}
    rows = fetch(connection.execute(QUERIES["get"], terms))
    return to_run_record(rows[0]) if rows else None


def attempts(
    namespace: Namespace, run_key: RunKey, connection: apsw.Connection, _: StoreTime
) -> Sequence[Attempt]:
    """The attempts that were kept, first to last."""
    terms = {"namespace": namespace, "run_key": run_key}
    return [to_attempt(row) for row in fetch(connection.execute(QUERIES["attempts"], terms))]


def list_runs(
    namespace: Namespace, wanted: RunFilter, connection: apsw.Connection, now: StoreTime
) -> Sequence[RunRecord]:
    """Runs, newest fire time first; `since` is inclusive, `until` is not."""
    terms: dict[str, str | int | None] = {
        "namespace": namespace,
        "job": wanted.job,
        "state": wanted.state,
        "since": -ALWAYS_US if wanted.since is None else to_us(wanted.since),
        "until": ALWAYS_US if wanted.until is None else to_us(wanted.until),
        "limit": wanted.limit,
        "now": to_us(now),
    }
    if wanted.schedule_id is None:
        cursor = connection.execute(QUERIES["list"], terms)
    else:
        terms["schedule_id"] = wanted.schedule_id
        cursor = connection.execute(QUERIES["list_of_schedule"], terms)
    return [to_run_record(row) for row in fetch(cursor)]


def depth(namespace: Namespace, connection: apsw.Connection, now: StoreTime) -> QueueDepth:
    """How much is due and running."""
    terms = {"namespace": namespace, "now": to_us(now)}
    (row,) = fetch(connection.execute(QUERIES["depth"], terms))
    return to_depth(row)


def tally(
    namespace: Namespace, since_s: float, connection: apsw.Connection, now: StoreTime
) -> dict[RunState, int]:
    """Runs of late by state, as shown."""
    now_us = to_us(now)
    terms = {"namespace": namespace, "now": now_us, "since": now_us - span_us(since_s)}
    return {RunState(state): runs for state, runs in connection.execute(QUERIES["tally"], terms)}
