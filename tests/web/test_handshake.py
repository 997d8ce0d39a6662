"""With TLS too, those who say nothing take nobody's place, and what comes with the handshake is not lost."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from fencepost.web import connections
from fencepost.web.binding import bound
from fencepost.web.connections import ConnectionLimit, protocols
from fencepost.web.server import HttpServer
from fencepost.web.tls import Tls

PATIENCE_S = 30.0
LOOKS_MAX = 2_000
REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
HELLO = b"\x16\x03\x01\x02\x00\x01"
"""How a client begins; there is no more of it."""


class Here:
    """A server with TLS that says by which scheme it was asked."""

    def __init__(self, limit: ConnectionLimit, certificate: Path, place: tuple[str, int]) -> None:
        self.limit = limit
        self.kept: list[asyncio.StreamWriter] = []
        self._trusted = ssl.create_default_context(cafile=str(certificate))
        self._place = place

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        about = [(b"scheme", scope["scheme"].encode())]
        await send({"type": "http.response.start", "status": 204, "headers": about})
        await send({"type": "http.response.body", "body": b""})

    async def asked(self) -> bytes:
        """One request in one connection, and what was answered."""
        reader, writer = await asyncio.open_connection(*self._place, ssl=self._trusted)
        writer.write(REQUEST)
        heard = await reader.readuntil(b"\r\n\r\n")
        writer.close()
        return heard

    async def plain(self, said: bytes) -> asyncio.StreamReader:
        """A connection without TLS on which nothing else is said."""
        reader, writer = await asyncio.open_connection(*self._place)
        writer.write(said)
        self.kept.append(writer)
        return reader

    async def until(self, connected: int) -> None:
        await until(self.limit, connected)


async def until(limit: ConnectionLimit, connected: int) -> None:
    for _ in range(LOOKS_MAX):
        if len(limit) == connected:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{len(limit)} are connected")


@asynccontextmanager
async def server(files: tuple[Path, Path], most: int) -> AsyncIterator[Here]:
    limit, listener = ConnectionLimit(most), bound("127.0.0.1:0")
    here = Here(limit, files[0], listener.getsockname())
    http: Any = protocols(limit, Tls(*map(str, files)))
    config = uvicorn.Config(here, http=http, lifespan="off", log_config=None, timeout_graceful_shutdown=1)
    serving = uvicorn.Server(config)
    task = asyncio.create_task(serving._serve([listener]))
    async with asyncio.timeout(PATIENCE_S):
        try:
            yield here
        finally:
            for one in here.kept:
                one.close()
            serving.should_exit = True
            await task


async def test_a_request_is_answered_by_tls_and_the_limit_is_empty_afterwards(
    files: tuple[Path, Path],
) -> None:
    async with server(files, 3) as here:
        for _ in range(5):
            heard = await here.asked()
            assert heard.startswith(b"HTTP/1.1 204")
            assert b"scheme: https" in heard
        await here.until(0)


@pytest.mark.parametrize("said", [b"", HELLO], ids=["nothing", "the beginning of a hello"])
async def test_those_who_do_not_agree_go_first(files: tuple[Path, Path], said: bytes) -> None:
    async with server(files, 3) as here:
        silent = [await here.plain(said) for _ in range(3)]
        await here.until(3)
        for _ in range(5):
            assert (await here.asked()).startswith(b"HTTP/1.1 204")
        assert await over(silent[0]), "the one that said nothing for longest went"
        assert len(here.limit) <= 3


async def test_who_says_nothing_is_not_waited_for_without_end(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HANDSHAKE_WITHIN_S", 0.1)
    async with server(files, 3) as here:
        assert await over(await here.plain(b""))
        await here.until(0)


@pytest.mark.parametrize("said", [REQUEST, b"\x00" * 100], ids=["plain HTTP", "noise"])
async def test_what_is_no_tls_is_closed_and_forgotten(files: tuple[Path, Path], said: bytes) -> None:
    async with server(files, 3) as here:
        reader = await here.plain(said)
        heard = await reader.read()
        assert b"HTTP" not in heard
        await here.until(0)
        assert (await here.asked()).startswith(b"HTTP/1.1 204")


@pytest.mark.parametrize("said", [b"", HELLO], ids=["nothing", "the beginning of a hello"])
async def test_who_has_not_agreed_is_not_waited_for_at_the_end(
    files: tuple[Path, Path], said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HANDSHAKE_WITHIN_S", 10 * PATIENCE_S)

    async def nothing(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("nobody asked for anything")

    listener = bound("127.0.0.1:0")
    serving = HttpServer(nothing, Tls(*map(str, files)))
    async with asyncio.timeout(PATIENCE_S):
        task = asyncio.create_task(serving.serve([listener]))
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(said)
        await until(serving.limit, 1)
        serving.should_exit = True
        await task
        assert await over(reader)
        writer.close()
    assert len(serving.limit) == 0


async def test_what_comes_with_the_end_of_the_handshake_is_read(files: tuple[Path, Path]) -> None:
    """A client may send its last word of the handshake and its request in one packet."""
    async with server(files, 3) as here:
        assert (await in_one_packet(here, files[0])).startswith(b"HTTP/1.1 204")


async def in_one_packet(here: Here, certificate: Path) -> bytes:
    """TLS by hand, so that both are sent at once."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    trusted = ssl.create_default_context(cafile=str(certificate))
    tls = trusted.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    reader, writer = await asyncio.open_connection(*here._place)
    while True:
        try:
            tls.do_handshake()
        except ssl.SSLWantReadError:
            writer.write(outgoing.read())
            incoming.write(await reader.read(65_536))
        else:
            break
    tls.write(REQUEST)
    writer.write(outgoing.read())
    heard = b""
    while b"\r\n\r\n" not in heard:
        incoming.write(await reader.read(65_536))
        while True:
            try:
                heard += tls.read(65_536)
            except ssl.SSLWantReadError:
                break
    writer.close()
    return heard


async def over(reader: asyncio.StreamReader) -> bool:
    try:
        return await reader.read() == b""
    except ConnectionResetError:
        return True
