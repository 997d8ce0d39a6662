"""The bridge from plain code to asyncio: one event loop in a thread of its own for each process.

Plain code (a script, a view, a thread, a forked worker, a notebook) has no event loop in which it could keep
a store open. A loop of `asyncio.run` is gone after one call, and a store's connections belong to the loop
that opened them. So each process has one loop that stays, made at the first call. A store that plain code
needs is opened in it, once for each application, and every call from any thread is carried there.

*Fork.* The child has none of the threads. It gets a bridge of its own at its first call. It never touches or
releases what it inherited: to close a connection there would end the parent's.

*The end.* The thread is a daemon, so it keeps no process alive. At the end of the interpreter, after all
threads of the program have ended, the stores are closed in their loop and the loop is closed; that takes
`CLOSE_MAX_S` at most.

The bridge's own thread must not wait, because it serves the callers. `LoopThread` is something else: a
service that runs for as long as a caller's loop does.
"""

from __future__ import annotations

import asyncio
import atexit
import ctypes
import os
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from threading import Lock, Thread, current_thread
from typing import Any, TypeVar

from fencepost.errors import UsageError
from fencepost.ports.store import Store
from fencepost.telemetry.logs import Log

T = TypeVar("T")

CLOSE_MAX_S = 5.0
log = Log("bridge")


class Bridge:
    """A loop in a thread of its own, and the stores that are open in it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._stores: dict[object, Store] = {}
        self._opening: dict[object, asyncio.Lock] = {}
        self._thread = Thread(target=self._loop.run_forever, name="fencepost-bridge", daemon=True)
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Do the work in the loop; the caller's thread waits for its end."""
        if current_thread() is self._thread:
            work.close()
            raise UsageError("a plain call in the bridge's own loop would wait for itself; await it there")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        finally:
            # It has ended, unless the caller was interrupted.
            future.cancel()

    async def awaited(self, work: Coroutine[Any, Any, T]) -> T:
        """The same for a caller in another event loop, which does not wait."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def store(self, owner: object, open_store: Callable[[], Awaitable[Store]]) -> Store:
        """The owner's store, opened at the first call; called within the loop."""
        async with self._opening.setdefault(owner, asyncio.Lock()):
            if owner not in self._stores:
                self._stores[owner] = await open_store()
            return self._stores[owner]

    async def release(self, owner: object) -> None:
        """Close the owner's store, if it is open; called within the loop."""
        self._opening.pop(owner, None)
        store = self._stores.pop(owner, None)
        if store is not None:
            await store.close()

    def close(self) -> None:
        """Close what is open and end the thread, in a bounded time."""
        closing = asyncio.run_coroutine_threadsafe(self._close_all(), self._loop)
        try:
            closing.result(CLOSE_MAX_S)
        except Exception as error:
            log.warning("not everything could be closed", why=str(error) or type(error).__name__)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSE_MAX_S)
        if not self._thread.is_alive():
            self._loop.close()

    async def _close_all(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        for owner in list(self._stores):
            await self.release(owner)


class _Process:
    """The bridge of this process."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.bridge: Bridge | None = None

    def forked(self) -> None:
        self.lock = Lock()
        if self.bridge is not None:
            keep_for_good(self.bridge)
            self.bridge = None


_process = _Process()
os.register_at_fork(after_in_child=_process.forked)


def bridge() -> Bridge:
    """This process's bridge, made when it is first asked for."""
    with _process.lock:
        if _process.bridge is None:
            _process.bridge = Bridge()
        return _process.bridge


def open_bridge() -> Bridge | None:
    """The bridge if there is one."""
    return _process.bridge


def keep_for_good(inherited: object) -> None:
    """Keep the finalizers of this object from running, also at the end of the interpreter: the object belongs
    to the process that this one was forked from."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(inherited))


@atexit.register
def close_bridge() -> None:
    """Called at the end of the interpreter; a later call makes another bridge."""
    with _process.lock:
        ending, _process.bridge = _process.bridge, None
    if ending is not None:
        with suppress(RuntimeError):
            ending.close()
