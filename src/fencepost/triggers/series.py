"""What every trigger can do once it can list its fire times."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from datetime import datetime, timedelta

from fencepost.model.json import JsonObject

TICK = timedelta.resolution


class Series(ABC):
    """A strictly rising series of UTC instants, the same for whoever asks."""

    @abstractmethod
    def next_after(self, after: datetime) -> datetime | None:
        """The first fire time strictly later than `after`, or None when there is none."""

    @abstractmethod
    def fire_times(self, after: datetime, through: datetime) -> Iterator[datetime]:
        """All fire times in (after, through], ascending, one at a time."""

    @abstractmethod
    def to_json(self) -> JsonObject:
        """The stable, versioned form that the ledger keeps."""

    def next(self, after: datetime, n: int = 1) -> list[datetime]:
        """The first `n` fire times later than `after`; fewer where the series ends."""
        found: list[datetime] = []
        while len(found) < n and (moment := self.next_after(after)) is not None:
            found.append(moment)
            after = moment
        return found

    def between(self, start: datetime, end: datetime) -> Iterator[datetime]:
        """The fire times from `start` on and before `end`."""
        return self.fire_times(start - TICK, end - TICK)
