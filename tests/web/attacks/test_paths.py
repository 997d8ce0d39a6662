"""Paths, methods and places to go on to that are not what they look like."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

from fencepost.model.access import Role
from fencepost.web.auth import OPEN_PATHS
from fencepost.web.auth.reading import FORM
from tests.web.attacks.stage import PAGE, Stage, everything
from tests.web.dashboard.reading import parsed
from tests.web.door import HERE
from tests.web.house import scope_of

HERE_ = {name.replace("-", "_"): value for name, value in HERE.items()}
METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "get", "PROPFIND")
TRICKS = (
    *("//api/v1/runs", "/api//v1/runs", "/api/v1/runs/", "/api/v1/./runs", "/api/v1/../v1/runs"),
    *(
        "/api/v1/%2e%2e/v1/runs",
        "/api%2fv1%2fruns",
        "/%61pi/v1/runs",
        "/API/V1/RUNS",
        "/api/v1/runs;x=/healthz",
    ),
    *("/healthz/../api/v1/runs", "/healthz/..;/api/v1/runs", "/healthz%2f..%2fapi/v1/runs", "/healthz/x"),
    *(
        "/static/../api/v1/runs",
        "/static/%2e%2e/api/v1/runs",
        "/static/..%2fapi%2fv1%2fruns",
        "/static//do/x",
    ),
    *(
        "/static/..\\..\\runs",
        "/static/%00",
        "/sign-in/../api/v1/runs",
        "/sign-in%00",
        "/\\runs",
        "*",
        "runs",
    ),
    *(
        "http://127.0.0.1/api/v1/runs",
        "/api/v1/runs%00",
        "/api/v1/runs%ff",
        "/" + "a/" * 2_000,
        "/runs?/healthz",
    ),
    *("/runs#/healthz", "/metrics/", "//metrics", "/do/../healthz"),
)
ELSEWHERE = (
    *("//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example", "/\t/evil.example"),
    *(
        "/\n/evil.example",
        "https://evil.example",
        "https:evil.example",
        "javascript:alert(1)",
        "data:text/html,x",
    ),
    *(
        "%2f%2fevil.example",
        "/%0d%0aSet-Cookie:%20a=b",
        "/\r\nSet-Cookie: a=b",
        "//evil.example%2f@here",
        "\u2044",
    ),
    *(
        "/\u3002evil",
        " //evil.example",
        "/ /evil.example",
        "//\u2025evil.example",
        "http:///evil.example",
        "evil",
    ),
    *("/" + "a" * 5_000, "/\0", "?//evil.example", "//127.0.0.1:8580@evil.example/", "\x01//evil.example"),
)


async def test_no_path_and_no_method_leads_in_without_a_credential(stage: Stage) -> None:
    paths = {path for _, path in everything(stage.serving)} | set(TRICKS) | {"/nothing", "/later/route"}
    closed = sorted(path for path in paths if path not in OPEN_PATHS)
    mark = stage.marked()
    for path in closed:
        stage.house.clock.advance(1)
        for method in METHODS:
            status = (await stage.ask(method, path, b"{}")).status
            file = path.startswith("/static/") and method in ("GET", "HEAD")
            assert status == 401 or (file and status in (404, 405)), (method, path, status)
    assert stage.house.store.names()[mark:] == []


async def test_a_path_that_is_written_otherwise_leads_to_nothing_more(stage: Stage) -> None:
    token = (await stage.token(Role.VIEWER)).credential.reveal()
    for path in TRICKS:
        for method in METHODS:
            answer = await stage.ask(method, path, b"{}", token=token)
            assert answer.status in (200, 204, 400, 403, 404, 405, 422), (method, path, answer.status)


async def test_a_page_at_a_path_with_two_slashes_leads_back_to_this_server(stage: Stage) -> None:
    cookie, _ = await stage.sign_in(await stage.token())
    for path in ("//schedules", "//schedules?limit=x", "///runs", "//evil.example/x", "//evil.example"):
        text = (await stage.ask("GET", path, cookie=cookie, **PAGE)).content.decode()
        for one in parsed(text).elements:
            for name in ("href", "action", "src", "value"):
                assert not one.attributes.get(name, "").startswith("//"), (path, one)


async def test_a_websocket_is_refused_before_anything_is_read(stage: Stage) -> None:
    token = (await stage.token()).credential.reveal()
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError("nothing is to be read")

    for path in ("/api/v1/events", "/healthz", "/static/x", "/"):
        scope: Any = {**scope_of("GET", path, {"authorization": f"Bearer {token}"}), "type": "websocket"}
        await stage.app(scope, receive, send)
    assert {(one["type"], one["code"]) for one in sent} == {("websocket.close", 1008)}


async def test_signing_in_leads_nowhere_but_here(stage: Stage) -> None:
    token = (await stage.token()).credential.reveal()
    for there in ELSEWHERE:
        body = urlencode({"token": token, "next": there}).encode()
        answer = await stage.ask("POST", "/sign-in", body, content_type=FORM, **HERE_)
        assert answer.status == 303
        check_local(answer.headers["location"])
        assert "evil" not in answer.headers["set-cookie"]
        page = await stage.ask("GET", f"/sign-in?next={quote(there)}")
        fields = [
            one for one in parsed(page.content.decode()).elements if one.attributes.get("name") == "next"
        ]
        for one in fields:
            check_local(one.attributes["value"])


async def test_a_form_leads_nowhere_but_here(stage: Stage) -> None:
    cookie, csrf = await stage.sign_in(await stage.token())
    for there in ELSEWHERE:
        for fields in (
            {"back": there},
            {"stay": there, "back": there},
            {"back": "/{x}/evil.example", "x": ""},
            {"back": "/{csrf}{x}", "x": there},
            {"back": "{x}", "x": there},
        ):
            answer = await stage.form("schedules.pause", {"schedule_id": "x", **fields}, cookie, csrf)
            assert answer.status == 303, there
            check_local(answer.headers["location"])


async def test_whoever_is_sent_to_sign_in_comes_back_here(stage: Stage) -> None:
    elsewhere = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}
    for path in (
        "//evil.example",
        "//evil.example/%2f..",
        '/x?y="><script>alert(1)</script>',
        "/\\evil.example",
    ):
        answer = await stage.ask("GET", path, **PAGE)
        assert answer.headers["location"].startswith("/sign-in")
        assert "//" not in answer.headers["location"]
        again = (await stage.ask("GET", path, **PAGE, **elsewhere)).content.decode()
        (meta,) = [one for one in parsed(again).named("meta") if "content" in one.attributes]
        check_local(meta.attributes["content"].removeprefix("0; url="))
        assert parsed(again).named("script") == []


async def test_the_host_that_somebody_names_is_written_nowhere(stage: Stage) -> None:
    token = (await stage.token()).credential.reveal()
    for path in ("/", "/schedules", "/nothing", "/sign-in", "/api/v1/openapi.json", "/api/v1/runs"):
        for headers in ({"host": "evil.example"}, {"host": "h", "x_forwarded_host": "evil.example"}):
            for accept in ("text/html", "application/json"):
                answer = await stage.ask("GET", path, token=token, accept=accept, **headers)
                assert "evil.example" not in answer.content.decode() + str(answer.headers), path
    turned = await stage.ask("GET", "/runs", host="evil.example", **PAGE)
    assert turned.headers["location"] == "/sign-in?next=%2Fruns"
    made = await stage.ask("POST", "/api/v1/links", {}, token=token, host="evil.example")
    assert "evil.example" not in made.content.decode()


def check_local(place: str) -> None:
    """What every browser takes for a path of the server that it came from."""
    assert place.startswith("/"), place
    assert not place.startswith("//"), place
    assert all("!" <= character <= "~" and character != "\\" for character in place), place
