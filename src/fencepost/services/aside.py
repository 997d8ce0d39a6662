"""Long thoughts, aside: what is only computed, and may take seconds, must not hold up an event loop that has
leases to renew and others to answer.

A search for fire times can be long, and whoever asks for it over HTTP chose what is searched. A server thinks
in few threads of its own, with a bound on those who wait for one; a node that plans has one for each of its
services that think, so that no backfill holds up the planner. Everywhere else it is done on the spot: a
command has nothing else to do, and a simulated world knows no threads.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

from fencepost.errors import TurnedAway

T = TypeVar("T")

THREADS = 2
WAITING_MAX = 16
THOUGHT_THREAD = "fencepost-thought"
"""What its threads are called."""


class Aside(Protocol):
    """Where a long thought is thought."""

    async def __call__(self, work: Callable[[], T]) -> T:
        """What the work comes to."""
        ...


async def on_the_spot(work: Callable[[], T]) -> T:
    """Here and now."""
    return work()


_thinking: set[int] = set()
"""The threads of this process that think just now."""


def somebody_thinks() -> bool:
    """Whether a thought goes on in this process. Nothing is written from one: nobody has to wait for it."""
    return bool(_thinking)


def _noted(work: Callable[[], T]) -> T:
    thread = threading.get_ident()
    _thinking.add(thread)
    try:
        return work()
    finally:
        _thinking.discard(thread)


class Thinkers:
    """Some threads. A thought that nobody waits for any more is thought to its end, and counts till then."""

    def __init__(self, threads: int = THREADS, waiting_max: int = WAITING_MAX) -> None:
        self._pool = ThreadPoolExecutor(threads, THOUGHT_THREAD)
        self._most = threads + waiting_max
        self._thoughts = 0

    async def __call__(self, work: Callable[[], T]) -> T:
        """As `Aside`; refused where too many wait."""
        if self._thoughts >= self._most:
            raise TurnedAway("too many searches for fire times wait here already")
        self._thoughts += 1
        thought = asyncio.get_running_loop().run_in_executor(self._pool, _noted, work)
        thought.add_done_callback(self._done)
        return await asyncio.shield(thought)

    def close(self) -> None:
        """Begin nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _done(self, thought: asyncio.Future[T]) -> None:
        self._thoughts -= 1
        if not thought.cancelled():
            thought.exception()
