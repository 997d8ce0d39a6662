"""How much the effect drill does: with the suite, and in the long run."""

from __future__ import annotations

import os

from tests.effects.accounts import Found
from tests.effects.drill import Plan
from tests.effects.drill_app import FENCED, IN_OWN, IN_TRANSACTION, ONCE_AT_MOST, OVER_APSW, PLAIN

SCALE = "FENCEPOST_TEST_EFFECTS_SCALE"
"""How many times as many runs, kills and stalls as the suite has; 5 is the long run."""


def on_postgres(scale: float | None = None, seed: int = 1) -> Plan:
    """10,000 runs in `run.transaction()`, by the drivers a fifth of that, and the control."""
    times = scale_of(scale)
    counts = {
        IN_TRANSACTION: 10_000,
        **{name: round(250 * times) for name in IN_OWN.values()},
        PLAIN: round(600 * times),
    }
    return Plan(counts, kills=round(30 * times), stalls=round(10 * times), seed=seed, at_most_s=900 * times)


def without_transactions(scale: float | None = None, seed: int = 3) -> Plan:
    """What may run at most once, and what only a fence can refuse."""
    times = scale_of(scale)
    counts = {
        FENCED: round(600 * times),
        ONCE_AT_MOST: round(1_000 * times),
    }
    kills, stalls, limit_s = round(10 * times), round(5 * times), 600 * times
    return Plan(counts, concurrency=8, per_s=60, kills=kills, stalls=stalls, seed=seed, at_most_s=limit_s)


def on_sqlite(scale: float | None = None, seed: int = 2) -> Plan:
    """Fewer: one writer at a time, and every commit on the disk before the next."""
    times = scale_of(scale)
    counts = {
        IN_TRANSACTION: round(2_000 * times),
        OVER_APSW: round(300 * times),
        PLAIN: round(300 * times),
        ONCE_AT_MOST: round(300 * times),
    }
    return Plan(counts, kills=round(15 * times), stalls=round(6 * times), seed=seed, at_most_s=600 * times)


def scale_of(scale: float | None) -> float:
    return float(os.environ.get(SCALE, "1")) if scale is None else scale


def shortcomings(plan: Plan, found: Found) -> list[str]:
    """What is wrong, and what did not happen often enough for the rest to mean anything."""
    return found.faults + idle(plan, found)


def idle(plan: Plan, found: Found) -> list[str]:
    """What did not happen often enough."""
    wanted = {
        "kills": (found.kills, plan.kills // 2),
        "stalls": (found.stalls, plan.stalls // 3),
        "rescued attempts": (found.rescued, plan.kills),
    }
    of_jobs = {
        IN_TRANSACTION: ("transactions refused", found.told_lost, 1),
        FENCED: ("writes refused by the fence", found.overtaken, 1),
        PLAIN: ("doubled effects in the control", found.plain_doubled, 3),
        ONCE_AT_MOST: ("at_most_once runs lost", found.lost_for_good, 3),
    }
    wanted |= {what: (seen, few) for job, (what, seen, few) in of_jobs.items() if plan.counts.get(job)}
    return [
        f"only {seen} {what}, at least {few} wanted" for what, (seen, few) in wanted.items() if seen < few
    ]
