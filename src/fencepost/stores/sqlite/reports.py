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
from fencepost.model.identifiers import Namespace, RunKey
from fencepost.model.rescue import Rescue
from fencepost.model.run import (
    STOPPED_ON_REQUEST,
    Outcome,
    ProgressReport,
    Pulse,
    Receipt,
    RunState,
    Ticket,
)
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite import lines
from fencepost.stores.sqlite.connection import take_fences
from fencepost.stores.sqlite.moments import span_us, to_us
from fencepost.stores.sqlite.parking import Owner, ring

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


def is_owned(ticket: Ticket, connection: apsw.Connection) -> bool:
    """Whether the attempt is still at it."""
    match = _shown(connection, [ticket]).get(0)
    return match is not None and match.owned


def report_progress(
    words: Sequence[ProgressReport], connection: apsw.Connection, now: StoreTime
) -> Sequence[bool]:
    """Keep the latest words of progress."""
    shown = _shown(connection, [one.ticket for one in words])
    owned = {place: match.row_id for place, match in shown.items() if match.owned}
    said = (
        {"row_id": row_id, "progress": words[place].progress, "note": words[place].note, "now": to_us(now)}
        for place, row_id in owned.items()
    )
    connection.executemany(QUERIES["report_progress"], said)
    return [place in owned for place in range(len(words))]


def finish(
    outcomes: Sequence[Outcome], connection: apsw.Connection, now: StoreTime
) -> tuple[Sequence[Receipt], bool]:
    """End attempts, the plain ones without asking about them first; also whether a tick was unparked."""
    now_us = to_us(now)
    done, ended = _finish_plain(outcomes, connection, now_us)
    rest = [place for place in range(len(outcomes)) if place not in done]
    settled, also_ended = _finish([outcomes[place] for place in rest], connection, now_us)
    receipts = dict(zip(rest, settled, strict=True))
    rung = ring(connection, [*ended, *also_ended]) | lines.ring(connection, _runs_of(outcomes))
    return [receipts.get(place, Receipt.ACCEPTED) for place in range(len(outcomes))], rung


def _finish_plain(
    outcomes: Sequence[Outcome], connection: apsw.Connection, now_us: int
) -> tuple[set[int], list[Owner]]:
    """The places of those that ended by one write: no error, no output and no retry to be kept."""
    places: dict[tuple[str, str], int] = {}
    for place, one in enumerate(outcomes):
        if one.error is None and one.output is None and one.retry_in_s is None:
            places.setdefault((one.ticket.namespace, one.ticket.run_key), place)
    given = json.dumps([_plain(outcomes[place]) for place in places.values()])
    ended = list(connection.execute(QUERIES["finish_plain"], {"given": given, "now": now_us}))
    done = {places[namespace, run_key] for namespace, run_key, _ in ended}
    return done, [(namespace, schedule_id) for namespace, _, schedule_id in ended]


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


def _finish(
    outcomes: Sequence[Outcome], connection: apsw.Connection, now_us: int
) -> tuple[Sequence[Receipt], list[Owner]]:
    """Attempts that are kept by themselves first, while the run still says whose it was."""
    shown = _shown(connection, [one.ticket for one in outcomes])
    first = {match.row_id: place for place, match in reversed(shown.items()) if match.owned}
    accepted = {place: row_id for row_id, place in first.items()}
    ends = [(row_id, outcomes[place]) for place, row_id in sorted(accepted.items())]
    connection.executemany(QUERIES["keep_attempt"], _kept(ends, now_us))
    heeded = [(row_id, _heed(shown[place], outcomes[place])) for place, row_id in sorted(accepted.items())]
    ended: list[Owner] = list(connection.executemany(QUERIES["finish"], _endings(heeded, now_us)))
    connection.executemany(QUERIES["requeue"], _retries(heeded, now_us))
    return [_receipt(place, accepted, shown) for place in range(len(outcomes))], ended


def rescue(
    rescues: Sequence[Rescue], connection: apsw.Connection, now: StoreTime
) -> tuple[Sequence[Receipt], bool]:
    """Take runs away from attempts that show no life; also whether a tick was unparked."""
    ended: list[Owner] = []
    receipts = [_rescue(one, ended, connection, to_us(now)) for one in rescues]
    return receipts, ring(connection, ended) | lines.ring(connection, _runs_of(rescues))


def _runs_of(reports: Sequence[Outcome] | Sequence[Rescue]) -> list[tuple[Namespace, RunKey]]:
    return [(one.ticket.namespace, one.ticket.run_key) for one in reports]


def _rescue(one: Rescue, ended: list[Owner], connection: apsw.Connection, now_us: int) -> Receipt:
    """Take one run away; whose it is, is noted where it has ended."""
    match = _shown(connection, [one.ticket]).get(0)
    if match is None or not match.owned or (match.alive_until or 0) >= now_us:
        return Receipt.REFUSED
    keep_attempt(connection, match.row_id, now_us, "lost", one.reason)
    heeded = _heed_rescue(match, one)
    again = heeded.state is RunState.READY
    terms: Terms = {
        "row_id": match.row_id,
        "state": heeded.state,
        "reason": heeded.reason,
        "error": None if again else one.reason,
        "new_fence": take_fences(connection, 1),
        "run_at": now_us + span_us(one.retry_in_s),
        "now": now_us,
    }
    owners: list[Owner] = list(connection.execute(QUERIES["rescue"], terms))
    if not again:
        ended += owners
    return Receipt.ACCEPTED


def keep_attempt(connection: apsw.Connection, row_id: int, now_us: int, outcome: str, error: str) -> None:
    """Keep the attempt of a run that is taken from it."""
    kept = {"outcome": outcome, "error": error, "detail": None, "output": None}
    connection.execute(QUERIES["keep_attempt"], {"row_id": row_id, "now": now_us, **kept})


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


def _heed_rescue(match: Match, rescue: Rescue) -> Rescue:
    """The same where its worker is gone."""
    if rescue.state is not RunState.READY or not match.cancel_requested:
        return rescue
    return replace(rescue, state=RunState.CANCELLED, reason=STOPPED_ON_REQUEST)


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
