"""The guard: closed by default, as the outermost layer.

It stands before the routes and knows none of them. It has a list of paths that need no credential, and every
route that is added later is behind it by itself; so is a path where there is nothing.

A person with a browser is sent to the sign-in page. A browser that follows a link from another site does not
show the cookie, which goes only to requests from our own pages. So the guard sends it on to the same page
once more, from our own page, and then the browser shows the cookie.
"""

from __future__ import annotations

from functools import partial
from html import escape
from math import ceil
from typing import Any, cast

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

from fencepost.errors import StoreUnavailable
from fencepost.telemetry.events import RefusedFor, RequestRefused, emit
from fencepost.web.auth.doorkeeper import Admitted, Doorkeeper, Refused
from fencepost.web.auth.headers import STATIC, dressed
from fencepost.web.auth.reading import bearer, header, session_cookie, wants_page
from fencepost.web.auth.redirects import OIDC, OIDC_BACK, SIGN_IN, asked_path, sign_in_url
from fencepost.web.problems import TOO_MANY, UNAUTHORIZED, Problem, store_away
from fencepost.web.sending import send_page, send_plain_problem, send_problem, send_redirect

OPEN_PATHS = frozenset({"/healthz", "/readyz", SIGN_IN, OIDC, OIDC_BACK})
METRICS = "/metrics"
CHALLENGE = 'Bearer realm="fencepost"'
NO_TOKEN = "show a token: Authorization: Bearer TOKEN"
WRONG_TOKEN = "this token is not known here, or has ended"
AGAIN = (
    '<!doctype html><html lang="en"><meta http-equiv="refresh" content="0; url={}"><title>Fencepost</title>'
)


class Guarded:
    """An application behind the guard."""

    def __init__(self, app: ASGIApp, doorkeeper: Doorkeeper) -> None:
        self._app = app
        self._doorkeeper = doorkeeper
        self._open = open_paths(doorkeeper)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await send({"type": "websocket.close", "code": 1008, "reason": "no credential"})
            return
        send = dressed(scope, send)
        state = cast("dict[str, Any]", scope).setdefault("state", {})
        state.pop("principal", None)
        if self._is_open(scope):
            if not await self._is_too_often(scope, send):
                await self._app(scope, receive, send)
            return
        try:
            outcome = await self._doorkeeper.admit(scope)
        except StoreUnavailable:
            await send_problem(scope, send, store_away())
            return
        if isinstance(outcome, Refused):
            await self._turn_away(scope, send, outcome)
            return
        await self._let_in(scope, receive, send, outcome)

    async def _let_in(self, scope: HTTPScope, receive: Receive, send: Send, admitted: Admitted) -> None:
        wait_s = self._doorkeeper.may_ask(admitted.principal)
        if wait_s:
            emit(RequestRefused(RefusedFor.CREDENTIAL_RATE))
            await send_problem(scope, send, too_many(wait_s))
            return
        scope["state"]["principal"] = admitted.principal
        scope["state"]["csrf"] = admitted.csrf
        scope["state"]["still_good"] = partial(self._doorkeeper.still_good, admitted.principal)
        await self._app(scope, receive, send)

    async def _turn_away(self, scope: HTTPScope, send: Send, refused: Refused) -> None:
        if await self._is_too_often(scope, send):
            return
        if refused.wait_s:
            emit(RequestRefused(RefusedFor.WRONG_CREDENTIALS))
            await send_problem(scope, send, too_many(refused.wait_s))
        elif not wants_page(scope) or not self._doorkeeper.signs_in:
            told = WRONG_TOKEN if bearer(scope) else NO_TOKEN
            await send_problem(scope, send, Problem(UNAUTHORIZED, told, {"WWW-Authenticate": CHALLENGE}))
        elif _comes_from_elsewhere(scope):
            await send_page(send, AGAIN.format(escape(asked_path(scope))))
        else:
            await send_redirect(send, sign_in_url(scope))

    async def _is_too_often(self, scope: HTTPScope, send: Send) -> bool:
        """Whether a caller without a credential was refused for asking too often. This is as cheap as
        possible, because every request of a flood comes here."""
        wait_s = self._doorkeeper.may_come(scope)
        if wait_s:
            emit(RequestRefused(RefusedFor.ADDRESS_RATE))
            await send_plain_problem(send, too_many(wait_s))
        return wait_s > 0

    def _is_open(self, scope: HTTPScope) -> bool:
        path = scope["path"]
        is_file = path.startswith(STATIC) and scope["method"] in ("GET", "HEAD")
        return path in self._open or is_file


def open_paths(doorkeeper: Doorkeeper) -> frozenset[str]:
    """What answers without a credential, beside the files of the dashboard. An application that this one is
    mounted in has probes and metrics of its own."""
    if not doorkeeper.signs_in:
        return frozenset()
    return OPEN_PATHS | ({METRICS} if doorkeeper.settings.metrics_open else set())


def too_many(wait_s: float) -> Problem:
    """The answer to callers that ask too often."""
    after = max(1, ceil(wait_s))
    return Problem(TOO_MANY, f"ask again in {after} s", {"Retry-After": str(after)})


def _comes_from_elsewhere(scope: HTTPScope) -> bool:
    """Whether a link on another site was followed, so that our cookie may be there and not be shown."""
    elsewhere = header(scope, b"sec-fetch-site") in ("cross-site", "same-site")
    followed = (
        header(scope, b"sec-fetch-mode") == "navigate" and header(scope, b"sec-fetch-dest") == "document"
    )
    asked = scope["method"] != "POST" and session_cookie(scope) is None
    return elsewhere and followed and asked
