"""What comes into the ledger by hand, is called off, and goes out of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

import apsw

from fencepost.model.audit import Action, Author
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import DEFAULT_QUEUE, Namespace, RunKey, ScheduleId, tick_key
from fencepost.model.job import PRIORITY_DEFAULT
from fencepost.model.json import JsonObject, canonical
from fencepost.model.run import NewRun, Ordered
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.audit_log import note
from fencepost.stores.sqlite.connection import take_fences
from fencepost.stores.sqlite.moments import fetch, from_us, span_us, to_us
from fencepost.stores.sqlite.orders import Order
from fencepost.stores.sqlite.parking import Owner, ring
from fencepost.stores.sqlite.runs import get_many

QUERIES = load_queries("fencepost.stores.sqlite", "ledger.sql")


def enqueue(
    namespace: Namespace,
    runs: Sequence[NewRun],
    author: Author | None,
    connection: apsw.Connection,
    now: StoreTime,
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
    if author is not None:
        order = Order(connection, now, namespace, author, Action.RUN_ENQUEUE)
        for place in sorted(fresh):
            order.note(runs[place].run_key, None)
    return [place in fresh for place in range(len(runs))]


def trigger(
    namespace: Namespace,
    schedule_id: ScheduleId,
    fire_time: StoreTime,
    author: Author | None,
    connection: apsw.Connection,
    now: StoreTime,
) -> RunKey | None:
    """Write an extra tick under the version in force."""
    name = {"namespace": namespace, "schedule_id": schedule_id}
    defaults = {"queue": DEFAULT_QUEUE, "priority": PRIORITY_DEFAULT}
    found = fetch(connection.execute(QUERIES["in_force"], {**name, **defaults}))
    if not found:
        return None
    run_key = tick_key(schedule_id, fire_time, found[0]["version"])
    terms = {**name, **found[0], "run_key": run_key, "fire_time": to_us(fire_time)}
    if connection.execute(QUERIES["trigger"], terms).get is not None:
        after: JsonObject = {"run_key": run_key}
        note(connection, now, namespace, author, Action.SCHEDULE_TRIGGER, schedule_id, {}, after)
    return run_key


def cancel(
    namespace: Namespace,
    run_keys: Sequence[RunKey],
    reason: str,
    author: Author | None,
    connection: apsw.Connection,
    now: StoreTime,
) -> tuple[dict[RunKey, Ordered], bool]:
    """End runs that wait, or ask running ones to stop; also whether a tick was unparked."""
    order = Order(connection, now, namespace, author, Action.RUN_CANCEL)
    known = get_many(namespace, run_keys, connection, now)
    before = {run_key: known[run_key] for run_key in run_keys if run_key in known}
    ended = [owner for one in before for owner in call_off(namespace, one, reason, connection, now)]
    rung = ring(connection, ended)
    after = {run_key: order.note(run_key, run) for run_key, run in before.items()}
    return {run_key: Ordered(run) for run_key, run in after.items() if run is not None}, rung


def call_off(
    namespace: Namespace, run_key: RunKey, reason: str, connection: apsw.Connection, now: StoreTime
) -> list[Owner]:
    """End a run that waits, or ask a running one to stop; whose it is, where it has ended."""
    name = {"namespace": namespace, "run_key": run_key}
    terms = {**name, "reason": reason, "now": to_us(now), "new_fence": take_fences(connection, 1)}
    ended: list[Owner] = list(connection.execute(QUERIES["cancel"], terms))
    connection.execute(QUERIES["request_cancel"], name)
    return ended


def forget(older_than_s: float, limit: int, connection: apsw.Connection, now: StoreTime) -> int:
    """Remove old ticks and strip old runs by hand; how many of both."""
    cutoff = to_us(now) - span_us(older_than_s)
    old = list(connection.execute(QUERIES["forgettable"], {"cutoff": cutoff, "limit": limit}))
    terms = {"old": json.dumps([row_id for (row_id,) in old])}
    for query in ("forget_attempts", "forget_steps", "forget_logs", "strip"):
        connection.execute(QUERIES[query], terms)
    if sum(1 for _ in connection.execute(QUERIES["forget"], terms)):
        connection.execute(QUERIES["note_forgotten"], {"cutoff": str(cutoff)})
    return len(old)


def forgotten_before(connection: apsw.Connection, _: StoreTime) -> datetime | None:
    """Before when ticks may be gone."""
    cutoff = connection.execute(QUERIES["forgotten_before"]).get
    return None if cutoff is None else from_us(int(cutoff))
