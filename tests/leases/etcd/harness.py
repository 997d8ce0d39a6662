"""etcd under the contracts of leases: real time, terms of one second, and a bad network on request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit
from uuid import uuid4

from fencepost.clock import SystemClock
from fencepost.leases.etcd import EtcdLeases, open_leases
from fencepost.testing.conformance.lease_harness import LeaseHarness
from tests.servers.proxy import Proxy

TTL_S = 1.0
SLACK_S = 1.0
"""etcd looks for expired leases twice a second, and deletes their keys by way of its log."""


class EtcdHarness:
    """See `LeaseHarness`. `leases` goes through `proxy`, others go straight to the server."""

    ttl_s = TTL_S
    slack_s = SLACK_S

    def __init__(self, address: str, proxy: Proxy, name: str) -> None:
        self.proxy = proxy
        self.name = name
        self.address = address
        self._clients: list[EtcdLeases] = []

    @property
    def leases(self) -> EtcdLeases:
        return self._clients[0]

    async def another(self) -> EtcdLeases:
        return await self.open(self.address)

    async def open(self, address: str) -> EtcdLeases:
        client = await open_leases(f"etcd://{address}?name={self.name}", clock=SystemClock())
        self._clients.append(client)
        return client

    async def advance(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def set_back(self, seconds: float) -> bool:
        """etcd counts a lease's time by its monotonic clock, which nobody can set."""
        return False

    @asynccontextmanager
    async def losing_answers(self) -> AsyncIterator[None]:
        self.proxy.lose_answers()
        yield
        self.proxy.heal()

    @asynccontextmanager
    async def away(self) -> AsyncIterator[None]:
        self.proxy.cut()
        yield
        self.proxy.reset()
        self.proxy.heal()

    async def close(self) -> None:
        for client in self._clients:
            await client.close()
        await self.proxy.close()


async def open_harness(url: str) -> EtcdHarness:
    """A fleet that nobody has ever heard of, in the server at the URL."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    proxy = Proxy(parts.hostname, parts.port)
    await proxy.start()
    harness = EtcdHarness(parts.netloc, proxy, fresh_name())
    await harness.open(proxy.address)
    return harness


def fresh_name() -> str:
    return f"test-{uuid4().hex[:12]}"


def keeps_the_protocol(harness: EtcdHarness) -> LeaseHarness:
    """Checked by mypy alone."""
    return harness
