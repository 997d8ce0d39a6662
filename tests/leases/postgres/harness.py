"""PostgreSQL under the contracts of leases, in real time: one client behind a bad network, the others not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from urllib.parse import urlsplit, urlunsplit

from fencepost.clock import SystemClock
from fencepost.ports.leases import LeaseStore
from fencepost.stores.postgres import open_store
from fencepost.stores.postgres.store import PostgresStore
from tests.servers.postgres import execute
from tests.servers.proxy import Proxy

TTL_S = 0.6
SLACK_S = 0.1


class PostgresLeaseHarness:
    """See `LeaseHarness`."""

    ttl_s = TTL_S
    slack_s = SLACK_S

    def __init__(self, url: str, proxy: Proxy, stack: AsyncExitStack) -> None:
        self.proxy = proxy
        self._url = url
        self._stack = stack
        self._store: PostgresStore | None = None

    @property
    def leases(self) -> LeaseStore:
        assert self._store is not None
        return self._store.leases

    async def open(self) -> None:
        parts = urlsplit(self._url)
        netloc = f"{parts.username}@{self.proxy.address}"
        self._store = await self.store(urlunsplit(parts._replace(netloc=netloc)))

    async def store(self, url: str) -> PostgresStore:
        """A store of its own, closed at the end."""
        store = await open_store(url, clock=SystemClock())
        self._stack.push_async_callback(store.close)
        return store

    async def another(self) -> LeaseStore:
        return (await self.store(self._url)).leases

    async def advance(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def set_back(self, seconds: float) -> bool:
        """Later expiries look as these would by a clock set back."""
        address, later = self._url.partition("?")[0], f"expires_at + interval '{seconds} s'"
        await execute(address, f"UPDATE fencepost.leases SET expires_at = {later}")
        return True

    @asynccontextmanager
    async def losing_answers(self) -> AsyncIterator[None]:
        self.proxy.lose_answers(to=b"")
        yield
        self.proxy.heal()

    @asynccontextmanager
    async def away(self) -> AsyncIterator[None]:
        self.proxy.cut()
        yield
        self.proxy.heal()


@asynccontextmanager
async def postgres_harness(url: str) -> AsyncIterator[PostgresLeaseHarness]:
    """A harness for the store at this URL, with a proxy before it."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    async with AsyncExitStack() as stack:
        proxy = Proxy(parts.hostname, parts.port)
        await proxy.start()
        stack.push_async_callback(proxy.close)
        harness = PostgresLeaseHarness(url, proxy, stack)
        await harness.open()
        yield harness
