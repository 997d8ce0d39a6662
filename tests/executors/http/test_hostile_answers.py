"""Answers meant to hurt: endless, slow, huge, packed, malformed, or curious about our secrets."""

from __future__ import annotations

import asyncio
import gzip
import logging
import traceback
import tracemalloc
from contextlib import suppress

import pytest

from fencepost.errors import PermanentFailure, RetryableFailure, RunFailure
from tests.executors.http.calls import at, calling
from tests.executors.http.servers import PATIENCE_S, Request, said, served
from tests.executors.runs import make_run

CANARY = "canary-in-the-coal-mine"
MEBIBYTE = 1 << 20


async def flood(request: Request, writer: asyncio.StreamWriter) -> None:
    """A body without an end."""
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    piece = b"x" * 65_536
    while True:
        writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        await writer.drain()


async def test_an_endless_answer_is_cut_and_its_connection_closed() -> None:
    async with served(flood) as server:
        output = await at(server.port, answer_max="1KB").execute(make_run())
        await asyncio.wait_for(server.hung_up.wait(), PATIENCE_S)
    assert output == "x" * 1_000


async def test_a_huge_answer_takes_no_huge_memory() -> None:
    async def huge(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 500 Oh\r\nContent-Length: 100000000000\r\n\r\n")
        with suppress(ConnectionError):
            while True:
                writer.write(b"y" * 65_536)
                await writer.drain()

    async with served(huge) as server:
        tracemalloc.start()
        with pytest.raises(RetryableFailure) as caught:
            await at(server.port).execute(make_run())
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert caught.value.output == "y" * 65_536
    assert peak < 8 * MEBIBYTE


@pytest.mark.parametrize(("cap", "kept"), [(5, "abcd"), (4, "abcd"), (3, "abc"), (0, None)])
async def test_the_cap_is_exact(cap: int, kept: str | None) -> None:
    async with served(said(200, b"abcd"), said(400, b"abcd")) as server:
        call = at(server.port, answer_max=cap)
        assert await call.execute(make_run()) == kept
        with pytest.raises(PermanentFailure) as caught:
            await call.execute(make_run())
    assert caught.value.output == kept


async def drip(writer: asyncio.StreamWriter, start: bytes, drop: bytes) -> None:
    """A little at a time, for ever."""
    writer.write(start)
    while drop:
        writer.write(drop)
        await writer.drain()
        await asyncio.sleep(0.01)


DRIPS = [
    (b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b"z"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nz\r\n"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;", b"e"),
    (b"HTTP/1.1 200 OK\r\nX-Slow: ", b"z"),
    (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    (b"", b""),
]


@pytest.mark.parametrize(("start", "drop"), DRIPS)
async def test_a_slow_answer_ends_at_the_deadline(start: bytes, drop: bytes) -> None:
    async def slowly(request: Request, writer: asyncio.StreamWriter) -> None:
        await drip(writer, start, drop)

    async with served(slowly) as server:
        call = at(server.port, deadline="300ms")
        with pytest.raises(RetryableFailure, match="no whole answer within 300ms"):
            await asyncio.wait_for(call.execute(make_run()), PATIENCE_S)
        await asyncio.wait_for(server.hung_up.wait(), PATIENCE_S)


async def test_the_deadline_counts_from_the_look_up_on() -> None:
    async def never(host: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    call = calling("https://slow.test/", resolve=never, deadline="50ms")
    with pytest.raises(RetryableFailure, match="no whole answer within 50ms"):
        await asyncio.wait_for(call.execute(make_run()), PATIENCE_S)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "gzip, gzip"])
async def test_what_comes_packed_is_not_unpacked(encoding: str) -> None:
    bomb = gzip.compress(gzip.compress(b"\0" * (50 * MEBIBYTE)))
    assert len(bomb) < 10_000
    async with served(said(200, bomb, [("Content-Encoding", encoding)])) as server:
        tracemalloc.start()
        output = await at(server.port).execute(make_run())
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert output == f'({len(bomb)} bytes, packed as "{encoding}", not unpacked)'
    assert peak < 4 * MEBIBYTE


HUGE_HEADERS = [
    b"X-Long: " + b"a" * 100_000,
    b"\r\n".join(b"X-%d: a" % number for number in range(10_000)),
    b"X-Folded: a\r\n" + b" a\r\n" * 10_000 + b"X: a",
]


@pytest.mark.parametrize("headers", HUGE_HEADERS)
async def test_huge_headers_are_no_answer(headers: bytes) -> None:
    async with served(b"HTTP/1.1 200 OK\r\n" + headers + b"\r\nContent-Length: 0\r\n\r\n") as server:
        with pytest.raises(RetryableFailure):
            await at(server.port).execute(make_run())


@pytest.mark.parametrize(("number", "fine"), [(60, True), (65, False)])
async def test_headers_are_counted(number: int, fine: bool) -> None:
    async with served(said(200, headers=[(f"X-{place}", "a") for place in range(number)])) as server:
        if fine:
            await at(server.port).execute(make_run())
        else:
            with pytest.raises(RetryableFailure, match="not whole, or not HTTP"):
                await at(server.port).execute(make_run())


async def test_endless_headers_are_no_answer() -> None:
    async def endless(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")
        number = 0
        while True:
            number += 1
            writer.write(b"X-%d: %s\r\n" % (number, b"a" * 1_000))
            await writer.drain()

    async with served(endless) as server:
        tracemalloc.start()
        with pytest.raises(RetryableFailure):
            await at(server.port, deadline="5s").execute(make_run())
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 8 * MEBIBYTE


MALFORMED = [
    b"",
    b"\0" * 100,
    b"HTTP/1.1 OK\r\n\r\n",
    b"HTTP/1.1 9999 Oh\r\n\r\n",
    b"SSH-2.0-OpenSSH_9.2\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nx",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nx\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nx\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
    b"HTTP/1.1 200 OK\r\nBad Header : x\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n",
]


@pytest.mark.parametrize("answer", MALFORMED)
async def test_a_malformed_answer_is_never_a_success(answer: bytes) -> None:
    async def then_close(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        writer.close()

    async with served(then_close) as server:
        with pytest.raises(RetryableFailure) as caught:
            await at(server.port, deadline="10s").execute(make_run())
        assert len(server.requests) == 1
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


async def test_a_second_answer_behind_the_first_is_dropped() -> None:
    async with served(said(200, b"one") + said(200, b"SMUGGLED"), said(200, b"two")) as server:
        call = at(server.port)
        assert await call.execute(make_run()) == "one"
        assert await call.execute(make_run()) == "two"
        assert server.connections == 2


async def echo(request: Request, writer: asyncio.StreamWriter) -> None:
    """Sends back all it was sent, and some more."""
    writer.write(said(int(request.path.strip("/")), request.raw))


@pytest.mark.parametrize("status", [200, 400, 500, 302])
async def test_no_secret_is_seen_anywhere(
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("HEADER_SECRET", f"{CANARY}-header")
    monkeypatch.setenv("SIGNING_SECRET", f"whsec_{CANARY.replace('-', '/')}abcdef123")
    caplog.set_level(logging.DEBUG)
    async with served(echo) as server:
        call = at(
            server.port,
            f"/{status}",
            headers={"Authorization": "env:HEADER_SECRET", "X-Api-Key": f"{CANARY}-literal"},
            secret=["env:SIGNING_SECRET"],
        )
        seen = [repr(call), repr(vars(call)), str(call)]
        try:
            seen.append(await call.execute(make_run()) or "")
        except RunFailure as failure:
            seen += [
                str(failure),
                repr(failure),
                failure.output or "",
                "".join(traceback.format_exception(failure)),
            ]
    (request,) = server.requests
    assert f"{CANARY}-header".encode() in request.raw
    seen += [caplog.text, *capfd.readouterr()]
    for text in seen:
        assert CANARY not in text
        assert CANARY.replace("-", "/") not in text
    assert any("***" in text for text in seen)


async def test_a_cut_leaves_no_piece_of_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADER_SECRET", CANARY)
    async with served(said(200, b"got " + CANARY.encode() + b" from you")) as server:
        for cap in range(8, 4 + len(CANARY)):
            call = at(server.port, headers={"Authorization": "env:HEADER_SECRET"}, answer_max=cap)
            assert await call.execute(make_run()) == "got ***"


async def test_what_is_whole_is_not_taken_for_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADER_SECRET", CANARY)
    async with served(said(200, b"a canary")) as server:
        call = at(server.port, headers={"Authorization": "env:HEADER_SECRET"}, answer_max=8)
        assert await call.execute(make_run()) == "a canary"


async def test_a_signing_secret_is_told_without_its_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGNING_SECRET", "whsec_c2VjcmV0c2VjcmV0")
    async with served(said(200, b"is it c2VjcmV0c2VjcmV0?")) as server:
        assert await at(server.port, secret="env:SIGNING_SECRET").execute(make_run()) == "is it ***?"


async def test_a_secret_is_told_in_other_spellings_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADER_SECRET", f'{CANARY}"/+')
    spelled = (
        'canary-in-the-coal-mine%22%2F%2B canary-in-the-coal-mine\\"/+ Y2FuYXJ5LWluLXRoZS1jb2FsLW1pbmUiLys='
    )
    async with served(said(200, spelled.encode())) as server:
        output = await at(server.port, headers={"Authorization": "env:HEADER_SECRET"}).execute(make_run())
    assert output == "*** *** ***="


async def test_a_short_word_in_a_header_is_no_secret() -> None:
    async with served(said(200, b"in json mode")) as server:
        call = at(server.port, headers={"X-Token-Format": "json"})
        assert await call.execute(make_run()) == "in json mode"


async def test_an_error_does_not_show_the_query_of_the_url() -> None:
    async with served() as server:
        port = server.port
    with pytest.raises(RetryableFailure) as caught:
        await at(port, f"/hook?token={CANARY}").execute(make_run())
    assert CANARY not in "".join(traceback.format_exception(caught.value))
