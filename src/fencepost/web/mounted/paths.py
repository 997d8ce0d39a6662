"""The path of the host: taken away from requests, and put before what an answer leads to.

Links are found in the finished page, not where they are made. That is safe, because every text on a page is
escaped: a quotation mark stands in it as an entity, so `href="/` is written by a template only. It is also
complete: a page that is added later works under a path by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, unquote

from litestar.types import HTTPScope, Send

LINK = re.compile(rb'(\s(?:href|src|action|formaction)=")/(?!/)')
COOKIE_PATH = re.compile(rb"(;\s*path=)/(?=;|$)", re.IGNORECASE)
KEPT = ("type", "asgi", "http_version", "method", "scheme", "query_string", "client", "server", "extensions")
"""What the parts inside see of the host's scope, beside the path and the headers."""
PLAIN = "/:@!$()*+,=~"
"""What may stand in a path as it is, and means nothing to HTML or to a cookie."""
HTML = b"text/html"

Headers = list[tuple[bytes, bytes]]


def split_path(scope: HTTPScope) -> tuple[str, str]:
    """The path of the host, fit for a link, and the rest as it was sent.

    Servers and frameworks differ in whether the path includes the host's; one that does not is taken whole.
    """
    sent = _sent_path(scope)
    root = str(scope.get("root_path") or "").rstrip("/")
    if not root:
        return "", sent
    for end in (*(found.start() for found in re.finditer("/", sent)), len(sent)):
        if end and unquote(sent[:end]) == root:
            return quote(root, safe=PLAIN), sent[end:] or "/"
    return quote(root, safe=PLAIN), sent


def inner_scope(scope: HTTPScope, path: str) -> HTTPScope:
    """The request as the parts inside see it: at a path of their own, with nothing that the host left in
    its scope."""
    given: Any = scope
    kept: Any = {name: given[name] for name in KEPT if name in given}
    headers = [(bytes(name).lower(), bytes(value)) for name, value in scope["headers"]]
    there: Any = {"path": path, "raw_path": path.encode(), "root_path": "", "headers": headers, "state": {}}
    kept |= there
    return kept  # type: ignore[no-any-return]


class Outward:
    """A `send` that puts the host's path before what the answer leads to. A page is held until it is
    whole; `cookie` goes with it."""

    def __init__(self, send: Send, root: str, cookie: str | None = None) -> None:
        self._send: Any = send
        self._root = root.encode()
        self._cookie = cookie
        self._start: Any = None
        self._body = bytearray()

    async def __call__(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            await self._begin({**message, "headers": self._rooted(message["headers"])})
        elif self._start is None:
            await self._send(message)
        else:
            await self._go_on(message)

    async def _begin(self, start: Any) -> None:
        if not any(name == b"content-type" and value.startswith(HTML) for name, value in start["headers"]):
            await self._send(start)
            return
        self._start = start

    async def _go_on(self, message: Any) -> None:
        self._body += message.get("body", b"")
        if message.get("more_body", False):
            return
        body = LINK.sub(rb"\1" + self._root.replace(b"\\", rb"\\") + b"/", bytes(self._body))
        headers = [one for one in self._start["headers"] if one[0] != b"content-length"]
        headers.append((b"content-length", str(len(body)).encode()))
        if self._cookie is not None:
            headers.append((b"set-cookie", self._cookie.encode()))
        start, self._start = self._start, None
        await self._send({**start, "headers": headers})
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    def _rooted(self, headers: Iterable[tuple[bytes, bytes]]) -> Headers:
        return [(name.lower(), self._rooted_value(name.lower(), value)) for name, value in headers]

    def _rooted_value(self, name: bytes, value: bytes) -> bytes:
        if name == b"location" and value.startswith(b"/"):
            return self._root + value
        if name == b"set-cookie" and self._root:
            return COOKIE_PATH.sub(lambda found: found[1] + self._root, value)
        return value


def _sent_path(scope: HTTPScope) -> str:
    raw: bytes | None = scope.get("raw_path")
    if raw is None:
        return quote(scope["path"])
    return bytes(raw).partition(b"?")[0].decode("ascii", "replace")
