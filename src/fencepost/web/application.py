"""The application: routes behind the limits of a request, behind a guard.

A caller behind a trusted proxy is identified by its own address. A request meets the guard first, which
refuses all requests without a credential, except those to health and to the sign-in. Then `RequestLimits`
reads its body within bounds; then it waits for admission; then comes its route.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

from litestar import Litestar, Response, Router, get
from litestar.di import Provide
from litestar.enums import ScopeType
from litestar.routes import ASGIRoute
from litestar.types import ASGIApp, ControllerRouterHandler, Receive, Scope, Send
from litestar.utils import normalize_path

from fencepost.clock import SystemClock
from fencepost.model.access import Principal
from fencepost.operations.catalogue import all_operations
from fencepost.operations.operation import API, Operation
from fencepost.web.admission import Turns
from fencepost.web.api import claims, reports
from fencepost.web.auth import Doorkeeper, Guarded, behind, inside
from fencepost.web.dashboard.faults import handle_any
from fencepost.web.dashboard.routes import dashboard
from fencepost.web.docs import docs_routes
from fencepost.web.health import Readiness, healthz, readyz
from fencepost.web.live.hub import Hub
from fencepost.web.live.route import events_route
from fencepost.web.metrics import metrics_route
from fencepost.web.openapi import build_document
from fencepost.web.request_limits import RequestLimits, as_sent
from fencepost.web.router import handlers
from fencepost.web.serving import Serving

WORKER_PROTOCOL = (claims.claim, reports.heartbeat, reports.complete, reports.fail)


def build_application(serving: Serving, doorkeeper: Doorkeeper, hub: Hub | None = None) -> ASGIApp:
    """The whole application for a server. The caller runs the hub that it passes."""
    turns = Turns(inside(answering_head(build_routes(serving, hub)), doorkeeper))
    guarded = Guarded(RequestLimits(turns), doorkeeper)
    proxies = serving.settings.trusted_proxies if doorkeeper.signs_in else ()
    return behind(proxies, as_sent(guarded))


def answering_head(routes: Litestar) -> ASGIApp:
    """HEAD is answered as GET is; the server leaves the body out. It stands behind the guard, so a caller
    that may not GET may not HEAD. A stream has no end to wait for, and is read only by GET."""
    streams = {one.path for one in routes.routes if isinstance(one, ASGIRoute)}

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        is_head = scope["type"] == ScopeType.HTTP and scope["method"] == "HEAD"
        if is_head and normalize_path(scope["path"]) not in streams:
            asked: Any = {**scope, "method": "GET"}
            await routes(asked, receive, send)
        else:
            await routes(scope, receive, send)

    return answer


def build_routes(serving: Serving, hub: Hub | None = None) -> Litestar:
    """The routes alone, without anything before them."""
    readiness = Readiness(serving.store, serving.room)
    return Litestar(
        routes(serving, hub or closed_hub(serving)),
        dependencies={"readiness": Provide(lambda: readiness, sync_to_thread=False)},
        exception_handlers={Exception: handle_any},
        openapi_config=None,
        logging_config=None,
    )


def routes(serving: Serving, hub: Hub) -> list[ControllerRouterHandler]:
    """Every route, made anew: a router belongs to one application."""
    return [
        healthz,
        readyz,
        metrics_route(serving.settings),
        Router(
            API,
            route_handlers=[
                *handlers(operations(), serving),
                events_route(hub, serving.settings.namespace),
                openapi,
            ],
        ),
        *dashboard(serving),
        *docs_routes(serving.settings.docs),
    ]


@get("/openapi.json", operation_id="openapi", summary="This document", tags=["document"])
async def openapi() -> Response[Any]:
    """The description of the API for programs: OpenAPI 3.1."""
    return Response(describe(), media_type="application/json")


def closed_hub(serving: Serving) -> Hub:
    """For routes without a running hub: a stream ends as it begins."""

    async def none_good(principals: Sequence[Principal]) -> Collection[str]:
        return ()

    hub = Hub(serving.store, none_good, SystemClock())
    hub.close()
    return hub


def operations() -> list[Operation[Any, Any, Any]]:
    """Every operation that is served."""
    return [*all_operations(), *WORKER_PROTOCOL]


@cache
def describe() -> dict[str, Any]:
    """The OpenAPI document."""
    return build_document(operations())
