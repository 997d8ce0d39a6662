"""The store of a bench: in memory, or a SQLite file of its own, under the bench's clock."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, TypeVar, cast

from fencepost.errors import UsageError
from fencepost.model.driving import finish_now
from fencepost.model.quoting import quoted
from fencepost.ports.store import Store
from fencepost.stores import sqlite
from fencepost.stores.memory import MemoryStore
from fencepost.testing.clock import VirtualClock

T = TypeVar("T")
Question = Callable[[Store], Awaitable[T]]

SHARDS = 1
MEMORY, SQLITE = "memory", "sqlite"


class Ground(Protocol):
    """A store that is there for one test."""

    async def open(self, settings: object = None) -> Store:
        """The store, the same at every call."""
        ...

    def read(self, question: Question[T]) -> T:
        """Ask the store something without an event loop to wait in."""
        ...

    async def close(self) -> None:
        """Give the store back."""
        ...

    def leave(self) -> None:
        """Remove what is left of it."""
        ...


def ground_of(kind: str, clock: VirtualClock) -> Ground:
    """The ground that people name."""
    if kind == MEMORY:
        return MemoryGround(clock)
    if kind == SQLITE:
        return SqliteGround(clock)
    raise UsageError(f"bench: store {quoted(kind)}: expected {MEMORY} or {SQLITE}")


class MemoryGround:
    """A store in memory, whose calls never wait."""

    def __init__(self, clock: VirtualClock) -> None:
        self._store = MemoryStore(clock, SHARDS)
        self._loop: asyncio.AbstractEventLoop | None = None

    async def open(self, settings: object = None) -> Store:
        self._loop = asyncio.get_running_loop()
        return self._store

    def read(self, question: Question[T]) -> T:
        """A job's thread asks the loop, which alone touches the store while it runs."""
        work, loop = cast("Coroutine[Any, Any, T]", question(self._store)), self._loop
        if loop is not None and loop.is_running() and asyncio._get_running_loop() is not loop:
            return asyncio.run_coroutine_threadsafe(work, loop).result()
        return finish_now(work)

    async def close(self) -> None:
        return None

    def leave(self) -> None:
        return None


class SqliteGround:
    """A file in a folder of its own, gone with the bench."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._folder = TemporaryDirectory(prefix="fencepost-bench-")
        self._url = f"sqlite:///{Path(self._folder.name) / 'bench.db'}"
        self._store: Store | None = None

    async def open(self, settings: object = None) -> Store:
        if self._store is None:
            self._store = await self._opened()
        return self._store

    def read(self, question: Question[T]) -> T:
        """In another thread, through another connection: this one's loop may be the caller's."""
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, self._ask(question)).result()

    async def close(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            await store.close()

    def leave(self) -> None:
        self._folder.cleanup()

    async def _ask(self, question: Question[T]) -> T:
        store = await self._opened()
        try:
            return await question(store)
        finally:
            await store.close()

    async def _opened(self) -> Store:
        return await sqlite.open_store(self._url, clock=self._clock, shards=SHARDS)
