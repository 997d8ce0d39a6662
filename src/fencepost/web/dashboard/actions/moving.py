"""`POST /namespace` and `POST /zone`: what a reader chooses for all pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from litestar import Request, Response
from litestar.datastructures import Cookie

from fencepost.errors import NotAllowed
from fencepost.model.access import EVERYWHERE, Role
from fencepost.model.identifiers import checked_name
from fencepost.triggers.localtime.zones import zone
from fencepost.web.dashboard.actions.doing import BACK, check_forgery, place
from fencepost.web.dashboard.actions.forms import read_form
from fencepost.web.dashboard.faults import HTML, PRIVATE
from fencepost.web.dashboard.visiting import NAMESPACE, ZONE, caller_of

LASTS_S, ZONE_LASTS_S = 30 * 86_400, 366 * 86_400


async def move(request: Request[Any, Any, Any]) -> Response[str]:
    """Remember the choice. It opens nothing: what a credential is good for is looked at each time."""
    caller = caller_of(request, Role.VIEWER)
    form = read_form(await request.body())
    check_forgery(request, caller, form)
    if caller.principal.namespace != EVERYWHERE:
        raise NotAllowed(f"you are signed in to the namespace {caller.namespace} only")
    chosen = checked_name("namespace", (form.get("namespace") or [""])[-1].strip())
    return _remembered(request, form, NAMESPACE, chosen, LASTS_S)


async def choose_zone(request: Request[Any, Any, Any]) -> Response[str]:
    """Remember in which zone the reader wants all times; an empty one is that of the browser."""
    caller = caller_of(request, Role.VIEWER)
    form = read_form(await request.body())
    check_forgery(request, caller, form)
    wanted = (form.get("zone") or [""])[-1].strip()
    chosen = quote(zone(wanted).key, safe="") if wanted else ""
    return _remembered(request, form, ZONE, chosen, ZONE_LASTS_S if chosen else 0)


def _remembered(
    request: Request[Any, Any, Any], form: Mapping[str, list[str]], name: str, value: str, lasts_s: int
) -> Response[str]:
    """A cookie that has it, and the way back."""
    cookie = Cookie(
        name,
        value=value,
        max_age=lasts_s,
        path="/",
        httponly=True,
        secure=request.scope["scheme"] == "https",
        samesite="lax",
    )
    headers = {**PRIVATE, "Location": place(form, BACK)}
    return Response("", status_code=303, media_type=HTML, headers=headers, cookies=[cookie])
