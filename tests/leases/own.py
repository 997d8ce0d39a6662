"""The stores' own leases under the contracts' clock."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fencepost.ports.leases import LeaseStore
from fencepost.testing.conformance.harness import StoreHarness


class OwnLeases:
    """The leases of a store whose time is a number. Nothing lies between them and their client."""

    ttl_s = 10.0
    slack_s = 1.0

    def __init__(self, store: StoreHarness) -> None:
        self._store = store

    @property
    def leases(self) -> LeaseStore:
        return self._store.store.leases

    async def another(self) -> LeaseStore:
        return self.leases

    async def advance(self, seconds: float) -> None:
        await self._store.advance(seconds)

    async def set_back(self, seconds: float) -> bool:
        await self._store.set_back(seconds)
        return True

    @asynccontextmanager
    async def losing_answers(self) -> AsyncIterator[None]:
        yield

    @asynccontextmanager
    async def away(self) -> AsyncIterator[None]:
        yield
