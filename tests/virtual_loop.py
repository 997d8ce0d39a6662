"""An asyncio event loop on which time is only a number.

Whenever nothing is ready to run, the loop jumps to the moment of its next timer instead of waiting for it.
An hour of sleeping services takes as long as the work they do, and the order of events depends on nothing but
the program and its seeds. Sockets, threads and subprocesses do not exist here.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from datetime import datetime, timedelta
from typing import Any, TypeVar

from fencepost.model.clocks import Monotonic

T = TypeVar("T")


class Deadlock(AssertionError):
    """Everybody waits and no timer is set: on a real loop this would hang for ever."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """See the module."""

    def __init__(self) -> None:
        self._now_s = 0.0
        super().__init__(_Leap(self))

    def time(self) -> float:
        return self._now_s

    def leap(self, seconds: float) -> None:
        self._now_s += seconds


class _Leap(selectors.SelectSelector):
    """Waiting for files is where a loop spends its time; this one spends none."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise Deadlock("nothing is ready and no timer is set")
        self._loop.leap(max(timeout, 0.0))
        return []


class LoopClock:
    """The clock of one simulated host: off by `skew_s`, and counting at its own `rate`."""

    def __init__(self, start: datetime, skew_s: float = 0.0, rate: float = 1.0) -> None:
        self._start = start + timedelta(seconds=skew_s)
        self._rate = rate

    def wall(self) -> datetime:
        return self._start + timedelta(seconds=self._elapsed_s())

    def monotonic(self) -> Monotonic:
        return Monotonic(self._elapsed_s())

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self._rate)

    def _elapsed_s(self) -> float:
        return asyncio.get_running_loop().time() * self._rate


def run_virtually(main: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run` in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
