"""Signing in and out.

A link that is opened shows a button, and only the button uses the link: those who look at mail before its
reader does open every link in it. Whatever session a browser had before is not gone on with: each sign-in
makes a new one. Signing out ends the session in the store, so that a cookie that was copied is worth nothing.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

from fencepost.errors import StoreUnavailable
from fencepost.model.access import Credential, CredentialKind, Principal, read_credential
from fencepost.web.auth.doorkeeper import Doorkeeper
from fencepost.web.auth.guard import too_many
from fencepost.web.auth.reading import COOKIE, client_of, read_form
from fencepost.web.auth.redirects import SIGN_IN, SIGN_OUT, local_path
from fencepost.web.dashboard.rendering import render_alone
from fencepost.web.problems import METHOD, Problem, store_away
from fencepost.web.sending import send_page, send_problem, send_redirect

TEMPLATE = "sign_in.html"
NOT_GOOD = "That token or link is not good, or not any more."
ATTRIBUTES = "Path=/; Secure; HttpOnly; SameSite=Strict"


class Entrance:
    """An application with a way in and a way out before it. Its requests are whole: it stands behind the
    request limits."""

    def __init__(self, app: ASGIApp, doorkeeper: Doorkeeper) -> None:
        self._app = app
        self._doorkeeper = doorkeeper

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP or scope["path"] not in (SIGN_IN, SIGN_OUT):
            await self._app(scope, receive, send)
            return
        try:
            await self._answer(scope, receive, send)
        except StoreUnavailable:
            await send_problem(scope, send, store_away())

    async def _answer(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        method = str(scope["method"])
        if scope["path"] == SIGN_IN and method in ("GET", "HEAD"):
            await send_page(send, _page(_query(scope)))
        elif method != "POST":
            allowed = {"Allow": "GET, HEAD, POST" if scope["path"] == SIGN_IN else "POST"}
            await send_problem(scope, send, Problem(METHOD, "this path has other methods", allowed))
        elif scope["path"] == SIGN_IN:
            await self._sign_in(scope, await _form(scope, receive), send)
        else:
            await self._sign_out(scope, send)

    async def _sign_in(self, scope: HTTPScope, form: dict[str, str], send: Send) -> None:
        shown = form.get("link") or form.get("token") or ""
        outcome = await self._doorkeeper.sign_in(shown, client_of(scope))
        if isinstance(outcome, Credential):
            lasts_s = int(self._doorkeeper.terms.lasts_s)
            cookie = f"{COOKIE}={outcome.reveal()}; Max-Age={lasts_s}; {ATTRIBUTES}"
            await send_redirect(send, local_path(form.get("next")), cookie)
        elif outcome.wait_s:
            await send_problem(scope, send, too_many(outcome.wait_s))
        else:
            await send_page(send, _page({"next": form.get("next", "")}, NOT_GOOD), 403)

    async def _sign_out(self, scope: HTTPScope, send: Send) -> None:
        principal = scope["state"].get("principal")
        assert isinstance(principal, Principal), "nobody comes here without a credential"
        await self._doorkeeper.sign_out(principal, client_of(scope))
        await send_redirect(send, SIGN_IN, f"{COOKIE}=; Max-Age=0; {ATTRIBUTES}")


def _page(asked: dict[str, str], refused: str = "") -> str:
    """The page with a button for a link, or with a field for a token."""
    link = read_credential(asked.get("link", ""))
    given = link.reveal() if link is not None and link.kind is CredentialKind.LINK else ""
    return render_alone(TEMPLATE, "Sign in", link=given, next=local_path(asked.get("next")), refused=refused)


def _query(scope: HTTPScope) -> dict[str, str]:
    try:
        return dict(parse_qsl(scope["query_string"].decode("ascii"), max_num_fields=20))
    except ValueError:
        return {}


async def _form(scope: HTTPScope, receive: Receive) -> dict[str, str]:
    message: Any = await receive()
    return read_form(scope, message.get("body", b""))
