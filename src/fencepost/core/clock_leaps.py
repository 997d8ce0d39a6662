"""Whether the store's clock was set ahead, as one process can tell by its monotonic clock.

A clock that is an hour ahead makes every tick of that hour late: the planner would write them all, and those
that are later than `max_lateness` would be missed before their time has come. So nothing is planned for half
a horizon after a leap. Until then the ticks of the horizon are there anyway, and a clock that is set right
meanwhile has cost nothing more than those. One that stays ahead is followed.
"""

from __future__ import annotations

from fencepost.model.clocks import Monotonic, StoreTime, elapsed_s, since
from fencepost.model.dataclasses import dataclass

LEAP_MIN_S = 30.0
"""Less makes no tick late."""
HOLD_SHARE = 1 / 2


@dataclass(frozen=True, slots=True)
class Reading:
    """The store's time, read between two moments of the process's own."""

    now: StoreTime
    before: Monotonic
    after: Monotonic


def leap_s(last: Reading, this: Reading) -> float:
    """By how much the store's clock went ahead between two readings, at least; zero where it did not."""
    ahead_s = since(last.now, this.now).total_seconds() - elapsed_s(last.before, this.after)
    return ahead_s if ahead_s > LEAP_MIN_S else 0.0
