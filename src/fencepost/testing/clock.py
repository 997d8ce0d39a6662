"""A clock that moves only when it is told to, and sleepers that wake when it passes them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta

from fencepost.model.clocks import Monotonic

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)

SLEEPER: ContextVar[str | None] = ContextVar("sleeper", default=None)
"""The name under which a task sleeps; tasks that it starts inherit it."""


class VirtualClock:
    """Wall and monotonic time in step; `advance` moves both and wakes those who are due."""

    def __init__(self, start: datetime = EPOCH) -> None:
        self._start = start
        self._elapsed = timedelta()
        self._sleepers: list[tuple[timedelta, asyncio.Future[None]]] = []
        self._names: dict[asyncio.Future[None], str | None] = {}
        self.on_sleep: Callable[[], None] = lambda: None
        """Called when a task falls asleep."""

    def wall(self) -> datetime:
        """The date and time that this clock shows."""
        return self._start + self._elapsed

    def monotonic(self) -> Monotonic:
        """The time since the clock was started."""
        return Monotonic(self._elapsed.total_seconds())

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has been advanced so far."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._elapsed + timedelta(seconds=seconds), future))
        self._names[future] = SLEEPER.get()
        future.add_done_callback(self._names.pop)
        self.on_sleep()
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

    def set_back(self, seconds: float) -> None:
        """Set the wall clock back; monotonic time goes on as before."""
        self._start -= timedelta(seconds=seconds)

    def advance_to(self, moment: datetime) -> None:
        """Let time pass until then, unless it is that late already."""
        self.advance(max((moment - self.wall()).total_seconds(), 0.0))

    def next_wake(self) -> datetime | None:
        """When the first sleeper wakes."""
        moments = [moment for moment, future in self._sleepers if not future.done()]
        return self._start + min(moments) if moments else None

    def rouse(self, name: str) -> None:
        """Those who sleep in this name do not count as asleep any more: they are about to be woken."""
        for future, one in self._names.items():
            if one == name:
                self._names[future] = None

    def is_asleep(self, name: str) -> bool:
        """Whether anything sleeps in this name."""
        return any(one == name and not future.done() for future, one in self._names.items())
