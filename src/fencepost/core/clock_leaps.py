"""Whether the store's clock was set ahead, as one process can tell by its monotonic clock.

A clock that is an hour ahead makes every tick of that hour late: the planner would write them all, and those
that are later than `max_lateness` would be missed before their time has come. So the planner plans nothing
for half a horizon after a leap. Until then the ticks of the horizon are in the ledger anyway. A clock that is
set right within that time has cost only those ticks. The planner follows a clock that stays ahead.
"""

from __future__ import annotations

from fencepost.model.clocks import Monotonic, StoreTime, elapsed_s, since
from fencepost.model.dataclasses import dataclass

LEAP_MIN_S = 30.0
"""A smaller leap makes no tick late."""
HOLD_SHARE = 1 / 2


@dataclass(frozen=True, slots=True)
class Reading:
    """The store's time, read between two readings of the process's own clock."""

    now: StoreTime
    before: Monotonic
    after: Monotonic


def leap_s(last: Reading, this: Reading) -> float:
    """The least by which the store's clock leapt ahead between two readings; zero where it did not."""
    ahead_s = since(last.now, this.now).total_seconds() - elapsed_s(last.before, this.after)
    return ahead_s if ahead_s > LEAP_MIN_S else 0.0
