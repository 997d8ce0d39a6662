"""A server that says exactly what a test tells it to, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from tests.servers.listening import listening

PATIENCE_S = 20.0

Speech = Callable[["Request", asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True)
class Request:
    """One request as it came over the wire."""

    line: str
    headers: dict[str, str]
    body: bytes
    raw: bytes

    @property
    def path(self) -> str:
        return self.line.split(" ")[1]

    @property
    def method(self) -> str:
        return self.line.split(" ")[0]


@dataclass
class Server:
    """A listening server; `answers` are given in turn, the last one for ever."""

    answers: Sequence[bytes | Speech]
    port: int = 0
    connections: int = 0
    requests: list[Request] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once a client has closed its connection."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            request = await _read(reader)
            self.requests.append(request)
            self.asked.set()
            answer = self.answers[min(len(self.requests), len(self.answers)) - 1]
            if callable(answer):
                await answer(request, writer)
            else:
                writer.write(answer)
                await writer.drain()
            await reader.read()
        self.hung_up.set()


@asynccontextmanager
async def served(
    *answers: bytes | Speech, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Server]:
    """A server on loopback until the block ends."""
    server = Server(list(answers) or [said(200)])
    async with listening(server.serve, host, port, tls) as server.port:
        yield server


def said(status: int, body: bytes = b"", headers: Iterable[tuple[str, str]] = ()) -> bytes:
    """A whole answer."""
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def _read(reader: asyncio.StreamReader) -> Request:
    head = await reader.readuntil(b"\r\n\r\n")
    line, *rest = head.decode("latin-1").split("\r\n")
    pairs = [text.partition(": ") for text in rest if text]
    headers = {name.lower(): value for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(line, headers, body, head + body)
