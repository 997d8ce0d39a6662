"""One world, lived through and judged: what is left of it when its history is thrown away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tests.history.coverage import seen
from tests.history.model import Fault
from tests.history.verdict import judge
from tests.simulation.world import PACES, ROLES, Make, World, simulate

NOBODY = "nobody there"
EXCUSES = frozenset(
    {
        "ledger outage",
        "ledger restart",
        "slow ledger",
        "storm of losses",
        NOBODY,
    }
)
"""Faults that keep every reaper from the ledger, so that a rescue waits for their end."""
AWAY = frozenset({"crash", "clean stop", "stall", "stall in mid-write", "deep sleep", "cut"}) | {
    "one-way cut: requests",
    "one-way cut: answers",
}
"""What keeps one machine from the ledger."""
BLACKOUTS = {
    "blackout of planners": [number for number, (plans, _) in enumerate(ROLES) if plans],
    "blackout of workers": [number for number, (_, works) in enumerate(ROLES) if works],
}


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


def nobody_there(faults: Sequence[Fault]) -> list[Fault]:
    """When every machine was away at once, each for a reason of its own."""
    steps = sorted(
        (moment, step, host)
        for fault in faults
        for host in _kept_away(fault)
        for moment, step in ((fault.since, 1), (fault.until, -1))
    )
    away: Counter[int] = Counter()
    found: list[Fault] = []
    since: datetime | None = None
    for moment, step, host in steps:
        away[host] += step
        if since is None and all(away[one] > 0 for one in range(len(ROLES))):
            since = moment
        elif since is not None and not away[host]:
            found.append(Fault(NOBODY, since, moment))
            since = None
    return found


def _kept_away(fault: Fault) -> Sequence[int]:
    if fault.kind in AWAY:
        return [int(fault.whom.split("-")[1])]
    return BLACKOUTS.get(fault.kind, [])


def examine(seed: int, hours: float, paces: Sequence[int] = PACES, make: Make = World) -> Examination:
    """Live through a world and judge it. What breaks out of a process of it is a violation as well."""
    try:
        outcome = simulate(seed, hours, paces, make=make)
    except Exception as failure:
        return Examination(seed, 0, 0.0, 0, 0, 0, "", "", Counter(), (f"a process died of {failure!r}",))
    history = outcome.history
    verdict = judge(replace(history, faults=[*history.faults, *nobody_there(history.faults)]), EXCUSES)
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
