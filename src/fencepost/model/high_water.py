"""How far a ledger has come, and a number that is certainly farther than any copy of it.

A ledger that was restored from a backup would give out fences and epochs again that it gave out after the
backup. Systems that have seen those would refuse the new ones or believe the old ones. So a restored ledger
is lifted past all of them. Their number is unknown: the backup does not contain it, and the ledger may have
been restored before, with a lift of its own. The time bounds it: a lifted number is 2**20 for each second
since 1970, and no ledger gives out a million fences a second. So each lift is past the one before and past
all that was given out after it. Such numbers stay below 2**53, which JSON and the scripts of Redis keep
exactly, until the year 2242. Where a clock is wrong the lift is at least 2**32, which is 49 days at a
thousand fences a second.
"""

from __future__ import annotations

from datetime import datetime

from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Fence
from fencepost.model.json import JsonObject

LIFT_PER_S = 2**20
LIFT_MIN = 2**32


@dataclass(frozen=True, slots=True)
class HighWater:
    """Which incarnation of the ledger this is, its last fence, and the sum of the epochs of all shards: the
    sum falls only where one of them does. `older` is why it is known to be older than what nodes have
    seen."""

    incarnation: str
    fence: Fence
    epochs: int
    older: str | None = None

    @property
    def number(self) -> int:
        """The number of incarnations, this one included."""
        return int(self.incarnation.partition("-")[0])

    def to_json(self) -> JsonObject:
        """For the audit log."""
        return {"incarnation": self.incarnation, "fence": self.fence}


def next_incarnation(before: HighWater, unique: str) -> str:
    """The name of the incarnation that a restore begins now."""
    return f"{before.number + 1}-{unique}"


def lift_floor(now: datetime) -> int:
    """The least number that a lift at this time reaches."""
    return int(now.timestamp()) * LIFT_PER_S


def is_lifted_since(value: int, moment: datetime) -> bool:
    """Whether a number contains a lift after this second. A lift within the same second does not count."""
    return value >= lift_floor(moment) + LIFT_PER_S


def lifted(value: int, now: datetime) -> int:
    """A number past all that can have been given out before now."""
    return max(value + LIFT_MIN, lift_floor(now))
