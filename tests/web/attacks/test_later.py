"""What is added later is closed by itself: a route, a page, an operation, a form, a stream."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from litestar import Router, get, post
from litestar.handlers import ASGIRouteHandler

from fencepost.model.access import EVERYWHERE, Role
from fencepost.operations.control import Control
from fencepost.operations.operation import ChangeRequest, Operation, Request, operation
from fencepost.web import application
from fencepost.web.dashboard import routes as dashboard_routes
from fencepost.web.dashboard.actions import doing
from fencepost.web.dashboard.page import Visit, all_pages, page
from tests.services.house import NS
from tests.web.attacks.stage import PAGE, Stage
from tests.web.house import scope_of

REACHED: list[str] = []


class Nothing(msgspec.Struct):
    """An answer."""


@operation("later.look", "GET /later", Role.ADMIN)
async def look_later(control: Control, request: Request) -> Nothing:
    """Look."""
    REACHED.append("look")
    return Nothing()


@operation("later.change", "POST /later", Role.OPERATOR, whole_fleet=True)
async def change_later(control: Control, request: ChangeRequest) -> Nothing:
    """Change."""
    REACHED.append("change")
    return Nothing()


@page("/later", Role.ADMIN, title="Later", template="fault.html", section="later")
async def later_page(visit: Visit[Any]) -> dict[str, Any]:
    REACHED.append("page")
    return {"fault": None, "known": True}


class LaterForm(msgspec.Struct, frozen=True):
    """What is posted to a page."""

    secret: str = ""


@page(
    "/later-form",
    Role.ADMIN,
    title="Later",
    template="fault.html",
    section="later",
    query=LaterForm,
    posted=("secret",),
)
async def later_form(visit: Visit[LaterForm]) -> dict[str, Any]:
    REACHED.append(f"form {visit.query.secret}")
    return {"fault": None, "known": True}


@get("/later-route")
async def later_route() -> str:
    REACHED.append("route")
    return "x"


@post("/api/v2/later")
async def later_post() -> str:
    REACHED.append("post")
    return "x"


async def later_stream(scope: Any, receive: Any, send: Any) -> None:
    REACHED.append("stream")


@pytest.fixture
async def later(monkeypatch: pytest.MonkeyPatch) -> Stage:
    """The application of another day."""
    REACHED.clear()
    known, pages, routes = application.operations(), all_pages(), application.routes
    added: list[Operation[Any, Any, Any]] = [look_later, change_later]
    more = [later_route, later_post, Router("/deep", route_handlers=[get("/er")(later_route.fn)])]
    monkeypatch.setattr(application, "operations", lambda: [*known, *added])
    monkeypatch.setattr(dashboard_routes, "all_pages", lambda: (*pages, later_page, later_form))
    monkeypatch.setattr(doing, "operation_named", {"later.change": change_later}.get)
    stream = ASGIRouteHandler("/later-stream", copy_scope=False)(later_stream)
    monkeypatch.setattr(application, "routes", lambda *given: [*routes(*given), *more, stream])
    return await Stage().open()


THERE = {
    ("GET", "/api/v1/later"): "look",
    ("POST", "/api/v1/later"): "change",
    ("GET", "/later"): "page",
    ("GET", "/later-route"): "route",
    ("POST", "/api/v2/later"): "post",
    ("GET", "/deep/er"): "route",
    ("GET", "/later-stream"): "stream",
    ("GET", "/later-form"): "form ",
    ("POST", "/later-form"): "form x",
    ("HEAD", "/api/v1/later"): "look",
    ("HEAD", "/later"): "page",
    ("HEAD", "/later-route"): "route",
    ("HEAD", "/later-stream"): "stream",
    ("HEAD", "/later-form"): "form ",
}
"""What each reaches for those who may; a form carries a secret that no address does."""
CALLS = [*THERE, ("POST", "/do/later.change")]


async def test_nothing_of_it_is_reached_without_a_credential(later: Stage) -> None:
    for method, path in CALLS:
        for way in (path, f"/{path}", f"{path}/", path.replace("later", "%6cater")):
            for headers in ({}, PAGE, {"authorization": "Bearer wrong"}, {"cookie": "__Host-fencepost=x"}):
                later.house.clock.advance(60)
                answer = await later.ask(method, way, b"{}", **headers)
                assert answer.status in (303, 401), (method, way, headers, answer.status)
    assert REACHED == []


async def test_it_is_there_for_those_who_may(later: Stage) -> None:
    """Else the test above would say nothing."""
    token = (await later.token(Role.ADMIN, EVERYWHERE)).credential.reveal()
    for method, path in CALLS[:-1]:
        REACHED.clear()
        body = b"" if method != "POST" else b"secret=x" if path == "/later-form" else b"{}"
        await later.ask(method, path, body, token=token)
        assert [THERE[method, path]] == REACHED, (method, path)
    await later.ask("GET", "/later-form?secret=x", token=token)
    assert REACHED[-1] == "form "


async def test_its_role_and_its_reach_are_asked_for(later: Stage) -> None:
    for role, namespace in ((Role.VIEWER, EVERYWHERE), (Role.OPERATOR, EVERYWHERE), (Role.ADMIN, NS)):
        made = await later.token(role, namespace)
        cookie, csrf = await later.sign_in(made)
        REACHED.clear()
        token = made.credential.reveal()
        await later.ask("GET", "/api/v1/later", token=token)
        await later.ask("GET", "/later", token=token)
        await later.ask("HEAD", "/later", token=token)
        await later.ask("POST", "/later-form", b"secret=x", token=token)
        await later.posted("/later-form", {"secret": "y"}, cookie, csrf)
        seen = ["look", "page", "page", "form x", "form y"] if role is Role.ADMIN else []
        assert seen == REACHED, (role, namespace)
        REACHED.clear()
        await later.ask("POST", "/api/v1/later", b"{}", token=token)
        await later.form("later.change", {}, cookie, csrf)
        may = role is Role.OPERATOR and namespace == EVERYWHERE
        assert (["change", "change"] if may else []) == REACHED


async def test_a_cookie_alone_changes_nothing_of_it(later: Stage) -> None:
    cookie, _ = await later.sign_in(await later.token(Role.ADMIN, EVERYWHERE))
    REACHED.clear()
    for method, path in CALLS:
        if method == "POST":
            assert (await later.ask(method, path, b"{}", cookie=cookie)).status == 403
    assert REACHED == []


def test_no_page_and_no_operation_is_declared_without_a_role() -> None:
    async def gather(visit: Visit[Any]) -> dict[str, Any]:
        return {}

    async def carry_out(control: Control, request: Request) -> Nothing:
        return Nothing()

    for nobody in (None, "", "everybody", 0):
        with pytest.raises(AssertionError, match="role"):
            page("/x", nobody, title="x", template="x", section="x")(gather)  # type: ignore[arg-type]
        with pytest.raises(AssertionError, match="role"):
            operation("x.y", "GET /x", nobody)(carry_out)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        page("/x", title="x", template="x", section="x")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        operation("x.y", "GET /x")  # type: ignore[call-arg]
    assert {one.role for one in all_pages()} | {one.role for one in application.operations()} <= set(Role)


async def test_what_comes_by_another_protocol_goes_nowhere(later: Stage) -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message["type"])

    async def receive() -> Any:
        raise AssertionError

    scope: Any = {**scope_of("GET", "/later-stream", {}), "type": "websocket"}
    await later.app(scope, receive, send)
    assert (REACHED, sent) == ([], ["websocket.close"])
