"""Requests to etcd's JSON gateway: which endpoint, as whom, and how long to wait.

Any endpoint will do, because each passes on to etcd's leader what it cannot answer itself. The endpoint that
answered last is asked first; after a failure the next one is. A request goes to a second endpoint when the
first cannot have received it, or when it does no harm twice (`ask`). A request that must not be carried out
twice (`tell`) is doubtful as soon as an endpoint may have received it. The driver itself repeats no POST.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from itertools import cycle, islice
from typing import Any

import aiohttp

from fencepost.leases.etcd.address import EtcdAddress, tls_context
from fencepost.leases.etcd.faults import Doubtful, Fault, NotSent, StaleToken, read_answer, translated

CONNECT_TIMEOUT_S = 1.0
ASK_TIMEOUT_S = 1.2
"""Half of a call's time, so that a second endpoint has the other half."""
TELL_TIMEOUT_S = 2.0
SILENCE_MAX_S = 60.0
"""A stream that is silent for this long is opened again: its other end may be gone unnoticed."""
CONNECTIONS_MAX = 32
LINE_BYTES_MAX = 1 << 20
HAS_LEADER = {"Grpc-Metadata-hasleader": "true"}
"""Asks etcd to end a stream at an endpoint that has lost sight of the leader, and so would stay silent."""

Body = Mapping[str, object]
Answer = dict[str, Any]


class Gateway:
    """One session with the endpoints of one etcd."""

    def __init__(self, address: EtcdAddress) -> None:
        self._endpoints = address.endpoints
        self._credentials = address.credentials
        self._token: str | None = None
        self._authenticating = asyncio.Lock()
        self._preferred = 0
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=CONNECTIONS_MAX, ssl=tls_context(address) or True),
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=LINE_BYTES_MAX,
        )

    async def ask(self, path: str, body: Body) -> Answer:
        """The answer to a request that may be carried out more than once, from any endpoint. A single
        endpoint is asked twice: the connection to it may have been dead for long."""
        faults: list[Fault] = []
        for endpoint in islice(cycle(self._in_turn()), max(2, len(self._endpoints))):
            try:
                return await self._authorized(endpoint, path, body, ASK_TIMEOUT_S)
            except (NotSent, Doubtful) as fault:
                self._leave(endpoint)
                faults.append(fault)
        raise Doubtful(_told(faults))

    async def tell(self, path: str, body: Body) -> Answer:
        """The answer to a request that must not be carried out twice."""
        faults: list[Fault] = []
        for endpoint in self._in_turn():
            try:
                return await self._authorized(endpoint, path, body, TELL_TIMEOUT_S)
            except NotSent as fault:
                self._leave(endpoint)
                faults.append(fault)
            except Doubtful:
                self._leave(endpoint)
                raise
        raise NotSent(_told(faults))

    @asynccontextmanager
    async def stream(self, path: str, body: Body) -> AsyncIterator[AsyncIterator[Answer]]:
        """The answers to one request, as they come."""
        endpoint = next(self._in_turn())
        timeout = aiohttp.ClientTimeout(sock_connect=CONNECT_TIMEOUT_S, sock_read=SILENCE_MAX_S)
        try:
            headers = {**await self._headers(endpoint), **HAS_LEADER}
            with translated(endpoint):
                async with asyncio.timeout(TELL_TIMEOUT_S):
                    response = await self._post(endpoint, path, body, headers, timeout)
                async with response:
                    yield _messages(endpoint, response)
        except StaleToken:
            self.forget_token()
            raise
        except (NotSent, Doubtful):
            self._leave(endpoint)
            raise

    def forget_token(self) -> None:
        """Authenticate anew before the next request."""
        self._token = None

    async def close(self) -> None:
        """End all connections. Closing twice is fine."""
        await self._session.close()

    async def _authorized(self, endpoint: str, path: str, body: Body, limit_s: float) -> Answer:
        """Send the request with the token. etcd refuses a token before it does anything, so asking once more
        with a new one is safe for every request."""
        headers = await self._headers(endpoint)
        try:
            answer = await self._exchange(endpoint, path, body, headers, limit_s)
        except StaleToken:
            if self._credentials is None:
                raise
            if self._token == headers.get("Authorization"):
                self.forget_token()
            answer = await self._exchange(endpoint, path, body, await self._headers(endpoint), limit_s)
        self._preferred = self._endpoints.index(endpoint)
        return answer

    async def _headers(self, endpoint: str) -> dict[str, str]:
        if self._credentials is None:
            return {}
        async with self._authenticating:
            if self._token is None:
                self._token = await self._authenticate(endpoint, *self._credentials)
            return {"Authorization": self._token}

    async def _authenticate(self, endpoint: str, user: str, password: str) -> str:
        """A token. While there is none, the request that needs it has not been sent."""
        body = {"name": user, "password": password}
        try:
            answer = await self._exchange(endpoint, "auth/authenticate", body, {}, ASK_TIMEOUT_S)
        except Doubtful as fault:
            raise NotSent(str(fault)) from fault
        return str(answer["token"])

    async def _exchange(
        self, endpoint: str, path: str, body: Body, headers: Mapping[str, str], limit_s: float
    ) -> Answer:
        timeout = aiohttp.ClientTimeout(total=limit_s, sock_connect=CONNECT_TIMEOUT_S)
        with translated(endpoint):
            async with await self._post(endpoint, path, body, headers, timeout) as response:
                return read_answer(endpoint, response.status, await response.read())

    async def _post(
        self,
        endpoint: str,
        path: str,
        body: Body,
        headers: Mapping[str, str],
        timeout: aiohttp.ClientTimeout,
    ) -> aiohttp.ClientResponse:
        if self._session.closed:
            raise NotSent("this client is closed")
        url = f"{endpoint}/v3/{path}"
        return await self._session.post(
            url, json=body, headers=headers, timeout=timeout, allow_redirects=False
        )

    def _in_turn(self) -> Iterator[str]:
        """All endpoints, from the one that answered last."""
        first = self._preferred
        yield from (*self._endpoints[first:], *self._endpoints[:first])

    def _leave(self, endpoint: str) -> None:
        """Begin with the next one from now on, unless another request has moved on already."""
        if self._endpoints[self._preferred] == endpoint:
            self._preferred = (self._preferred + 1) % len(self._endpoints)


async def _messages(endpoint: str, response: aiohttp.ClientResponse) -> AsyncIterator[Answer]:
    """One message a line, until the stream ends."""
    async for line in response.content:
        yield read_answer(endpoint, response.status, line)


def _told(faults: Iterable[Fault]) -> str:
    return "; ".join(dict.fromkeys(map(str, faults)))
