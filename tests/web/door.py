"""A door with nothing behind it but somebody who says whom they see."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

from litestar.types import Receive, Scope, Send

from fencepost.model.access import CredentialKind, Principal, Role, read_credential
from fencepost.model.identifiers import Namespace
from fencepost.operations import credentials
from fencepost.operations.control import Control
from fencepost.operations.responses.access import MintedToken
from fencepost.web.auth import Doorkeeper, Guarded, inside
from fencepost.web.auth.reading import COOKIE, FORM
from fencepost.web.request_limits import RequestLimits, as_sent
from tests.services.house import NS, House
from tests.services.verbs_work import ANNA
from tests.web.house import TOKEN, Answer, ask

HOST = "127.0.0.1:8580"
HERE = {"host": HOST, "origin": f"http://{HOST}", "sec-fetch-site": "same-origin"}
PAGE = {"accept": "text/html,application/xhtml+xml", "sec-fetch-site": "none"}


async def probe(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers everything with whom it sees."""
    principal = scope["state"].get("principal")
    message: Any = await receive()
    seen: dict[str, Any] = {"csrf": scope["state"].get("csrf"), "body": message["body"].decode()}
    if isinstance(principal, Principal):
        seen |= {"name": principal.name, "role": principal.role, "namespace": principal.namespace}
        seen |= {"came": principal.came, "id": principal.credential_id}
    headers = [(b"content-type", b"application/json"), (b"cache-control", b"public, max-age=60")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(seen).encode(), "more_body": False})


class Door:
    """A house with a guarded probe."""

    def __init__(self, **settings: Any) -> None:
        self.house = House(**{"token": TOKEN, **settings})
        self.doorkeeper = Doorkeeper(self.house.store, self.house.settings, self.house.clock)
        self.app = as_sent(Guarded(RequestLimits(inside(probe, self.doorkeeper)), self.doorkeeper))
        self.verbs = Control(self.house.store, NS, ANNA)

    async def token(self, role: Role = Role.VIEWER, lasts_s: float | None = None) -> MintedToken:
        number = len(await credentials.tokens(self.verbs))
        return await credentials.create(self.verbs, f"ci {number}" if number else "ci", role, lasts_s=lasts_s)

    async def link(self, role: Role = Role.ADMIN, namespace: Namespace | None = None) -> str:
        return (await credentials.open_link(self.verbs, role, namespace)).credential.reveal()

    async def get(
        self, path: str = "/x", token: str | None = None, cookie: str | None = None, **headers: str
    ) -> Answer:
        return await ask(self.app, "GET", path, b"", token, headers=_headers(cookie, headers))

    async def post(
        self,
        path: str,
        fields: dict[str, str] | None = None,
        cookie: str | None = None,
        token: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """A form, sent from a page of this server unless the headers say otherwise."""
        given = {"content-type": FORM, **(HERE if headers is None else headers)}
        body = urlencode(fields or {}).encode()
        return await ask(self.app, "POST", path, body, token, headers=_headers(cookie, given))

    async def sign_in(self, shown: str | None = None, cookie: str | None = None) -> str:
        """The cookie of somebody who signed in, by a new link unless told otherwise."""
        kind = read_credential(shown or "")
        field = (
            "token" if shown is not None and (kind is None or kind.kind is CredentialKind.TOKEN) else "link"
        )
        answer = await self.post("/sign-in", {field: shown or await self.link()}, cookie)
        assert answer.status == 303, answer.content
        return cookie_of(answer)


def cookie_of(answer: Answer) -> str:
    """The value of our cookie in an answer."""
    name, _, rest = answer.headers["set-cookie"].partition("=")
    assert name == COOKIE
    return rest.partition(";")[0]


def _headers(cookie: str | None, headers: dict[str, str]) -> dict[str, str]:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return given if cookie is None else {**given, "cookie": f"{COOKIE}={cookie}"}
