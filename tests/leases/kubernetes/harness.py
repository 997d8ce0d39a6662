"""Leases on an API server, the double or a real one, under a clock that the tests move.

The adapter counts terms by its own clock alone, so even before a real server a term passes in no time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from fencepost.leases.kubernetes import KubernetesLeases, open_leases
from fencepost.model.identifiers import Shard
from fencepost.testing.clock import VirtualClock
from tests.servers.proxy import Proxy

Body = dict[str, Any]

_fleets = (f"fleet-{number}" for number in count())


class Backend(Protocol):
    """An API server, seen by somebody who may do everything."""

    url: str
    namespace: str

    def kubeconfig(self, url: str, folder: Path) -> Path:
        """A file with which a node reaches the server at that address."""
        ...

    async def get(self, name: str) -> Body: ...

    async def put(self, body: Body) -> None: ...

    async def delete(self, name: str) -> None: ...


@dataclass
class KubernetesHarness:
    """A fleet of its own on a server of many; `leases` goes through a bad network."""

    backend: Backend
    leases: KubernetesLeases
    proxy: Proxy
    clock: VirtualClock
    fleet: str
    folder: Path
    exits: AsyncExitStack = field(repr=False)
    ttl_s: float = 10.0
    slack_s: float = 0.0
    hints: bool = True

    async def another(self) -> KubernetesLeases:
        leases = await open_leases(self.url(self.backend.url), clock=self.clock)
        self.exits.push_async_callback(leases.close)
        return leases

    async def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)

    async def set_back(self, seconds: float) -> bool:
        """Terms are counted by this process's monotonic clock, which nobody can set."""
        return False

    @asynccontextmanager
    async def losing_answers(self) -> AsyncIterator[None]:
        self.proxy.lose_answers()
        try:
            yield
        finally:
            self.proxy.heal()

    @asynccontextmanager
    async def away(self) -> AsyncIterator[None]:
        self.proxy.cut()
        try:
            yield
        finally:
            self.proxy.heal()

    def url(self, server: str) -> str:
        kubeconfig = self.backend.kubeconfig(server, self.folder)
        return f"kubernetes://{self.backend.namespace}?name={self.fleet}&kubeconfig={kubeconfig}"

    def object_name(self, shard: Shard) -> str:
        return f"{self.fleet}-shard-{shard}"

    async def object(self, shard: Shard) -> Body:
        return await self.backend.get(self.object_name(shard))


@asynccontextmanager
async def harness_on(backend: Backend, folder: Path) -> AsyncIterator[KubernetesHarness]:
    """A fresh fleet."""
    async with AsyncExitStack() as exits:
        target = urlsplit(backend.url)
        proxy = Proxy(str(target.hostname), target.port or 0)
        await proxy.start()
        exits.push_async_callback(proxy.close)
        clock, fleet = VirtualClock(), next(_fleets)
        kubeconfig = backend.kubeconfig(f"{target.scheme}://{proxy.address}", folder)
        url = f"kubernetes://{backend.namespace}?name={fleet}&kubeconfig={kubeconfig}"
        leases = await open_leases(url, clock=clock)
        exits.push_async_callback(leases.close)
        yield KubernetesHarness(backend, leases, proxy, clock, fleet, folder, exits)
