"""The request limits: what is checked of a request before the application sees it.

The body is read here, up to a size and within a time, so that no client holds a place by sending slowly. The
path stays as it was sent: a run key may hold an encoded `/`, which decoding would turn into a separator.
"""

from __future__ import annotations

import asyncio
from typing import Any

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

from fencepost.web.problems import MALFORMED, SLOW, TOO_LARGE, Problem, unexpected
from fencepost.web.receiving import Again
from fencepost.web.sending import send_problem

BODY_BYTES_MAX = 256 * 1024
BODY_WITHIN_S = 10.0
DIGITS_MAX = 20
AMBIGUOUS = "the length of the body is said twice: Content-Length and Transfer-Encoding"


def as_sent(app: ASGIApp) -> ASGIApp:
    """An application that sees paths as they were sent, with nothing in them decoded."""

    async def undecoded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.HTTP:
            scope["path"] = scope["raw_path"].partition(b"?")[0].decode("ascii", "replace")
        await app(scope, receive, send)

    return undecoded


class Gone(Exception):
    """The client hung up before the request was whole."""


class RequestLimits:
    """An application that gets whole requests only."""

    def __init__(
        self, app: ASGIApp, body_bytes_max: int = BODY_BYTES_MAX, within_s: float = BODY_WITHIN_S
    ) -> None:
        self._app = app
        self._body_bytes_max = body_bytes_max
        self._within_s = within_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        if scope["path"].startswith("//"):
            # A page that leads back to itself would otherwise lead to the address of another server.
            scope["path"] = f"/{scope['path'].lstrip('/')}"
        if _is_ambiguous(scope):
            await send_problem(scope, send, Problem(MALFORMED, AMBIGUOUS))
            return
        try:
            async with asyncio.timeout(self._within_s):
                body = await self._body(scope, receive)
        except TimeoutError:
            await send_problem(scope, send, Problem(SLOW, f"the body took longer than {self._within_s:g} s"))
        except Gone:
            return
        else:
            if body is None:
                told = f"the body is larger than {self._body_bytes_max} bytes"
                await send_problem(scope, send, Problem(TOO_LARGE, told))
            else:
                whole = {"type": "http.request", "body": body, "more_body": False}
                await self._enter(scope, Again(whole, receive), send)

    async def _enter(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        """The application's own handler answers for what its routes raise; this is for the rest."""
        watched = _Watched(send)
        try:
            await self._app(scope, receive, watched)
        except Exception as error:
            problem = unexpected(error)
            if not watched.begun:
                await send_problem(scope, send, problem)

    async def _body(self, scope: HTTPScope, receive: Receive) -> bytes | None:
        """The whole body; None where it is too large, by its own word or as it comes."""
        if _announced(scope) > self._body_bytes_max:
            return None
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                raise Gone
            body += message["body"]
            more = message["more_body"]
            if len(body) > self._body_bytes_max:
                return None
        return bytes(body)


class _Watched:
    """A `send` that knows whether an answer has begun."""

    def __init__(self, send: Send) -> None:
        self.begun = False
        self._send = send

    async def __call__(self, message: Any) -> None:
        self.begun = True
        await self._send(message)


def _is_ambiguous(scope: HTTPScope) -> bool:
    """Whether a proxy before us could read another length than we do, and take the rest of this body for the
    next request."""
    names = [name for name, _ in scope["headers"]]
    return b"transfer-encoding" in names and b"content-length" in names


def _announced(scope: HTTPScope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value[:DIGITS_MAX])
    return 0
