"""The socket of the metrics: two pages, and nobody can hold it up."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from fencepost.errors import InvalidSettings
from fencepost.telemetry.metrics_server import ANSWER_MAX_S, CONNECTIONS_MAX, MetricsServer
from fencepost.web.binding import bound

PATIENCE_S = 30.0


class Page:
    def render(self) -> bytes:
        return b"a_total 1\n"


@asynccontextmanager
async def served() -> AsyncIterator[tuple[str, int]]:
    server = MetricsServer(Page(), "text/plain; version=0.0.4", bound("127.0.0.1:0", "metrics"))
    host, _, port = server.address.removeprefix("http://").rpartition(":")
    task = asyncio.create_task(server.run())
    try:
        yield host, int(port)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def asked(place: tuple[str, int], request: bytes) -> tuple[bytes, bytes]:
    """The head and the body of the answer."""
    async with asyncio.timeout(PATIENCE_S):
        reader, writer = await asyncio.open_connection(*place)
        writer.write(request)
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
    head, _, body = answer.partition(b"\r\n\r\n")
    return head, body


@pytest.mark.parametrize(
    ("request_line", "status", "body"),
    [
        (b"GET /metrics HTTP/1.0", b"200", b"a_total 1\n"),
        (b"GET /metrics?name=x HTTP/1.0", b"200", b"a_total 1\n"),
        (b"HEAD /metrics HTTP/1.0", b"200", b""),
        (b"GET /healthz HTTP/1.0", b"200", b"ok\n"),
        (b"GET / HTTP/1.0", b"404", b"not found: /metrics and /healthz are here\n"),
        (b"GET /metrics/../etc HTTP/1.0", b"404", b"not found: /metrics and /healthz are here\n"),
    ],
)
async def test_two_pages_are_there_and_no_other(request_line: bytes, status: bytes, body: bytes) -> None:
    async with served() as place:
        head, found = await asked(place, request_line + b"\r\n\r\n")
    assert head.split()[1] == status
    assert found == body
    assert b"Python" not in head


async def test_nothing_can_be_written() -> None:
    async with served() as place:
        head, _ = await asked(place, b"POST /metrics HTTP/1.0\r\nContent-Length: 0\r\n\r\n")
    assert head.split()[1] == b"501"


async def test_a_silent_client_keeps_no_other_waiting() -> None:
    async with served() as place:
        _, silent = await asyncio.open_connection(*place)
        _, body = await asked(place, b"GET /healthz HTTP/1.0\r\n\r\n")
        silent.close()
        await silent.wait_closed()
    assert body == b"ok\n"


async def test_more_connections_than_there_are_threads_for_are_turned_away_until_one_is_free() -> None:
    async with served() as place:
        silent = [await asyncio.open_connection(*place) for _ in range(CONNECTIONS_MAX)]
        reader, beyond = await asyncio.open_connection(*place)
        async with asyncio.timeout(ANSWER_MAX_S / 2):
            assert await reader.read() == b""
        for _, writer in [*silent, (reader, beyond)]:
            writer.close()
        async with asyncio.timeout(PATIENCE_S):
            while not await _is_answered(place):  # noqa: ASYNC110 - threads end by themselves
                await asyncio.sleep(0)


async def _is_answered(place: tuple[str, int]) -> bool:
    with suppress(ConnectionError):
        return (await asked(place, b"GET /healthz HTTP/1.0\r\n\r\n"))[1] == b"ok\n"
    return False


async def test_a_port_that_is_taken_is_refused_by_its_option_and_is_free_again_afterwards() -> None:
    async with served() as (host, port):
        await asked((host, port), b"GET /healthz HTTP/1.0\r\n\r\n")
        with pytest.raises(InvalidSettings, match=rf"^metrics {host}:{port}: .*in use; .* --metrics$"):
            bound(f"{host}:{port}", "metrics")
    listener = bound(f"{host}:{port}", "metrics")
    assert isinstance(listener, socket.socket)
    listener.close()
