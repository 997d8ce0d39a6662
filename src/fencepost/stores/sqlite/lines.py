"""The lines of limited jobs in SQLite, as claims of other runs meet them; the rest is by the rules."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import apsw

from fencepost.model.claiming import Appetite, Head
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace
from fencepost.rules.rows import limit_if_readable
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.moments import from_us, to_us

QUERIES = load_queries("fencepost.stores.sqlite", "lines.sql")


def limited_jobs(connection: apsw.Connection, namespace: Namespace) -> set[str]:
    """The jobs that have limits."""
    return {job for (job,) in connection.execute(QUERIES["limited_jobs"], {"namespace": namespace})}


def heads(
    connection: apsw.Connection, appetite: Appetite, now: StoreTime
) -> tuple[tuple[Head, ...], list[int]]:
    """The heads of the lines whose rate lets one go, and when the others will. A line whose limits only a
    newer release can read has nothing for this one."""
    every = connection.execute(QUERIES["heads"], _wanted(appetite))
    rows = [row for *row, terms in every if limit_if_readable(terms) is not None]
    due = [row for row in rows if row[0] is None or row[0] <= to_us(now)]
    later = [next_at for next_at, *_ in rows if next_at is not None and next_at > to_us(now)]
    return tuple(Head(priority, from_us(run_at), queue) for _, priority, run_at, queue in due), later


def line_up(connection: apsw.Connection, rows: Sequence[int]) -> None:
    """Due runs of limited jobs get into the lines of their jobs."""
    if rows:
        connection.execute(QUERIES["line_up"], {"rows": json.dumps(rows)})


def stamp(connection: apsw.Connection, picked: Iterable[tuple[int, str]]) -> None:
    """Write down what runs count for."""
    connection.executemany(QUERIES["stamp"], ({"row_id": row_id, "slot": slot} for row_id, slot in picked))


def _wanted(appetite: Appetite) -> dict[str, Any]:
    return {
        "namespace": appetite.namespace,
        "queues": json.dumps(sorted(set(appetite.queues))),
        "jobs": json.dumps(appetite.jobs),
    }
