"""Pages, forms and files as routes. Nothing is served here that is neither a page, an action nor an asset."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from litestar import Request, Response, get, post
from litestar.exceptions import NotFoundException
from litestar.handlers import HTTPRouteHandler

from fencepost.web.dashboard.actions.doing import do
from fencepost.web.dashboard.actions.moving import choose_zone, move
from fencepost.web.dashboard.assets import FOR_EVER, PREFIX, by_served_name
from fencepost.web.dashboard.faults import HTML, PRIVATE, fault_page
from fencepost.web.dashboard.page import Page, Rendered, Visit, all_pages
from fencepost.web.dashboard.posting import posted_visit
from fencepost.web.dashboard.rendering import render
from fencepost.web.dashboard.said import NAME as SAID
from fencepost.web.dashboard.said import Envelope
from fencepost.web.dashboard.visiting import visit_of
from fencepost.web.serving import Serving

ICON = "/favicon.ico"


def dashboard(serving: Serving) -> list[HTTPRouteHandler]:
    """Every route of the dashboard, made anew: a route belongs to one application."""
    pages = [_page_route(one, serving) for one in all_pages()]
    posted = [_posted_route(one, serving) for one in all_pages() if one.posted]
    return [*pages, *posted, _do_route(serving), *_choice_routes(), _asset_route(), _icon_route()]


def _page_route(page: Page[Any], serving: Serving) -> HTTPRouteHandler:
    async def show(request: Request[Any, Any, Any]) -> Response[str]:
        visit = await visit_of(request, page, serving)
        return answer(request, page, visit, await page.gather(visit))

    named = get(
        page.route,
        name=f"page:{page.path}",
        include_in_schema=False,
        exception_handlers={Exception: fault_page},
    )
    return named(show)


def _posted_route(page: Page[Any], serving: Serving) -> HTTPRouteHandler:
    async def show(request: Request[Any, Any, Any]) -> Response[str]:
        visit = await posted_visit(request, page, serving)
        return answer(request, page, visit, await page.gather(visit))

    named = post(
        page.route,
        name=f"posted:{page.path}",
        status_code=200,
        include_in_schema=False,
        exception_handlers={Exception: fault_page},
    )
    return named(show)


def answer(request: Request[Any, Any, Any], page: Page[Any], visit: Visit[Any], shown: Any) -> Response[str]:
    """The page as it is sent; what was said once is taken away with it."""
    rendered = shown if isinstance(shown, Rendered) else Rendered(shown)
    text = render(
        rendered.template or page.template, visit, rendered.title or page.title, page.section, rendered.values
    )
    cookies = [Envelope(secure=request.scope["scheme"] == "https").clear()] if SAID in request.cookies else []
    return Response(text, status_code=rendered.status, media_type=HTML, headers=PRIVATE, cookies=cookies)


def _do_route(serving: Serving) -> HTTPRouteHandler:
    async def act(request: Request[Any, Any, Any]) -> Response[str]:
        return await do(request, serving)

    named = post(
        "/do/{operation:str}",
        name="do",
        status_code=303,
        include_in_schema=False,
        exception_handlers={Exception: fault_page},
    )
    return named(act)


def _choice_routes() -> list[HTTPRouteHandler]:
    return [_choice_route("namespace", move), _choice_route("zone", choose_zone)]


def _choice_route(
    name: str, choose: Callable[[Request[Any, Any, Any]], Awaitable[Response[str]]]
) -> HTTPRouteHandler:
    async def act(request: Request[Any, Any, Any]) -> Response[str]:
        return await choose(request)

    named = post(
        f"/{name}",
        name=name,
        status_code=303,
        include_in_schema=False,
        exception_handlers={Exception: fault_page},
    )
    return named(act)


def _asset_route() -> HTTPRouteHandler:
    @get(PREFIX + "{name:str}", name="asset", include_in_schema=False)
    async def asset(request: Request[Any, Any, Any]) -> Response[bytes]:
        found = by_served_name().get(str(request.path_params["name"]))
        if found is None:
            raise NotFoundException
        headers = {"Cache-Control": FOR_EVER, "ETag": found.etag}
        known = [
            one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")
        ]
        if found.etag in known:
            return Response(b"", status_code=304, headers=headers)
        return Response(found.content, media_type=found.media_type, headers=headers)

    return asset


def _icon_route() -> HTTPRouteHandler:
    @get(ICON, name="icon", include_in_schema=False)
    async def icon() -> Response[bytes]:
        """Browsers ask for it wherever they are; the page names another one."""
        return Response(b"", status_code=204, headers={"Cache-Control": "public, max-age=86400"})

    return icon
