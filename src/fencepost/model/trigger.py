"""What other packages need to know about triggers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Protocol

from fencepost.model.json import JsonObject


class Trigger(Protocol):
    """When a schedule fires: a strictly rising series of UTC instants, the same for every caller."""

    @property
    def jitter(self) -> timedelta | None:
        """How much later than its fire time a run may start, by a hash of the tick."""
        ...

    def next_after(self, after: datetime) -> datetime | None:
        """The first fire time strictly later than `after`, or None when there is none."""
        ...

    def fire_times(self, after: datetime, through: datetime) -> Iterator[datetime]:
        """All fire times in (after, through], ascending, one at a time."""
        ...

    def to_json(self) -> JsonObject:
        """The stable, versioned form that the ledger keeps."""
        ...
