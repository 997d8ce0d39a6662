"""What people order about single runs, each with its entry in the audit log."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import apsw

from fencepost.model.audit import Action, Author
from fencepost.model.clocks import StoreTime
from fencepost.model.codec import schedule_from_text
from fencepost.model.identifiers import DEFAULT_QUEUE, Namespace, RunKey, ScheduleId, tick_key
from fencepost.model.job import PRIORITY_BEHIND, PRIORITY_DEFAULT
from fencepost.model.plan import Fate, Tick
from fencepost.model.run import Hold, Origin, RunRecord, RunState
from fencepost.stores.desk_rows import logged_run
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.audit_log import note
from fencepost.stores.sqlite.moments import fetch, span_us, to_us
from fencepost.stores.sqlite.parking import ring
from fencepost.stores.sqlite.runs import get

QUERIES = load_queries("fencepost.stores.sqlite", "orders.sql")
BY_FATE = {Fate.PLANNED: Action.RUN_RESTORE, Fate.HELD: Action.RUN_HOLD, Fate.SKIPPED: Action.RUN_SKIP}


@dataclass(frozen=True, slots=True)
class Order:
    """Who wants what done to a run, and the transaction in which it is done."""

    connection: apsw.Connection
    now: StoreTime
    namespace: Namespace
    author: Author | None
    action: Action

    def read(self, run_key: RunKey) -> RunRecord | None:
        """The run as it is at this point of the transaction."""
        return get(self.namespace, run_key, self.connection, self.now)

    def note(self, run_key: RunKey, before: RunRecord | None) -> RunRecord | None:
        """Leave an entry where the run has changed; the run as it is now."""
        after = self.read(run_key)
        said = logged_run(before), logged_run(after)
        if said[0] != said[1]:
            note(self.connection, self.now, self.namespace, self.author, self.action, run_key, *said)
        return after


def skip(
    namespace: Namespace, run_key: RunKey, author: Author, connection: apsw.Connection, now: StoreTime
) -> tuple[RunRecord | None, bool]:
    """End a run that nobody has started; also whether a tick was unparked."""
    order = Order(connection, now, namespace, author, Action.RUN_SKIP)
    before = order.read(run_key)
    terms = {"namespace": namespace, "run_key": run_key, "reason": author.reason, "now": to_us(now)}
    rung = ring(connection, list(connection.execute(QUERIES["skip"], terms)))
    return order.note(run_key, before), rung


def hold(
    namespace: Namespace, run_key: RunKey, author: Author, connection: apsw.Connection, now: StoreTime
) -> tuple[RunRecord | None, bool]:
    """Let nobody start a run that waits; also whether that is new."""
    return _change_hold(Order(connection, now, namespace, author, Action.RUN_HOLD), run_key, "hold")


def release(
    namespace: Namespace, run_key: RunKey, author: Author, connection: apsw.Connection, now: StoreTime
) -> tuple[RunRecord | None, bool]:
    """Take an operator's hold from a run that waits; also whether there was one."""
    return _change_hold(Order(connection, now, namespace, author, Action.RUN_RELEASE), run_key, "release")


class Pace(NamedTuple):
    """When runs are due, one after the other."""

    first_in_s: float
    every_s: float

    def due_in_s(self, number: int) -> float:
        return self.first_in_s + number * self.every_s


def replay(
    namespace: Namespace,
    run_keys: Sequence[RunKey],
    pace: Pace,
    author: Author,
    only: frozenset[RunState],
    connection: apsw.Connection,
    now: StoreTime,
) -> list[RunKey]:
    """Send runs that ended in these states on their way again, one every so often; those that were."""
    order = Order(connection, now, namespace, author, Action.RUN_REPLAY)
    terms = {"namespace": namespace, "only": json.dumps(sorted(only))}
    sent: list[RunKey] = []
    for run_key in run_keys:
        if connection.execute(QUERIES["is_replayable"], {**terms, "run_key": run_key}).get is not None:
            send_again(order, run_key, to_us(now) + span_us(pace.due_in_s(len(sent))), Origin.REPLAY)
            sent.append(run_key)
    return sent


