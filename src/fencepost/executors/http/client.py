"""One hop on the wire, and nothing else: the only file that knows the driver.

Each hop has a connection of its own that is closed with it. So nothing is carried from one call to the next,
no cookie, no looked-up name, no connection that an earlier check let through; a call that is cancelled closes
what it opened; and the driver, which would repeat some requests by itself, has no second connection to repeat
them on. The driver's own redirects, proxies, unpacking and credentials are off.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from types import SimpleNamespace
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from fencepost.errors import RetryableFailure
from fencepost.executors.http.answers import Answer
from fencepost.executors.http.limits import ANSWER_HEADERS_MAX, ANSWER_LINE_BYTES_MAX, READ_BYTES
from fencepost.executors.http.target import Target

NUMERIC = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV


@dataclass(frozen=True)
class Hop:
    """One request, and the checked addresses at which its target is."""

    target: Target
    addresses: tuple[str, ...]
    method: str
    headers: Mapping[str, str]
    body: bytes


async def send(hop: Hop, answer_bytes_max: int, tls: ssl.SSLContext | None = None) -> Answer:
    """The answer to one request, or a failure to retry. The caller bounds the time."""
    try:
        async with (
            _session(hop, tls) as session,
            session.request(
                hop.method,
                URL(hop.target.url, encoded=True),
                headers=hop.headers,
                data=hop.body or None,
                allow_redirects=False,
            ) as response,
        ):
            body, cut = await _read(response, answer_bytes_max)
            return _answer(response, body, cut)
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise RetryableFailure(f"{hop.target.origin}: {_words(error)}") from None


def _session(hop: Hop, tls: ssl.SSLContext | None) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(
        resolver=_Pinned(hop.addresses),
        socket_factory=_socket_to(hop.addresses),
        use_dns_cache=False,
        force_close=True,
        ssl=tls or True,
    )
    return aiohttp.ClientSession(
        connector=connector,
        trace_configs=[_one_connection()],
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
        skip_auto_headers=("Content-Type",),
        auto_decompress=False,
        trust_env=False,
        max_line_size=ANSWER_LINE_BYTES_MAX,
        max_field_size=ANSWER_LINE_BYTES_MAX,
        max_headers=ANSWER_HEADERS_MAX,
    )


class _Pinned(AbstractResolver):
    """A resolver that knows one answer, and makes no query."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._addresses = addresses

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=NUMERIC,
            )
            for address in self._addresses
        ]

    async def close(self) -> None:
        pass


def _socket_to(addresses: Sequence[str]) -> Any:
    """Sockets for these addresses only, whatever the driver made of the URL."""
    checked = {ip_address(address) for address in addresses}

    def make(info: tuple[Any, ...]) -> socket.socket:
        family, kind, protocol, _, place = info
        if ip_address(place[0]) not in checked:
            raise OSError(f"{place[0]} was not checked")
        return socket.socket(family=family, type=kind, proto=protocol)

    return make


def _one_connection() -> aiohttp.TraceConfig:
    """Refuses the second connection of one hop: the driver repeats what it holds to be harmless, and a run
    that is tried at most once must not be sent twice."""
    opened: list[object] = []

    async def count(session: aiohttp.ClientSession, context: SimpleNamespace, about: Any) -> None:
        opened.append(about)
        if len(opened) > 1:
            raise aiohttp.ServerDisconnectedError

    trace = aiohttp.TraceConfig()
    trace.on_connection_create_start.append(count)
    return trace


async def _read(response: aiohttp.ClientResponse, bytes_max: int) -> tuple[bytes, bool]:
    """The body up to the cap, and whether there was more of it."""
    kept = bytearray()
    async for piece in response.content.iter_chunked(READ_BYTES):
        kept += piece
        if len(kept) > bytes_max:
            return bytes(kept[:bytes_max]), True
    return bytes(kept), False


def _answer(response: aiohttp.ClientResponse, body: bytes, cut: bool) -> Answer:
    headers = response.headers
    return Answer(
        status=response.status,
        body=body,
        cut=cut,
        encoding=headers.get("Content-Encoding", "").strip().lower(),
        retry_after=headers.get("Retry-After"),
        location=headers.get("Location"),
    )


def _words(error: Exception) -> str:
    """What went wrong in our own words: the driver's may hold the URL, and the target's are not ours."""
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return f"its certificate is not trusted: {error.certificate_error.__class__.__name__}"
        case aiohttp.ClientConnectorError():
            return f"no connection: {error.os_error.strerror or type(error.os_error).__name__}"
        case aiohttp.ServerDisconnectedError():
            return "it closed the connection without an answer"
        case aiohttp.ClientPayloadError() | aiohttp.ClientResponseError():
            return "its answer is not whole, or not HTTP"
        case OSError():
            return f"the connection broke: {error.strerror or type(error).__name__}"
    return f"the call failed: {type(error).__name__}"
