"""The route on a real socket: a stream begins at once, and ends at once."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from litestar import Litestar, Router

from fencepost.model.run_log import LogPlace
from fencepost.web.live import messages
from fencepost.web.live.route import events_route
from tests.web.live.theatre import Theatre, parsed, principal

PATIENCE_S = 30.0
LOOKS_MAX = 3_000


class Stage:
    """A server with the one route, and whoever comes is let in."""

    def __init__(self, theatre: Theatre) -> None:
        self.theatre = theatre
        self.open = 0
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        routes = Litestar(
            [Router("/api/v1", route_handlers=[events_route(theatre.hub)])], openapi_config=None
        )

        async def let_in(scope: Any, receive: Any, send: Any) -> None:
            scope.setdefault("state", {})["principal"] = principal()
            self.open += 1
            try:
                await routes(scope, receive, send)
            finally:
                self.open -= 1

        config = uvicorn.Config(let_in, log_config=None, lifespan="off", timeout_graceful_shutdown=1)
        self.server = uvicorn.Server(config)
        self.serving: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Stage:
        self.serving = asyncio.create_task(self.server._serve([self._socket]))
        await until(lambda: self.server.started)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.theatre.hub.close()
        self.server.should_exit = True
        assert self.serving is not None
        await asyncio.wait_for(self.serving, PATIENCE_S)

    async def ask(
        self, more: str = "", method: str = "GET", path: str = "/api/v1/events"
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, bytes]:
        """A request, and the head of its answer."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=2**16)
        writer.write(f"{method} {path} HTTP/1.1\r\nHost: here\r\n{more}\r\n".encode())
        await writer.drain()
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE_S)
        return reader, writer, head


@pytest.fixture
def theatre() -> Theatre:
    return Theatre(per_credential_max=2)


@asynccontextmanager
async def opened(theatre: Theatre) -> AsyncIterator[Stage]:
    async with Stage(theatre) as stage:
        yield stage


async def test_a_stream_begins_before_anything_happened(theatre: Theatre) -> None:
    async with opened(theatre) as stage:
        reader, writer, head = await stage.ask()
        assert b"200 OK" in head
        assert b"content-type: text/event-stream" in head
        assert b"cache-control: no-store" in head
        assert messages.HELLO in await piece(reader)
        claim = await theatre.begin("one")
        await theatre.look()
        await theatre.look()
        told = await heard_until(reader, "runs")
        assert told["runs"][0]["run_key"] == claim.run_key
        writer.close()


async def test_a_reader_who_hangs_up_is_not_listened_for(theatre: Theatre) -> None:
    async with opened(theatre) as stage:
        _, writer, _ = await stage.ask()
        await until(lambda: len(theatre.hub._listeners) == 1)
        writer.close()
        await until(lambda: len(theatre.hub._listeners) == 0)


async def test_stopping_ends_the_answer_and_not_only_the_connection(theatre: Theatre) -> None:
    async with opened(theatre) as stage:
        reader, writer, _ = await stage.ask()
        await until(lambda: len(theatre.hub._listeners) == 1)
        theatre.hub.close()
        rest = await asyncio.wait_for(reader.readuntil(b"0\r\n\r\n"), PATIENCE_S)
        assert rest.endswith(b"0\r\n\r\n"), "the last chunk: the answer is whole"
        writer.close()


async def test_a_reader_who_takes_nothing_does_not_keep_its_stream_open(theatre: Theatre) -> None:
    """More is told than any buffer between the two takes; then the house stops."""
    async with opened(theatre) as stage:
        _, writer, _ = await stage.ask()
        await until(lambda: len(theatre.hub._listeners) == 1)
        (listener,) = theatre.hub._listeners
        flood = messages.event("runs", {"fill": "x" * 2**20}, 1)
        for _ in range(64):
            listener.offer(flood, flood)
            await asyncio.sleep(0)
        theatre.hub.close()
        await until(lambda: stage.open == 0)
        writer.close()


async def test_one_stream_too_many_is_told_so(theatre: Theatre) -> None:
    async with opened(theatre) as stage:
        writers = [(await stage.ask())[1] for _ in range(2)]
        await until(lambda: len(theatre.hub._listeners) == 2)
        reader, writer, head = await stage.ask()
        assert b"429" in head.splitlines()[0]
        assert b"retry-after" in head.lower()
        assert b"this credential has 2 streams open already" in await piece(reader)
        for one in (*writers, writer):
            one.close()


async def test_a_stream_is_not_opened_by_anything_but_a_get(theatre: Theatre) -> None:
    async with opened(theatre) as stage:
        _, writer, head = await stage.ask("Content-Length: 0\r\n", method="POST")
        assert b"405" in head.splitlines()[0]
        assert not theatre.hub._listeners
        writer.close()


async def test_a_returning_listener_is_told_to_read_anew(theatre: Theatre) -> None:
    async with opened(theatre) as stage:
        reader, writer, _ = await stage.ask("Last-Event-ID: 17\r\n")
        assert await heard_until(reader, "resync") == {}
        writer.close()


@pytest.mark.parametrize(("after", "place"), [("1.17", LogPlace(1, 17)), ("x.y", None), ("1", None)])
async def test_a_log_is_watched_from_a_place_and_what_is_none_is_taken_for_none(
    theatre: Theatre, after: str, place: LogPlace | None
) -> None:
    async with opened(theatre) as stage:
        _, writer, head = await stage.ask(path=f"/api/v1/events?run=report%23one&after={after}")
        assert b"200 OK" in head
        await until(lambda: len(theatre.hub._listeners) == 1)
        (listener,) = theatre.hub._listeners
        assert (listener.run_key, listener.place) == ("report#one", place)
        writer.close()


async def piece(reader: asyncio.StreamReader) -> bytes:
    return await asyncio.wait_for(reader.read(2**16), PATIENCE_S)


async def heard_until(reader: asyncio.StreamReader, name: str) -> Any:
    """The data of the first event of that name. Signs of life alone do not make anybody wait longer."""
    text = b""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            text += await piece(reader)
            found = [data for one, data in parsed(text.replace(b"\r\n", b"\n")) if one == name]
            if found:
                return found[0]


async def until(holds: Any) -> None:
    """Wait for a condition, within reason."""
    for _ in range(LOOKS_MAX):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never came true")
