"""The whole application in this process, with two tenants, people of each role, and a walk of its routes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote, urlencode

from litestar import Litestar
from litestar.routes import HTTPRoute

from fencepost.config import settings_from
from fencepost.model.access import EVERYWHERE, Role
from fencepost.model.audit import Author
from fencepost.model.identifiers import Namespace
from fencepost.operations import credentials
from fencepost.operations.control import Control
from fencepost.operations.responses.access import MintedToken
from fencepost.services.long_poll import LongPoll
from fencepost.web.application import build_routes
from fencepost.web.auth import Doorkeeper
from fencepost.web.auth.reading import COOKIE, FORM, SAFE
from fencepost.web.dashboard.actions.operations import changes
from fencepost.web.dashboard.said import NAME as SAID
from fencepost.web.dashboard.said import Said, read_said
from fencepost.web.live.hub import Hub
from fencepost.web.serving import Serving
from tests.services.house import NS, House
from tests.web.door import HERE
from tests.web.house import JOBS, TOKEN, Answer, application_of, ask

ELSEWHERE = Namespace("elsewhere")
BOSS = Author("boss", "tests")
PAGE = {"accept": "text/html"}
PARAMETER = re.compile(r"\{[^}]*\}")
ROOMY: dict[str, Any] = {"token": TOKEN, "requests_per_s": 1e6, "requests_burst": 1_000_000}


class Stage:
    """A house behind the whole of the web."""

    def __init__(self, house: House | None = None, **settings: Any) -> None:
        self.house = house or House()
        self.house.settings = settings_from({}, overrides={**ROOMY, **settings})
        store, chosen, clock = self.house.store, self.house.settings, self.house.clock
        self.serving = Serving(store, chosen, LongPoll(10), dice=lambda: 0.5)
        self.doorkeeper = Doorkeeper(store, chosen, clock)
        self.hub = Hub(store, self.doorkeeper.still_good_of, clock)
        self.app = application_of(self.serving, self.doorkeeper, self.hub)

    async def open(self) -> Stage:
        for namespace in (NS, ELSEWHERE):
            await self.house.memory.jobs.register(namespace, JOBS)
        return self

    async def token(self, role: Role = Role.ADMIN, namespace: Namespace = NS) -> MintedToken:
        verbs = Control(self.house.store, namespace, BOSS)
        number = len(await credentials.tokens(verbs))
        return await credentials.create(verbs, f"{role} of {namespace}, number {number}", role, namespace)

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        token: str | None = None,
        cookie: str | None = None,
        **headers: str,
    ) -> Answer:
        """One request; a body that is no bytes is sent as JSON."""
        sent = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        given |= {} if cookie is None else {"cookie": f"{COOKIE}={cookie}"}
        return await ask(self.app, method, path, sent, token, headers=given)

    async def sign_in(self, token: MintedToken) -> tuple[str, str]:
        """The cookie of a new session, and what its forms carry."""
        body = urlencode({"token": token.credential.reveal()}).encode()
        answer = await self.ask("POST", "/sign-in", body, content_type=FORM, **_named(HERE))
        assert answer.status == 303, answer.content
        cookie = answer.headers["set-cookie"].partition("=")[2].partition(";")[0]
        return cookie, csrf_in((await self.ask("GET", "/", cookie=cookie, **PAGE)).content.decode())

    async def form(
        self, operation: str, fields: dict[str, Any], cookie: str, csrf: str, **headers: str
    ) -> Answer:
        """The form of an operation, as our own page would send it."""
        body = urlencode({"csrf": csrf, "confirmed": "yes", **fields}, doseq=True).encode()
        given = {"content_type": FORM, **_named(HERE), **headers}
        return await self.ask("POST", f"/do/{operation}", body, cookie=cookie, **given)

    async def posted(self, path: str, fields: dict[str, Any], cookie: str, csrf: str) -> Answer:
        """A page that is sent its query as a form, as our own page would."""
        body = urlencode({"csrf": csrf, **fields}, doseq=True).encode()
        return await self.ask("POST", path, body, cookie=cookie, content_type=FORM, **_named(HERE), **PAGE)

    def marked(self) -> int:
        """How often the store was asked so far."""
        return len(self.house.store.calls)

    def asked_since(self, mark: int) -> set[str]:
        """What the store was asked for since then, without what the door looks up."""
        return {one for one in self.house.store.names()[mark:] if not one.startswith("access.")}


def csrf_in(page: str) -> str:
    """What the forms of a page carry."""
    found = re.search(r'name="csrf" value="([0-9a-f]{64})"', page)
    assert found is not None, "the page has no form"
    return found[1]


def said_in(answer: Answer) -> Said:
    """What a form's answer says on the next page."""
    name, _, rest = answer.headers["set-cookie"].partition("=")
    assert name == SAID
    said = read_said(rest.partition(";")[0].strip('"'))
    assert said is not None
    return said


def served(routes: Litestar) -> Iterator[tuple[str, str]]:
    """Every method and path that is routed, with something for each name in the path."""
    for route in routes.routes:
        path = PARAMETER.sub("x", route.path_format)
        methods: Iterable[str] = route.methods if isinstance(route, HTTPRoute) else ("GET", "POST")
        yield from ((str(method), path) for method in methods)


def everything(serving: Serving) -> list[tuple[str, str]]:
    """Every method and path there is: what is routed, each form, and what the door itself answers."""
    forms = [("POST", f"/do/{name}") for name in changes()]
    own = [("POST", "/sign-out"), ("GET", "/sign-out")]
    return sorted({*served(build_routes(serving)), *forms, *own})


def unsafe(serving: Serving) -> list[tuple[str, str]]:
    """Those that may change something."""
    return [(method, path) for method, path in everything(serving) if method not in SAFE]


def in_path(text: str) -> str:
    """A text as one part of a path."""
    return quote(text, safe="")


def _named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("-", "_"): value for name, value in headers.items()}


EVERYBODY = [(role, namespace) for role in Role for namespace in (NS, ELSEWHERE, EVERYWHERE)]
