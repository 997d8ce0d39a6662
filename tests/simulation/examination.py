"""One world, lived through and judged: what is left of it when its history is thrown away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tests.history.coverage import seen
from tests.history.verdict import judge
from tests.simulation.world import PACES, simulate

EXCUSES = frozenset(
    {
        "ledger outage",
        "ledger restart",
        "slow ledger",
        "storm of losses",
    }
)
"""Faults that keep every reaper from the ledger, so that a rescue waits for their end."""


@dataclass(frozen=True)
class Examination:
    """Small enough to be sent from one process to another."""

    seed: int
    pace: int
    hours: float
    """Of cluster time, with the quiet at the end."""
    ticks: int
    runs: int
    leader_changes: int
    trace: str
    checkpoint: str
    seen: Counter[str]
    """Every fault, recovery and refusal by its name, and how often it was met."""
    violations: tuple[str, ...]


def examine(seed: int, hours: float, paces: Sequence[int] = PACES) -> Examination:
    """Live through a world and judge it. What breaks out of a process of it is a violation as well."""
    try:
        outcome = simulate(seed, hours, paces)
    except Exception as failure:
        return Examination(seed, 0, 0.0, 0, 0, 0, "", "", Counter(), (f"a process died of {failure!r}",))
    history = outcome.history
    verdict = judge(history, EXCUSES)
    return Examination(
        seed=seed,
        pace=outcome.pace,
        hours=(history.ended_at - outcome.start).total_seconds() / 3600,
        ticks=verdict.looked["ticks"]["expected ticks"],
        runs=sum(change.before is None for change in history.changes),
        leader_changes=len({(one.shard, one.epoch) for one in history.registrations}),
        trace=outcome.trace,
        checkpoint=outcome.checkpoint,
        seen=seen(history) + outcome.counted,
        violations=tuple(map(str, verdict.violations)),
    )
