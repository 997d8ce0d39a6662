"""Carrying out verdicts in PostgreSQL: one statement for each common kind, where there is one to carry out;
stops and closed gates are by the rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fencepost.model.claiming import Admit, Appetite, End, Wait
from fencepost.model.run import Claim
from fencepost.rules.checks import Checked
from fencepost.rules.limits import keep_allowances
from fencepost.rules.rows import to_claim
from fencepost.rules.runs import Freed
from fencepost.rules.verdicts import Ruled, close_gates, stop
from fencepost.stores.postgres.columns import alike, sparse
from fencepost.stores.postgres.connection import clean
from fencepost.stores.postgres.rows import PostgresRowTransaction
from fencepost.stores.queries import load_queries

if TYPE_CHECKING:
    from fencepost.stores.postgres.facts import Judged

QUERIES = load_queries(__package__, "rulings.sql")


async def carry_out(tx: PostgresRowTransaction, judged: Judged) -> int:
    """All but the starts; returns how many ticks were ended or admitted. Slots that this frees are noted.

    Stops come first: a report locks running runs before those that wait, and so does this. What waits for a
    stopped run is woken last: it may be a tick that waits only since this judgement.
    """
    rulings, checked, freed = judged.rulings, Checked(tx), Freed()
    await stop(checked, freed, rulings)
    judged.slots |= freed.slots.keys()
    freed.slots.clear()
    ended = await _end(tx, rulings.ends)
    admitted = await _admit(tx, rulings.admits)
    await _wait(tx, rulings.waits)
    await close_gates(checked, rulings)
    if judged.allowed is not None:
        await keep_allowances(checked, judged.allowed)
    await freed.wake_next(checked)
    return ended + admitted


async def start(tx: PostgresRowTransaction, judged: Judged, appetite: Appetite) -> list[Claim]:
    """Begin these ticks, but for those that another transaction has touched meanwhile."""
    starts, allowed = judged.rulings.starts, judged.allowed
    if not starts:
        return []
    keys = [(one.namespace, one.run_key) for one in starts]
    slots = [None if allowed is None else allowed.slots.get(key) for key in keys]
    rows = await tx.fetch(
        QUERIES["start"],
        alike([namespace for namespace, _ in keys]),
        [run_key for _, run_key in keys],
        appetite.worker,
        appetite.alive_for_s,
        sparse(slots),
        sparse([None if allowed is None or slot is None else allowed.now for slot in slots]),
    )
    previous = {(one.namespace, one.run_key): one.previous for one in starts}
    return [to_claim(row, previous[row["namespace"], row["run_key"]]) for row in rows]


async def _end(tx: PostgresRowTransaction, ends: Sequence[Ruled[End]]) -> int:
    if not ends:
        return 0
    rows = await tx.fetch(
        QUERIES["end"],
        [one.namespace for one in ends],
        [one.verdict.run_key for one in ends],
        [one.verdict.state for one in ends],
        [clean(one.verdict.reason) for one in ends],
        [one.verdict.met for one in ends],
    )
    return len(rows)


async def _admit(tx: PostgresRowTransaction, admits: Sequence[Ruled[Admit]]) -> int:
    if not admits:
        return 0
    rows = await tx.fetch(
        QUERIES["admit"],
        [one.namespace for one in admits],
        [one.verdict.run_key for one in admits],
        [int(one.verdict.hold) for one in admits],
        [one.verdict.waits and clean(one.verdict.waits) for one in admits],
    )
    return len(rows)


async def _wait(tx: PostgresRowTransaction, waits: Sequence[Ruled[Wait]]) -> None:
    if waits:
        await tx.fetch(
            QUERIES["wait"],
            [one.namespace for one in waits],
            [one.verdict.run_key for one in waits],
            [clean(one.verdict.reason) for one in waits],
        )
