"""Hints: one stream for all watchers of a lease store. It comes back by itself.

Watchers do not hear what happens while the stream is away. So all of them are called once after each time
that it comes back. Nothing more is promised: a node that waits for a lease asks for it at its own pace.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress

from fencepost.clock import Clock

BACKOFF_FIRST_S = 0.1
BACKOFF_MAX_S = 5.0
CLOSE_S = 5.0
"""How long the end waits for a driver that ignores its cancellation."""
FIRST_TRY_S = 2.5
"""How long a watcher waits for the stream to be open, so that it hears what happens next."""


class Hints(ABC):
    """A lease store brings `listen`, and the faults by which it may end."""

    faults: tuple[type[Exception], ...]

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._callbacks: dict[object, Callable[[], None]] = {}
        self._keeper: asyncio.Task[None] | None = None
        self._tried = asyncio.Event()
        self._missed = False
        self._pause_s = BACKOFF_FIRST_S

    @abstractmethod
    async def listen(self) -> None:
        """Open the stream, say `opened` once it is, and `tell` of each lease that may be free, until it
        ends."""

    async def watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back from now on, or from when the server can be reached, until the returned function is
        called."""
        key = object()
        self._callbacks[key] = callback
        if self._keeper is None:
            self._keeper = asyncio.create_task(self._keep(), name="fencepost-lease-hints")
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_TRY_S):
                await self._tried.wait()
        return lambda: self._forget(key)

    async def close(self) -> None:
        """End the stream and forget the watchers."""
        self._callbacks.clear()
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.cancel()
            await asyncio.wait([keeper], timeout=CLOSE_S)

    def opened(self) -> None:
        """From now on nothing is missed; events since the last time may have been."""
        self._pause_s = BACKOFF_FIRST_S
        if self._missed:
            self.tell()
        self._missed = False
        self._tried.set()

    def tell(self) -> None:
        """Call all watchers."""
        for callback in tuple(self._callbacks.values()):
            callback()

    def _forget(self, key: object) -> None:
        self._callbacks.pop(key, None)

    async def _keep(self) -> None:
        """Listen until the stream ends, however it ends, pause, and open another."""
        while True:
            with suppress(*self.faults):
                await self.listen()
            self._missed = True
            self._tried.set()
            await self._clock.sleep(self._pause_s)
            self._pause_s = min(2 * self._pause_s, BACKOFF_MAX_S)
