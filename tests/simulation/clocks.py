"""The clocks of one simulated machine: off, fast or slow, stepped now and then, and sometimes stopped."""

from __future__ import annotations

import asyncio
import random
from datetime import datetime, timedelta

from fencepost.model.clocks import Monotonic

OFFSET_MAX_S = 30.0
DRIFT_MAX = 0.01


class HostClock:
    """`wall` can be stepped in both directions; `monotonic` only ever rises, and stands still while a machine
    sleeps whose platform does not count that time."""

    def __init__(self, start: datetime, dice: random.Random) -> None:
        self._start = start + timedelta(seconds=dice.uniform(-OFFSET_MAX_S, OFFSET_MAX_S))
        self._rate = dice.uniform(1 - DRIFT_MAX, 1 + DRIFT_MAX)
        self._slept_s = 0.0

    def wall(self) -> datetime:
        return self._start + timedelta(seconds=self._elapsed_s())

    def monotonic(self) -> Monotonic:
        return Monotonic(self._elapsed_s() - self._slept_s)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self._rate)

    def step(self, seconds: float) -> None:
        """Somebody sets the clock."""
        self._start += timedelta(seconds=seconds)

    def lose(self, seconds: float) -> None:
        """So much time passed that the monotonic clock knows nothing of."""
        self._slept_s += seconds * self._rate

    def _elapsed_s(self) -> float:
        return asyncio.get_running_loop().time() * self._rate
