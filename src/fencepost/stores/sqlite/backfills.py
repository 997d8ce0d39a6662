"""Backfills in SQLite."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from itertools import chain
from typing import Any

import apsw

from fencepost.model.audit import Action, Author
from fencepost.model.backfill import Backfill, BackfillState, FillTick, NewBackfill
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace
from fencepost.model.json import JsonObject
from fencepost.model.run import RunState
from fencepost.model.times import to_utc_text
from fencepost.ports.signals import Topic
from fencepost.stores.desk_rows import to_backfill
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite import entries
from fencepost.stores.sqlite.audit_log import note
from fencepost.stores.sqlite.connection import Database
from fencepost.stores.sqlite.filling import fill
from fencepost.stores.sqlite.moments import fetch, to_us
from fencepost.stores.sqlite.parking import ring
from fencepost.stores.sqlite.signals import SqliteSignals

QUERIES = load_queries("fencepost.stores.sqlite", "backfills.sql")


class SqliteBackfills:
    """See `ports.backfills`."""

    def __init__(self, database: Database, signals: SqliteSignals) -> None:
        self._database = database
        self._signals = signals

    async def start(self, namespace: Namespace, asked: NewBackfill, author: Author) -> Backfill | None:
        started = await self._database.transact(partial(_start, namespace, asked, author))
        if started is not None:
            self._signals.hint(Topic.SCHEDULES)
        return started

    async def fill(
        self, backfill: Backfill, ticks: Sequence[FillTick], through: datetime, author: Author
    ) -> int | None:
        filled = await self._database.transact(partial(fill, backfill, ticks, through, author))
        if filled:
            self._signals.hint(Topic.RUNS)
        return filled

    async def cancel(self, namespace: Namespace, backfill_id: int, author: Author) -> Backfill | None:
        backfill, rung = await self._database.transact(partial(_cancel, namespace, backfill_id, author))
        if rung:
            self._signals.hint(Topic.RUNS)
        return backfill

    async def get(self, namespace: Namespace, backfill_id: int) -> Backfill | None:
        return await self._database.read(partial(_get, namespace, backfill_id))

    async def list(
        self, namespace: Namespace, limit: int, before_id: int | None = None
    ) -> Sequence[Backfill]:
        terms = {"namespace": namespace, "limit": limit, "before_id": before_id}
        return await self._database.read(partial(_every, "list", terms))

    async def active(self, limit: int) -> Sequence[Backfill]:
        return await self._database.read(partial(_every, "active", {"limit": limit}))


def _start(
    namespace: Namespace,
    asked: NewBackfill,
    author: Author,
    connection: apsw.Connection,
    now: StoreTime,
) -> Backfill | None:
    terms = {
        "namespace": namespace,
        "schedule_id": asked.schedule_id,
        "since": to_us(asked.since),
        "until": to_us(asked.until),
        "mode": asked.mode,
        "at_once_max": asked.at_once_max,
        "every_s": asked.every_s,
        "now": to_us(now),
    }
    backfill_id = connection.execute(QUERIES["start"], terms).get
    if backfill_id is None:
        return None
    note(connection, now, namespace, author, Action.BACKFILL_START, str(backfill_id), {}, _logged(asked))
    return _get(namespace, backfill_id, connection, now)


def _cancel(
    namespace: Namespace,
    backfill_id: int,
    author: Author,
    connection: apsw.Connection,
    now: StoreTime,
) -> tuple[Backfill | None, bool]:
    """Call off what waits; also whether a tick was unparked."""
    name = {"namespace": namespace, "backfill_id": backfill_id}
    before = _get(namespace, backfill_id, connection, now)
    if before is None or connection.execute(QUERIES["cancel"], name).get is None:
        return before, False
    reason = f"backfill {backfill_id} was cancelled"
    given_up = list(connection.execute(QUERIES["give_up"], {**name, "reason": reason, "now": to_us(now)}))
    waiting = [run_key for (run_key,) in connection.execute(QUERIES["waiting"], name)]
    called_off = [entries.call_off(namespace, run_key, reason, connection, now) for run_key in waiting]
    rung = ring(connection, [*given_up, *chain.from_iterable(called_off)])
    was: JsonObject = {"state": before.state}
    after: JsonObject = {"state": BackfillState.CANCELLED, "cancelled": len(given_up) + len(waiting)}
    note(connection, now, namespace, author, Action.BACKFILL_CANCEL, str(backfill_id), was, after)
    return _get(namespace, backfill_id, connection, now), rung


def _get(
    namespace: Namespace, backfill_id: int, connection: apsw.Connection, now: StoreTime
) -> Backfill | None:
    found = _every("get", {"namespace": namespace, "backfill_id": backfill_id}, connection, now)
    return found[0] if found else None


def _every(query: str, terms: dict[str, Any], connection: apsw.Connection, now: StoreTime) -> list[Backfill]:
    rows = fetch(connection.execute(QUERIES[query], terms))
    return [to_backfill(row, _runs(connection, row["backfill_id"], now)) for row in rows]


def _runs(connection: apsw.Connection, backfill_id: int, now: StoreTime) -> dict[RunState, int]:
    terms = {"backfill_id": backfill_id, "now": to_us(now)}
    return {RunState(state): count for state, count in connection.execute(QUERIES["runs"], terms)}


def _logged(asked: NewBackfill) -> JsonObject:
    return {
        "schedule_id": asked.schedule_id,
        "since": to_utc_text(asked.since),
        "until": to_utc_text(asked.until),
        "mode": asked.mode,
        "at_once_max": asked.at_once_max,
        "every_s": asked.every_s,
    }
