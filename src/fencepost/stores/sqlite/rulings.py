"""Carrying out verdicts in SQLite, under the write lock under which the facts were read.

Stops come first, so that what displaces others starts after they have ended; closings come after admissions,
so that a gate holds also what was admitted a moment ago. The bell for what was stopped comes last: a tick
that is parked here may wait for that very run, and no other end will ring for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apsw

from fencepost.model.claiming import Stop
from fencepost.model.clocks import StoreTime
from fencepost.model.driving import finish_now
from fencepost.model.job import PRIORITY_BEHIND
from fencepost.model.tables import RUNS
from fencepost.ports.signals import Topic
from fencepost.rules.checks import Checked
from fencepost.rules.gates import close_gate
from fencepost.rules.runs import Bells, call_off, terminate
from fencepost.rules.verdicts import Ruled, Rulings
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.facts import Facts
from fencepost.stores.sqlite.moments import to_us
from fencepost.stores.sqlite.rows import SqliteRowTransaction

QUERIES = load_queries("fencepost.stores.sqlite", "rulings.sql")


def carry_out(rulings: Rulings, facts: Facts, connection: apsw.Connection, now: StoreTime) -> bool:
    """All but the starts; whether a tick was unparked.

    A tick that ends here leaves nothing for others to wait for, so the bell is only rung for stops.
    """
    rows, bells = SqliteRowTransaction(connection, now), Bells()
    tx = Checked(rows)
    for stop in rulings.stops:
        finish_now(_stop(tx, bells, stop))
    connection.executemany(QUERIES["end"], _ends(rulings, facts, to_us(now)))
    connection.executemany(QUERIES["admit"], _admits(rulings, facts))
    connection.executemany(QUERIES["park"], _waits(rulings, facts))
    for closing in rulings.closings:
        closed = closing.namespace, closing.schedule_id, closing.verdict.reason
        finish_now(close_gate(tx, *closed))
    finish_now(bells.ring(tx))
    return Topic.RUNS in rows.hints


async def _stop(tx: Checked, bells: Bells, stop: Ruled[Stop]) -> None:
    """Make a run give way."""
    for run in await tx.lock(RUNS.at(stop.namespace, stop.verdict.run_key)):
        if run["finished_at"] is None:
            await (terminate if stop.verdict.at_once else call_off)(tx, bells, run, stop.verdict.reason)


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
