"""TLS: the connection goes to the pinned address, and the certificate is still that of the name."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

import pytest
import trustme

from fencepost.errors import RetryableFailure
from fencepost.executors.http.executor import HttpExecutor
from tests.executors.http.calls import Names, calling
from tests.executors.http.servers import PATIENCE_S, Request, said, served
from tests.executors.runs import make_run


def certified(authority: trustme.CA, name: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


def secure(port: int, tls: ssl.SSLContext | None, **words: Any) -> HttpExecutor:
    names = Names({"hook.test": [["127.0.0.1"]]})
    given = {"allow_private": True, "ports": [port], **words}
    return calling(f"https://hook.test:{port}/", resolve=names, tls=tls, **given)


def trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


async def test_the_name_is_verified_at_the_pinned_address() -> None:
    authority = trustme.CA()
    async with served(said(200, b"safe"), tls=certified(authority, "hook.test")) as server:
        assert await secure(server.port, trusting(authority)).execute(make_run()) == "safe"
    assert server.requests[0].headers["host"] == f"hook.test:{server.port}"


@pytest.mark.parametrize("name", ["other.test", "127.0.0.1"])
async def test_a_certificate_of_another_name_is_refused(name: str) -> None:
    authority = trustme.CA()
    async with served(tls=certified(authority, name)) as server:
        with pytest.raises(RetryableFailure, match="certificate is not trusted"):
            await secure(server.port, trusting(authority)).execute(make_run())
        assert server.requests == []


async def test_an_unknown_authority_is_refused() -> None:
    async with served(tls=certified(trustme.CA(), "hook.test")) as server:
        with pytest.raises(RetryableFailure, match="certificate is not trusted"):
            await secure(server.port, None).execute(make_run())
        assert server.requests == []


async def test_the_deadline_ends_a_handshake_and_an_encrypted_silence() -> None:
    async def silence(request: Request, writer: asyncio.StreamWriter) -> None:
        pass

    authority = trustme.CA()
    for tls in (None, certified(authority, "hook.test")):
        async with served(silence, tls=tls) as server:
            call = secure(server.port, trusting(authority), deadline="500ms")
            with pytest.raises(RetryableFailure, match="no whole answer within 500ms"):
                await asyncio.wait_for(call.execute(make_run()), PATIENCE_S)
            await asyncio.wait_for(server.hung_up.wait(), PATIENCE_S)
