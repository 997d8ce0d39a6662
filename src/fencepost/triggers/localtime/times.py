"""Triggers that speak of local wall time: what cron, recurrence rules and business days share."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from fencepost.model.times import EPOCH, SECOND, from_epoch_s, to_epoch_s
from fencepost.triggers.combine import Combinable
from fencepost.triggers.localtime import dst

FIRST_S = to_epoch_s(datetime(10, 1, 1, tzinfo=UTC))
LAST_S = to_epoch_s(datetime(9990, 1, 1, tzinfo=UTC))

# 29 February on a given weekday can be 40 years away, and a gap can swallow it once.
SEARCH_S = 100 * 366 * 86_400


class WallTimes:
    """Expected wall times in a zone as instants, with what a change of the clocks does to them."""

    __slots__ = ("policy", "walls", "zone")

    def __init__(self, walls: dst.Walls, zone: ZoneInfo, policy: dst.Policy) -> None:
        self.walls = walls
        self.zone = zone
        self.policy = policy

    def next_after(self, after: datetime) -> datetime | None:
        """The first fire time strictly later than `after`, or None when there is none."""
        start = max(to_epoch_s(after) + 1, FIRST_S)
        stop = min(start + SEARCH_S, LAST_S)
        found = dst.first_instant(self.walls, self.zone, self.policy, start, stop)
        return None if found is None else from_epoch_s(found)

    def previous(self, before: datetime) -> datetime | None:
        """The last fire time strictly earlier than `before`, or None when there is none."""
        stop = min(-(-(before - EPOCH) // SECOND), LAST_S)
        start = max(stop - SEARCH_S, FIRST_S)
        found = dst.last_instant(self.walls, self.zone, self.policy, start, stop)
        return None if found is None else from_epoch_s(found)

    def fire_times(self, after: datetime, through: datetime) -> Iterator[datetime]:
        """All fire times in (after, through], ascending, one at a time."""
        start, stop = max(to_epoch_s(after) + 1, FIRST_S), min(to_epoch_s(through) + 1, LAST_S)
        return map(from_epoch_s, dst.instants(self.walls, self.zone, self.policy, start, stop))


class WallTrigger(Combinable):
    """A trigger whose `times` are wall times of the zone `tz`."""

    tz: str
    times: WallTimes
    spacing_min_s = 1.0

    def next_after(self, after: datetime) -> datetime | None:
        """The first fire time strictly later than `after`, or None when there is none."""
        return self.times.next_after(after)

    def previous(self, before: datetime) -> datetime | None:
        """The last fire time strictly earlier than `before`, or None when there is none."""
        return self.times.previous(before)

    def fire_times(self, after: datetime, through: datetime) -> Iterator[datetime]:
        """All fire times in (after, through], ascending, one at a time."""
        return self.times.fire_times(after, through)

    def is_barren(self, after: datetime) -> bool:
        """Whether wall times are expected and yet nothing fires any more: the clocks show none of them."""
        if self.times.policy.gap != "skip" or self.next_after(after) is not None:
            return False
        wall = after.astimezone(self.times.zone).replace(tzinfo=UTC)
        return self.times.walls.next_wall(to_epoch_s(wall)) is not None

    def zones(self) -> frozenset[str]:
        """The zone whose clocks it follows."""
        return frozenset((self.tz,))
