"""`/metrics` in the web: the page that Prometheus scrapes.

The guard decides whether it is open, by the setting `metrics_open`. Where it is not, it is for credentials of
the namespace that this process counts, and for those that are good everywhere: the names of jobs belong to
their tenant. The page is made in a thread, because many series take time.
"""

from __future__ import annotations

import asyncio
from typing import Any

from litestar import Request, Response, get
from litestar.exceptions import NotFoundException
from litestar.handlers import HTTPRouteHandler

from fencepost.config import Settings
from fencepost.model.access import EVERYWHERE, Principal, Role
from fencepost.telemetry.metrics import CONTENT_TYPE, start_metrics


def metrics_route(settings: Settings) -> HTTPRouteHandler:
    """The page of a process with these settings."""

    @get("/metrics")
    async def metrics(request: Request[Any, Any, Any]) -> Response[bytes]:
        principal: Principal | None = request.scope["state"].get("principal")
        if not settings.metrics_open and not _may_see(principal, settings):
            raise NotFoundException
        page = await asyncio.to_thread(start_metrics(settings.metrics_jobs_max).render)
        return Response(page, headers={"Content-Type": CONTENT_TYPE})

    return metrics


def _may_see(principal: Principal | None, settings: Settings) -> bool:
    if principal is None or not principal.role.covers(Role.VIEWER):
        return False
    return principal.namespace in (EVERYWHERE, settings.namespace)
