"""Carrying out verdicts in SQLite, under the write lock under which the facts were read.

Stops come first, so that what displaces others starts after they have ended; closings come after admissions,
so that a gate holds also what was admitted a moment ago. What waits for a stopped run is woken last: a tick
that is parked here may wait for that very run, and no other end will wake it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apsw

from fencepost.model.clocks import StoreTime
from fencepost.model.driving import finish_now
from fencepost.model.job import PRIORITY_BEHIND
from fencepost.ports.signals import Topic
from fencepost.rules.checks import Checked
from fencepost.rules.runs import Freed
from fencepost.rules.verdicts import Rulings, close_gates, stop
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.facts import Facts
from fencepost.stores.sqlite.moments import to_us
from fencepost.stores.sqlite.rows import SqliteRowTransaction

QUERIES = load_queries("fencepost.stores.sqlite", "rulings.sql")


def carry_out(rulings: Rulings, facts: Facts, connection: apsw.Connection, now: StoreTime) -> bool:
    """All but the starts; whether a tick was unparked.

    A tick that ends here leaves nothing for others to wait for, so only stops wake something.
    """
    rows, freed = SqliteRowTransaction(connection, now), Freed()
    tx = Checked(rows)
    finish_now(stop(tx, freed, rulings))
    connection.executemany(QUERIES["end"], _ends(rulings, facts, to_us(now)))
    connection.executemany(QUERIES["admit"], _admits(rulings, facts))
    connection.executemany(QUERIES["park"], _waits(rulings, facts))
    finish_now(close_gates(tx, rulings))
    finish_now(freed.wake_next(tx))
    return Topic.RUNS in rows.hints


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
