"""The lines of limited jobs in SQLite.

The write lock of the transaction is the lock on every job's limits. A slot is given back by the end of a run
and by nothing else; whoever ends runs rings (`ring`), and most of the time nobody waits for a slot anywhere:
that is asked first, and costs one look at an empty index.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeAlias

import apsw

from fencepost.model.claiming import Appetite, Head, ScheduleFacts
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import JobName, Namespace, Queue, RunKey
from fencepost.model.limits import JobLimit, Limiter, LimitFacts, LimitRuling
from fencepost.rules.allowances import Allowances, candidates_max
from fencepost.rules.lining import Standing, go_through
from fencepost.rules.rows import limit_if_readable, to_payload
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.moments import fetch, from_us, to_us

QUERIES = load_queries("fencepost.stores.sqlite", "lines.sql")

Terms: TypeAlias = dict[str, str | int | None]
Slot: TypeAlias = tuple[Namespace, JobName, str]
Picked: TypeAlias = list[tuple[int, str]]
"""Rows that start, each with what it counts for."""


def limited_jobs(connection: apsw.Connection, namespace: Namespace) -> dict[JobName, dict[str, Any]]:
    """The limits of each job that has any; `limit` is None where only a newer release can read them."""
    rows = fetch(connection.execute(QUERIES["limits"], {"namespace": namespace}))
    return {row["job"]: {**row, "limit": limit_if_readable(row["terms"])} for row in rows}


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


def take(
    connection: apsw.Connection, now: StoreTime, appetite: Appetite, limit: int, limiter: Limiter
) -> Picked:
    """Go through the lines whose rate lets one go."""
    limits = limited_jobs(connection, appetite.namespace)
    open_jobs = [job for job in limits if job in appetite.jobs and _lets_go(limits[job], now)]
    walk = appetite.walk(limit)
    found = [
        {**row, "job": job}
        for job in sorted(job for job in open_jobs if limits[job]["limit"])
        for queue in sorted({one.queue for one in walk})
        for row in _line(connection, appetite.namespace, job, queue, candidates_max(limit))
    ]
    jobs = {row["job"] for row in found}
    books = {job: _facts(connection, appetite.namespace, limits[job]) for job in jobs}
    standing = [_standing(books[row["job"]].limit, row) for row in found]
    passage = go_through(books, standing, walk, limit, now, limiter)
    rows = {row["run_key"]: row["row_id"] for row in found}
    connection.execute(QUERIES["free"], {"rows": json.dumps([rows[key] for key in passage.due])})
    for wait in passage.waits:
        terms = {"row_id": rows[wait.run_key], "slot": wait.slot, "reason": wait.reason}
        connection.execute(QUERIES["hold"], {**terms, "hold": int(wait.hold)})
    for job, ruling in passage.paid.items():
        _pay(connection, (appetite.namespace, job), ruling)
    return [(rows[one.run_key], one.slot) for one in passage.begun]


def allowances(
    connection: apsw.Connection, now: StoreTime, every: Sequence[ScheduleFacts], limiter: Limiter | None
) -> Allowances:
    """What the limits of these ticks' jobs leave."""
    limited: dict[tuple[Namespace, JobName], dict[str, Any]] = {}
    for namespace in {facts.namespace for facts in every}:
        known = limited_jobs(connection, namespace)
        due = {tick.job for facts in every if facts.namespace == namespace for tick in facts.due}
        limited |= {(namespace, job): known[job] for job in due & known.keys()}
    closed = frozenset(owner for owner, row in limited.items() if limiter is None or row["limit"] is None)
    opened = {owner: _facts(connection, owner[0], limited[owner]) for owner in limited.keys() - closed}
    return Allowances(now, limiter, opened, closed)


def keep(connection: apsw.Connection, allowed: Allowances) -> None:
    """Write down what a judgement left of the limits, and what waits for them."""
    for namespace, wait in allowed.waits:
        terms = {"namespace": namespace, "run_key": wait.run_key, "slot": wait.slot, "reason": wait.reason}
        connection.execute(QUERIES["hold_tick"], {**terms, "hold": int(wait.hold)})
    for namespace, run_key in allowed.frees:
        connection.execute(QUERIES["free_tick"], {"namespace": namespace, "run_key": run_key})
    for owner, ruling in allowed.rulings.items():
        _pay(connection, owner, ruling)


