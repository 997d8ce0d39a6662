"""Runs by hand that must have begun by a time, or not at all. Claims pass them by; sweeps end them."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.model.clocks import StoreTime
from fencepost.model.run import RunState
from fencepost.model.table import Row
from fencepost.model.tables import RUNS_EXPIRING
from fencepost.model.times import to_utc_text
from fencepost.ports.rows import Transaction
from fencepost.rules.runs import Freed, end


def has_expired(run: Row, now: StoreTime) -> bool:
    """Whether it may not begin any more."""
    return run["expires_at"] is not None and run["expires_at"] <= now and run["first_started_at"] is None


async def expire(tx: Transaction, freed: Freed, run: Row) -> None:
    """Account for a run by hand that did not begin in time."""
    (fence,) = await tx.fences(1) if run["fence"] else (0,)
    reason = f"not begun before it expired at {to_utc_text(run['expires_at'])}"
    await end(tx, freed, run, RunState.MISSED, reason, fence=fence)


async def end_expired(tx: Transaction, limit: int) -> int:
    """Account for the runs whose time to begin is over; returns how many."""
    freed = Freed()
    expired = await tx.take(RUNS_EXPIRING().through(await tx.now()), limit=limit)
    for run in expired:
        await expire(tx, freed, run)
    await freed.wake_next(tx)
    return len(expired)


async def in_time(tx: Transaction, runs: Sequence[Row]) -> list[Row]:
    """The runs that may still begin; the others end here, because they would block the head of a queue."""
    now, freed = await tx.now(), Freed()
    for run in (one for one in runs if has_expired(one, now)):
        await expire(tx, freed, run)
    return [run for run in runs if not has_expired(run, now)]
