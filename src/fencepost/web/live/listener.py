"""One stream, as the hub sees it: the messages that wait for it, and whether it goes on."""

from __future__ import annotations

import asyncio
from collections import deque

from fencepost.model.access import Principal
from fencepost.model.clocks import Monotonic
from fencepost.model.identifiers import Namespace, RunKey
from fencepost.model.run_log import LogPlace

WAITING_MAX = 32
WAITING_BYTES_MAX = 512 * 1024
"""The most that waits for a reader, without the last message."""


class Listener:
    """The messages that wait for one reader, bounded by number and by size. The hub never waits for it."""

    def __init__(
        self,
        principal: Principal,
        namespace: Namespace,
        until: Monotonic,
        run_key: RunKey | None = None,
        place: LogPlace | None = None,
    ) -> None:
        self.principal = principal
        self.namespace = namespace
        self.until = until
        self.run_key = run_key
        self.place = place
        """Behind which chunk of its run's log it is; None until that is known."""
        self.log_read_in = 0
        """In which look its run's log was last read."""
        self.is_new = True
        self.ended = asyncio.Event()
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._there = asyncio.Event()

    def offer(self, message: bytes, resync: bytes) -> None:
        """Add a message; where too much waits already, only that something was missed."""
        if len(self._waiting) >= WAITING_MAX or self._waiting_bytes >= WAITING_BYTES_MAX:
            self._forget()
            message = resync
        self._waiting.append(message)
        self._waiting_bytes += len(message)
        self._there.set()

    def end(self) -> None:
        """The reader hears nothing more."""
        self.ended.set()
        self._forget()
        self._there.set()

    async def take(self, at_most_s: float) -> bytes | None:
        """All messages that wait, in one; empty where none came in that time; None when the stream is
        over."""
        if not self._waiting and not self.ended.is_set():
            alarm = asyncio.get_running_loop().call_later(at_most_s, self._there.set)
            try:
                await self._there.wait()
            finally:
                alarm.cancel()
        self._there.clear()
        if self.ended.is_set():
            return None
        taken = b"".join(self._waiting)
        self._forget()
        return taken

    def _forget(self) -> None:
        self._waiting.clear()
        self._waiting_bytes = 0
