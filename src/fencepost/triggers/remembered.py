"""A trigger that computes each fire time once, for the many schedules that share it.

Ten thousand schedules at `*/5 * * * *` ask the same question ten thousand times in one planning pass, each
from a slightly different instant. A stretch of the series is kept: every fire time after `_since`, up to and
including `_through`. A question inside the stretch is answered from it, one at its end makes it longer, one
just before it moves its beginning back by a fire time or two, and one far beyond begins it anew. A question
from long before, by a schedule that was left behind, is computed.

A search that was cut has still looked through a part: `_through` moves on, so that the next question goes on
from there. The caller is told of the cut only if it lies beyond the instant from which it asked.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from datetime import datetime, timedelta

from fencepost.errors import SearchExhausted
from fencepost.model.json import JsonObject
from fencepost.triggers.combine import Combinable
from fencepost.triggers.series import FIRST, TICK

TIMES_KEPT_MAX = 256
STEPS_MAX = 64
STEPS_BACK_MAX = 3


class Remembered:
    """Fires as the trigger that it is given does."""

    def __init__(self, trigger: Combinable) -> None:
        self._trigger = trigger
        self._since: datetime | None = None
        self._through = FIRST
        self._times: list[datetime] = []
        self._ended = False

    @property
    def jitter(self) -> timedelta | None:
        return self._trigger.jitter

    def to_json(self) -> JsonObject:
        return self._trigger.to_json()

    def fire_times(self, after: datetime, through: datetime) -> Iterator[datetime]:
        while (moment := self.next_after(after)) is not None and moment <= through:
            yield moment
            after = moment

    def next_after(self, after: datetime) -> datetime | None:
        if self._since is None:
            self._begin(after)
        elif after < self._since and not self._reaches_back(after):
            return self._trigger.next_after(after)
        for _ in range(STEPS_MAX):
            index = bisect_right(self._times, after)
            if index < len(self._times):
                return self._times[index]
            if self._ended:
                return None
            if not self._extend(after):
                break
        self._begin(after)
        self._extend(after)
        return self._times[0] if self._times else None

    def _begin(self, moment: datetime) -> None:
        self._since = self._through = moment
        self._times, self._ended = [], False

    def _extend(self, after: datetime) -> bool:
        """One more fire time; False where the search was cut before it came to the instant asked from."""
        try:
            found = self._trigger.next_after(self._through)
        except SearchExhausted as cut:
            self._through = cut.searched_through
            if self._through > after:
                raise
            return False
        if found is None:
            self._ended = True
        else:
            self._times.append(found)
            self._through = found
            self._drop_oldest()
        return True

    def _drop_oldest(self) -> None:
        if len(self._times) > TIMES_KEPT_MAX:
            dropped = len(self._times) // 2
            self._since = self._times[dropped - 1]
            del self._times[:dropped]

    def _reaches_back(self, after: datetime) -> bool:
        """Whether the instant lies only a few looks before the stretch, which then begins earlier."""
        assert self._since is not None
        if len(self._times) >= TIMES_KEPT_MAX:
            return False
        earlier: list[datetime] = []
        moment = self._since + TICK
        for _ in range(STEPS_BACK_MAX):
            candidate = self._trigger.candidate_before(moment)
            if candidate is None:
                return False
            if candidate <= after:
                self._since = candidate
                self._times = [*reversed(earlier), *self._times]
                return True
            if candidate in self._trigger:
                earlier.append(candidate)
            moment = candidate
        return False
