"""Carrying out verdicts in PostgreSQL: one statement for ticks that do not start, and one for those that do;
stops and closed gates are by the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.model.claiming import ClaimRequest
from fencepost.model.run import Claim, Hold, Origin
from fencepost.rules.checks import Checked
from fencepost.rules.limits import keep_allowances
from fencepost.rules.rows import to_claim
from fencepost.rules.runs import Freed
from fencepost.rules.verdicts import Ruled, Verdicts, close_gates, stop
from fencepost.stores.postgres.columns import alike, sparse
from fencepost.stores.postgres.connection import clean
from fencepost.stores.postgres.rows import PostgresRowTransaction
from fencepost.stores.queries import load_queries

if TYPE_CHECKING:
    from fencepost.stores.postgres.facts import Judged

QUERIES = load_queries(__package__, "verdicts.sql")
CATCH_UP = Origin.CATCH_UP.value


async def carry_out(tx: PostgresRowTransaction, judged: Judged) -> int:
    """All but the starts; returns how many ticks were ended or admitted. Slots that this frees are noted.

    Stops come first: a report locks running runs before those that wait, and so does this. What waits for a
    stopped run is woken last: it may be a tick that waits only since this verdict.
    """
    verdicts, checked, freed = judged.verdicts, Checked(tx), Freed()
    await stop(checked, freed, verdicts)
    judged.slots |= freed.slots.keys()
    freed.slots.clear()
    settled = await _settle(tx, freed, verdicts)
    await close_gates(checked, verdicts)
    if judged.allowed is not None:
        await keep_allowances(checked, judged.allowed)
    await freed.wake_next(checked)
    return settled


async def start(tx: PostgresRowTransaction, judged: Judged, claim_request: ClaimRequest) -> list[Claim]:
    """Begin these ticks, but for those that another transaction has touched meanwhile."""
    starts, allowed = judged.verdicts.starts, judged.allowed
    if not starts:
        return []
    keys = [(one.namespace, one.run_key) for one in starts]
    slots = [None if allowed is None else allowed.slots.get(key) for key in keys]
    rows = await tx.fetch(
        QUERIES["start"],
        alike([namespace for namespace, _ in keys]),
        [run_key for _, run_key in keys],
        claim_request.worker,
        claim_request.alive_for_s,
        sparse(slots),
        sparse([None if allowed is None or slot is None else allowed.now for slot in slots]),
    )
    previous = {(one.namespace, one.run_key): one.previous for one in starts}
    return [to_claim(row, previous[row["namespace"], row["run_key"]]) for row in rows]


async def _settle(tx: PostgresRowTransaction, freed: Freed, verdicts: Verdicts) -> int:
    settled: list[tuple[Ruled[Any], str | None, str | None, str | None, int, str | None]] = [
        *(
            (one, one.verdict.state, one.verdict.reason, one.verdict.blocked_by, 0, None)
            for one in verdicts.ends
        ),
        *((one, None, one.verdict.waits, None, int(one.verdict.hold), CATCH_UP) for one in verdicts.admits),
        *((one, None, one.verdict.reason, None, Hold.PARKED.value, None) for one in verdicts.waits),
    ]
    if not settled:
        return 0
    ticks, states, reasons, blocked_by, holds, origins = zip(*settled, strict=True)
    rows = await tx.fetch(
        QUERIES["settle"],
        [one.namespace for one in ticks],
        [one.verdict.run_key for one in ticks],
        states,
        [clean(one) for one in reasons],
        blocked_by,
        holds,
        origins,
    )
    freed.ended += [dict(row) for row in rows if row["is_followed"]]
    return sum(row["counts"] for row in rows)
