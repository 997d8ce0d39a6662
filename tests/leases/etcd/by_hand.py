"""What an operator, or an accident at the worst moment, does to etcd."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from fencepost.clock import SystemClock
from fencepost.leases.etcd.address import read_address
from fencepost.leases.etcd.faults import Doubtful
from fencepost.leases.etcd.gateway import Gateway
from fencepost.leases.etcd.store import EtcdLeases
from fencepost.leases.etcd.wire import encode
from fencepost.model.identifiers import Shard

Accident = Callable[[], Awaitable[object]]


class Interrupted(Gateway):
    """A gateway to which something happens just before a request goes out, or takes one that never does."""

    def __init__(self, address: str, name: str) -> None:
        super().__init__(read_address(f"etcd://{address}?name={name}"))
        self.name = name
        self.held: list[tuple[str, Mapping[str, object]]] = []
        self._accidents: dict[str, Accident] = {}
        self._holding = False
        self.stream_ended = asyncio.Event()

    def client(self) -> EtcdLeases:
        """Leases by way of this gateway."""
        address = read_address(f"etcd://nowhere?name={self.name}")
        return EtcdLeases(self, address, SystemClock())

    def before(self, path: str, accident: Accident) -> None:
        """Let this happen before the next request to the path is sent."""
        self._accidents[path] = accident

    def hold_next(self) -> None:
        """Keep the next transaction back, and leave its sender without an answer."""
        self._holding = True

    async def deliver(self) -> dict[str, Any]:
        """Let a transaction that was held arrive, late."""
        return await super().tell(*self.held.pop())

    async def ask(self, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        await self._suffer(path)
        return await super().ask(path, body)

    async def tell(self, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        await self._suffer(path)
        if self._holding:
            self._holding = False
            self.held.append((path, body))
            raise Doubtful("held back by the test")
        return await super().tell(path, body)

    @asynccontextmanager
    async def stream(
        self, path: str, body: Mapping[str, object]
    ) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        try:
            async with super().stream(path, body) as messages:
                yield messages
        finally:
            self.stream_ended.set()

    async def _suffer(self, path: str) -> None:
        if accident := self._accidents.pop(path, None):
            await accident()

    async def delete(self, shard: Shard) -> None:
        await super().ask("kv/deleterange", {"key": self._key(shard)})

    async def overwrite(self, shard: Shard, value: str) -> None:
        """Put a value without a lease, which takes the key off the one that it hung on."""
        await super().ask("kv/put", {"key": self._key(shard), "value": encode(value)})

    async def lease_of(self, shard: Shard) -> int:
        found = await super().ask("kv/range", {"key": self._key(shard)})
        return int(found["kvs"][0]["lease"])

    async def revoke(self, lease: int) -> None:
        await super().ask("lease/revoke", {"ID": str(lease)})

    async def leases(self) -> set[int]:
        """Every lease that etcd knows."""
        found = await super().ask("lease/leases", {})
        return {int(lease["ID"]) for lease in found.get("leases", ())}

    def _key(self, shard: Shard) -> str:
        return encode(f"{self.name}/leases/{shard}")
