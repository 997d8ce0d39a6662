"""Hand-over times: what was measured, what it should be, and the table."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from fencepost.model.lease import LeaseTerms
from tests.chaos.lease_places import POSTGRES

STOP, KILL, STALL, PARTITION = FAULTS = ("clean stop", "kill -9", "SIGSTOP", "partition")
STOP_GOAL_S = 0.1
NOTICED_S = 1.0
"""PostgreSQL tells of a session that has ended, and a watcher looks twice a second."""
LATE_S = 1.0
NAME_WIDTH, FAULT_WIDTH, TICKS_WIDTH = 20, 17, 9


@dataclass(frozen=True)
class Ticks:
    """What became of the ticks while the leaders fell."""

    expected: int = 0
    missed: int = 0
    doubled: int = 0
    late: int = 0
    """Started more than a second after their time."""

    @property
    def is_good(self) -> bool:
        return self.expected > 0 and not (self.missed or self.doubled or self.late)


@dataclass
class Measured:
    """One lease store. A hand-over that never came is infinite; a fault that it cannot have is absent."""

    store: str
    terms: LeaseTerms
    handovers_s: dict[str, list[float]] = field(default_factory=dict)
    ticks: Ticks = field(default_factory=Ticks)
    trouble: str = ""

    def goal_s(self, fault: str) -> float:
        """By when another should lead."""
        if fault == STOP:
            return STOP_GOAL_S
        if fault == KILL and self.store == POSTGRES:
            return NOTICED_S
        return self.terms.ttl_s + self.terms.retry_period_s * self.terms.jitter

    @property
    def is_good(self) -> bool:
        slow = [fault for fault, seconds in self.handovers_s.items() if max(seconds) > self.goal_s(fault)]
        return self.ticks.is_good and not slow and not self.trouble


def as_text(measured: Sequence[Measured]) -> str:
    """The table; a figure that misses its goal has an exclamation mark."""
    lines = [_head(), _subhead(), *map(_line, measured)]
    troubles = [f"{one.store}: {one.trouble}" for one in measured if one.trouble]
    return "\n".join(line.rstrip() for line in [*lines, *troubles])


def as_json(measured: Sequence[Measured]) -> str:
    return json.dumps([_document(one) for one in measured], indent=2)


def _head() -> str:
    faults = "".join(f"{fault:^{FAULT_WIDTH}}" for fault in FAULTS)
    return f"{'hand-over, seconds':{NAME_WIDTH}}{faults}{'ticks':^{4 * TICKS_WIDTH}}"


def _subhead() -> str:
    faults = f"{'median':>8}{'worst':>8} " * len(FAULTS)
    return f"{'leases on':{NAME_WIDTH}}{faults}" + "".join(
        f"{name:>{TICKS_WIDTH}}" for name in ("expected", "missed", "doubled", "late")
    )


def _line(one: Measured) -> str:
    cells = "".join(_cells(one.handovers_s.get(fault, ()), one.goal_s(fault)) for fault in FAULTS)
    expected = f"{one.ticks.expected:>{TICKS_WIDTH},}"
    faults = (one.ticks.missed, one.ticks.doubled, one.ticks.late)
    return f"{one.store:{NAME_WIDTH}}{cells}{expected}" + "".join(
        f"{f'{count:,}' + '!' * (count > 0):>{TICKS_WIDTH}}" for count in faults
    )


def _cells(seconds: Sequence[float], goal_s: float) -> str:
    if not seconds:
        return f"{'–':>8}{'–':>8} "
    return "".join(f"{_shown(value, goal_s):>8}" for value in (median(seconds), max(seconds))) + " "


def _shown(seconds: float, goal_s: float) -> str:
    figure = "never" if math.isinf(seconds) else f"{seconds:.3f}"
    return figure + "!" * (seconds > goal_s)


def _document(one: Measured) -> Mapping[str, Any]:
    return {
        "store": one.store,
        "ttl_s": one.terms.ttl_s,
        "handovers": {
            fault: {
                "goal_s": one.goal_s(fault),
                "median_s": _finite(median(seconds)),
                "worst_s": _finite(max(seconds)),
                "all_s": [_finite(value) for value in seconds],
            }
            for fault, seconds in one.handovers_s.items()
        },
        "ticks": vars(one.ticks),
        "trouble": one.trouble,
        "good": one.is_good,
    }


def _finite(seconds: float) -> float | None:
    """JSON knows no infinity."""
    return None if math.isinf(seconds) else round(seconds, 4)
