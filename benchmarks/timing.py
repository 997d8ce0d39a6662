"""A stopwatch, and waiting for a condition."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

STEP_S = 0.002


class Stopwatch:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._start


async def until(holds: Callable[[], bool], at_most_s: float) -> None:
    """Until the condition holds."""
    async with asyncio.timeout(at_most_s):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(STEP_S)
