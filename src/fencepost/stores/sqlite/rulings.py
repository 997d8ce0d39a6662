"""Carrying out verdicts in SQLite, under the write lock under which the facts were read.

Stops come first, so that what displaces others starts after they have ended; closings come after admissions,
so that a gate holds also what was admitted a moment ago. The bell for what was stopped comes last: a tick
that is parked here may wait for that very run, and no other end will ring for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import apsw

from fencepost.model.claiming import Stop
from fencepost.model.clocks import StoreTime
from fencepost.model.job import PRIORITY_BEHIND
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite import entries, gates, lines, reports
from fencepost.stores.sqlite.connection import take_fences
from fencepost.stores.sqlite.facts import Facts
from fencepost.stores.sqlite.moments import to_us
from fencepost.stores.sqlite.parking import Owner, ring
from fencepost.stores.verdicts import Ruled, Rulings

QUERIES = load_queries("fencepost.stores.sqlite", "rulings.sql")


def carry_out(rulings: Rulings, facts: Facts, connection: apsw.Connection, now: StoreTime) -> bool:
    """All but the starts; whether a tick was unparked.

    A tick that ends here leaves nothing for others to wait for, so the bell is only rung for stops.
    """
    stopped = [owner for stop in rulings.stops for owner in _stop(stop, connection, now)]
    connection.executemany(QUERIES["end"], _ends(rulings, facts, to_us(now)))
    connection.executemany(QUERIES["admit"], _admits(rulings, facts))
    connection.executemany(QUERIES["park"], _waits(rulings, facts))
    for closing in rulings.closings:
        gates.close(connection, now, closing.namespace, closing.schedule_id, closing.verdict.reason)
    ended = [(one.namespace, one.verdict.run_key) for one in rulings.stops if one.verdict.at_once]
    return ring(connection, stopped) | lines.ring(connection, ended)


def _stop(stop: Ruled[Stop], connection: apsw.Connection, now: StoreTime) -> Iterable[Owner]:
    """Make a run give way; its schedule, where it has ended."""
    verdict = stop.verdict
    if not verdict.at_once:
        return entries.call_off(stop.namespace, verdict.run_key, verdict.reason, connection, now)
    name = {"namespace": stop.namespace, "run_key": verdict.run_key}
    for row_id, state in list(connection.execute(QUERIES["unfinished"], name)):
        if state == "running":
            reports.keep_attempt(connection, row_id, to_us(now), "terminated", verdict.reason)
        terms = {"row_id": row_id, "reason": verdict.reason, "now": to_us(now)}
        connection.execute(QUERIES["terminate"], {**terms, "new_fence": take_fences(connection, 1)})
        return [(stop.namespace, stop.schedule_id)]
    return []


def _ends(rulings: Rulings, facts: Facts, now_us: int) -> Iterator[dict[str, Any]]:
    for one in rulings.ends:
        yield {
            "row_id": facts.row_ids[one.namespace, one.verdict.run_key],
            "state": one.verdict.state,
            "reason": one.verdict.reason,
            "met": one.verdict.met,
            "now": now_us,
        }


def _admits(rulings: Rulings, facts: Facts) -> Iterator[dict[str, Any]]:
    for one in rulings.admits:
        yield {
            "row_id": facts.row_ids[one.namespace, one.verdict.run_key],
            "priority": PRIORITY_BEHIND,
            "reason": one.verdict.waits,
            "held": int(one.verdict.hold),
        }


def _waits(rulings: Rulings, facts: Facts) -> Iterator[dict[str, Any]]:
    for one in rulings.waits:
        row_id = facts.row_ids[one.namespace, one.verdict.run_key]
        yield {"row_id": row_id, "reason": one.verdict.reason}
