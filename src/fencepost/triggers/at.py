"""At: one fire time, or a list of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile

from fencepost.errors import InvalidTrigger
from fencepost.model.json import JsonObject
from fencepost.model.times import parse_time, to_instant, to_utc_text
from fencepost.triggers.series import Series
from fencepost.triggers.zones import zone

VERSION = 1
TIMES_MAX = 10_000


@dataclass(frozen=True, init=False)
class At(Series):
    """The given times, sorted, each once.

    A time without an offset is read in `tz`; one that the clocks there skip means the first instant
    after the gap, one that they show twice the first of the two.
    """

    times: tuple[datetime, ...]

    def __init__(self, times: datetime | str | Sequence[datetime | str], tz: str = "UTC") -> None:
        given = [times] if isinstance(times, datetime | str) else times
        if not 1 <= len(given) <= TIMES_MAX:
            raise InvalidTrigger(f"at has {len(given)} times, expected 1 to {TIMES_MAX}")
        local = zone(tz)
        instants = {
            parse_time(one, local) if isinstance(one, str) else to_instant(one, local) for one in given
        }
        object.__setattr__(self, "times", tuple(sorted(instants)))

    def next_after(self, after: datetime) -> datetime | None:
        """The first fire time strictly later than `after`, or None when there is none."""
        index = bisect_right(self.times, after)
        return self.times[index] if index < len(self.times) else None

    def fire_times(self, after: datetime, through: datetime) -> Iterator[datetime]:
        """All fire times in (after, through], ascending, one at a time."""
        later = self.times[bisect_right(self.times, after) :]
        return takewhile(lambda moment: moment <= through, later)

    def to_json(self) -> JsonObject:
        """The stable form: the zone is gone, since the times are instants by now."""
        return {"v": VERSION, "kind": "at", "times": [to_utc_text(one) for one in self.times]}
