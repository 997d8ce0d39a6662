"""The logs of runs in SQLite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import apsw

from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace, RunKey
from fencepost.model.run_log import LOG_BEGIN, LoggedChunk, LogPage, LogPlace, LogSpot
from fencepost.stores.queries import load_queries
from fencepost.stores.rows import to_logged_chunk
from fencepost.stores.sqlite.connection import Database
from fencepost.stores.sqlite.moments import fetch, to_us

QUERIES = load_queries("fencepost.stores.sqlite", "logbook.sql")


class SqliteLogbook:
    """See `ports.logbook`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def append(self, pages: Sequence[LogPage]) -> Sequence[bool]:
        return await self._database.transact(partial(_append_all, pages))

    async def read(
        self,
        namespace: Namespace,
        run_key: RunKey,
        *,
        attempt: int | None = None,
        after: LogPlace = LOG_BEGIN,
        limit: int,
    ) -> Sequence[LoggedChunk]:
        terms = _terms(LogSpot(namespace, run_key, after), attempt, limit)
        return await self._database.read(partial(_read, "read", terms))

    async def tail(
        self, namespace: Namespace, run_key: RunKey, *, attempt: int | None = None, limit: int
    ) -> Sequence[LoggedChunk]:
        terms = {"namespace": namespace, "run_key": run_key, "attempt": attempt, "limit": limit}
        return (await self._database.read(partial(_read, "tail", terms)))[::-1]

    async def read_on(self, spots: Sequence[LogSpot], limit: int) -> Sequence[Sequence[LoggedChunk]]:
        return await self._database.read(partial(_read_on, [_terms(one, None, limit) for one in spots]))


def _append_all(pages: Sequence[LogPage], connection: apsw.Connection, now: StoreTime) -> Sequence[bool]:
    return [_append(page, connection, to_us(now)) for page in pages]


def _append(page: LogPage, connection: apsw.Connection, now_us: int) -> bool:
    ticket = page.ticket
    of = {"namespace": ticket.namespace, "run_key": ticket.run_key, "attempt": ticket.attempt}
    if connection.execute(QUERIES["is_latest"], {**of, "fence": ticket.fence}).get is None:
        return False
    kept = {"kept_through": page.kept_through, "kept_from": page.kept_from}
    connection.execute(QUERIES["give_way"], {**of, **kept})
    chunks = (
        {"number": one.number, "first_line": one.first_line, "lines": one.lines, "text": one.text}
        for one in page.chunks
    )
    connection.executemany(QUERIES["append"], ({**of, **one, "now": now_us} for one in chunks))
    return True


def _terms(spot: LogSpot, attempt: int | None, limit: int) -> dict[str, str | int | None]:
    where = {"after_attempt": spot.place.attempt, "after_number": spot.place.number}
    of = {"namespace": spot.namespace, "run_key": spot.run_key}
    return {**of, "attempt": attempt, "limit": limit, **where}


def _read_on(
    spots: Sequence[Mapping[str, str | int | None]], connection: apsw.Connection, now: StoreTime
) -> list[list[LoggedChunk]]:
    return [_read("read", terms, connection, now) for terms in spots]


def _read(
    query: str, terms: Mapping[str, str | int | None], connection: apsw.Connection, _: StoreTime
) -> list[LoggedChunk]:
    return [to_logged_chunk(row) for row in fetch(connection.execute(QUERIES[query], terms))]
