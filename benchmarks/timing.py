"""A stopwatch, and waiting for a condition."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

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


async def side_by_side(
    times: int, ours: Callable[[], Awaitable[float]], raw: Callable[[], Awaitable[float]]
) -> tuple[float, float]:
    """The best of some tries of each, in turns: noise only ever slows a run down, and it hits both."""
    pairs = [(await ours(), await raw()) for _ in range(times)]
    return max(one for one, _ in pairs), max(other for _, other in pairs)
