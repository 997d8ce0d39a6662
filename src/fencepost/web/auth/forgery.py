"""Requests that another site had a browser send.

A browser sends its cookies with every request, whichever site caused it. So a request that changes something,
with a cookie and not with a token, has to come from a page of this very server. The browser says where it
comes from (`Sec-Fetch-Site`, `Origin`), and the form carries a secret of the session, in the field `csrf` or
in the header `X-CSRF-Token`. Both are required. A sign-in has no session yet, so only the first is required
of it.
"""

from __future__ import annotations

import hmac
from typing import Any

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send

from fencepost.model.access import Principal
from fencepost.web.auth.reading import SAFE, header, headers, is_own, read_form
from fencepost.web.auth.redirects import SIGN_IN
from fencepost.web.problems import FORBIDDEN, Problem
from fencepost.web.receiving import Again
from fencepost.web.sending import send_problem

FIELD = "csrf"


class Unforged:
    """An application that gets no request that another site caused. Its requests are whole: it stands behind
    the request limits."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP or not _is_to_be_checked(scope):
            await self._app(scope, receive, send)
            return
        message: Any = await receive()
        if not is_from_here(scope):
            told = "this request does not come from a page of this server"
            await send_problem(scope, send, Problem(FORBIDDEN, told))
        elif not _carries_the_secret(scope, message.get("body", b"")):
            told = "the form is too old, or not ours: load the page again"
            await send_problem(scope, send, Problem(FORBIDDEN, told))
        else:
            await self._app(scope, Again(message, receive), send)


def is_from_here(scope: Scope) -> bool:
    """Whether a browser says that a page of this server sent it. A page without a referrer has `null` for its
    origin; then the other header has to say it."""
    site, origin = header(scope, b"sec-fetch-site"), header(scope, b"origin")
    if len(headers(scope, b"origin")) > 1 or len(headers(scope, b"sec-fetch-site")) > 1:
        return False
    if site is not None:
        return site == "same-origin" and (origin in (None, "null") or is_own(scope, origin))
    return is_own(scope, origin)


def _is_to_be_checked(scope: Any) -> bool:
    """Safe methods change nothing, and no browser shows a token by itself."""
    if scope["method"] in SAFE:
        return False
    principal = _principal(scope)
    return scope["path"] == SIGN_IN or (principal is not None and principal.has_browser)


def _carries_the_secret(scope: Any, body: bytes) -> bool:
    if _principal(scope) is None:
        return True
    shown = header(scope, b"x-csrf-token") or read_form(scope, body).get(FIELD, "")
    expected = scope["state"].get("csrf") or ""
    return bool(expected) and hmac.compare_digest(shown.encode(), expected.encode())


def _principal(scope: Any) -> Principal | None:
    principal = scope["state"].get("principal")
    return principal if isinstance(principal, Principal) else None
