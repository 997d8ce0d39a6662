"""Signing in and out.

Opening a link shows a button, and only the button uses the link: programs that scan mail before its reader
open every link in it. An earlier session of the browser does not go on: each sign-in makes a new one. Signing
out ends the session in the store, so that a copied cookie is worth nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

from fencepost.clock import Clock
from fencepost.config import Settings
from fencepost.errors import StoreUnavailable
from fencepost.model.access import Credential, CredentialKind, Principal, is_person, read_credential
from fencepost.web.auth.doorkeeper import Doorkeeper
from fencepost.web.auth.guard import too_many
from fencepost.web.auth.oidc.attempt import CLEARED
from fencepost.web.auth.oidc.attempt import COOKIE as ATTEMPT
from fencepost.web.auth.people import SignInRefused, SignInTrouble
from fencepost.web.auth.reading import COOKIE, client_of, cookie_value, header, read_form
from fencepost.web.auth.redirects import HOME, OIDC, OIDC_BACK, SIGN_IN, WAYS, local_path
from fencepost.web.dashboard.rendering import render_alone
from fencepost.web.problems import METHOD, NOT_FOUND, Problem, store_away
from fencepost.web.sending import send_page, send_problem, send_redirect

if TYPE_CHECKING:
    from fencepost.web.auth.oidc.flow import Flow

TEMPLATE = "sign_in.html"
OUT = "signed_out"
NOT_GOOD = "That token or link is not good, or not any more."
ATTRIBUTES = "Path=/; Secure; HttpOnly; SameSite=Strict"


class Entrance:
    """An application with sign-in and sign-out before it. Its requests are whole: it stands behind the
    request limits."""

    def __init__(self, app: ASGIApp, doorkeeper: Doorkeeper) -> None:
        self._app = app
        self._doorkeeper = doorkeeper
        self._flow = flow_of(doorkeeper.settings, doorkeeper.clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP or scope["path"] not in WAYS:
            await self._app(scope, receive, send)
            return
        try:
            await self._answer(scope, receive, send)
        except StoreUnavailable:
            await send_problem(scope, send, store_away())

    async def _answer(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        method, path = str(scope["method"]), scope["path"]
        if path in (OIDC, OIDC_BACK):
            await self._at_provider(scope, send)
        elif path == SIGN_IN and method in ("GET", "HEAD"):
            await send_page(send, self._page(scope, _query(scope)))
        elif method != "POST":
            await _refuse_method(scope, send, "GET, HEAD, POST" if path == SIGN_IN else "POST")
        elif path == SIGN_IN:
            await self._sign_in(scope, await _form(scope, receive), send)
        else:
            await self._sign_out(scope, send)

    async def _at_provider(self, scope: HTTPScope, send: Send) -> None:
        """The way to the provider and back. The attempt ends here, however it ends."""
        if self._flow is None:
            told = "there is no sign-in provider; oidc_issuer names one"
            await send_problem(scope, send, Problem(NOT_FOUND, told))
            return
        if scope["method"] != "GET":
            await _refuse_method(scope, send, "GET")
            return
        asked, back = _query(scope), own_address(scope, self._doorkeeper.settings) + OIDC_BACK
        try:
            if scope["path"] == OIDC:
                address, cookie = await self._flow.begin(local_path(asked.get("next")), back)
                await send_redirect(send, address, cookie)
                return
            person = await self._flow.end(asked, cookie_value(scope, ATTEMPT), back, client_of(scope))
        except SignInRefused as error:
            await send_page(send, self._page(scope, {}, _sentence(error)), 403, CLEARED)
        except SignInTrouble as error:
            await send_page(send, self._page(scope, {}, _sentence(error)), 502, CLEARED)
        else:
            session = await self._doorkeeper.sign_in_person(person, client_of(scope))
            await send_redirect(send, local_path(person.there), self._cookie(session), CLEARED)

    async def _sign_in(self, scope: HTTPScope, form: dict[str, str], send: Send) -> None:
        shown = form.get("link") or form.get("token") or ""
        outcome = await self._doorkeeper.sign_in(shown, client_of(scope))
        if isinstance(outcome, Credential):
            await send_redirect(send, local_path(form.get("next")), self._cookie(outcome))
        elif outcome.wait_s:
            await send_problem(scope, send, too_many(outcome.wait_s))
        else:
            page = self._page(scope, {"next": form.get("next", "")}, NOT_GOOD)
            await send_page(send, page, 403)

    async def _sign_out(self, scope: HTTPScope, send: Send) -> None:
        principal = scope["state"].get("principal")
        assert isinstance(principal, Principal), "the guard lets no request without a credential come here"
        await self._doorkeeper.sign_out(principal, client_of(scope))
        there = f"{SIGN_IN}?{OUT}=1" if is_person(principal.rests_on) else SIGN_IN
        await send_redirect(send, there, f"{COOKIE}=; Max-Age=0; {ATTRIBUTES}")

    def _cookie(self, session: Credential) -> str:
        lasts_s = int(self._doorkeeper.terms.lasts_s)
        return f"{COOKIE}={session.reveal()}; Max-Age={lasts_s}; {ATTRIBUTES}"

    def _page(self, scope: HTTPScope, asked: dict[str, str], refused: str = "") -> str:
        """The page with a button for a link, or with a field for a token and the way to the provider."""
        link = read_credential(asked.get("link", ""))
        given = link.reveal() if link is not None and link.kind is CredentialKind.LINK else ""
        there, provider, sign_out = local_path(asked.get("next")), None, None
        if self._flow is not None:
            provider = self._flow.provider.host
            if OUT in asked:
                back = own_address(scope, self._doorkeeper.settings) + SIGN_IN
                sign_out = self._flow.sign_out_address(back)
        way = OIDC if there == HOME else f"{OIDC}?next={quote(there, safe='')}"
        values: dict[str, Any] = {"provider": provider, "way": way, "sign_out": sign_out}
        return render_alone(TEMPLATE, "Sign in", link=given, next=there, refused=refused, **values)


def flow_of(settings: Settings, clock: Clock) -> Flow | None:
    """The way to the provider that the settings name. What it needs is an extra, and imported only here."""
    if not settings.oidc_issuer:
        return None
    made: Flow = import_module("fencepost.web.auth.oidc.flow").Flow(settings, clock)
    return made


def own_address(scope: HTTPScope, settings: Settings) -> str:
    """Where browsers find this server: as it is set, or as this one has asked for it."""
    host = header(scope, b"host") or ""
    return settings.public_url.rstrip("/") or f"{scope['scheme']}://{host}"


def _sentence(error: Exception) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."


async def _refuse_method(scope: HTTPScope, send: Send, allowed: str) -> None:
    await send_problem(scope, send, Problem(METHOD, "this path has other methods", {"Allow": allowed}))


def _query(scope: HTTPScope) -> dict[str, str]:
    try:
        return dict(parse_qsl(scope["query_string"].decode("ascii"), max_num_fields=20))
    except ValueError:
        return {}


async def _form(scope: HTTPScope, receive: Receive) -> dict[str, str]:
    message: Any = await receive()
    return read_form(scope, message.get("body", b""))
