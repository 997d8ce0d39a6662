"""How long runs take."""

from __future__ import annotations

from fencepost.model.run import RunState
from fencepost.model.table import Row
from fencepost.model.tables import RUNS_FINISHED
from fencepost.ports.rows import Transaction
from fencepost.rules.part import search

TYPICAL_OF = 20


async def typical_run_s(tx: Transaction, namespace: str, schedule_id: str) -> float | None:
    """How long the last successes of a schedule took on average."""
    ended = RUNS_FINISHED(namespace, schedule_id)
    runs = await search(tx, ended, _succeeded, TYPICAL_OF, reverse=True)
    lengths_s = [(run["finished_at"] - run["started_at"]).total_seconds() for run in runs]
    return sum(lengths_s) / len(lengths_s) if lengths_s else None


def _succeeded(run: Row) -> bool:
    return run["state"] == RunState.SUCCEEDED and run["started_at"] is not None
