"""How far a ledger has come, and what is certainly farther than any copy of it.

A ledger that was restored from a backup would give out fences and epochs again that it gave out after the
backup, and whoever has seen those would refuse the new ones or believe the old ones. So a restored ledger is
lifted past all of them. How many they were nobody knows: the backup does not, and it may have been restored
before, with a lift of its own. Time knows: a lifted number is 2**20 for each second since 1970, and no ledger
gives out a million fences a second. Each lift is thereby past the one before and all that was given after it.
Such numbers stay below 2**53, which JSON and the scripts of Redis keep exactly, until the year 2242. Where a
clock is wrong the lift is 2**32 at least, which is 49 days at a thousand fences a second.
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
    """Which incarnation of the ledger this is, its last fence, and the epochs of all shards added up: the sum
    falls only where one of them does. `older` is why it is known to be older than what others have seen."""

    incarnation: str
    fence: Fence
    epochs: int
    older: str | None = None

    @property
    def number(self) -> int:
        """How many incarnations there were, with this one."""
        return int(self.incarnation.partition("-")[0])

    def to_json(self) -> JsonObject:
        """For the audit log."""
        return {"incarnation": self.incarnation, "fence": self.fence}


def next_incarnation(before: HighWater, unique: str) -> str:
    """Of one that is restored now."""
    return f"{before.number + 1}-{unique}"


def lift_floor(now: datetime) -> int:
    """What a lift at this time reaches at least."""
    return int(now.timestamp()) * LIFT_PER_S


def is_lifted_since(value: int, moment: datetime) -> bool:
    """Whether a lift after this second is in a number. One within the same second does not count."""
    return value >= lift_floor(moment) + LIFT_PER_S


def lifted(value: int, now: datetime) -> int:
    """A number past all that can have been given out before now."""
    return max(value + LIFT_MIN, lift_floor(now))
