"""MongoDB under the contracts of leases: one client behind a bad network, the others on a good one."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from fencepost.clock import SystemClock
from fencepost.drivers.mongodb.leases import LeaseDocuments
from fencepost.leases.mongodb import MongoLeases, open_leases
from fencepost.model.address import parse_address
from tests.leases.own import OwnLeases
from tests.servers.proxy import Proxy

TTL_S = 1.0
SLACK_S = 0.1
COMMAND = b"txnNumber"
"""What every command has that changes a lease."""


class MongoHarness:
    """See `LeaseHarness`. A fresh name, and so a fresh collection, for each."""

    ttl_s = TTL_S
    slack_s = SLACK_S

    def __init__(self, url: str, proxy: Proxy, stack: AsyncExitStack) -> None:
        self.url = named(url)
        self.proxy = proxy
        self._stack = stack
        self._leases: MongoLeases | None = None

    @property
    def leases(self) -> MongoLeases:
        assert self._leases is not None
        return self._leases

    @property
    def proxied_url(self) -> str:
        """Through the proxy. A replica set tells its clients its own addresses: this one must not listen."""
        parameters = self.url.partition("?")[2].replace("replicaSet=", "directConnection=true&replicaSet=")
        return f"mongodb://{self.proxy.address}/?{parameters}"

    async def open(self) -> None:
        self._leases = await self.client(self.proxied_url)

    async def client(self, url: str) -> MongoLeases:
        leases = await open_leases(url, clock=SystemClock())
        self._stack.push_async_callback(leases.close)
        return leases

    async def another(self) -> MongoLeases:
        return await self.client(self.url)

    async def advance(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def set_back(self, seconds: float) -> bool:
        return await put_off(self.leases, seconds)

    @asynccontextmanager
    async def losing_answers(self) -> AsyncIterator[None]:
        self.proxy.lose_answers(to=COMMAND)
        yield
        self.proxy.heal()

    @asynccontextmanager
    async def away(self) -> AsyncIterator[None]:
        self.proxy.cut()
        yield
        self.proxy.heal()


class StoreLeases(OwnLeases):
    """The leases of a whole store, by the server's clock."""

    ttl_s = TTL_S
    slack_s = SLACK_S

    async def advance(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def set_back(self, seconds: float) -> bool:
        assert isinstance(self.leases, LeaseDocuments)
        return await put_off(self.leases, seconds)


async def put_off(leases: LeaseDocuments, seconds: float) -> bool:
    """Later expiries look as these would by a clock set back."""
    later = {"$add": ["$expires_at", int(seconds * 1000)]}
    await leases._collection.update_many({"holder": {"$ne": None}}, [{"$set": {"expires_at": later}}])
    return True


@asynccontextmanager
async def mongo_harness(url: str, primary: str) -> AsyncIterator[MongoHarness]:
    """A harness for the replica set of this URL, whose primary is at `primary`."""
    host = parse_address(f"mongodb://{primary}", 27017).hosts[0]
    proxy = Proxy(host.name, host.port)
    await proxy.start()
    try:
        async with AsyncExitStack() as stack:
            harness = MongoHarness(url, proxy, stack)
            await harness.open()
            yield harness
    finally:
        await proxy.close()


def named(url: str) -> str:
    """The URL with a name that nobody ever used."""
    return f"{url}{'&' if '?' in url else '?'}name=t{secrets.token_hex(6)}"
