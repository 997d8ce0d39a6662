"""What a node sees of the store when the world between them is bad."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from fencepost.errors import StoreUnavailable
from fencepost.ports.signals import Topic
from fencepost.stores.memory import MemoryStore

LATENCY_MAX_S = 0.02


class Weather:
    """The faults of one node: it can be stalled, dead, or merely unlucky."""

    def __init__(self, dice: random.Random, lost_share: float) -> None:
        self.dice = dice
        self.lost_share = lost_share
        self.dead = False
        self.trap: str | None = None
        """A stall waits for the next call of this name, to hit it on its way to the store."""
        self.trapped = asyncio.Event()
        self._running = asyncio.Event()
        self._running.set()

    def stall(self) -> None:
        self._running.clear()

    def resume(self) -> None:
        self._running.set()

    async def awake(self) -> None:
        """A stalled process gets no further than here."""
        await self._running.wait()

    async def call(self, name: str, work: Callable[[], Awaitable[Any]]) -> Any:
        """One round trip: a stall may hit before the request or before the answer is read."""
        if name == self.trap:
            self.trap = None
            self.trapped.set()
            self.stall()
        await self._travel()
        self._fail_if(self.dead or self.dice.random() < self.lost_share, "the request was lost")
        answer = await work()
        await self._travel()
        self._fail_if(self.dead or self.dice.random() < self.lost_share, "the answer was lost")
        return answer

    async def _travel(self) -> None:
        await asyncio.sleep(self.dice.random() * LATENCY_MAX_S)
        await self.awake()

    def _fail_if(self, fails: bool, message: str) -> None:
        if fails:
            raise StoreUnavailable(message)


class Far:
    """A part of the store behind the weather: every async method is a round trip."""

    def __init__(self, part: Any, weather: Weather) -> None:
        self._part = part
        self._weather = weather

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._part, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await self._weather.call(name, lambda: method(*args, **kwargs))

        return call


class FarSignals:
    """Hints are lost now and then."""

    def __init__(self, store: MemoryStore, weather: Weather) -> None:
        self._store = store
        self._weather = weather

    async def listen(self, topic: Topic, callback: Callable[[], None]) -> Callable[[], None]:
        def sometimes() -> None:
            if self._weather.dice.random() >= 10 * self._weather.lost_share:
                callback()

        return await self._store.signals.listen(topic, sometimes)


class FarLeases(Far):
    """The leases behind the weather; their hints come with the store's."""

    caveats: Sequence[str] = ()

    async def watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        return lambda: None


class FarStore:
    """The whole store as one node sees it."""

    def __init__(self, store: MemoryStore, weather: Weather) -> None:
        self.jobs: Any = Far(store.jobs, weather)
        self.calendars: Any = Far(store.calendars, weather)
        self.schedules: Any = Far(store.schedules, weather)
        self.epochs: Any = Far(store.epochs, weather)
        self.planbook: Any = Far(store.planbook, weather)
        self.ledger: Any = Far(store.ledger, weather)
        self.leases: Any = Far(store.leases, weather)
        self.roster: Any = Far(store.roster, weather)
        self.gates: Any = Far(store.gates, weather)
        self.freezes: Any = Far(store.freezes, weather)
        self.backfills: Any = Far(store.backfills, weather)
        self.audit_log: Any = Far(store.audit_log, weather)
        self.signals = FarSignals(store, weather)
        self._store = store
        self._weather = weather

    async def now(self) -> Any:
        return await self._weather.call("now", self._store.now)

    async def close(self) -> None:
        return None
