"""Redis under the contracts of leases: one client behind a bad network, the others on a good one."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext

from fencepost.clock import SystemClock
from fencepost.leases.redis import RedisLeases, open_leases
from fencepost.leases.redis.scripts import Script
from fencepost.model.address import parse_address
from fencepost.testing.conformance.lease_steps import OTHER, SHARD
from tests.servers.process import wait_until
from tests.servers.proxy import Proxy
from tests.servers.redis import RedisSentinel, RedisServer

TTL_S = 0.6
SLACK_S = 0.1
COMMAND = b"EVAL"
LENGTHEN = Script(
    "for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, redis.call('PTTL', key) + ARGV[1], 'GT') end"
)


class RedisHarness:
    """See `LeaseHarness`. A fresh name, and so fresh keys, for each."""

    ttl_s = TTL_S
    slack_s = SLACK_S

    def __init__(self, url: str, stack: AsyncExitStack, proxy: Proxy | None = None) -> None:
        self.url = named(url)
        self._stack = stack
        self._proxy = proxy
        self._leases: RedisLeases | None = None

    @property
    def leases(self) -> RedisLeases:
        assert self._leases is not None
        return self._leases

    @property
    def proxy(self) -> Proxy:
        assert self._proxy is not None
        return self._proxy

    async def open(self) -> None:
        self._leases = await self.client(self.url if self._proxy is None else through(self._proxy, self.url))

    async def client(self, url: str) -> RedisLeases:
        """A client of that URL, closed at the end."""
        leases = await open_leases(url, clock=SystemClock())
        self._stack.push_async_callback(leases.close)
        return leases

    async def another(self) -> RedisLeases:
        return await self.client(self.url)

    async def advance(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def set_back(self, seconds: float) -> bool:
        """Redis keeps the moment of expiry: later by as much, it looks as it would by a clock set back."""
        keys = self.leases._leases([SHARD, OTHER])
        await self.leases._session.run(LENGTHEN, keys, [int(seconds * 1000)])
        return True

    def losing_answers(self) -> nullcontext[None] | Mishap:
        return nullcontext() if self._proxy is None else Mishap(self._proxy, is_cut=False)

    def away(self) -> nullcontext[None] | Mishap:
        return nullcontext() if self._proxy is None else Mishap(self._proxy, is_cut=True)


class Mishap:
    """A network that is cut, or that loses answers, for a while."""

    def __init__(self, proxy: Proxy, *, is_cut: bool) -> None:
        self._proxy = proxy
        self._is_cut = is_cut

    async def __aenter__(self) -> None:
        if self._is_cut:
            self._proxy.cut()
        else:
            self._proxy.lose_answers(to=COMMAND)

    async def __aexit__(self, *error: object) -> None:
        self._proxy.heal()


@asynccontextmanager
async def redis_harness(url: str) -> AsyncIterator[RedisHarness]:
    """A harness for the one server of this URL, with a proxy before it."""
    async with AsyncExitStack() as stack:
        harness = RedisHarness(url, stack, await proxy_to(url, stack))
        await harness.open()
        yield harness


@asynccontextmanager
async def sentinel_harness(servers: RedisSentinel) -> AsyncIterator[RedisHarness]:
    """A harness for a watched master. Clients are told its own address: nothing lies in between."""
    async with AsyncExitStack() as stack:
        harness = RedisHarness(sentinel_url(servers), stack)
        await harness.open()
        yield harness


async def proxy_to(url: str, stack: AsyncExitStack) -> Proxy:
    """A proxy before the server of this URL, closed at the end."""
    host = parse_address(url, 6379).hosts[0]
    proxy = Proxy(host.name, host.port)
    await proxy.start()
    stack.push_async_callback(proxy.close)
    return proxy


def through(proxy: Proxy, url: str) -> str:
    """The same URL with the proxy for a host."""
    host = parse_address(url, 6379).hosts[0]
    return url.replace(str(host), proxy.address)


def named(url: str) -> str:
    """The URL with a name that nobody ever used."""
    return f"{url}?name=t{secrets.token_hex(6)}"


def wait_until_caught_up(replica: RedisServer, master: RedisServer) -> None:
    """Wait until the replica has all that the master has at this moment."""
    offset = master.replication()["master_repl_offset"]
    wait_until(
        lambda: replica.replication().get("slave_repl_offset", 0) >= offset,
        lambda: f"the replica lags: {replica.log}",
    )


def sentinel_url(servers: RedisSentinel) -> str:
    hosts = ",".join(f"{host}:{port}" for host, port in servers.addresses)
    return f"redis+sentinel://{hosts}/{servers.service}"
