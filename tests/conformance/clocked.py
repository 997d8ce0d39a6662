"""Stores whose time is that of a clock in this process."""

from dataclasses import dataclass
from datetime import UTC, datetime

from fencepost.model.clocks import StoreTime
from fencepost.ports.store import Store
from fencepost.stores.memory import MemoryStore
from fencepost.testing.clock import VirtualClock

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@dataclass
class ClockHarness:
    """A store with the hand on its clock."""

    store: Store
    clock: VirtualClock
    shards: int = 8

    @property
    def now(self) -> StoreTime:
        return StoreTime(self.clock.wall())

    async def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)

    async def set_back(self, seconds: float) -> None:
        self.clock.set_back(seconds)

    async def close(self) -> None:
        await self.store.close()


def open_memory(shards: int = 8) -> ClockHarness:
    """An empty store in memory."""
    clock = VirtualClock(START)
    return ClockHarness(MemoryStore(clock, shards), clock, shards)
