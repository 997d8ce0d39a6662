"""Python functions as jobs: async ones on the worker's loop, the others in threads."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from copy import copy
from typing import Any

from fencepost.executors.binding import Binding, Bound, plain_payload
from fencepost.ports.run import Run

__all__ = ["CallableExecutor", "plain_payload"]


class CallableExecutor(Bound):
    """One function."""

    def __init__(self, function: Callable[..., Any], threads: ThreadPoolExecutor | None = None) -> None:
        self._binding = Binding(function)
        self._threads = threads

    def in_threads(self, threads: ThreadPoolExecutor) -> CallableExecutor:
        """The same function in other threads."""
        other = copy(self)
        other._threads = threads
        return other

    @property
    def stoppable(self) -> bool:
        return self._binding.is_async

    async def execute(self, run: Run) -> str | None:
        call = self._binding.call_for(run)
        if self._binding.is_async:
            return self._binding.kept(await call())
        loop, context = asyncio.get_running_loop(), copy_context()
        return self._binding.kept(await loop.run_in_executor(self._threads, context.run, _returning, call))


def _returning(call: Callable[[], Any]) -> Any:
    """Exceptions that steer generators cannot leave a thread through a future: they would steer the code that
    waits. A copy of the process that the function has forked and let return ends here: it has no other
    thread."""
    process = os.getpid()
    try:
        return call()
    except (StopIteration, GeneratorExit) as error:
        raise RuntimeError(f"the function raised {type(error).__name__}") from error
    finally:
        if os.getpid() != process:
            os._exit(1)
