"""Completeness: how much of what was due is accounted for, and what of the error budget is left.

A run is *due* when its time has come, and *accounted for* when it has ended: it ran, or the ledger says why
it did not. What runs just now is neither lost nor accounted for: it takes from the share, and spends no
budget. The budget is spent by what is *open*: somebody should have taken it, for a while already, and nobody
has. What was due a moment ago, what waits for its retry or its turn, and what a person, a freeze or a gate
holds back spends none of it.

A target of 99.9 % lets one run in a thousand be open. A burn rate of 1 spends exactly that; 14.4 held for an
hour spends two hundredths of a budget of thirty days. One open run alone never spends more than all of it, or
a small house would be alarmed by each of its ticks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from fencepost.core.lifecycle import ENDED
from fencepost.model.dataclasses import dataclass
from fencepost.model.run import RunState

BURN_WINDOWS_S: Mapping[str, float] = {"1h": 3600.0, "6h": 6 * 3600.0}
"""The windows over which a burn rate is told, by their names."""


OPEN_AFTER_S = 60.0
"""How long a run may be due before it is open: somebody has to come by, and may be busy for a moment."""


@dataclass(frozen=True, slots=True)
class Completeness:
    """How the runs of one window stand: how many were due, have ended, and are in nobody's hands."""

    due: int
    ended: int
    open: int = 0

    @property
    def accounted(self) -> float:
        """The share of the due ones that have ended; all of none."""
        return self.ended / self.due if self.due else 1.0

    @property
    def in_hands(self) -> int:
        """How many are under way, wait for their turn, or are held back: not ended, and not lost either."""
        return max(self.due - self.ended - self.open, 0)

    @property
    def kept(self) -> float:
        """The share of the due ones that have ended or are in somebody's hands; all of none."""
        return 1.0 - min(self.open / self.due, 1.0) if self.due else 1.0

    def burn_rate(self, target: float) -> float:
        """How many times faster than the target allows the budget is spent."""
        return self.open / max(self.due * (1.0 - target), 1.0)

    def budget_left(self, target: float) -> float:
        """The share of the window's budget that is left; below zero where more than all of it is spent."""
        return 1.0 - self.burn_rate(target)


def completeness(tally: Mapping[RunState, int], overdue: int = 0) -> Completeness:
    """How the runs of a window stand, by their states as shown and by how many are overdue."""
    due = sum(count for state, count in tally.items() if state is not RunState.PLANNED)
    ended = sum(count for state, count in tally.items() if state in ENDED)
    return Completeness(due, ended, overdue)


def combined(tallies: Iterable[Mapping[RunState, int]]) -> dict[RunState, int]:
    """The tally of all of these together."""
    counts: Counter[RunState] = Counter()
    for one in tallies:
        counts.update(one)
    return dict(counts)