def send_again(
    order: Order, run_key: RunKey, run_at_us: int, origin: Origin, backfill_id: int | None = None
) -> None:
    """Let an ended run be ready once more, as what it is from now on: of that backfill, or of none."""
    before = order.read(run_key)
    terms = {
        "namespace": order.namespace,
        "run_key": run_key,
        "run_at": run_at_us,
        "origin": origin,
        "priority": PRIORITY_BEHIND,
        "backfill_id": backfill_id,
    }
    order.connection.execute(QUERIES["send_again"], terms)
    order.note(run_key, before)


def plan_by_name(
    namespace: Namespace,
    schedule_id: ScheduleId,
    version: int,
    ticks: Sequence[Tick],
    author: Author | None,
    fate: Fate,
    connection: apsw.Connection,
    now: StoreTime,
) -> list[RunKey]:
    """Write ticks that nothing accounts for, with what becomes of them; the keys written."""
    terms = terms_of_version(connection, namespace, schedule_id, version)
    if terms is None:
        return []
    terms |= _sealed(fate, author, now, bool(terms["frozen"]))
    order = Order(connection, now, namespace, author, BY_FATE[fate])
    written: list[RunKey] = []
    for tick in ticks:
        run_key = tick_key(schedule_id, tick.fire_time, version)
        moments = {"fire_time": to_us(tick.fire_time), "run_at": to_us(tick.run_at)}
        if connection.execute(QUERIES["restore"], {**terms, **moments, "run_key": run_key}).get is not None:
            order.note(run_key, None)
            written.append(run_key)
    if written:
        touch_planning(connection, namespace, schedule_id)
    return written


def touch_planning(connection: apsw.Connection, namespace: Namespace, schedule_id: ScheduleId) -> None:
    """Ticks of the schedule were written beside its planner, whose plans in flight are to be dropped."""
    connection.execute(QUERIES["touch_cursors"], {"namespace": namespace, "schedule_id": schedule_id})


def terms_of_version(
    connection: apsw.Connection, namespace: Namespace, schedule_id: ScheduleId, version: int
) -> dict[str, Any] | None:
    """What every run of a version has in common; None where there is no such version."""
    name = {"namespace": namespace, "schedule_id": schedule_id, "version": version}
    defaults = {"queue": DEFAULT_QUEUE, "priority": PRIORITY_DEFAULT}
    rows = fetch(connection.execute(QUERIES["version"], {**name, **defaults}))
    if not rows:
        return None
    (row,) = rows
    spec = schedule_from_text(row["spec"])
    return {
        **name,
        "job": row["job"],
        "queue": spec.queue or row["queue"],
        "priority": spec.priority or row["priority"],
        "frozen": row["frozen"],
    }


def _sealed(fate: Fate, author: Author | None, now: StoreTime, frozen: bool) -> dict[str, Any]:
    """How ticks of that fate are written; what has ended already is held by nothing."""
    held = Hold.FROZEN if frozen else Hold.NONE
    match fate:
        case Fate.PLANNED:
            return _waiting(held)
        case Fate.HELD:
            return _waiting(held | Hold.OPERATOR)
        case Fate.SKIPPED:
            reason = None if author is None else author.reason
            return {"state": RunState.SKIPPED, "reason": reason, "finished_at": to_us(now), "held": 0}


def _waiting(held: Hold) -> dict[str, Any]:
    return {"state": RunState.PLANNED, "reason": None, "finished_at": None, "held": int(held)}


def _change_hold(order: Order, run_key: RunKey, query: str) -> tuple[RunRecord | None, bool]:
    before = order.read(run_key)
    terms = {"namespace": order.namespace, "run_key": run_key, "now": to_us(order.now)}
    changed = order.connection.execute(QUERIES[query], terms).get is not None
    return order.note(run_key, before), changed
