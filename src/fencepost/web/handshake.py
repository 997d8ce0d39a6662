"""TLS is agreed on with everybody, and anybody can begin and say nothing.

The loop would tell of a connection only once its handshake is done. Here it is one of the crowd from the
moment it is accepted, so that those who say nothing go where there are too many, with TLS as without.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import cast

from fencepost.web.crowd import Crowd

AGREED_WITHIN_S = 10.0


class Handshake(asyncio.Protocol):
    """One connection before its TLS; `connection` makes what it is afterwards."""

    def __init__(self, crowd: Crowd, tls: ssl.SSLContext, connection: Callable[[], asyncio.Protocol]) -> None:
        self._crowd = crowd
        self._tls = tls
        self._connection = connection
        self._agreeing: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.pause_reading()
        self._crowd.enter(self)
        self._agreeing = asyncio.get_running_loop().create_task(self._agree())

    def drop(self) -> None:
        """Close it now."""
        self._transport.abort()

    async def _agree(self) -> None:
        early = _Early()
        secured = None
        try:
            with suppress(OSError):
                secured = await asyncio.get_running_loop().start_tls(
                    *(self._transport, early, self._tls),
                    server_side=True,
                    ssl_handshake_timeout=AGREED_WITHIN_S,
                )
        finally:
            self._crowd.leave(self)
        if secured is None or early.is_over or self._transport.is_closing():
            self._transport.abort()
        else:
            early.hand_over(secured, self._connection())


class _Early(asyncio.Protocol):
    """What may come together with the end of the handshake, before anybody knows that it ended."""

    def __init__(self) -> None:
        self.is_over = False
        self._said: list[bytes] = []

    def data_received(self, data: bytes) -> None:
        self._said.append(data)

    def eof_received(self) -> None:
        self.is_over = True

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_over = True

    def hand_over(self, transport: asyncio.Transport, connection: asyncio.Protocol) -> None:
        """From now on everything is the connection's."""
        transport.set_protocol(connection)
        connection.connection_made(transport)
        for said in self._said:
            connection.data_received(said)
