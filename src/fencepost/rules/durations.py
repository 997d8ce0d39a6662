"""How long runs take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fencepost.model.tables import RUNS_SUCCEEDED
from fencepost.ports.rows import Transaction

TYPICAL_OF = 20


async def typical_run_s(
    tx: Transaction, schedules: Sequence[tuple[str, str]]
) -> Mapping[tuple[str, str], float]:
    """How long the last successes of each schedule took on average, where there are any."""
    lengths_s: dict[tuple[str, str], list[float]] = {}
    for run in await tx.find(RUNS_SUCCEEDED.each(schedules), limit=TYPICAL_OF, reverse=True):
        took_s = (run["finished_at"] - run["started_at"]).total_seconds()
        lengths_s.setdefault((run["namespace"], run["schedule_id"]), []).append(took_s)
    return {owner: sum(found) / len(found) for owner, found in lengths_s.items()}
