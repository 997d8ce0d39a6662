"""At: one fire time, or a list of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise, takewhile

from fencepost.errors import InvalidTrigger
from fencepost.model.json import JsonObject
from fencepost.model.times import read_time, to_utc_text
from fencepost.triggers.combine import Combinable
from fencepost.triggers.localtime.zones import zone
from fencepost.triggers.words import moment_words, wall_words

VERSION = 1
TIMES_MAX = 10_000


@dataclass(frozen=True, init=False)
class At(Combinable):
    """The given times, sorted, each once.

    A time without an offset is read in `tz`; one that the clocks there skip means the first instant
    after the gap, one that they show twice the first of the two.
    """

    times: tuple[datetime, ...]

    def __init__(self, times: datetime | str | Sequence[datetime | str], tz: str = "UTC") -> None:
        given = list(times) if isinstance(times, Iterable) and not isinstance(times, str) else [times]
        if not 1 <= len(given) <= TIMES_MAX:
            raise InvalidTrigger(f"at has {len(given)} times, expected 1 to {TIMES_MAX}")
        local = zone(tz)
        instants = {read_time(one, local) for one in given}
        object.__setattr__(self, "times", tuple(sorted(instants)))

    def next_after(self, after: datetime) -> datetime | None:
        """The first fire time strictly later than `after`, or None when there is none."""
        index = bisect_right(self.times, after)
        return self.times[index] if index < len(self.times) else None

    def fire_times(self, after: datetime, through: datetime) -> Iterator[datetime]:
        """All fire times in (after, through], ascending, one at a time."""
        later = self.times[bisect_right(self.times, after) :]
        return takewhile(lambda moment: moment <= through, later)

    def dense_after(self, after: datetime) -> Iterator[datetime]:
        """The first of the two times that are nearest to each other."""
        coming = self.times[bisect_right(self.times, after) :]
        if coming:
            yield min(pairwise(coming), key=lambda pair: pair[1] - pair[0], default=coming)[0]

    def previous(self, before: datetime) -> datetime | None:
        """The last fire time strictly earlier than `before`, or None when there is none."""
        index = bisect_left(self.times, before)
        return self.times[index - 1] if index else None

    @property
    def starts(self) -> datetime | None:
        """The first of the times."""
        return self.times[0]

    def describe(self) -> str:
        """Once at 2026-12-24 18:00 UTC; at 3 times from 2026-12-24 18:00 to 2026-12-26 18:00 UTC."""
        first, last = self.times[0], self.times[-1]
        if first == last:
            return f"once at {moment_words(first)}"
        return f"at {len(self.times)} times from {wall_words(first)} to {moment_words(last)}"

    def to_json(self) -> JsonObject:
        """The stable form: the zone is gone, since the times are instants by now."""
        return {"v": VERSION, "kind": "at", "times": [to_utc_text(one) for one in self.times]}
