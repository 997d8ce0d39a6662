"""`POST /namespace`: whoever may act in all namespaces chooses the one that they look at."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response
from litestar.datastructures import Cookie

from fencepost.errors import NotAllowed
from fencepost.model.access import EVERYWHERE, Role
from fencepost.model.identifiers import checked_name
from fencepost.web.dashboard.actions.doing import BACK, check_forgery, place
from fencepost.web.dashboard.actions.forms import read_form
from fencepost.web.dashboard.faults import HTML, PRIVATE
from fencepost.web.dashboard.visiting import NAMESPACE, caller_of

LASTS_S = 30 * 86_400


async def move(request: Request[Any, Any, Any]) -> Response[str]:
    """Remember the choice. It opens nothing: what a credential is good for is looked at each time."""
    caller = caller_of(request, Role.VIEWER)
    form = read_form(await request.body())
    check_forgery(request, caller, form)
    if caller.principal.namespace != EVERYWHERE:
        raise NotAllowed(f"you are signed in to the namespace {caller.namespace} only")
    chosen = checked_name("namespace", (form.get("namespace") or [""])[-1].strip())
    cookie = Cookie(
        NAMESPACE,
        value=chosen,
        max_age=LASTS_S,
        path="/",
        httponly=True,
        secure=request.scope["scheme"] == "https",
        samesite="lax",
    )
    headers = {**PRIVATE, "Location": place(form, BACK)}
    return Response("", status_code=303, media_type=HTML, headers=headers, cookies=[cookie])
