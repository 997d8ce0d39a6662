"""The dashboard in this process, looked at by somebody who is let in."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qs, urlencode

from litestar import Litestar
from litestar.types import ASGIApp, Receive, Scope, Send

from fencepost.model.access import Came, Principal, Role
from fencepost.model.identifiers import DEFAULT_NAMESPACE, Namespace
from fencepost.services.long_poll import LongPoll
from fencepost.services.offload import OffloadThreads
from fencepost.web.dashboard.routes import dashboard
from fencepost.web.live.hub import Hub
from fencepost.web.problems import handle
from fencepost.web.request_limits import RequestLimits, as_sent
from fencepost.web.serving import Serving
from tests.services.house import House
from tests.web.house import Answer, ask
from tests.web.lent_routes import lend

CSRF = "a-token-against-forgery"


def somebody(role: Role = Role.ADMIN, namespace: str = DEFAULT_NAMESPACE, name: str = "anna") -> Principal:
    """Who looks."""
    return Principal(name, role, Namespace(namespace), Came.SESSION, "s0123456789abcdef")


def build_dashboard(serving: Serving, _: Hub | None = None) -> Litestar:
    """The pages alone."""
    return Litestar(
        dashboard(serving), exception_handlers={Exception: handle}, openapi_config=None, logging_config=None
    )


@dataclass
class Dashboard:
    """A store with the dashboard before it."""

    house: House
    principal: Principal | None
    offload: OffloadThreads = field(default_factory=OffloadThreads)
    offload_short: OffloadThreads | None = None

    def __post_init__(self) -> None:
        store, settings = self.house.store, self.house.settings
        serving = Serving(store, settings, LongPoll(), offload=self.offload)
        if self.offload_short is not None:
            serving = replace(serving, offload_short=self.offload_short)
        self.app = as_sent(_known(RequestLimits(lend(build_dashboard, serving)), self))

    async def get(self, path: str, cookies: dict[str, str] | None = None) -> Answer:
        return await ask(self.app, "GET", path, headers=_cookies(cookies), token=None)

    async def page(self, path: str, status: int = 200) -> str:
        """The text of a page."""
        answer = await self.get(path)
        text = answer.content.decode()
        assert answer.status == status, f"{path}: {answer.status} {words_of(text)[:400]}"
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        return text

    async def posted(self, address: str, status: int = 200, csrf: str | None = CSRF) -> str:
        """The text of a page that is sent its query as a form."""
        path, _, query = address.partition("?")
        answer = await self.send(path, csrf, **parse_qs(query))
        text = answer.content.decode()
        assert answer.status == status, f"{path}: {answer.status} {words_of(text)[:400]}"
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["cache-control"] == "no-store"
        return text

    async def do(self, operation: str, csrf: str | None = CSRF, **fields: Any) -> Answer:
        """Send the form of an operation."""
        return await self.send(f"/do/{operation}", csrf, **fields)

    async def send(self, path: str, csrf: str | None = CSRF, **fields: Any) -> Answer:
        """Send a form."""
        values = {**({} if csrf is None else {"csrf": csrf}), **fields}
        body = urlencode(values, doseq=True).encode()
        kind = {"content-type": "application/x-www-form-urlencoded"}
        return await ask(self.app, "POST", path, body, headers=kind, token=None)

    async def after(self, answer: Answer) -> str:
        """The page that an action leads to, with what it says."""
        assert answer.status == 303, answer.content
        cookie = answer.headers["set-cookie"].partition(";")[0]
        name, _, value = cookie.partition("=")
        shown = await self.get(answer.headers["location"], {name: value.strip('"')})
        assert f"{name}=" in shown.headers["set-cookie"]
        return shown.content.decode()


def _known(app: ASGIApp, door: Dashboard) -> ASGIApp:
    """What lets people in puts who they are here."""

    async def known(scope: Scope, receive: Receive, send: Send) -> None:
        if door.principal is not None:
            scope["state"].update(principal=door.principal, csrf=CSRF)
        await app(scope, receive, send)

    return known


def _cookies(cookies: dict[str, str] | None) -> dict[str, str]:
    return {"cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())} if cookies else {}


def words_of(text: str) -> str:
    """What is to be read of a page, without its markup."""
    return " ".join(re.sub(r"<[^>]*>", " ", text).split())
