"""Long searches run in other threads: pure computation that may take seconds must not hold up an event loop
that has leases to renew and other callers to answer.

A search for fire times can be long, and a caller over HTTP chooses what is searched. A server searches in a
few threads of its own, with a bound on the callers that wait for one. A node that plans has one thread for
each of its services that search, so that no backfill holds up the planner. Everywhere else the search runs on
the spot: a command has nothing else to do, and a simulated world has no threads.

A server searches for many credentials (`OffloadThreads.of`). Each has one thread at a time and a few searches
that wait for it, so the threads go round the credentials, and the time of each search is bounded.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol, TypeVar

from fencepost.clock import Clock, SystemClock
from fencepost.errors import TurnedAway
from fencepost.triggers.patience import within

T = TypeVar("T")

THREADS = 2
WAITING_MAX = 16
EACH_MAX = 5
"""The bound of one credential. With `THOUGHT_MAX_S` for each, the last is answered before its request times
out."""
THOUGHT_MAX_S = 5.0
ANONYMOUS = ""
THOUGHT_THREAD = "fencepost-thought"
"""The name of its threads."""


class Offload(Protocol):
    """Where a long search runs."""

    async def __call__(self, work: Callable[[], T]) -> T:
        """The result of the work."""
        ...


async def inline(work: Callable[[], T]) -> T:
    """On the spot."""
    return work()


_thinking: set[int] = set()
"""The threads of this process that search at this moment."""


def is_offloaded(thread: threading.Thread) -> bool:
    """Whether a search runs in the thread. A search writes nothing: the end of the process need not wait."""
    return thread.ident in _thinking


def _noted(work: Callable[[], T]) -> T:
    thread = threading.get_ident()
    _thinking.add(thread)
    try:
        return work()
    finally:
        _thinking.discard(thread)


class OffloadThreads:
    """Some threads. A search whose caller has gone runs to its end, and counts until then."""

    def __init__(
        self,
        threads: int = THREADS,
        waiting_max: int = WAITING_MAX,
        each_max: int = EACH_MAX,
        clock: Clock | None = None,
    ) -> None:
        self._pool = ThreadPoolExecutor(threads, THOUGHT_THREAD)
        self._most = threads + waiting_max
        self._each_max = each_max
        self._clock = clock or SystemClock()
        self._thoughts: Counter[str] = Counter()
        self._orders: dict[str, asyncio.Lock] = {}

    async def __call__(self, work: Callable[[], T]) -> T:
        """As `Offload`; refused where too many wait."""
        self._admit()
        return await self._begin(ANONYMOUS, self._think(work))

    def of(self, who: str) -> Offload:
        """The same for one of many callers: one search at a time, within a bound, and few that wait."""

        async def offload(work: Callable[[], T]) -> T:
            self._admit(who)
            return await self._begin(who, self._in_order(who, work))

        return offload

    def close(self) -> None:
        """Begin nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _admit(self, who: str = ANONYMOUS) -> None:
        if self._thoughts.total() >= self._most:
            raise TurnedAway("too many searches for fire times wait here already; ask again later")
        if who != ANONYMOUS and self._thoughts[who] >= self._each_max:
            fix = "wait until one of them is answered, then ask again"
            raise TurnedAway(f"{self._each_max} searches of this credential are under way already; {fix}")

    def _begin(self, who: str, thought: Coroutine[Any, Any, T]) -> asyncio.Future[T]:
        self._thoughts[who] += 1
        begun = asyncio.create_task(thought)
        begun.add_done_callback(partial(self._done, who))
        return asyncio.shield(begun)

    async def _in_order(self, who: str, work: Callable[[], T]) -> T:
        async with self._orders.setdefault(who, asyncio.Lock()):
            return await self._think(partial(self._bounded, work))

    async def _think(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, _noted, work)

    def _bounded(self, work: Callable[[], T]) -> T:
        began = self._clock.monotonic()
        with within(THOUGHT_MAX_S, lambda: self._clock.monotonic() - began):
            return work()

    def _done(self, who: str, thought: asyncio.Task[Any]) -> None:
        self._thoughts[who] -= 1
        if not self._thoughts[who]:
            del self._thoughts[who]
            self._orders.pop(who, None)
        if not thought.cancelled():
            thought.exception()
