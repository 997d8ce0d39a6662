"""What people and services read from the ledger."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace

import apsw

from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace, RunKey
from fencepost.model.run import RunFilter, RunList, RunRecord, RunState
from fencepost.model.status import QueueView
from fencepost.rules.rows import to_queue_view, to_run_record
from fencepost.rules.store import LedgerRules
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.moments import ALWAYS_US, fetch, from_us, to_us
from fencepost.stores.sqlite.part import SqlitePart, reading

QUERIES = load_queries(__package__, "runs.sql")
BY_TIME = frozenset({"list", "list_of_schedule", "list_dead"})
"""The lists whose index is in the order of fire times; any other has to be gone through as a whole."""
NOTHING_ELSE = RunFilter(limit=0, searched_max=0)


class SqliteRuns(SqlitePart, LedgerRules):
    """The reading part of `ports.ledger`."""

    @reading
    def list(
        self, connection: apsw.Connection, now: StoreTime, namespace: Namespace, filter: RunFilter
    ) -> RunList:
        terms = _terms(namespace, filter, now)
        source = _list_for(filter)
        edge = _edge(source, terms, connection) if source in BY_TIME and _searches(filter) else None
        if edge is not None:
            terms["since"] = edge
        query = f"SELECT rowid {QUERIES[source]} {QUERIES['wanted']}"
        found = _shown(connection.execute(query, terms), connection, now)
        is_short = edge is not None and len(found) < filter.limit
        return RunList(found, (from_us(edge), RunKey("")) if is_short else None)

    @reading
    def queues(
        self, connection: apsw.Connection, now: StoreTime, namespace: Namespace
    ) -> Sequence[QueueView]:
        terms = {"namespace": namespace, "now": to_us(now)}
        return [to_queue_view(row) for row in fetch(connection.execute(QUERIES["queues"], terms))]


def _terms(namespace: Namespace, wanted: RunFilter, now: StoreTime) -> dict[str, str | int | None]:
    """The index is entered by `until`, so that is where an earlier page ended, if there was one. No key is
    before the empty one: a page that goes on from there has seen all of that fire time."""
    after, after_key = wanted.after or (None, RunKey(""))
    after_us = ALWAYS_US if after is None else to_us(after)
    until_us = ALWAYS_US if wanted.until is None else to_us(wanted.until)
    return {
        **asdict(wanted),
        "namespace": namespace,
        "since": -ALWAYS_US if wanted.since is None else to_us(wanted.since),
        "until": min(until_us, after_us + 1 if after_key else after_us),
        "states": json.dumps(wanted.states) if wanted.states else None,
        "after": after_us,
        "after_key": after_key,
        "now": to_us(now),
    }


def _searches(wanted: RunFilter) -> bool:
    """Whether runs of the list may have to be passed by: some indexes know all that is asked for."""
    known = replace(wanted, schedule_id=None, since=None, until=None, after=None, limit=0, searched_max=0)
    return replace(known, state=None if wanted.state is RunState.DEAD else wanted.state) != NOTHING_ELSE


def _edge(source: str, terms: dict[str, str | int | None], connection: apsw.Connection) -> int | None:
    """The fire time as far as a search goes; None where that is to the end."""
    edge: int | None = connection.execute(f"SELECT fire_time {QUERIES[source]} {QUERIES['edge']}", terms).get
    return edge


def _list_for(wanted: RunFilter) -> str:
    """The list whose index leaves the fewest rows to look at."""
    if wanted.backfill_id is not None:
        return "list_of_backfill"
    if wanted.schedule_id is not None:
        return "list_of_schedule"
    if wanted.held:
        return "list_held"
    return "list_dead" if wanted.state is RunState.DEAD else "list"


def _shown(found: apsw.Cursor, connection: apsw.Connection, now: StoreTime) -> list[RunRecord]:
    """The runs of these rows, in their order."""
    row_ids = [row_id for (row_id,) in found]
    terms = {"found": json.dumps(row_ids), "now": to_us(now)}
    return [to_run_record(row) for row in fetch(connection.execute(QUERIES["shown"], terms))]
