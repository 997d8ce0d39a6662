"""Claims in SQLite.

The write lock of the transaction is the lock on every schedule, so nobody else judges meanwhile. What is
due is found by probes, one for each pair of priority and queue, merged by `run_at`; a probe is read only
as far as it is needed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from heapq import merge
from itertools import islice
from typing import Any, TypeAlias

import apsw

from fencepost.model.claiming import Appetite, Head, Judge, Outlook
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Epoch, Fence, JobName, Namespace, NodeId, Queue, RunKey, ScheduleId
from fencepost.model.job import LANES
from fencepost.model.run import Claim
from fencepost.ports.signals import Topic
from fencepost.stores.queries import load_queries
from fencepost.stores.rows import to_claim, to_payload
from fencepost.stores.sqlite.connection import Database, take_fences
from fencepost.stores.sqlite.facts import choose, gather
from fencepost.stores.sqlite.freezes import is_all_frozen
from fencepost.stores.sqlite.moments import fetch, from_us, span_us, to_us
from fencepost.stores.sqlite.rulings import carry_out
from fencepost.stores.sqlite.signals import SqliteSignals
from fencepost.stores.verdicts import rule

QUERIES = load_queries("fencepost.stores.sqlite", "claims.sql")

Lane: TypeAlias = tuple[Namespace, Queue]


class SqliteClaims:
    """The claiming part of `ports.ledger`."""

    def __init__(self, database: Database, signals: SqliteSignals) -> None:
        self._database = database
        self._signals = signals

    async def outlook(self, appetite: Appetite) -> Outlook:
        return await self._database.read(partial(_outlook, appetite))

    async def claim_direct(self, appetite: Appetite, limit: int) -> Sequence[Claim]:
        return await self._database.transact(partial(_claim_direct, appetite, limit))

    async def claim_ticks(self, appetite: Appetite, limit: int, judge: Judge) -> Sequence[Claim]:
        claims, rung = await self._database.transact(partial(_claim_ticks, appetite, limit, judge))
        self._hint_if(rung)
        return claims

    async def sweep_late(self, older_than_s: float, limit: int, judge: Judge) -> int:
        settled, rung = await self._database.transact(partial(_sweep_late, older_than_s, limit, judge))
        self._hint_if(rung)
        return settled

    async def adopt(self, worker: NodeId, known: Sequence[Fence]) -> Sequence[Claim]:
        return await self._database.read(partial(_adopt, worker, known))

    def _hint_if(self, something_waits: bool) -> None:
        if something_waits:
            self._signals.hint(Topic.RUNS)


def _outlook(appetite: Appetite, connection: apsw.Connection, now: StoreTime) -> Outlook:
    if is_all_frozen(connection, appetite.namespace):
        return Outlook(now, None, None, None)
    terms = {
        "now": to_us(now),
        "namespace": appetite.namespace,
        "queues": json.dumps(appetite.queues),
        "jobs": json.dumps(appetite.jobs),
        "priorities": json.dumps(LANES),
    }
    rows = list(connection.execute(QUERIES["outlook"], terms))
    return Outlook(
        now,
        _head((priority, direct) for priority, direct, _, _, _ in rows),
        _head((priority, tick) for priority, _, tick, _, _ in rows),
        _first(moment for row in rows for moment in row[3:]),
    )


def _claim_direct(appetite: Appetite, limit: int, connection: apsw.Connection, now: StoreTime) -> list[Claim]:
    if is_all_frozen(connection, appetite.namespace):
        return []
    terms = {"by": to_us(now), "jobs": json.dumps(appetite.jobs)}
    due = probe(connection, QUERIES["due_direct"], _lanes_of(appetite), terms)
    picked = [row_id for _, _, row_id in islice(due, limit)]
    return _start(picked, appetite, connection, now)


def _claim_ticks(
    appetite: Appetite, limit: int, judge: Judge, connection: apsw.Connection, now: StoreTime
) -> tuple[list[Claim], bool]:
    if is_all_frozen(connection, appetite.namespace):
        return [], False
    terms = {"by": to_us(now), "jobs": json.dumps(appetite.jobs)}
    due = probe(connection, QUERIES["due_ticks"], _lanes_of(appetite), terms)
    facts = gather(connection, choose(due, limit), now, appetite)
    rulings = rule(facts.every, now, limit, judge)
    rung = carry_out(rulings, facts, connection, now)
    picked = [facts.row_ids[one.namespace, one.run_key] for one in rulings.starts]
    return _start(picked, appetite, connection, now), rung


def _sweep_late(
    older_than_s: float,
    limit: int,
    judge: Judge,
    connection: apsw.Connection,
    now: StoreTime,
) -> tuple[int, bool]:
    terms = {"by": to_us(now) - span_us(older_than_s), "jobs": None}
    late = probe(connection, QUERIES["due_ticks"], list(_lanes_with_ticks(connection)), terms)
    facts = gather(connection, choose(late, limit), now, None)
    rulings = rule(facts.every, now, 0, judge)
    rung = carry_out(rulings, facts, connection, now)
    return len(rulings.ends) + len(rulings.admits), rung


def _adopt(worker: NodeId, known: Sequence[Fence], connection: apsw.Connection, _: StoreTime) -> list[Claim]:
    terms = {"worker": worker, "known": json.dumps(list(known))}
    rows = fetch(connection.execute(QUERIES["adopt"], terms))
    return [to_claim(row, row["previous"]) for row in rows]


def probe(
    connection: apsw.Connection, query: str, lanes: Sequence[Lane], terms: dict[str, Any]
) -> Iterator[Any]:
    """Due rows by priority, then by `run_at` over all lanes, read as they are taken."""
    for priority in LANES:
        narrowed = [
            {**terms, "namespace": namespace, "queue": queue, "priority": priority}
            for namespace, queue in lanes
        ]
        found = [connection.execute(query, one) for one in narrowed]
        yield from found[0] if len(found) == 1 else merge(*found)


def _lanes_of(appetite: Appetite) -> list[Lane]:
    return [(appetite.namespace, queue) for queue in sorted(set(appetite.queues))]


def _lanes_with_ticks(connection: apsw.Connection) -> Iterator[Lane]:
    lane: Lane | None = (Namespace(""), Queue(""))
    while lane is not None:
        terms = {"namespace": lane[0], "queue": lane[1]}
        lane = next(iter(connection.execute(QUERIES["next_lane"], terms)), None)
        if lane is not None:
            yield lane


def _start(
    picked: Sequence[int], appetite: Appetite, connection: apsw.Connection, now: StoreTime
) -> list[Claim]:
    """Begin an attempt of each picked run, under fences in the order of the picks."""
    if not picked:
        return []
    fence, now_us = take_fences(connection, len(picked)), to_us(now)
    terms = {"picked": json.dumps(picked), "fence": fence, "now": now_us}
    claims = [_to_claim(now, *row) for row in connection.execute(QUERIES["picked"], terms)]
    grant = {"worker": appetite.worker, "alive_until": now_us + span_us(appetite.alive_for_s)}
    connection.execute(QUERIES["start"], {**terms, **grant})
    return claims


def _to_claim(
    now: StoreTime,
    namespace: Namespace,
    run_key: RunKey,
    schedule_id: ScheduleId | None,
    job: JobName,
    fire_time: int,
    version: int,
    attempt: int,
    fence: Fence,
    epoch: Epoch,
    run_at: int,
    payload: str | None,
    spec: str | None,
    begun_at: int | None,
    spent: int,
    previous: int | None,
) -> Claim:
    """One row of `picked`, by its columns: a worker's appetite is fed through here."""
    return Claim(
        namespace,
        run_key,
        schedule_id,
        job,
        from_us(fire_time),
        version,
        attempt,
        fence,
        epoch,
        to_payload({"payload": payload, "spec": spec}),
        from_us(run_at),
        now,
        None if previous is None else from_us(previous),
        None if begun_at is None else StoreTime(from_us(begun_at)),
        spent,
    )


def _head(pairs: Iterable[tuple[int, int | None]]) -> Head | None:
    first = min(((priority, at) for priority, at in pairs if at is not None), default=None)
    return None if first is None else Head(first[0], from_us(first[1]))


def _first(moments: Iterable[int | None]) -> datetime | None:
    first = min((moment for moment in moments if moment is not None), default=None)
    return None if first is None else from_us(first)
