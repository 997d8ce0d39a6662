"""Every: fire times at a steady interval from an anchor, without drift."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from fencepost.errors import InvalidTrigger
from fencepost.model.durations import Duration, format_duration, parse_duration
from fencepost.model.json import JsonObject
from fencepost.model.times import EPOCH, parse_time, to_instant, to_utc_text
from fencepost.triggers.series import Series

VERSION = 1
INTERVAL_MIN = timedelta(milliseconds=100)
LAST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, init=False)
class Every(Series):
    """The instants `anchor + k × interval` for every whole k, also before the anchor.

    The anchor is the Unix epoch unless one is given, so that all nodes share one beat and "1h"
    fires on the hour. A naive anchor is read in UTC.
    """

    interval: timedelta
    anchor: datetime

    def __init__(self, interval: Duration, anchor: datetime | str | None = None) -> None:
        length = parse_duration(interval)
        if length < INTERVAL_MIN:
            least = format_duration(INTERVAL_MIN)
            raise InvalidTrigger(f"every {format_duration(length)}: expected at least {least}")
        object.__setattr__(self, "interval", length)
        object.__setattr__(self, "anchor", _anchor(anchor))

    def next_after(self, after: datetime) -> datetime | None:
        """The first fire time strictly later than `after`, or None when there is none."""
        # A remainder of timedeltas is exact and never negative, also for times before the anchor.
        ahead = self.interval - (after - self.anchor) % self.interval
        return None if LAST - after < ahead else after.astimezone(UTC) + ahead

    def fire_times(self, after: datetime, through: datetime) -> Iterator[datetime]:
        """All fire times in (after, through], ascending, one at a time."""
        moment = self.next_after(after)
        while moment is not None and moment <= through:
            yield moment
            moment = None if LAST - moment < self.interval else moment + self.interval

    def to_json(self) -> JsonObject:
        """The stable form; the interval is exact to the microsecond."""
        return {
            "v": VERSION,
            "kind": "every",
            "interval": format_duration(self.interval),
            "anchor": to_utc_text(self.anchor),
        }


def _anchor(given: datetime | str | None) -> datetime:
    if given is None:
        return EPOCH
    return parse_time(given) if isinstance(given, str) else to_instant(given, UTC)
