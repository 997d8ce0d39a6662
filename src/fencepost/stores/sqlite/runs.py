"""What people and services read from the ledger."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

import apsw

from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace, RunKey, ScheduleId
from fencepost.model.missed import MissedRange
from fencepost.model.run import Attempt, RunFilter, RunRecord, RunState
from fencepost.model.status import QueueDepth
from fencepost.stores.queries import load_queries
from fencepost.stores.rows import to_attempt, to_depth, to_missed_range, to_run_record
from fencepost.stores.sqlite.moments import ALWAYS_US, fetch, span_us, to_us

QUERIES = load_queries("fencepost.stores.sqlite", "runs.sql")
TYPICAL_OF = 20


def get(
    namespace: Namespace, run_key: RunKey, connection: apsw.Connection, now: StoreTime
) -> RunRecord | None:
    """One run as it is to be shown."""
    terms = {"namespace": namespace, "run_key": run_key}
    shown = _shown(connection.execute(QUERIES["get"], terms), connection, now)
    return shown[0] if shown else None


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
        "schedule_id": wanted.schedule_id,
        "job": wanted.job,
        "state": wanted.state,
        "since": -ALWAYS_US if wanted.since is None else to_us(wanted.since),
        "until": ALWAYS_US if wanted.until is None else to_us(wanted.until),
        "origin": wanted.origin,
        "error": wanted.error,
        "backfill_id": wanted.backfill_id,
        "held": wanted.held,
        "limit": wanted.limit,
        "now": to_us(now),
    }
    query = f"{QUERIES[_list_for(wanted)]} {QUERIES['wanted']}"
    return _shown(connection.execute(query, terms), connection, now)


def _list_for(wanted: RunFilter) -> str:
    """The list whose index leaves the fewest rows to look at."""
    if wanted.backfill_id is not None:
        return "list_of_backfill"
    if wanted.schedule_id is not None:
        return "list_of_schedule"
    if wanted.held:
        return "list_held"
    return "list_dead" if wanted.state is RunState.DEAD else "list"


def ticks(
    namespace: Namespace,
    schedule_id: ScheduleId,
    since: datetime,
    until: datetime,
    after: tuple[datetime, RunKey] | None,
    limit: int,
    connection: apsw.Connection,
    now: StoreTime,
) -> Sequence[RunRecord]:
    """The runs of a schedule, ascending, from where an earlier page ended."""
    from_time, from_key = after or (since, RunKey(""))
    terms = {
        "namespace": namespace,
        "schedule_id": schedule_id,
        "since": to_us(since),
        "until": to_us(until),
        "after": to_us(from_time),
        "after_key": from_key,
        "limit": limit,
    }
    return _shown(connection.execute(QUERIES["ticks"], terms), connection, now)


def missed_ranges(
    namespace: Namespace,
    schedule_id: ScheduleId,
    since: datetime,
    until: datetime,
    connection: apsw.Connection,
    _: StoreTime,
) -> Sequence[MissedRange]:
    """The ranges that reach into (since, until]."""
    name = {"namespace": namespace, "schedule_id": schedule_id}
    terms = {**name, "since": to_us(since), "until": to_us(until)}
    return [to_missed_range(row) for row in fetch(connection.execute(QUERIES["missed_ranges"], terms))]


def running(
    namespace: Namespace, limit: int, connection: apsw.Connection, now: StoreTime
) -> Sequence[RunRecord]:
    """What runs, the most silent first."""
    terms = {"namespace": namespace, "limit": limit}
    return _shown(connection.execute(QUERIES["running"], terms), connection, now)


def typical_run_s(
    namespace: Namespace, schedule_id: ScheduleId, connection: apsw.Connection, _: StoreTime
) -> float | None:
    """How long the last successes took on average."""
    terms = {"namespace": namespace, "schedule_id": schedule_id, "typical_of": TYPICAL_OF}
    average: float | None = connection.execute(QUERIES["typical_run_s"], terms).get
    return average


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


def _shown(found: apsw.Cursor, connection: apsw.Connection, now: StoreTime) -> list[RunRecord]:
    """The runs of these rows, in their order."""
    row_ids = [row_id for (row_id,) in found]
    terms = {"found": json.dumps(row_ids), "now": to_us(now)}
    return [to_run_record(row) for row in fetch(connection.execute(QUERIES["shown"], terms))]
