"""Carrying out verdicts in PostgreSQL: a statement for each kind, only where there is one to carry out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fencepost.model.claiming import Admit, Appetite, CloseGate, End, Stop, Wait
from fencepost.model.identifiers import Namespace, ScheduleId
from fencepost.model.run import Claim
from fencepost.stores.postgres.connection import clean
from fencepost.stores.postgres.gates import close_gate
from fencepost.stores.postgres.writing import ring
from fencepost.stores.queries import load_queries
from fencepost.stores.rows import to_claim
from fencepost.stores.verdicts import Ruled, Rulings, Started

if TYPE_CHECKING:
    from fencepost.stores.postgres.connection import Session

QUERIES = load_queries(__package__, "rulings.sql")


async def carry_out(session: Session, rulings: Rulings) -> int:
    """All but the starts; returns how many ticks were ended or admitted.

    Stops come first: whoever finishes runs locks the running ones before those that wait, and so do we. The
    bell for them comes last: it may be for a tick that waits only since this judgement.
    """
    freed = await _stop(session, rulings.stops)
    ended = await _end(session, rulings.ends)
    admitted = await _admit(session, rulings.admits)
    await _wait(session, rulings.waits)
    await _close(session, rulings.closings)
    await ring(session, freed)
    return ended + admitted


async def start(session: Session, starts: Sequence[Started], appetite: Appetite) -> list[Claim]:
    """Begin these ticks, but for those that somebody else has touched meanwhile."""
    if not starts:
        return []
    rows = await session.fetch(
        QUERIES["start"],
        [one.namespace for one in starts],
        [one.run_key for one in starts],
        appetite.worker,
        appetite.alive_for_s,
    )
    previous = {(one.namespace, one.run_key): one.previous for one in starts}
    return [to_claim(row, previous[row["namespace"], row["run_key"]]) for row in rows]


async def _stop(session: Session, stops: Sequence[Ruled[Stop]]) -> Sequence[tuple[Namespace, ScheduleId]]:
    """Returns the schedules of the runs that this ended."""
    if not stops:
        return []
    keys = [one.namespace for one in stops], [one.verdict.run_key for one in stops]
    await session.fetch(QUERIES["lock_stops"], *keys)
    reasons = [clean(one.verdict.reason) for one in stops]
    at_once = [one.verdict.at_once for one in stops]
    rows = await session.fetch(QUERIES["stop"], *keys, reasons, at_once)
    return [(row["namespace"], row["schedule_id"]) for row in rows if row["ends"]]


async def _end(session: Session, ends: Sequence[Ruled[End]]) -> int:
    if not ends:
        return 0
    rows = await session.fetch(
        QUERIES["end"],
        [one.namespace for one in ends],
        [one.verdict.run_key for one in ends],
        [one.verdict.state for one in ends],
        [clean(one.verdict.reason) for one in ends],
        [one.verdict.met for one in ends],
    )
    return len(rows)


async def _admit(session: Session, admits: Sequence[Ruled[Admit]]) -> int:
    if not admits:
        return 0
    rows = await session.fetch(
        QUERIES["admit"],
        [one.namespace for one in admits],
        [one.verdict.run_key for one in admits],
        [one.verdict.held for one in admits],
    )
    return len(rows)


async def _wait(session: Session, waits: Sequence[Ruled[Wait]]) -> None:
    if waits:
        await session.fetch(
            QUERIES["wait"],
            [one.namespace for one in waits],
            [one.verdict.run_key for one in waits],
            [clean(one.verdict.reason) for one in waits],
        )


async def _close(session: Session, closings: Sequence[Ruled[CloseGate]]) -> None:
    for one in closings:
        await close_gate(session, one.namespace, one.schedule_id, one.verdict.reason)
