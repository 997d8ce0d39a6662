"""A service in a thread with an event loop of its own.

Such a service and the node share only the interpreter lock. The service opens what belongs to an event loop,
such as a store, within its own loop.
"""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress

from fencepost.errors import StoreReplaced, StoreUnavailable
from fencepost.ports.store import Store


class LoopThread(ABC):
    """One thread. It can run once."""

    def __init__(self, name: str) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()
        self._stop_asked = False
        self._ended: Future[None] = Future()
        self._thread = threading.Thread(target=self._main, name=name, daemon=True)

    @abstractmethod
    async def serve(self) -> None:
        """The work, in the thread's own loop, until it is cancelled."""

    async def run(self) -> None:
        """Serve until cancelled. The error that ends the work is raised here, in the caller's loop."""
        try:
            await self._begun()
        finally:
            self._ask_to_stop()

    def _begun(self) -> asyncio.Future[None]:
        """Start the thread; done when it has ended."""
        self._ended.set_running_or_notify_cancel()
        self._thread.start()
        return asyncio.wrap_future(self._ended)

    def _ask_to_stop(self) -> None:
        """The thread either sees the flag when its loop begins, or hears of it through its loop."""
        self._stop_asked = True
        if self._loop is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._stopping.set)

    def _main(self) -> None:
        try:
            asyncio.run(self._until_stopped())
        except BaseException as error:
            self._ended.set_exception(error)
        else:
            self._ended.set_result(None)

    async def _until_stopped(self) -> None:
        self._loop = asyncio.get_running_loop()
        if self._stop_asked:
            return
        serving = asyncio.create_task(self.serve())
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        serving.cancel()
        stopping.cancel()
        await asyncio.wait({serving, stopping})
        if not serving.cancelled():
            serving.result()


async def opened_patiently(open_store: Callable[[], Awaitable[Store]], retry_every_s: float) -> Store:
    """A store of this loop's own; one that is away is tried again."""
    while True:
        try:
            return await open_store()
        except StoreReplaced:
            raise
        except StoreUnavailable:
            await asyncio.sleep(retry_every_s)
