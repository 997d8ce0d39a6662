"""The event loop on which a processor's jobs run: in a thread of its own, once it is started.

A caller that waits for a job sees it as a future of its own loop. A cancellation of the future reaches the
job, and the future is done when the job is: the caller waits for a job that cleans up, or ignores its
cancellation, as for one of its own loop. Before the start, and in a process that never starts it, jobs run in
the loop of their caller.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from typing import Any

LEFT_S = 1.0
"""How long jobs that are left may take to end after their cancellation."""


class JobLoop:
    """One thread. It can run once."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._is_stopping = False
        self._ended = Future[None]()

    def start(self) -> None:
        """Run jobs apart from here on."""
        assert self._thread is None, "it can run once"
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._main, name="fencepost-job-loop", daemon=True)
        self._thread.start()

    def begin(self, work: Coroutine[Any, Any, str | None]) -> asyncio.Future[str | None]:
        """The work, in progress."""
        if self._loop is None:
            return asyncio.ensure_future(work)
        ended = RemoteWork(self._loop, work)
        self._loop.call_soon_threadsafe(ended.begin, context=copy_context())
        return ended

    async def answers(self, within_s: float) -> bool:
        """Whether the loop is free, and not held up by a job."""
        if self._loop is None:
            return True
        here, heard = asyncio.get_running_loop(), asyncio.Event()
        self._loop.call_soon_threadsafe(_tell, here, heard.set)
        try:
            async with asyncio.timeout(within_s):
                await heard.wait()
        except TimeoutError:
            return False
        return True

    async def stop(self, within_s: float) -> None:
        """Cancel what is left, and let the thread end. One that is held up by a job is left behind."""
        if self._loop is None or self._thread is None:
            return
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._stop)
        await asyncio.wait({asyncio.wrap_future(self._ended)}, timeout=within_s)

    def _stop(self) -> None:
        assert self._loop is not None
        self._is_stopping = True
        self._loop.stop()

    def _main(self) -> None:
        assert self._loop is not None
        asyncio.set_event_loop(self._loop)
        try:
            while not self._is_stopping:
                with suppress(SystemExit, KeyboardInterrupt):  # A job's own; its future has it.
                    self._loop.run_forever()
            left = asyncio.all_tasks(self._loop)
            for one in left:
                one.cancel()
            if left:
                self._loop.run_until_complete(asyncio.wait(left, timeout=LEFT_S))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            self._loop.close()
            self._ended.set_result(None)


class RemoteWork(asyncio.Future[str | None]):
    """Work on the jobs' loop, as the caller's loop sees it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, str | None]) -> None:
        super().__init__(loop=asyncio.get_running_loop())
        self._away = loop
        self._work = work
        self._task: asyncio.Task[str | None] | None = None
        self._is_cancelled = False

    def begin(self) -> None:
        """Called on the loop of jobs. Work that was cancelled before does not begin."""
        self._task = asyncio.get_running_loop().create_task(self._work)
        self._task.add_done_callback(lambda task: _tell(self.get_loop(), self._end, task))
        if self._is_cancelled:
            self._task.cancel()

    def cancel(self, msg: Any | None = None) -> bool:
        """Ask the work to stop; this ends when it has."""
        if self.done():
            return False
        self._is_cancelled = True
        with suppress(RuntimeError):
            self._away.call_soon_threadsafe(self._cancel_task)
        return True

    def _cancel_task(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _end(self, task: asyncio.Task[str | None]) -> None:
        if self.done():
            return
        if task.cancelled():
            super().cancel()
        elif (error := task.exception()) is not None:
            self.set_exception(error)
        else:
            self.set_result(task.result())


def _tell(loop: asyncio.AbstractEventLoop, callback: Any, *arguments: Any) -> None:
    """On that loop, if it is still there."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(callback, *arguments)
