"""The only reader of clocks.

`wall` is this host's calendar time: it stamps log lines and measures skew, and it is store time only where
the store lives on this very host (SQLite). `monotonic` keeps counting while the machine is suspended where
the platform can do that, because a lease does not wait for a sleeping laptop.
"""

from __future__ import annotations

import asyncio
import os
import time
from datetime import UTC, datetime
from typing import Protocol

from fencepost.model.clocks import Monotonic


class Clock(Protocol):
    """Time as one process sees it."""

    def wall(self) -> datetime:
        """Calendar time of this host, aware, in UTC."""
        ...

    def monotonic(self) -> Monotonic:
        """Seconds that only ever rise, with no meaning outside this process."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Come back after so long."""
        ...


class SystemClock:
    """The real one."""

    _clock_id = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

    def wall(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> Monotonic:
        return Monotonic(time.clock_gettime(self._clock_id))

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def time_ordered_id() -> str:
    """An id that nothing else has: this host's milliseconds, then chance. Ids of one time stand side by side
    in an index, so the moves of a run write the same few pages as those of its neighbours."""
    return f"{time.time_ns() // 1_000_000:012x}{os.urandom(10).hex()}"
