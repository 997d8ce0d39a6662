"""What attempts write, each under its ticket, and how a run is taken from one that shows no life.

A ticket is compared inside the transaction and so under the write lock: by the write that uses it up
(`_finish_plain`), or first (`_shown`), and what follows is then written to the row that it names.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import apsw

from fencepost.model.clocks import StoreTime
from fencepost.model.rescue import Expired, Rescue
from fencepost.model.run import STOPPED_ON_REQUEST, Outcome, Pulse, Receipt, RunState, Ticket
from fencepost.stores.queries import load_queries
from fencepost.stores.rows import to_expired
from fencepost.stores.sqlite.connection import take_fences
from fencepost.stores.sqlite.moments import fetch, span_us, to_us

QUERIES = load_queries("fencepost.stores.sqlite", "ledger.sql")

Terms: TypeAlias = dict[str, str | int | None]


class Match(NamedTuple):
    """The row of a ticket that is still the run's latest."""

    row_id: int
    state: str
    alive_until: int | None
    cancel_requested: int

    @property
    def owned(self) -> bool:
        """Whether the attempt is still at it."""
        return self.state == "running"


def pulse(
    tickets: Sequence[Ticket], alive_for_s: float, connection: apsw.Connection, now: StoreTime
) -> Sequence[Pulse]:
    """Push out the time until which each attempt counts as alive."""
    alive_until = to_us(now) + span_us(alive_for_s)
    owned = {place: one for place, one in _shown(connection, tickets).items() if one.owned}
    connection.executemany(
        QUERIES["pulse"], ({"row_id": one.row_id, "alive_until": alive_until} for one in owned.values())
    )
    return [
        Pulse(True, bool(owned[place].cancel_requested)) if place in owned else Pulse(False)
        for place in range(len(tickets))
    ]


def report_progress(ticket: Ticket, progress: str, connection: apsw.Connection, _: StoreTime) -> bool:
    """Keep the latest word of progress."""
    match = _shown(connection, [ticket]).get(0)
    if match is None or not match.owned:
        return False
    connection.execute(QUERIES["report_progress"], {"row_id": match.row_id, "progress": progress})
    return True


def finish(outcomes: Sequence[Outcome], connection: apsw.Connection, now: StoreTime) -> Sequence[Receipt]:
    """End attempts, the plain ones without asking about them first."""
    now_us = to_us(now)
    done = _finish_plain(outcomes, connection, now_us)
    rest = [place for place in range(len(outcomes)) if place not in done]
    receipts = dict(zip(rest, _finish([outcomes[place] for place in rest], connection, now_us), strict=True))
    return [receipts.get(place, Receipt.ACCEPTED) for place in range(len(outcomes))]


def _finish_plain(outcomes: Sequence[Outcome], connection: apsw.Connection, now_us: int) -> set[int]:
    """The places of those that ended by one write: no error, no output and no retry to be kept."""
    places: dict[tuple[str, str], int] = {}
    for place, one in enumerate(outcomes):
        if one.error is None and one.output is None and one.retry_in_s is None:
            places.setdefault((one.ticket.namespace, one.ticket.run_key), place)
    given = json.dumps([_plain(outcomes[place]) for place in places.values()])
    ended = connection.execute(QUERIES["finish_plain"], {"given": given, "now": now_us})
    return {places[namespace, run_key] for namespace, run_key in ended}


def _plain(outcome: Outcome) -> list[str | int | None]:
    ticket = outcome.ticket
    return [
        ticket.namespace,
        ticket.run_key,
        ticket.attempt,
        ticket.fence,
        outcome.state,
        outcome.reason,
    ]


def _finish(outcomes: Sequence[Outcome], connection: apsw.Connection, now_us: int) -> Sequence[Receipt]:
    """Attempts that are kept by themselves first, while the run still says whose it was."""
    shown = _shown(connection, [one.ticket for one in outcomes])
    first = {match.row_id: place for place, match in reversed(shown.items()) if match.owned}
    accepted = {place: row_id for row_id, place in first.items()}
    ends = [(row_id, outcomes[place]) for place, row_id in sorted(accepted.items())]
    connection.executemany(QUERIES["keep_attempt"], _kept(ends, now_us))
    heeded = [(row_id, _heed(shown[place], outcomes[place])) for place, row_id in sorted(accepted.items())]
    connection.executemany(QUERIES["finish"], _endings(heeded, now_us))
    connection.executemany(QUERIES["requeue"], _retries(heeded, now_us))
    return [_receipt(place, accepted, shown) for place in range(len(outcomes))]


