"""A clock that moves only when it is told to, and sleepers that wake when it passes them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from fencepost.model.clocks import Monotonic

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class VirtualClock:
    """Wall and monotonic time in step; `advance` moves both and wakes whoever is due."""

    def __init__(self, start: datetime = EPOCH) -> None:
        self._start = start
        self._elapsed = timedelta()
        self._sleepers: list[tuple[timedelta, asyncio.Future[None]]] = []

    def wall(self) -> datetime:
        return self._start + self._elapsed

    def monotonic(self) -> Monotonic:
        return Monotonic(self._elapsed.total_seconds())

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._elapsed + timedelta(seconds=seconds), future))
        await future

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        assert seconds >= 0
        self._elapsed += timedelta(seconds=seconds)
        due = [pair for pair in self._sleepers if pair[0] <= self._elapsed]
        self._sleepers = [pair for pair in self._sleepers if pair[0] > self._elapsed]
        for _, future in sorted(due, key=lambda pair: pair[0]):
            if not future.done():
                future.set_result(None)
