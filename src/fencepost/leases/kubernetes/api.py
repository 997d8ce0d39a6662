"""The API server over HTTP: one request, one answer, and streams of events.

Answers on which the caller decides (404, 409, 410) are returned; all others that are no success are raised
as faults. Nothing is retried here but what was refused for want of credentials, once, because that has
certainly not happened. (The driver repeats a request whose connection was closed while idle, also a PUT.
That is harmless, since a second PUT on the same version is refused, and the caller then reads what is.)
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from fencepost.errors import LeaseStoreUnavailable
from fencepost.leases.kubernetes.credentials import Certificate, Credentials, Identity
from fencepost.leases.kubernetes.faults import Denied, translated
from fencepost.leases.kubernetes.tls import Trust, context_of
from fencepost.model.dataclasses import dataclass

CONNECT_TIMEOUT_S = 2.5
CALL_PATIENCE = aiohttp.ClientTimeout(total=10.0, sock_connect=CONNECT_TIMEOUT_S)
"""A last bound; callers bound their waits themselves."""
CONNECTIONS_MAX = 32
DECIDABLE = frozenset({404, 409, 410})
MESSAGE_LENGTH_MAX = 200


@dataclass(frozen=True)
class Answer:
    """A status that the caller can decide upon, and what came with it."""

    status: int
    body: Mapping[str, Any]

    @property
    def is_success(self) -> bool:
        return self.status < 300


class Api:
    """One API server, as one user."""

    def __init__(self, server: str, trust: Trust, credentials: Credentials) -> None:
        self._server = server.rstrip("/")
        self._trust = trust
        self._credentials = credentials
        self._contexts: dict[Certificate | None, ssl.SSLContext] = {}
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=CONNECTIONS_MAX),
            headers={"Accept": "application/json", "User-Agent": "fencepost"},
        )

    async def prepare(self) -> None:
        """Load the credentials and the certificates. An error in them is raised as it is, once."""
        await self._context(await self._credentials.current())

    async def close(self) -> None:
        await self._credentials.close()
        await self._session.close()

    async def call(
        self,
        method: str,
        path: str,
        *,
        parameters: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> Answer:
        """The answer to one request."""
        with translated():
            response = await self._respond(method, path, parameters, body)
            async with response:
                return await _answer(response)

    @asynccontextmanager
    async def stream(
        self, path: str, parameters: Mapping[str, str], silence_max_s: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """The lines of an answer without an end, until the server is silent for too long."""
        patience = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S, sock_read=silence_max_s)
        with translated():
            response = await self._respond("GET", path, parameters, None, patience)
            async with response:
                if response.status != 200:
                    raise LeaseStoreUnavailable(f"no stream: {(await _answer(response)).status}")
                yield aiter(response.content)

    async def _respond(
        self,
        method: str,
        path: str,
        parameters: Mapping[str, str] | None,
        body: Mapping[str, Any] | None,
        patience: aiohttp.ClientTimeout = CALL_PATIENCE,
    ) -> aiohttp.ClientResponse:
        """The server's answer to the credentials that we have, or to those that we find when they are
        refused."""

        async def send(identity: Identity) -> aiohttp.ClientResponse:
            return await self._session.request(
                method,
                self._server + path,
                params=parameters,
                json=body,
                headers={"Authorization": identity.authorization} if identity.authorization else None,
                ssl=await self._context(identity),
                server_hostname=self._trust.server_name,
                allow_redirects=False,
                timeout=patience,
            )

        identity = await self._credentials.current()
        try:
            response = await send(identity)
            if response.status != 401:
                return response
            response.release()
            return await send(await self._credentials.instead_of(identity))
        except aiohttp.ClientConnectorCertificateError:
            self._contexts.clear()
            raise

    async def _context(self, identity: Identity) -> ssl.SSLContext | bool:
        """Made once for each client certificate, because connections are kept by it. When the authority no
        longer vouches for the server it is forgotten, and read again."""
        if not self._server.startswith("https"):
            return True
        certificate = identity.certificate
        if certificate not in self._contexts:
            context = await asyncio.to_thread(context_of, self._trust, certificate)
            self._contexts = {certificate: context}
        return self._contexts[certificate]


async def _answer(response: aiohttp.ClientResponse) -> Answer:
    status = response.status
    if status < 300 or status in DECIDABLE:
        body = await response.json(content_type=None)
        if not isinstance(body, dict):
            raise LeaseStoreUnavailable("the API server's answer is no object")
        return Answer(status, body)
    message = await _message(response)
    if status in {401, 403}:
        raise Denied(status, message)
    raise LeaseStoreUnavailable(f"the API server answered {status}: {message}")


async def _message(response: aiohttp.ClientResponse) -> str:
    """What a Status object says; something in between may answer with anything."""
    try:
        body = await response.json(content_type=None)
        text = str(body["message"])
    except (ValueError, KeyError, TypeError):
        text = response.reason or "no reason given"
    return text[:MESSAGE_LENGTH_MAX]
