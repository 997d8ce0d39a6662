"""A TCP proxy that is as bad as a network can be, on command.

Whatever it was told to do, `heal` takes back, and what was held goes on its way, late but complete. It runs
on the loop of the test; clients may be of that loop or processes of their own. What a test has to wait for
(something is held, an answer is lost) can be awaited.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass

from tests.servers.ports import free_port

CHUNK = 65_536
RESET = struct.pack("ii", 1, 0)
"""Linger for no time at all: the close of such a socket is a reset."""

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Proxy:
    """Listens on a port of its own and passes everything on, until told otherwise."""

    def __init__(self, host: str, port: int) -> None:
        self.port = 0
        self._target = (host, port)
        self._requests = _open_gate()
        self._answers = _open_gate()
        self._held = asyncio.Event()
        self._lost = asyncio.Event()
        self._trap: tuple[int, bytes] | None = None
        self._losing: bytes | None = None
        self._losing_once = False
        self._listening: socket.socket | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def start(self, port: int | None = None) -> None:
        self.port = port or free_port()
        self._listen()

    async def close(self) -> None:
        self.refuse()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def retarget(self, host: str, port: int) -> None:
        """Lead new connections elsewhere. Who is connected stays where they are, unless `reset` follows."""
        self._target = (host, port)

    def cut(self) -> None:
        """A partition: connections stay open, new ones are accepted, and nothing passes in either
        direction."""
        self._requests.clear()
        self._answers.clear()
        self._held.clear()

    def cut_answers(self) -> None:
        """A partition one way: requests arrive and are carried out, and nothing comes back."""
        self._answers.clear()
        self._held.clear()

    def reset(self) -> None:
        """End every connection, rudely, at both ends."""
        for writer in tuple(self._writers):
            with suppress(OSError):  # The other end may have been quicker.
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            writer.transport.abort()

    def refuse(self) -> None:
        """Let nobody in. Who is connected stays so, unless `reset` follows."""
        if self._listening is not None:
            asyncio.get_running_loop().remove_reader(self._listening)
            self._listening.close()
            self._listening = None

    def lose_answers(self, to: bytes = b"") -> None:
        """Pass requests on, and instead of answering close the connection; only to requests that hold
        `to`."""
        self._losing, self._losing_once = to, False
        self._lost.clear()

    def lose_next_answer(self, to: bytes = b"") -> None:
        """The same for one request, the next that holds `to` in one piece; then all is well again."""
        self.lose_answers(to)
        self._losing_once = True

    def heal(self) -> None:
        """Be a good network."""
        self._losing = self._trap = None
        self._requests.set()
        self._answers.set()
        if self._listening is None:
            self._listen()

    async def hold_from(self, at_least_bytes: int, at_most_s: float, saying: bytes = b"") -> None:
        """Wait until a client sends that much in one piece, with these bytes in it; from that piece on
        nothing reaches the server."""
        self._trap = at_least_bytes, saying
        self._held.clear()
        await self.held(at_most_s)

    def release(self) -> None:
        """Let everything that was held go on its way, late but complete."""
        self._requests.set()

    async def held(self, at_most_s: float) -> None:
        """Wait until something was sent that cannot pass."""
        async with asyncio.timeout(at_most_s):
            await self._held.wait()

    async def lost(self, at_most_s: float) -> None:
        """Wait until an answer was lost; its request has been carried out."""
        async with asyncio.timeout(at_most_s):
            await self._lost.wait()

    def _listen(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", self.port))
        self._listening.setblocking(False)
        asyncio.get_running_loop().add_reader(self._listening, self._accept)

    def _accept(self) -> None:
        assert self._listening is not None
        with suppress(OSError):
            connection, _ = self._listening.accept()
            task = asyncio.create_task(self._join(connection))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _join(self, connection: socket.socket) -> None:
        """Connect a client with the server. Where there is none, the client is turned away."""
        client = await asyncio.open_connection(sock=connection)
        opened = [client]
        self._writers.add(client[1])
        try:
            await self._pass(self._answers)
            with suppress(OSError):
                server = await asyncio.open_connection(*self._target)
                opened.append(server)
                self._writers.add(server[1])
                await self._carry(client, server)
        finally:
            for _, writer in opened:
                self._writers.discard(writer)
                writer.close()

    async def _carry(self, client: Ends, server: Ends) -> None:
        """Both ways, until both ends have closed or an answer was lost."""
        line = _Line()
        ways = [
            asyncio.create_task(self._carry_requests(client[0], server[1], line)),
            asyncio.create_task(self._carry_answers(server[0], client[1], line)),
        ]
        try:
            await asyncio.gather(*ways)
        finally:
            for way in ways:
                way.cancel()

    async def _carry_requests(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, line: _Line
    ) -> None:
        while chunk := await _read(reader):
            self._spring(chunk)
            await self._pass(self._requests)
            line.is_doomed = line.is_doomed or self._dooms(chunk)
            await _send(writer, chunk)
        await self._pass(self._requests)
        writer.close()

    async def _carry_answers(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, line: _Line
    ) -> None:
        while chunk := await _read(reader):
            await self._pass(self._answers)
            if line.is_doomed:
                self._lost.set()
                raise ConnectionAbortedError
            await _send(writer, chunk)
        await self._pass(self._answers)
        writer.close()

    async def _pass(self, gate: asyncio.Event) -> None:
        """Wait for the gate; it may have closed again by the time that we are woken."""
        while not gate.is_set():
            self._held.set()
            await gate.wait()

    def _spring(self, chunk: bytes) -> None:
        if self._trap is None:
            return
        at_least_bytes, saying = self._trap
        if len(chunk) >= at_least_bytes and saying in chunk:
            self._trap = None
            self._requests.clear()

    def _dooms(self, chunk: bytes) -> bool:
        """Whether the answer to this request is to be lost."""
        if self._losing is None or self._losing not in chunk:
            return False
        if self._losing_once:
            self._losing = None
        return True


@dataclass
class _Line:
    """What both directions of a connection know of each other."""

    is_doomed: bool = False


async def _read(reader: asyncio.StreamReader) -> bytes:
    """What comes in; nothing, once the other end has closed in whatever way."""
    try:
        return await reader.read(CHUNK)
    except OSError:
        return b""


async def _send(writer: asyncio.StreamWriter, chunk: bytes) -> None:
    """What the other end does not want any more is of no interest."""
    with suppress(OSError):
        writer.write(chunk)
        await writer.drain()


def _open_gate() -> asyncio.Event:
    gate = asyncio.Event()
    gate.set()
    return gate
