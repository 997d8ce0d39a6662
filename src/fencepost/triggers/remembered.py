"""A trigger that computes each fire time once, for the many schedules that share it.

Ten thousand schedules at `*/5 * * * *` ask the same question ten thousand times in one planning pass, each
from a slightly different instant. A stretch of the series is kept: every fire time after `_since`, up to the
last one known. A question inside the stretch is answered from it, one at its end makes it longer, one just
before it moves its beginning back to the fire time before, and one far beyond begins it anew. A question from
long before, by a schedule that was left behind, is computed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from datetime import datetime, timedelta

from fencepost.model.json import JsonObject
from fencepost.triggers.combine import Combinable
from fencepost.triggers.series import TICK

TIMES_KEPT_MAX = 256
STEPS_MAX = 64
STEPS_BACK_MAX = 2


class Remembered:
    """Fires as the trigger that it is given does."""

    def __init__(self, trigger: Combinable) -> None:
        self._trigger = trigger
        self._since: datetime | None = None
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
        if self._since is not None and after < self._since and not self._reaches_back(after):
            return self._trigger.next_after(after)
        for _ in range(STEPS_MAX):
            index = bisect_right(self._times, after)
            if index < len(self._times):
                return self._times[index]
            if self._ended:
                return None
            if self._since is None:
                break
            self._step(self._times[-1] if self._times else self._since)
        self._since, self._times, self._ended = after, [], False
        self._step(after)
        return self._times[0] if self._times else None

    def _reaches_back(self, after: datetime) -> bool:
        """Whether the instant lies only a few fire times before the stretch, which then begins earlier."""
        assert self._since is not None
        for _ in range(STEPS_BACK_MAX):
            before = self._trigger.previous(self._since + TICK)
            if before is None:
                return False
            if before <= after:
                self._since = before
                return True
            self._times.insert(0, before)
            self._since = before - TICK
        return False

    def _step(self, after: datetime) -> None:
        found = self._trigger.next_after(after)
        if found is None:
            self._ended = True
            return
        self._times.append(found)
        if len(self._times) > TIMES_KEPT_MAX:
            dropped = len(self._times) // 2
            self._since = self._times[dropped - 1]
            del self._times[:dropped]
