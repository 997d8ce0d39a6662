"""Headers on every answer: what a browser may do with it, and who may keep it."""

from __future__ import annotations

from typing import Any

from litestar.types import Scope, Send

from fencepost.web.auth.redirects import WAYS

STATIC = "/static/"
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "font-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
ALWAYS = {
    b"content-security-policy": POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
}
HSTS = b"max-age=31536000"


def dressed(scope: Scope, send: Send) -> Send:
    """A `send` that adds them to the answer of this request. They replace those of a route; only the files of
    the dashboard set for how long they may be kept."""
    given = {**ALWAYS, b"referrer-policy": b"no-referrer" if scope["path"] in WAYS else b"same-origin"}
    if not scope["path"].startswith(STATIC):
        given[b"cache-control"] = b"no-store"
    if scope["scheme"] in ("https", "wss"):
        given[b"strict-transport-security"] = HSTS

    async def send_dressed(message: Any) -> None:
        if message["type"] == "http.response.start":
            own = [(name, value) for name, value in message["headers"] if name.lower() not in given]
            message = {**message, "headers": [*own, *given.items()]}
        await send(message)

    return send_dressed
