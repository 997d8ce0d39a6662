"""A TCP proxy that can hold back what a client sends, as a bad network does, and let it go much later."""

from __future__ import annotations

import asyncio
from contextlib import suppress

CHUNK = 65_536


class Proxy:
    """Listens on a free port and passes everything on, until told to hold."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._sprung = asyncio.Event()
        self._trap_bytes: int | None = None
        self._server: asyncio.Server | None = None
        self._pipes: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def start(self, port: int) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", port)

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        for pipe in self._pipes:
            pipe.cancel()
        await asyncio.gather(*self._pipes, return_exceptions=True)

    async def hold_from(self, at_least_bytes: int, at_most_s: float) -> None:
        """Wait until a client sends that much in one piece; from that piece on nothing reaches the server."""
        self._trap_bytes = at_least_bytes
        self._sprung.clear()
        async with asyncio.timeout(at_most_s):
            await self._sprung.wait()

    def release(self) -> None:
        """Let everything that was held go on its way, late but complete."""
        self._flowing.set()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            up_reader, up_writer = await asyncio.open_connection(*self._target)
            self._start(self._pass_on(reader, up_writer, holding=True))
            self._start(self._pass_on(up_reader, writer, holding=False))
            return
        writer.close()

    def _start(self, pipe: object) -> None:
        task: asyncio.Task[None] = asyncio.ensure_future(pipe)  # type: ignore[call-overload]
        self._pipes.add(task)
        task.add_done_callback(self._pipes.discard)

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, holding: bool
    ) -> None:
        try:
            with suppress(OSError):
                while chunk := await reader.read(CHUNK):
                    if holding:
                        self._spring(len(chunk))
                        await self._flowing.wait()
                    writer.write(chunk)
                    await writer.drain()
        finally:
            writer.close()

    def _spring(self, size: int) -> None:
        if self._trap_bytes is not None and size >= self._trap_bytes:
            self._trap_bytes = None
            self._flowing.clear()
            self._sprung.set()
