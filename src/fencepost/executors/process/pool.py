"""Children, lent one at a time: started when they are first needed, kept when they are idle.

A pool serves one event loop at a time, because a child can only be waited for by the loop that started it.
One that finds itself on another loop ends the children of the last and begins anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fencepost.errors import RetryableFailure
from fencepost.executors.process.peer import Peer


class ProcessPool:
    """At most as many children at work at once as `size` says when the first is needed."""

    def __init__(self, size: Callable[[], int]) -> None:
        self._size = size
        self._loop: asyncio.AbstractEventLoop | None = None
        self._slots = asyncio.Semaphore()
        self._peers: set[Peer] = set()
        self._idle: list[Peer] = []
        self._leaving: set[asyncio.Task[None]] = set()

    @property
    def is_busy(self) -> bool:
        """Whether a run that comes now has to wait for a child."""
        return self._loop is not None and self._slots.locked()

    @property
    def pids(self) -> set[int]:
        """Of the children that are there."""
        return {peer.pid for peer in self._peers if not peer.gone.is_set()}

    @asynccontextmanager
    async def lent(self, recycle_after: int | None) -> AsyncIterator[Peer]:
        """A child for one run. A run that is cancelled with a child stops it first."""
        self._settle_on_loop()
        slots = self._slots
        async with slots:
            peer = await self._peer()
            try:
                yield peer
            finally:
                peer.let_go()
                self._take_back(peer, recycle_after)

    async def close(self) -> None:
        """End all children; the pool can be used again."""
        peers, self._idle = self._peers, []
        self._peers = set()
        if self._loop is asyncio.get_running_loop():
            await asyncio.gather(*(peer.leave() for peer in peers), *self._leaving)

    def kill(self) -> None:
        """End all children without waiting, because the process is about to end."""
        for peer in self._peers:
            peer.kill()
        self._peers, self._idle = set(), []

    def _settle_on_loop(self) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self.kill()
            self._loop, self._slots, self._leaving = loop, asyncio.Semaphore(self._size()), set()

    async def _peer(self) -> Peer:
        while self._idle:
            peer = self._idle.pop()
            if peer.usable:
                return peer
            self._peers.discard(peer)
        starting = asyncio.create_task(Peer.start())
        try:
            peer = await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(self._keep_for_later)
            raise
        except OSError as error:
            raise RetryableFailure(f"cannot start a child process: {error.strerror or error}") from None
        self._peers.add(peer)
        return peer

    def _keep_for_later(self, starting: asyncio.Task[Peer]) -> None:
        """No run waits any more for a child that was being started: keep it for a later one."""
        if not starting.cancelled() and starting.exception() is None:
            self._peers.add(starting.result())
            self._idle.append(starting.result())

    def _take_back(self, peer: Peer, recycle_after: int | None) -> None:
        if peer.usable and (recycle_after is None or peer.runs < recycle_after):
            self._idle.append(peer)
            return
        leaving = asyncio.get_running_loop().create_task(self._see_off(peer))
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)

    async def _see_off(self, peer: Peer) -> None:
        await peer.leave()
        self._peers.discard(peer)
