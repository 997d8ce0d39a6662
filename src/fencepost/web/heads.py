"""HEAD: what a GET would be answered, without its body. It stands behind the guard and right before the
routes, so that whoever may not ask by GET may not by HEAD, also of a route that is added later.

A stream has no end to wait for, and is read by GET alone: its route says so itself.
"""

from __future__ import annotations

from typing import Any

from litestar import Litestar
from litestar.enums import ScopeType
from litestar.routes import ASGIRoute
from litestar.types import Receive, Scope, Send
from litestar.utils import normalize_path


class Heads:
    """Routes that answer HEAD wherever they answer GET."""

    def __init__(self, routes: Litestar) -> None:
        self._routes = routes
        self._streams = frozenset(one.path for one in routes.routes if isinstance(one, ASGIRoute))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.HTTP and scope["method"] == "HEAD" and not self._is_stream(scope):
            asked: Any = {**scope, "method": "GET"}
            await self._routes(asked, receive, _Bodiless(send))
        else:
            await self._routes(scope, receive, send)

    def _is_stream(self, scope: Scope) -> bool:
        return normalize_path(scope["path"]) in self._streams


class _Bodiless:
    """A `send` that says all of an answer but its body; the length that is told is that of the body."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def __call__(self, message: Any) -> None:
        if message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await self._send(message)
