"""Completeness: how much of what was expected has run, and what of the error budget is left.

A run is *due* when its time has come, and *expected* unless it was withdrawn. *Completeness* is succeeded ÷
expected: a tick that was missed, skipped or failed is accounted for, and did not run. *Accounted* is ended ÷
due: it ran, or the ledger says why it did not.

Runs under way lower both shares, and spend no budget. Two kinds of runs spend the budget: those that were
expected and ended otherwise than in success, and *open* ones, which a worker should have taken a while ago.
A run that was due a moment ago spends none. Nor does a run that waits for its retry or its turn, or that an
operator, a freeze or a gate holds back.

A target of 99.9 % lets one run in a thousand go wrong. A burn rate of 1 spends exactly that; 14.4 held for an
hour spends two hundredths of a budget of thirty days. One run alone never spends more than all of it, or a
small fleet would be alarmed by each of its ticks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from fencepost.core.lifecycle import ENDED
from fencepost.model.dataclasses import dataclass
from fencepost.model.run import RunState

BURN_WINDOWS_S: Mapping[str, float] = {"1h": 3600.0, "6h": 6 * 3600.0}
"""The windows over which a burn rate is told, by their names."""


COMPLETENESS_WINDOW_S = 24 * 3600.0
OPEN_AFTER_S = 60.0
"""How long a run may be due before it is open: workers poll now and then, and may be busy for a moment."""


@dataclass(frozen=True, slots=True)
class Completeness:
    """How the runs of one window stand: how many were due, have ended, are open, have succeeded, and were
    withdrawn, so that they are not expected any more."""

    due: int
    ended: int
    open: int = 0
    succeeded: int = 0
    withdrawn: int = 0

    @property
    def expected(self) -> int:
        return self.due - self.withdrawn

    @property
    def complete(self) -> float:
        """The share of the expected ones that have succeeded; all of none."""
        return self.succeeded / self.expected if self.expected else 1.0

    @property
    def words(self) -> str:
        """`46 of 47 ran`."""
        return f"{self.succeeded} of {self.expected} ran"

    @property
    def accounted(self) -> float:
        """The share of the due ones that have ended; all of none."""
        return self.ended / self.due if self.due else 1.0

    @property
    def in_hands(self) -> int:
        """How many are under way, wait for their turn, or are held back: not ended, and not lost either."""
        return max(self.due - self.ended - self.open, 0)

    @property
    def spoiled(self) -> int:
        """How many were expected and have not run, or are open: what spends the budget."""
        return self.ended - self.withdrawn - self.succeeded + self.open

    def is_below(self, target: float) -> bool:
        """Whether completeness is below the target, also if all that is under way should succeed."""
        return self.expected > 0 and (self.expected - self.spoiled) / self.expected < target

    def burn_rate(self, target: float) -> float:
        """How many times faster than the target allows the budget is spent."""
        return self.spoiled / max(self.expected * (1.0 - target), 1.0)

    def budget_left(self, target: float) -> float:
        """The share of the window's budget that is left; below zero where more than all of it is spent."""
        return 1.0 - self.burn_rate(target)


def completeness(tally: Mapping[RunState, int], overdue: int = 0) -> Completeness:
    """How the runs of a window stand, by their states as shown and by how many are overdue."""
    due = sum(count for state, count in tally.items() if state is not RunState.PLANNED)
    ended = sum(count for state, count in tally.items() if state in ENDED)
    succeeded, withdrawn = tally.get(RunState.SUCCEEDED, 0), tally.get(RunState.WITHDRAWN, 0)
    return Completeness(due, ended, overdue, succeeded, withdrawn)


def combined(tallies: Iterable[Mapping[RunState, int]]) -> dict[RunState, int]:
    """The tally of all of these together."""
    counts: Counter[RunState] = Counter()
    for one in tallies:
        counts.update(one)
    return dict(counts)
