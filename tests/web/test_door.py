"""Nobody comes in without a token, and nobody holds the door."""

import asyncio
import json
from typing import Any

import pytest
from litestar import Litestar, get
from litestar.routes import ASGIRoute, HTTPRoute

from fencepost.errors import InvalidSettings
from fencepost.web.application import build_routes
from fencepost.web.auth import OPEN_PATHS, Guarded, checked_token
from fencepost.web.request_limits import BODY_BYTES_MAX, RequestLimits
from tests.web.house import CLAIMS, TOKEN, Answer, Web, ask, scope_of

WRONG = [
    {},
    {"authorization": ""},
    {"authorization": "Bearer"},
    {"authorization": "Bearer "},
    {"authorization": f"Bearer {TOKEN}x"},
    {"authorization": f"Bearer {TOKEN[:-1]}"},
    {"authorization": f"Basic {TOKEN}"},
    {"authorization": TOKEN},
    {"x-token": TOKEN},
]


def walk(routes: Litestar) -> list[tuple[str, str]]:
    """Every method of every route; one that answers all of them is asked with some."""
    return sorted(
        (method, route.path)
        for route in routes.routes
        if isinstance(route, HTTPRoute | ASGIRoute)
        for method in (route.methods if isinstance(route, HTTPRoute) else ("GET", "POST"))
    )


async def test_every_route_but_health_is_closed(web: Web) -> None:
    found = walk(build_routes(web.serving))
    assert ("POST", CLAIMS) in found
    assert ("GET", "/api/v1/events") in found
    assert len({path for _, path in found}) >= 7
    for method, path in [*found, ("GET", "/"), ("GET", "/nothing"), ("DELETE", CLAIMS)]:
        answer = await ask(web.app, method, path, token=None)
        if path in OPEN_PATHS and method == "GET":
            assert answer.status == 200, path
        elif path not in OPEN_PATHS and not (path.startswith("/static/") and method in ("GET", "HEAD")):
            assert (answer.status, answer.problem) == (401, "unauthorized"), (method, path)
            assert answer.headers["www-authenticate"] == 'Bearer realm="fencepost"'


async def test_a_route_that_is_added_later_is_closed_by_itself(web: Web) -> None:
    @get("/secret")
    async def secret() -> str:
        return "told"

    app = Guarded(RequestLimits(Litestar([secret], openapi_config=None)), web.doorkeeper)
    assert (await ask(app, "GET", "/secret", token=None)).status == 401
    assert (await ask(app, "GET", "/secret")).content == b"told"


@pytest.mark.parametrize("headers", WRONG)
async def test_a_wrong_credential_is_none(web: Web, headers: dict[str, str]) -> None:
    answer = await ask(web.app, "POST", CLAIMS, b"{}", token=None, headers=headers)
    assert answer.problem == "unauthorized"


async def test_two_credentials_are_none(web: Web) -> None:
    scope = scope_of("POST", CLAIMS, {"authorization": f"Bearer {TOKEN}"})
    scope["headers"] = [*scope["headers"], *scope["headers"]]
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    await web.app(scope, _never, send)
    assert sent[0]["status"] == 401


@pytest.mark.parametrize(
    "path", ["/healthz/", "//healthz", "/%68ealthz", "/healthz/../api/v1/claims", "/HEALTHZ"]
)
async def test_what_looks_like_an_open_path_is_not_one(web: Web, path: str) -> None:
    assert (await ask(web.app, "GET", path, token=None)).problem == "unauthorized"


EASY = (
    "x" * 40,
    "password" * 5,
    "0123456789abcdef" * 4,
    "abcdefghijklmnopqrstuvwxyz0123456789",
)
"""Long enough, and found by the first guesses of anybody who tries."""


@pytest.mark.parametrize(
    "token", ["", "short", "x" * 31, " " * 40, "é" * 40, "a b" * 20, "x" * 40 + "\n", *EASY]
)
def test_a_token_that_can_be_guessed_or_not_be_sent_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(InvalidSettings, match="make one: export FENCEPOST_TOKEN") as refused:
        checked_token(token)
    assert not token or token not in str(refused.value)


async def test_a_body_that_says_it_is_too_large_is_not_read(web: Web) -> None:
    answer = await ask(web.app, "POST", CLAIMS, b"", headers={"content-length": str(BODY_BYTES_MAX + 1)})
    assert (answer.status, answer.problem) == (413, "too-large")


async def test_a_body_that_grows_too_large_is_not_read_to_its_end(web: Web) -> None:
    answer = await ask(web.app, "POST", CLAIMS, b" " * (BODY_BYTES_MAX + 1))
    assert (answer.status, answer.problem) == (413, "too-large")
    whole = json.dumps({"worker": "w", "jobs": ["resize"]}).encode()
    assert (await ask(web.app, "POST", CLAIMS, whole + b" " * (BODY_BYTES_MAX - len(whole)))).status == 200


async def test_a_body_that_takes_too_long_is_given_up() -> None:
    @get("/never")
    async def never() -> None: ...

    answer = Answer()

    async def send(message: Any) -> None:
        answer.status = message.get("status", answer.status)

    door = RequestLimits(Litestar([never], openapi_config=None), within_s=0.01)
    await door(scope_of("GET", "/never", {}), _never, send)
    assert answer.status == 408


async def _never() -> Any:
    await asyncio.Event().wait()