def stamp(connection: apsw.Connection, picked: Iterable[tuple[int, str]]) -> None:
    """Write down what runs count for."""
    connection.executemany(QUERIES["stamp"], ({"row_id": row_id, "slot": slot} for row_id, slot in picked))


def ring(connection: apsw.Connection, ended: Sequence[tuple[Namespace, RunKey]]) -> bool:
    """These runs may have left a slot; whether somebody has been called for it."""
    if not ended or connection.execute(QUERIES["any_limited"]).get is None:
        return False
    slots = list(connection.execute(QUERIES["slots_of"], {"runs": json.dumps(ended)}))
    return sum(_fill(connection, one) for one in slots) > 0


def net(limit: int, connection: apsw.Connection) -> int:
    """Call whoever could have been called and was not."""
    _stamp_running(connection, None, None)
    schedules = list(connection.execute(QUERIES["limited_schedules"], {"limit": limit}))
    terms = {"schedules": json.dumps(schedules)}
    rung = sum(1 for _ in connection.execute(QUERIES["ring_ticks"], terms)) if schedules else 0
    with_place = (one for one in _limited_slots(connection) if _place(connection, one) > 0)
    return rung + sum(_fill(connection, one) for one in list(islice(with_place, limit)))


def _standing(limit: JobLimit, row: dict[str, Any]) -> Standing:
    lane = row["queue"], row["priority"], row["run_at"]
    slot = limit.slot_of(to_payload(row))
    return Standing(row["job"], row["run_key"], *lane, slot, bool(row["is_tick"]), row["reason"])


def _line(
    connection: apsw.Connection, namespace: Namespace, job: JobName, queue: Queue, most: int
) -> list[dict[str, Any]]:
    terms = {"namespace": namespace, "job": job, "queue": queue, "limit": most}
    return fetch(connection.execute(QUERIES["line"], terms))


def _facts(connection: apsw.Connection, namespace: Namespace, row: dict[str, Any]) -> LimitFacts:
    terms = {"namespace": namespace, "job": row["job"]}
    running = dict(connection.execute(QUERIES["running"], terms))
    return LimitFacts(namespace, row["job"], row["limit"], (), running, row["paid_until"])


def _pay(connection: apsw.Connection, owner: tuple[Namespace, JobName], ruling: LimitRuling) -> None:
    terms: Terms = {"namespace": owner[0], "job": owner[1], "paid_until": None, "next_at": None}
    if ruling.paid_until is not None and ruling.next_at is not None:
        terms |= {"paid_until": to_us(ruling.paid_until), "next_at": to_us(ruling.next_at)}
    connection.execute(QUERIES["pay"], terms)


def _limited_slots(connection: apsw.Connection) -> Iterator[Slot]:
    """The slots that somebody waits for, by leaps through the index."""
    slot: Slot | None = (Namespace(""), JobName(""), "")
    while slot is not None:
        slot = next(iter(connection.execute(QUERIES["next_slot"], _slot_terms(slot))), None)
        if slot is not None:
            yield slot


def _place(connection: apsw.Connection, slot: Slot) -> int:
    return max(0, connection.execute(QUERIES["place"], _slot_terms(slot)).get or 0)


def _fill(connection: apsw.Connection, slot: Slot) -> int:
    terms = {**_slot_terms(slot), "place": _place(connection, slot)}
    return sum(1 for _ in connection.execute(QUERIES["fill"], terms))


def _slot_terms(slot: Slot) -> dict[str, str | int]:
    return dict(zip(("namespace", "job", "slot"), slot, strict=True))


def _stamp_running(connection: apsw.Connection, namespace: Namespace | None, job: JobName | None) -> None:
    rows = fetch(connection.execute(QUERIES["unstamped"], {"namespace": namespace, "job": job}))
    known = [(row, limit_if_readable(row["terms"])) for row in rows]
    stamp(connection, ((row["row_id"], limit.slot_of(to_payload(row))) for row, limit in known if limit))


def _lets_go(row: dict[str, Any], now: StoreTime) -> bool:
    return row["next_at"] is None or bool(row["next_at"] <= now)


def _wanted(appetite: Appetite) -> dict[str, Any]:
    return {
        "namespace": appetite.namespace,
        "queues": json.dumps(sorted(set(appetite.queues))),
        "jobs": json.dumps(appetite.jobs),
    }
