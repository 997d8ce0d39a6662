"""Connections to the master, which is asked for anew each time: it may have moved.

The driver's plain connections, not its client: a client would repeat commands by itself, keep connections
of which a caller was cancelled in mid-protocol, and remember a master for too long.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

import redis
from redis.asyncio import Connection, SSLConnection

from fencepost.leases.redis.address import Credentials, RedisAddress
from fencepost.leases.redis.faults import UNKNOWN, UnknownService
from fencepost.model.address import Host
from fencepost.model.faults import brief

SENTINEL_TIMEOUT_S = 0.5
"""For one sentinel; the next may be well."""


class Master:
    """The one server that decides, wherever it is at the moment."""

    def __init__(self, address: RedisAddress) -> None:
        self._address = address
        self._sentinels = deque(address.hosts)

    async def connect(self) -> Connection:
        """A new connection. That it leads to a master is what each script makes sure of."""
        address = self._address
        host = address.hosts[0] if address.service is None else await self._find(address.service)
        return await self._open(host, address.credentials, address.database)

    async def _find(self, service: str) -> Host:
        """Ask the sentinels, first the one that answered last."""
        fault: Exception = UnknownService(service)
        for _ in range(len(self._sentinels)):
            try:
                async with asyncio.timeout(SENTINEL_TIMEOUT_S):
                    return await self._ask(self._sentinels[0], service)
            except redis.AuthenticationError as error:
                fault = redis.AuthenticationError(f"sentinel {self._sentinels[0]}: {brief(error)}")
            except UnknownService:
                pass
            except UNKNOWN as error:
                fault = redis.ConnectionError(f"sentinel {self._sentinels[0]}: {brief(error)}")
            self._sentinels.rotate(-1)
        raise fault

    async def _ask(self, sentinel: Host, service: str) -> Host:
        connection = await self._open(sentinel, self._address.sentinel_credentials, 0)
        try:
            await connection.send_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", service)
            answer = await connection.read_response()
        finally:
            await discard(connection)
        if answer is None:
            raise UnknownService(service)
        name, port = answer
        return Host(name, int(port))

    async def _open(self, host: Host, credentials: Credentials, database: int) -> Connection:
        connection = self._create(
            host=host.name,
            port=host.port,
            db=database,
            username=credentials.user,
            password=credentials.password,
            protocol=2,
            decode_responses=True,
            encoding_errors="replace",
            socket_timeout=None,
            socket_connect_timeout=None,
        )
        try:
            await connection.connect()  # type: ignore[no-untyped-call]
        except BaseException:
            await discard(connection)
            raise
        return connection

    def _create(self, **options: Any) -> Connection:
        """Without limits of its own, because the whole call has one, and without repetitions."""
        files = self._address.tls
        if files is None:
            return Connection(**options)
        return SSLConnection(
            ssl_ca_certs=files.get("ca"),
            ssl_certfile=files.get("cert"),
            ssl_keyfile=files.get("key"),
            **options,
        )


async def discard(connection: Connection) -> None:
    """Close at once, whatever was under way."""
    await connection.disconnect(nowait=True)


async def is_sound(connection: Connection) -> bool:
    """Whether nothing arrived unasked while the connection was idle, the end of the connection included.

    A driver before 8 cannot tell, and a call finds out.
    """
    has_news = getattr(connection, "can_read", None)
    try:
        return has_news is None or not await has_news()
    except UNKNOWN:
        return False
