"""A connection is not held by saying nothing, and not closed while somebody waits for its answer; where there
are too many, those go that say nothing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import pytest
import uvicorn

from fencepost.telemetry.metrics import start_metrics
from fencepost.web.binding import bound
from fencepost.web.connections import PIECE_BYTES_MIN, PIECES_FREE, READ_BYTES, Connection, ConnectionLimit

PATIENCE_S = 30.0
REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
UNFINISHED = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf"
LOOKS_MAX = 2_000


async def test_only_what_says_nothing_is_closed() -> None:
    async with server(ConnectionLimit(), between_s=1) as here:
        waiting, speaker = await here.connect(REQUEST)
        await here.asked.wait()
        for said in (b"", REQUEST[:10], REQUEST[:-2]):
            silent, _ = await here.connect(said)
            assert await silent.read() == b"", said
        here.go.set()
        assert (await waiting.readline()).startswith(b"HTTP/1.1 204")
        await waiting.read()
        speaker.close()


async def test_beyond_the_most_the_one_that_has_said_nothing_for_longest_goes() -> None:
    limit = ConnectionLimit(3)
    async with server(limit) as here:
        here.go.set()
        silent = [await here.connect() for _ in range(3)]
        await here.until(3)
        for place in range(3):
            reader, _ = await here.connect(REQUEST)
            assert (await reader.readline()).startswith(b"HTTP/1.1 204")
            assert await over(silent[place][0])
            assert len(limit) == 3


@pytest.mark.parametrize("said", [REQUEST[:-2], UNFINISHED], ids=["half a head", "half a body"])
async def test_a_request_that_is_not_whole_is_as_good_as_nothing(said: bytes) -> None:
    async with server(ConnectionLimit(1)) as here:
        stammering, _ = await here.connect(said)
        if said is UNFINISHED:
            await here.asked.wait()
        reader, _ = await here.connect(REQUEST)
        assert await over(stammering)
        here.go.set()
        assert (await reader.readline()).startswith(b"HTTP/1.1 204")


async def test_those_that_rest_after_an_answer_go_after_the_silent_ones() -> None:
    async with server(ConnectionLimit(2)) as here:
        here.go.set()
        resting, _ = await here.connect(REQUEST)
        await resting.readuntil(b"\r\n\r\n")
        silent, _ = await here.connect()
        await here.until(2)
        others = [await here.connect(REQUEST)]
        await others[0][0].readuntil(b"\r\n\r\n")
        assert await over(silent)
        assert not resting.at_eof()
        others.append(await here.connect(REQUEST))
        assert (await others[1][0].readline()).startswith(b"HTTP/1.1 204")
        assert await over(resting)


async def test_where_all_are_being_answered_the_new_one_is_closed() -> None:
    async with server(ConnectionLimit(2)) as here:
        asking = [await here.connect(REQUEST) for _ in range(2)]
        await here.until_asked(2)
        for _ in range(3):
            refused, _ = await here.connect(REQUEST)
            assert await over(refused)
        here.go.set()
        for reader, _ in asking:
            assert (await reader.readline()).startswith(b"HTTP/1.1 204")


async def test_who_does_not_take_the_answers_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencepost.web.connections.TAKEN_WITHIN_S", 0.1)
    metrics = start_metrics()
    limit = ConnectionLimit()
    async with server(limit) as here:
        here.body = b"x" * 20_000_000
        here.go.set()
        await here.connect(REQUEST)
        await here.asked.wait()
        await here.until(0)
    assert b'fencepost_web_refused_total{cause="slow_reader"} 1.0' in metrics.render()


def chunked(*pieces: bytes) -> bytes:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in pieces) + b"0\r\n\r\n"


async def test_a_body_in_tiny_pieces_ends_its_connection() -> None:
    metrics = start_metrics()
    async with server(ConnectionLimit()) as here:
        here.go.set()
        refused, _ = await here.connect(chunked(*[b"a"] * 20_000))
        with suppress(ConnectionError):
            assert await over(refused)
        for pieces in ([b"a"] * PIECES_FREE, [b"a" * 2 * PIECE_BYTES_MIN] * 500):
            reader, _ = await here.connect(chunked(*pieces))
            assert (await reader.readline()).startswith(b"HTTP/1.1 204"), len(pieces)
    assert b'fencepost_web_refused_total{cause="tiny_pieces"} 1.0' in metrics.render()


async def test_a_last_answer_that_is_not_taken_does_not_hold_the_connection() -> None:
    limit = ConnectionLimit()
    async with server(limit, between_s=1) as here:
        here.body = b"x" * 20_000_000
        here.go.set()
        await here.connect(REQUEST.replace(b"Host", b"Connection: close\r\nHost"))
        await here.asked.wait()
        await here.until(0)


async def test_of_what_one_sends_at_once_little_is_read_and_one_is_answered_in_each_pass() -> None:
    limit = ConnectionLimit()
    async with server(limit) as here:
        await here.connect(REQUEST * 10_000)
        await here.asked.wait()
        (member,) = limit._answered
        assert isinstance(member, Connection)
        here.go.set()
        for _ in range(200):
            before = here.requests
            await asyncio.sleep(0)
            assert here.requests <= before + 1
            assert len(member.conn.trailing_data[0]) <= 2 * READ_BYTES
        assert here.requests > 1


class Here:
    """A server that answers once it may."""

    body = b""

    def __init__(self, limit: ConnectionLimit, place: tuple[str, int]) -> None:
        self.go, self.asked = asyncio.Event(), asyncio.Event()
        self.requests = 0
        self._limit = limit
        self._place = place
        self._writers: list[asyncio.StreamWriter] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.requests += 1
        self.asked.set()
        await self.go.wait()
        await send({"type": "http.response.start", "status": 200 if self.body else 204, "headers": []})
        await send({"type": "http.response.body", "body": self.body})

    async def connect(self, said: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(*self._place)
        self._writers.append(writer)
        writer.write(said)
        return reader, writer

    async def until(self, connected: int) -> None:
        for _ in range(LOOKS_MAX):
            if len(self._limit) == connected:
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"{len(self._limit)} are connected")

    async def until_asked(self, requests: int) -> None:
        for _ in range(LOOKS_MAX):
            if self.requests == requests:
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"{self.requests} have asked")

    def close(self) -> None:
        for one in self._writers:
            one.close()


@asynccontextmanager
async def server(limit: ConnectionLimit, between_s: int = 600) -> AsyncIterator[Here]:
    listener = bound("127.0.0.1:0")
    here = Here(limit, listener.getsockname())
    http: Any = partial(Connection, limit)
    config = uvicorn.Config(here, http=http, timeout_keep_alive=between_s, lifespan="off", log_config=None)
    serving = uvicorn.Server(config)
    task = asyncio.create_task(serving._serve([listener]))
    async with asyncio.timeout(PATIENCE_S):
        try:
            yield here
        finally:
            here.go.set()
            here.close()
            serving.should_exit = True
            await task
    assert len(limit) == 0


async def over(reader: asyncio.StreamReader) -> bool:
    """Whether the other side has closed it without a word."""
    with suppress(ConnectionResetError):
        return await reader.read() == b""
    return True
