"""The stall watch: for how long this process stood still, as far as its event loop can tell.

A job that blocks the loop, a host without processor time and a suspended machine have one effect: a sleep of
half a second ends later than that. A node that stands still for longer than its lease loses it.
"""

from __future__ import annotations

from collections import deque

from fencepost.clock import Clock
from fencepost.core.checkup.pauses import TTL_PER_PAUSE
from fencepost.model.clocks import Monotonic, elapsed_s
from fencepost.telemetry.logs import Log

EVERY_S = 0.5
HOUR_S = 3600.0
HOURS_KEPT = 24
REMEDY = "let no async job block the event loop; give the host more processor time, or leases a longer term"


class StallWatch:
    """The stall watch of one node; it keeps the longest stall of each hour, for a day."""

    def __init__(self, clock: Clock, lease_ttl_s: float) -> None:
        self._clock = clock
        self._told_from_s = lease_ttl_s / TTL_PER_PAUSE
        self._hours: deque[tuple[Monotonic, float]] = deque()
        self._log = Log("stalls")

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await self.run_once()

    async def run_once(self) -> None:
        """Sleep once, and see when it was over."""
        before = self._clock.monotonic()
        await self._clock.sleep(EVERY_S)
        now = self._clock.monotonic()
        self._keep(max(elapsed_s(before, now) - EVERY_S, 0.0), now)

    def worst_s(self) -> float:
        """The longest stall within a day."""
        now = self._clock.monotonic()
        while self._hours and elapsed_s(self._hours[0][0], now) > HOURS_KEPT * HOUR_S:
            self._hours.popleft()
        return round(max((stall_s for _, stall_s in self._hours), default=0.0), 3)

    def _keep(self, stall_s: float, now: Monotonic) -> None:
        if stall_s > self._told_from_s:
            self._log.warning("this process stood still", for_s=round(stall_s, 1), remedy=REMEDY)
        if not self._hours or elapsed_s(self._hours[-1][0], now) > HOUR_S:
            self._hours.append((now, stall_s))
        elif stall_s > self._hours[-1][1]:
            self._hours[-1] = (self._hours[-1][0], stall_s)
