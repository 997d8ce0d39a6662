"""How a function's work is done, from the words people use."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from inspect import ismethod
from typing import Any, TypeVar

from fencepost.app import deferred
from fencepost.app.words import Place
from fencepost.config import Settings
from fencepost.errors import InvalidSpec
from fencepost.executors.callable import CallableExecutor
from fencepost.executors.secrets import SECRETS_MARK, Secrets
from fencepost.model.quoting import quoted
from fencepost.model.sizes import Size, parse_size

T = TypeVar("T")
MEMORY_BYTES_LEAST = 64_000_000


class JobThreads(ThreadPoolExecutor):
    """The threads of plain functions."""

    def __init__(self, threads_max: int, thread_name_prefix: str) -> None:
        super().__init__(threads_max, thread_name_prefix=thread_name_prefix)
        self.around: Callable[[], AbstractContextManager[object]] = nullcontext
        """What each function is called within, in its thread."""

    def submit(self, function: Callable[..., T], /, *args: Any, **options: Any) -> Future[T]:
        return super().submit(self._surrounded, function, *args, **options)

    def _surrounded(self, function: Callable[..., T], /, *args: Any, **options: Any) -> T:
        with self.around():
            return function(*args, **options)


class Workshop:
    """What the jobs of one application share: threads, child processes, and which commands may be started."""

    def __init__(self, threads: ThreadPoolExecutor, settings: Callable[[], Settings]) -> None:
        self._threads = threads
        self._settings = settings
        self.secrets = Secrets()

    @cached_property
    def pool(self) -> deferred.ProcessPool:
        """The child processes; made when the first job asks for one."""
        return deferred.ProcessPool(lambda: self._settings().processes)

    @cached_property
    def allowed(self) -> deferred.AllowList:
        """Which programs commands may start."""
        return deferred.AllowList(lambda: self._settings().commands_allowed)

    async def close(self) -> None:
        """End the child processes, if there are any."""
        if "pool" in vars(self):
            await self.pool.close()

    def kill(self) -> None:
        """The same without waiting, because the process is about to end."""
        if "pool" in vars(self):
            self.pool.kill()

    def executor(
        self,
        function: Callable[..., Any],
        *,
        executor: str = Place.AUTO,
        memory_limit: Size | None = None,
        recycle_after: int | None = None,
        **others: object,
    ) -> CallableExecutor | deferred.ProcessExecutor:
        """The way to do a function."""
        name = getattr(function, "__qualname__", repr(function))
        for word in others:
            raise InvalidSpec(f"job {name}: unknown word {word!r}")
        _mark(function, name, self.secrets)
        if executor not in tuple(Place):
            known = " or ".join(f'"{one}"' for one in Place)
            raise InvalidSpec(f"job {name}: executor {quoted(executor)}: expected {known}")
        if executor == Place.PROCESS:
            limit_bytes = _limit_bytes(name, memory_limit)
            return deferred.ProcessExecutor(
                function, self.pool, memory_limit_bytes=limit_bytes, recycle_after=recycle_after
            )
        for word, value in (("memory_limit", memory_limit), ("recycle_after", recycle_after)):
            if value is not None:
                raise InvalidSpec(f'job {name}: {word} needs a process of its own; add executor="process"')
        return CallableExecutor(function, self._threads)


def _mark(function: Callable[..., Any], name: str, secrets: Secrets) -> None:
    """A job's function carries marks: its name as a job, and the secrets of its application."""
    try:
        setattr(function, SECRETS_MARK, secrets)
    except (AttributeError, TypeError):
        kind = "a bound method" if ismethod(function) else f"a {type(function).__name__}"
        raise InvalidSpec(
            f"job {name}: is {kind}, which cannot be marked as a job; write a def that calls it"
        ) from None


def _limit_bytes(name: str, limit: Size | None) -> int | None:
    if limit is None:
        return None
    try:
        limit_bytes = parse_size(limit)
    except InvalidSpec as error:
        raise InvalidSpec(f"job {name}: memory_limit: {error}") from None
    if limit_bytes < MEMORY_BYTES_LEAST:
        raise InvalidSpec(f"job {name}: memory_limit {limit}: an interpreter alone needs more than 64MB")
    return limit_bytes
