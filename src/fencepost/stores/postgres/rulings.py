"""Carrying out verdicts in PostgreSQL: a statement for each kind, only where there is one to carry out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fencepost.model.claiming import Admit, Appetite, CloseGate, End, Stop, Wait
from fencepost.model.run import Claim
from fencepost.rules.rows import to_claim
from fencepost.rules.verdicts import Ruled, Rulings
from fencepost.stores.postgres import lines
from fencepost.stores.postgres.connection import clean
from fencepost.stores.postgres.gates import close_gate
from fencepost.stores.postgres.writing import RunName, ring, take_runs
from fencepost.stores.queries import load_queries

if TYPE_CHECKING:
    from fencepost.stores.postgres.connection import Row, Session
    from fencepost.stores.postgres.facts import Judged

QUERIES = load_queries(__package__, "rulings.sql")
TRIES = 5
"""How often a run that is to be stopped and is locked is looked for; a tenth of a second in all."""


async def carry_out(session: Session, judged: Judged) -> int:
    """All but the starts; returns how many ticks were ended or admitted. Slots that this frees are noted.

    Stops come first: whoever finishes runs locks the running ones before those that wait, and so do we. The
    bell for them comes last: it may be for a tick that waits only since this judgement.
    """
    rulings = judged.rulings
    stopped = await _stop(session, await _within_reach(session, rulings))
    left = (row for row in stopped if row["slot"] is not None)
    judged.slots |= {(row["namespace"], row["job"], row["slot"]) for row in left}
    ended = await _end(session, rulings.ends)
    admitted = await _admit(session, rulings.admits)
    await _wait(session, rulings.waits)
    await _close(session, rulings.closings)
    if judged.allowed is not None:
        await lines.keep(session, judged.allowed)
    await ring(session, [(row["namespace"], row["schedule_id"]) for row in stopped])
    return ended + admitted


async def start(session: Session, judged: Judged, appetite: Appetite) -> list[Claim]:
    """Begin these ticks, but for those that somebody else has touched meanwhile."""
    starts, allowed = judged.rulings.starts, judged.allowed
    if not starts:
        return []
    keys = [(one.namespace, one.run_key) for one in starts]
    slots = [None if allowed is None else allowed.slots.get(key) for key in keys]
    rows = await session.fetch(
        QUERIES["start"],
        [namespace for namespace, _ in keys],
        [run_key for _, run_key in keys],
        appetite.worker,
        appetite.alive_for_s,
        slots,
        [None if allowed is None or slot is None else allowed.now for slot in slots],
    )
    previous = {(one.namespace, one.run_key): one.previous for one in starts}
    return [to_claim(row, previous[row["namespace"], row["run_key"]]) for row in rows]


async def _within_reach(session: Session, rulings: Rulings) -> Sequence[Ruled[Stop]]:
    """Lock the runs that are to stop; returns the stops that can be carried out.

    A run that is in a transaction of its own can be neither fenced off nor asked, and nobody waits for it.
    The tick that would have started in its stead is parked: the two must not run side by side. One that only
    asks it to stop is parked anyway. Both are judged again when the run ends, or the net calls them.
    """
    taken = await take_runs(session, [_target(one) for one in rulings.stops], TRIES)
    beyond = [one for one in rulings.stops if one.verdict.at_once and _target(one) not in taken]
    behind = {(one.namespace, one.schedule_id): one.verdict.run_key for one in beyond}
    for tick in [one for one in rulings.starts if (one.namespace, one.schedule_id) in behind]:
        owner = tick.namespace, tick.schedule_id
        rulings.starts.remove(tick)
        reason = f"waits until {behind[owner]}, in a transaction of its own, can be stopped"
        rulings.waits.append(Ruled(*owner, Wait(tick.run_key, reason)))
    return [
        one
        for one in rulings.stops
        if _target(one) in taken and (one.namespace, one.schedule_id) not in behind
    ]


def _target(one: Ruled[Stop]) -> RunName:
    return one.namespace, one.verdict.run_key


async def _stop(session: Session, stops: Sequence[Ruled[Stop]]) -> Sequence[Row]:
    """Returns whose the runs are that this ended; they are locked already."""
    if not stops:
        return []
    keys = [one.namespace for one in stops], [one.verdict.run_key for one in stops]
    reasons = [clean(one.verdict.reason) for one in stops]
    at_once = [one.verdict.at_once for one in stops]
    rows = await session.fetch(QUERIES["stop"], *keys, reasons, at_once)
    return [row for row in rows if row["ends"]]


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
        [int(one.verdict.hold) for one in admits],
        [one.verdict.waits and clean(one.verdict.waits) for one in admits],
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
