"""How attempts end in SQLite: plain ends by one statement, the others by the rules, in one transaction.

A ticket is compared inside the transaction and so under the write lock, by the write that uses it up.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import apsw

from fencepost.model.clocks import StoreTime
from fencepost.model.driving import finish_now
from fencepost.model.run import Outcome, Receipt
from fencepost.ports.signals import Topic
from fencepost.rules import reports
from fencepost.rules.checks import Checked, check_outcomes
from fencepost.rules.runs import Freed
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.moments import to_us
from fencepost.stores.sqlite.rows import SqliteRowTransaction

QUERIES = load_queries("fencepost.stores.sqlite", "ledger.sql")


def finish(
    outcomes: Sequence[Outcome], connection: apsw.Connection, now: StoreTime
) -> tuple[Sequence[Receipt], Iterable[Topic]]:
    """End attempts, the plain ones without asking about them first; also who is to be told."""
    check_outcomes(outcomes)
    rows, freed = SqliteRowTransaction(connection, now), Freed()
    done = _finish_plain(outcomes, connection, to_us(now), freed)
    rest = [place for place in range(len(outcomes)) if place not in done]
    settled = finish_now(reports.finish(Checked(rows), freed, [outcomes[place] for place in rest]))
    receipts = dict(zip(rest, settled, strict=True))
    wake_next(connection, rows, freed)
    found = [receipts.get(place, Receipt.ACCEPTED) for place in range(len(outcomes))]
    return found, rows.hints


def wake_next(connection: apsw.Connection, rows: SqliteRowTransaction, freed: Freed) -> None:
    """Let those go whose turn it is, and what follows. Nearly always nothing waits anywhere and nothing
    follows: that is asked first, and costs a look at two empty indexes and an empty table."""
    freed.tell(rows)
    is_waiting, is_followed = connection.execute(QUERIES["any_waiting"]).get
    if is_waiting:
        finish_now(freed.wake_next(Checked(rows)))
    elif is_followed:
        finish_now(freed.follow(Checked(rows)))


def _finish_plain(
    outcomes: Sequence[Outcome], connection: apsw.Connection, now_us: int, freed: Freed
) -> set[int]:
    """The places of those that ended by one write: no error, no output and no retry to be kept."""
    places: dict[tuple[str, str], int] = {}
    for place, one in enumerate(outcomes):
        if one.error is None and one.output is None and one.retry_in_s is None:
            places.setdefault((one.ticket.namespace, one.ticket.run_key), place)
    given = json.dumps([_plain(outcomes[place]) for place in places.values()])
    done: set[int] = set()
    for row in connection.execute(QUERIES["finish_plain"], {"given": given, "now": now_us}):
        namespace, run_key, schedule_id, job, slot, awaited = row
        freed.awaited = freed.awaited or bool(awaited)
        done.add(places[namespace, run_key])
        if schedule_id is not None:
            freed.schedules[namespace, schedule_id] = None
        if slot is not None:
            freed.slots[namespace, job, slot] = None
    return done


def _plain(outcome: Outcome) -> list[str | int | None]:
    ticket = outcome.ticket
    named = ticket.namespace, ticket.run_key, ticket.attempt, ticket.fence
    return [*named, outcome.state, outcome.reason]
