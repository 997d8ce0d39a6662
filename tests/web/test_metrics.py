"""`/metrics` in the web: closed unless the settings open it, and never another tenant's."""

from __future__ import annotations

from typing import Any

from fencepost.model.access import EVERYWHERE, Came, Principal, Role
from fencepost.model.identifiers import Namespace
from fencepost.web.application import build_routes
from tests.web.house import TOKEN, Answer, Web, ask


async def scraped(web: Web, namespace: Namespace) -> Answer:
    routes = build_routes(web.serving)

    async def let_in(scope: Any, receive: Any, send: Any) -> None:
        scope["state"]["principal"] = Principal("prom", Role.VIEWER, namespace, Came.TOKEN, "t1")
        await routes(scope, receive, send)

    return await ask(let_in, "GET", "/metrics", token=None)


async def test_it_is_closed_without_a_credential(web: Web) -> None:
    assert (await ask(web.app, "GET", "/metrics", token=None)).status == 401
    answer = await ask(web.app, "GET", "/metrics", token=TOKEN)
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/plain")
    assert b"# TYPE job_run_total counter" in answer.content


async def test_another_tenant_does_not_see_it(web: Web) -> None:
    assert (await scraped(web, web.serving.settings.namespace)).status == 200
    assert (await scraped(web, EVERYWHERE)).status == 200
    assert (await scraped(web, Namespace("elsewhere"))).status == 404


async def test_the_settings_can_open_it() -> None:
    web = Web(metrics_open=True)
    await web.open()
    assert (await ask(web.app, "GET", "/metrics", token=None)).status == 200
    web.room.close()