def expired(limit: int, connection: apsw.Connection, now: StoreTime) -> Sequence[Expired]:
    """Running runs that show no life, oldest first."""
    terms = {"limit": limit, "now": to_us(now)}
    return to_expired(fetch(connection.execute(QUERIES["expired"], terms)))


def rescue(rescues: Sequence[Rescue], connection: apsw.Connection, now: StoreTime) -> Sequence[Receipt]:
    """Take runs away from attempts that show no life."""
    return [Receipt.ACCEPTED if _rescue(one, connection, to_us(now)) else Receipt.REFUSED for one in rescues]


def _rescue(one: Rescue, connection: apsw.Connection, now_us: int) -> bool:
    match = _shown(connection, [one.ticket]).get(0)
    if match is None or not match.owned or match.alive_until is None or match.alive_until >= now_us:
        return False
    lost = {"outcome": "lost", "error": one.reason, "detail": None, "output": None}
    connection.execute(QUERIES["keep_attempt"], {"row_id": match.row_id, "now": now_us, **lost})
    terms: Terms = {
        "row_id": match.row_id,
        "state": one.state,
        "reason": one.reason,
        "new_fence": take_fences(connection, 1),
        "run_at": now_us + span_us(one.retry_in_s),
        "now": now_us,
    }
    connection.execute(QUERIES["rescue"], terms)
    return True


def _shown(connection: apsw.Connection, tickets: Sequence[Ticket]) -> dict[int, Match]:
    """The matches of tickets, by their place among them, ascending."""
    named = (_named(place, ticket) for place, ticket in enumerate(tickets))
    cursor = connection.executemany(QUERIES["shown"], named)
    return {place: Match._make(row) for place, *row in cursor}


def _named(place: int, ticket: Ticket) -> Terms:
    return {
        "place": place,
        "namespace": ticket.namespace,
        "run_key": ticket.run_key,
        "attempt": ticket.attempt,
        "fence": ticket.fence,
    }


def _receipt(place: int, accepted: dict[int, int], shown: dict[int, Match]) -> Receipt:
    """A ticket that matches a run which does not run any more can only have been reported already."""
    if place in accepted:
        return Receipt.ACCEPTED
    return Receipt.REPEATED if place in shown else Receipt.REFUSED


def _heed(match: Match, outcome: Outcome) -> Outcome:
    """A run that was asked to stop is not tried again."""
    if outcome.retry_in_s is None or not match.cancel_requested:
        return outcome
    return replace(outcome, state=RunState.CANCELLED, reason=STOPPED_ON_REQUEST, retry_in_s=None)


def _kept(ends: Iterable[tuple[int, Outcome]], now_us: int) -> Iterator[Terms]:
    for row_id, one in ends:
        if one.error is not None or one.output is not None:
            yield {
                "row_id": row_id,
                "now": now_us,
                "outcome": one.state if one.retry_in_s is None else "failed",
                "error": one.error,
                "detail": one.detail,
                "output": one.output,
            }


def _endings(ends: Iterable[tuple[int, Outcome]], now_us: int) -> Iterator[Terms]:
    for row_id, one in ends:
        if one.retry_in_s is None:
            yield {
                "row_id": row_id,
                "state": one.state,
                "reason": one.reason,
                "error": one.error,
                "now": now_us,
            }


def _retries(ends: Iterable[tuple[int, Outcome]], now_us: int) -> Iterator[Terms]:
    for row_id, one in ends:
        if one.retry_in_s is not None:
            run_at = now_us + span_us(one.retry_in_s)
            yield {"row_id": row_id, "reason": one.reason, "error": one.error, "run_at": run_at}
